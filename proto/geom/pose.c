#include "proto/geom/pose.h"

static void matrix_from_unit(float r[9], const float q[4])
{
    float x = q[0], y = q[1], z = q[2], w = q[3];

    r[0] = 1 - 2 * (y * y + z * z);
    r[1] = 2 * (x * y - z * w);
    r[2] = 2 * (x * z + y * w);
    r[3] = 2 * (x * y + z * w);
    r[4] = 1 - 2 * (x * x + z * z);
    r[5] = 2 * (y * z - x * w);
    r[6] = 2 * (x * z - y * w);
    r[7] = 2 * (y * z + x * w);
    r[8] = 1 - 2 * (x * x + y * y);
}

int pose_get(struct bytes_reader *r, struct rigid *T, float max_m, struct err *err)
{
    float v[7], q[4], norm;
    struct rigid out;

    for (int i = 0; i < 7; i++)
        v[i] = bytes_get_f32(r);
    if (r->bad)
        return err_at(err, ERR_INPUT, "pose", "message ends inside the transform");
    for (int i = 0; i < 7; i++)
        if (!isfinite(v[i]))
            return err_at(err, ERR_INPUT, "pose", "a number of the transform is not finite");
    norm = hypotf(hypotf(v[0], v[1]), hypotf(v[2], v[3]));
    if (!(fabsf(norm - 1) <= POSE_UNIT_TOLERANCE))
        return err_at(err, ERR_INPUT, "pose", "quaternion of length %g, must be 1 within %g",
                      (double)norm, (double)POSE_UNIT_TOLERANCE);
    if (!(hypotf(hypotf(v[4], v[5]), v[6]) <= max_m))
        return err_at(err, ERR_INPUT, "pose", "translation longer than %g m", (double)max_m);
    for (int i = 0; i < 4; i++)
        q[i] = v[i] / norm;
    matrix_from_unit(out.r, q);
    for (int i = 0; i < 3; i++)
        out.t[i] = v[4 + i];
    *T = out;
    return 0;
}

/* Shepperd's method: divide by the largest of the four components, which is at least 1/2. */
static void unit_from_matrix(float q[4], const float r[9])
{
    float trace = r[0] + r[4] + r[8], norm;

    if (trace > 0) {
        q[0] = r[7] - r[5];
        q[1] = r[2] - r[6];
        q[2] = r[3] - r[1];
        q[3] = 1 + trace;
    } else if (r[0] >= r[4] && r[0] >= r[8]) {
        q[0] = 1 + r[0] - r[4] - r[8];
        q[1] = r[1] + r[3];
        q[2] = r[2] + r[6];
        q[3] = r[7] - r[5];
    } else if (r[4] >= r[8]) {
        q[0] = r[1] + r[3];
        q[1] = 1 - r[0] + r[4] - r[8];
        q[2] = r[5] + r[7];
        q[3] = r[2] - r[6];
    } else {
        q[0] = r[2] + r[6];
        q[1] = r[5] + r[7];
        q[2] = 1 - r[0] - r[4] + r[8];
        q[3] = r[3] - r[1];
    }
    norm = hypotf(hypotf(q[0], q[1]), hypotf(q[2], q[3]));
    if (q[3] < 0)
        norm = -norm;
    for (int i = 0; i < 4; i++)
        q[i] /= norm;
}

void pose_numbers(float v[7], const struct rigid *T)
{
    unit_from_matrix(v, T->r);
    for (int i = 0; i < 4; i++)
        v[i] += 0.0f; /* -0 becomes 0 */
    for (int i = 0; i < 3; i++)
        v[4 + i] = T->t[i];
}

int pose_from_numbers(struct rigid *T, const float v[7], float max_m, struct err *err)
{
    uint8_t bytes[POSE_BYTES];
    struct bytes_writer w = bytes_writer(bytes, sizeof bytes);
    struct bytes_reader r = bytes_reader(bytes, sizeof bytes);

    for (int i = 0; i < 7; i++)
        bytes_put_f32(&w, v[i]);
    return pose_get(&r, T, max_m, err);
}

void pose_put(struct bytes_writer *w, const struct rigid *T)
{
    float v[7];

    pose_numbers(v, T);
    for (int i = 0; i < 7; i++)
        bytes_put_f32(w, v[i]);
}

float pose_angle(const struct rigid *a, const struct rigid *b)
{
    float trace = 0;

    for (int i = 0; i < 9; i++)
        trace += a->r[i] * b->r[i];
    return acosf(fmaxf(-1, fminf(1, 0.5f * (trace - 1))));
}

float pose_distance2(const struct rigid *a, const struct rigid *b)
{
    return vec3_norm2(vec3_make(a->t[0] - b->t[0], a->t[1] - b->t[1], a->t[2] - b->t[2]));
}

int pose_turn(const struct rigid *T_wc, struct vec3 up, int last)
{
    const float *r = T_wc->r;
    /* the share of "up" along each direction that a rotation puts on top: top, left, bottom,
     * right */
    float x = r[0] * up.x + r[3] * up.y + r[6] * up.z, y = r[1] * up.x + r[4] * up.y + r[7] * up.z;
    const float along[4] = {-y, -x, y, x};
    float length = sqrtf(x * x + y * y);
    int best = 0;

    for (int i = 1; i < 4; i++)
        if (along[i] > along[best])
            best = i;
    if (length < POSE_LEAN_MIN)
        return last < 0 ? 0 : last;
    return last >= 0 && along[last] >= POSE_LEAN_HELD * length ? last : best;
}

struct rigid pose_level(struct vec3 a, struct vec3 b)
{
    float q[4] = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x,
                  1 + a.x * b.x + a.y * b.y + a.z * b.z};
    struct rigid T = rigid_identity();
    float norm;

    /* half a rotation about an axis across: of z, or x, whichever lies across */
    if (q[3] < 1e-4f) {
        int by_z = fabsf(a.z) < 0.9f;
        float along = by_z ? a.z : a.x;
        q[0] = (by_z ? 0 : 1) - along * a.x;
        q[1] = -along * a.y;
        q[2] = (by_z ? 1 : 0) - along * a.z;
        q[3] = 0;
    }
    norm = hypotf(hypotf(q[0], q[1]), hypotf(q[2], q[3]));
    for (int i = 0; i < 4; i++)
        q[i] /= norm;
    matrix_from_unit(T.r, q);
    return T;
}

int pose_is_rigid(const struct rigid *T)
{
    const float *r = T->r;
    float det;

    for (int i = 0; i < 3; i++) {
        if (!(fabsf(T->t[i]) <= POSE_FAR_M))
            return 0;
        for (int j = 0; j <= i; j++) {
            float dot =
                r[3 * i] * r[3 * j] + r[3 * i + 1] * r[3 * j + 1] + r[3 * i + 2] * r[3 * j + 2];
            if (!(fabsf(dot - (i == j ? 1.0f : 0.0f)) <= 1e-3f))
                return 0;
        }
    }
    det = r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) +
          r[2] * (r[3] * r[7] - r[4] * r[6]);
    return det > 0.0f;
}
