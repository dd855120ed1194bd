/* Normals of points: seen by a pixel, averaged, and those of a drawn room against the truth. */
#include "gpu/mono/normal_point.h"
#include "tests/support/line.h"
#include "tests/support/unit.h"

#define W 96
#define H 72
#define DEGREES 57.29578f

static float angle(struct vec3 a, struct vec3 b)
{
    float dot = a.x * b.x + a.y * b.y + a.z * b.z;

    return acosf(fminf(1.0f, fmaxf(-1.0f, dot))) * DEGREES;
}

static void assert_near(struct vec3 a, float x, float y, float z)
{
    if (vec3_norm2(vec3_sub(a, vec3_make(x, y, z))) > 1e-10f)
        fail_msg("(%g %g %g) is not (%g %g %g)", (double)a.x, (double)a.y, (double)a.z, (double)x,
                 (double)y, (double)z);
}

/* A slope of 45 degrees that rises to the right, seen from above: z = 4 - x, one metre a pixel. */
TEST(a_pixel_sees_the_slope_around_it)
{
    enum { N = 9, MIDDLE = 4 * N + 4 };
    struct camera camera = {.T_wc = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {4, 4, -10}}};
    struct vec3 world[N * N];
    float usable[N * N], half = sqrtf(0.5f);
    struct normal_map map = normal_map_make(usable, world, N, N, &camera);
    for (int i = 0; i < N * N; i++) {
        world[i] = vec3_make((float)(i % N), (float)(i / N), 4.0f - (float)(i % N));
        usable[i] = 1.0f;
    }
    assert_near(normal_at(&map, MIDDLE), -half, 0, -half);
    assert_near(normal_at(&map, 0), -half, 0, -half); /* in a corner: one side alone */
    assert_near(normal_at(&map, N * N - 1), -half, 0, -half);
    map.eye.z = 20.0f; /* from the other side */
    assert_near(normal_at(&map, MIDDLE), half, 0, half);
    /* what lies behind a hole is another surface */
    usable[MIDDLE + 2] = 0.0f;
    world[MIDDLE + 3] = vec3_make(7, 4, 90);
    assert_near(normal_at(&map, MIDDLE), half, 0, half);
    usable[MIDDLE - 1] = usable[MIDDLE + 1] = 0.0f; /* a line shows no surface */
    assert_near(normal_at(&map, MIDDLE), 0, 0, 0);
}

/* w = 2, w0 = 1: (2 (1, 0, 0) + (0, 0, 1)) / 3 */
TEST(normals_are_averaged_as_positions_are)
{
    struct point_normal n = {{0, 0, 0}, 0};
    assert_int_equal(normal_code(&n), 0);
    normal_fuse(&n, vec3_make(1, 0, 0), 0.0f, 1.0f);
    assert_int_equal(n.n[0], 32767);
    assert_int_equal(normal_code(&n), (32 + 28) << 6 | 32);
    normal_fuse(&n, vec3_make(0, 0, 1), 2.0f, 1.0f);
    assert_int_equal(n.n[0], 21845);
    assert_int_equal(n.n[2], 10922);
    normal_fuse(&n, vec3_make(0, 0, 0), 3.0f, 1.0f); /* one that saw none says nothing */
    assert_int_equal(n.n[0], 21845);
    assert_int_equal(n.code, 0); /* written when clients are told */
}

/* The wall of the room or the face of its box that is nearest to p; its normal as
 * a camera in the room sees it. */
static struct vec3 truth(const struct scene *s, struct vec3 p)
{
    const float room[3] = {3.0f, 1.5f, 3.0f}, q[3] = {p.x, p.y, p.z};
    const float lo[3] = {s->box_lo.x, s->box_lo.y, s->box_lo.z};
    const float hi[3] = {s->box_hi.x, s->box_hi.y, s->box_hi.z};
    float best = 1e30f, n[3] = {0, 0, 0};
    int inside = 1, axis = 0, sign = 1;
    for (int i = 0; i < 3; i++) {
        float d = room[i] - fabsf(q[i]);
        inside &= q[i] > lo[i] - 0.05f && q[i] < hi[i] + 0.05f;
        if (d < best) {
            best = d;
            axis = i;
            sign = q[i] > 0.0f ? -1 : 1;
        }
    }
    for (int i = 0; inside && i < 3; i++)
        for (int k = 0; k < 2; k++) {
            float d = fabsf(q[i] - (k ? hi[i] : lo[i]));
            if (d < best) {
                best = d;
                axis = i;
                sign = k ? 1 : -1;
            }
        }
    n[axis] = (float)sign;
    return vec3_make(n[0], n[1], n[2]);
}

static struct vec3 mean_of(const struct point_normal *n)
{
    struct vec3 v = vec3_make((float)n->n[0], (float)n->n[1], (float)n->n[2]);
    float length = fmaxf(sqrtf(vec3_norm2(v)), 1.0f);

    return vec3_make(v.x / length, v.y / length, v.z / length);
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

struct errors {
    float model, published; /* medians, degrees */
};

/* Sorts n errors; returns the one in the middle. */
static float median(float *errors, size_t n)
{
    qsort(errors, n, sizeof *errors, by_size);
    return errors[n / 2];
}

/* Forty frames of the room as a world has it that stands askew; noise as a share of depth. */
static struct errors room_errors(int cells, float noise)
{
    struct gpu_session_config c = line_config(W, H);
    struct rigid askew = {{0.36f, 0.48f, -0.8f, -0.8f, 0.6f, 0.0f, 0.48f, 0.64f, 0.6f}, {1, 2, 3}};
    struct rigid back = rigid_inverse(&askew), turn = askew;
    struct scene scene = scene_make();
    float *model = calloc(c.max_points, sizeof *model);
    float *published = calloc(c.max_points, sizeof *published);
    struct errors e;
    uint32_t random = 7;
    size_t n = 0, none = 0;
    struct line l = {0};
    if (cells)
        fuse_params_cells(&c.fuse);
    memset(turn.t, 0, sizeof turn.t);
    assert_int_equal(line_open(&l, &c), 0);
    for (int i = 0; i < 40; i++) {
        struct rigid T = scene_pose(0.02f * (float)i, 0.1f, -2, 0.01f * (float)i), W_wc;
        scene_draw(&scene, &T, l.K, W, H, l.depth, l.rgb);
        for (int k = 0; k < W * H; k++)
            l.depth[k] *= 1.0f + noise * (2.0f * scene_random(&random) - 1.0f);
        W_wc = rigid_mul(&askew, &T);
        assert_int_equal(line_frame(&l, &W_wc), 0);
    }
    for (uint32_t i = 0; i < l.cpu->n_slots; i++) {
        const int32_t *q = l.cpu->out[i].p_q;
        struct vec3 p = vec3_make((float)q[0] * 1e-3f, (float)q[1] * 1e-3f, (float)q[2] * 1e-3f);
        struct vec3 is = rigid_apply(&turn, truth(&scene, rigid_apply(&back, p)));
        if (l.cpu->out[i].confidence == 0)
            continue;
        none += l.cpu->normal[i].code == 0;
        model[n] = angle(mean_of(&l.cpu->normal[i]), is);
        published[n++] = angle(octa_decode(l.cpu->normal[i].code), is);
    }
    assert_true(n > 3000);
    assert_true(none < n / 100);
    e.model = median(model, n);
    e.published = median(published, n);
    printf("# %s, noise %g: medians %.2f degrees in the model, %.2f as published\n",
           cells ? "cells" : "paper", (double)noise, (double)e.model, (double)e.published);
    line_close(&l);
    free(model);
    free(published);
    return e;
}

/* As published they have what coarse codes of these six directions lack. */
TEST(normals_of_a_room_are_those_of_its_walls)
{
    for (int cells = 0; cells < 2; cells++) {
        struct errors e = room_errors(cells, 0.0f);
        assert_true(e.model < 0.1f);
        assert_true(e.published < 8.5f);
    }
}

/* Noise of 1 % turns what one frame sees by 8 degrees. */
TEST(noise_is_averaged_away)
{
    for (int cells = 0; cells < 2; cells++) {
        struct errors e = room_errors(cells, 0.01f);
        assert_true(e.model < 3.5f);
        assert_true(e.published < 9.0f);
    }
}

/* A board of no thickness: a camera behind it sees its other side. */
TEST(both_sides_of_a_board_face_their_cameras)
{
    struct gpu_session_config c = line_config(W, H);
    struct rigid front = scene_pose(0, 0, -1, 0), behind = scene_pose(0, 0, 1, 3.14159265f);
    struct line l = {0};
    fuse_params_cells(&c.fuse);
    for (int side = 0; side < 2; side++) {
        uint32_t n = 0;
        assert_int_equal(line_open(&l, &c), 0);
        memset(l.rgb, 90, 3 * (size_t)W * H);
        for (int k = 0; k < W * H; k++)
            l.depth[k] = 1.0f;
        for (int i = 0; i < 8; i++)
            assert_int_equal(line_frame(&l, side ? &behind : &front), 0);
        for (uint32_t i = 0; i < l.cpu->n_slots; i++)
            if (l.cpu->out[i].confidence) {
                struct vec3 is = octa_decode(l.cpu->normal[i].code);
                assert_true(side ? is.z > 0.99f : is.z < -0.99f);
                n++;
            }
        assert_true(n > 1000);
        line_close(&l);
    }
}
