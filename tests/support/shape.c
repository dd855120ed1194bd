#include "tests/support/shape.h"

#include "tests/support/shape_random.h"

#define FAR_M 4.0f
#define NEAR_M 0.1f
#define STEPS 160
#define HIT_M 2e-5f
#define CAREFUL 0.8f /* blended distances are a little too long */

const char *const shape_name[SHAPES] = {"cube", "tortoise", "pyramid", "speaker",
                                        "mask", "figure",   "apple"};

static float len3(float x, float y, float z)
{
    return sqrtf(x * x + y * y + z * z);
}

static float least(float a, float b)
{
    return a < b ? a : b;
}

static float most(float a, float b)
{
    return a > b ? a : b;
}

/* A union whose seam is round over k metres. */
static float join(float a, float b, float k)
{
    float h = most(k - fabsf(a - b), 0.0f) / k;
    return least(a, b) - h * h * k * 0.25f;
}

static float without(float a, float b, float k)
{
    return -join(-a, b, k);
}

static float ball(struct vec3 p, float x, float y, float z, float r)
{
    return len3(p.x - x, p.y - y, p.z - z) - r;
}

/* An ellipsoid, near its surface. */
static float egg(struct vec3 p, float x, float y, float z, float a, float b, float c)
{
    float u = p.x - x, v = p.y - y, w = p.z - z;
    float k = len3(u / a, v / b, w / c), g = len3(u / (a * a), v / (b * b), w / (c * c));
    return g > 0.0f ? k * (k - 1.0f) / g : -least(a, least(b, c));
}

static float box(struct vec3 p, float x, float y, float z, float a, float b, float c, float round)
{
    float u = fabsf(p.x - x) - a + round, v = fabsf(p.y - y) - b + round,
          w = fabsf(p.z - z) - c + round;
    return len3(most(u, 0), most(v, 0), most(w, 0)) + least(most(u, most(v, w)), 0) - round;
}

/* A rod with round ends. */
static float rod(struct vec3 p, struct vec3 a, struct vec3 b, float r)
{
    struct vec3 pa = vec3_sub(p, a), ba = vec3_sub(b, a);
    float t = (pa.x * ba.x + pa.y * ba.y + pa.z * ba.z) / vec3_norm2(ba);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return len3(pa.x - t * ba.x, pa.y - t * ba.y, pa.z - t * ba.z) - r;
}

static struct vec3 v3(float x, float y, float z)
{
    return vec3_make(x, y, z);
}

static float cube(struct vec3 p)
{
    float d = box(p, 0, 0, 0, 0.075f, 0.075f, 0.075f, 0.006f);
    d = without(d, ball(p, 0.075f, 0.075f, 0.075f, 0.055f), 0.006f);
    d = without(d, box(p, -0.075f, 0, 0.02f, 0.018f, 0.2f, 0.014f, 0.004f), 0.006f);
    d = join(d, ball(p, 0.01f, -0.07f, -0.02f, 0.032f), 0.008f);
    return without(d, box(p, 0.02f, 0.08f, 0, 0.02f, 0.025f, 0.2f, 0.004f), 0.006f);
}

static float tortoise(struct vec3 p)
{
    float d = egg(p, 0, 0, 0, 0.095f, 0.075f, 0.055f), ribs;
    ribs = 0.004f * sinf(70.0f * p.x) * sinf(70.0f * p.y);
    d = most(d - ribs, -p.z - 0.02f);
    d = join(d, egg(p, 0.115f, 0.01f, 0.005f, 0.036f, 0.025f, 0.022f), 0.015f);
    d = join(d, rod(p, v3(0.06f, 0.06f, -0.02f), v3(0.085f, 0.085f, -0.035f), 0.018f), 0.015f);
    d = join(d, rod(p, v3(0.06f, -0.06f, -0.02f), v3(0.095f, -0.07f, -0.035f), 0.018f), 0.015f);
    d = join(d, rod(p, v3(-0.06f, 0.05f, -0.02f), v3(-0.085f, 0.08f, -0.035f), 0.017f), 0.015f);
    d = join(d, rod(p, v3(-0.06f, -0.05f, -0.02f), v3(-0.085f, -0.075f, -0.035f), 0.017f), 0.015f);
    return join(d, rod(p, v3(-0.08f, 0, -0.015f), v3(-0.12f, 0.015f, -0.025f), 0.009f), 0.012f);
}

static float pyramid(struct vec3 p)
{
    float a = 0.72f, b = 0.69f; /* of the sides' normals */
    float side = most(fabsf(p.x), fabsf(p.y)), d = (side * a + (p.z - 0.085f) * b);
    d = most(d, -p.z - 0.06f);
    d = join(d, box(p, 0.1f, 0, -0.03f, 0.03f, 0.022f, 0.03f, 0.004f), 0.006f);
    d = without(d, box(p, 0, 0.075f, 0, 0.03f, 0.03f, 0.008f, 0.003f), 0.006f);
    return without(d, ball(p, -0.07f, -0.03f, 0.01f, 0.028f), 0.006f);
}

static float speaker(struct vec3 p)
{
    float d = box(p, 0, 0, 0, 0.055f, 0.06f, 0.105f, 0.008f);
    d = without(d, egg(p, 0.055f, 0, -0.035f, 0.03f, 0.045f, 0.045f), 0.006f);
    d = join(d, ball(p, 0.027f, 0, -0.035f, 0.016f), 0.006f);
    d = without(d, egg(p, 0.055f, 0, 0.055f, 0.018f, 0.024f, 0.024f), 0.005f);
    d = without(d, rod(p, v3(-0.055f, 0.02f, 0.05f), v3(-0.04f, 0.02f, 0.05f), 0.024f), 0.005f);
    d = join(d, box(p, -0.06f, -0.01f, -0.05f, 0.014f, 0.03f, 0.02f, 0.004f), 0.005f);
    return join(d, rod(p, v3(-0.02f, -0.06f, 0.06f), v3(0.02f, -0.06f, 0.02f), 0.012f), 0.006f);
}

static float mask(struct vec3 p)
{
    float d = egg(p, -0.01f, 0, 0, 0.06f, 0.075f, 0.1f);
    d = most(d, -p.x - 0.02f);
    d = join(d, egg(p, 0.055f, 0, -0.005f, 0.024f, 0.014f, 0.028f), 0.012f);
    d = without(d, egg(p, 0.045f, 0.028f, 0.025f, 0.02f, 0.017f, 0.011f), 0.008f);
    d = without(d, egg(p, 0.045f, -0.028f, 0.025f, 0.02f, 0.017f, 0.011f), 0.008f);
    d = without(d, egg(p, 0.045f, 0.004f, -0.05f, 0.02f, 0.03f, 0.009f), 0.008f);
    d = join(d, rod(p, v3(0.01f, 0.045f, 0.075f), v3(-0.005f, 0.065f, 0.115f), 0.014f), 0.012f);
    d = join(d, rod(p, v3(0.045f, -0.04f, 0.048f), v3(0.05f, -0.012f, 0.043f), 0.007f), 0.008f);
    return without(d, egg(p, -0.02f, 0.01f, 0, 0.03f, 0.05f, 0.07f), 0.006f);
}

static float figure(struct vec3 p)
{
    float d = egg(p, 0, 0, 0, 0.05f, 0.062f, 0.07f);
    d = join(d, egg(p, 0.015f, 0, 0.085f, 0.042f, 0.048f, 0.036f), 0.02f);
    d = join(d, rod(p, v3(0, 0.055f, 0.03f), v3(0.06f, 0.095f, 0.06f), 0.016f), 0.012f);
    d = join(d, rod(p, v3(0, -0.055f, 0.03f), v3(0.03f, -0.105f, -0.02f), 0.016f), 0.012f);
    d = join(d, rod(p, v3(0, 0.03f, -0.06f), v3(0.01f, 0.035f, -0.1f), 0.02f), 0.012f);
    d = join(d, rod(p, v3(0, -0.03f, -0.06f), v3(0.02f, -0.04f, -0.1f), 0.02f), 0.012f);
    d = join(d, rod(p, v3(0, 0.03f, 0.11f), v3(-0.01f, 0.042f, 0.14f), 0.011f), 0.008f);
    d = join(d, rod(p, v3(0, -0.03f, 0.11f), v3(-0.01f, -0.042f, 0.145f), 0.011f), 0.008f);
    d = join(d, egg(p, 0.058f, 0, 0.078f, 0.02f, 0.026f, 0.016f), 0.008f);
    return join(d, rod(p, v3(-0.045f, 0, -0.04f), v3(-0.1f, 0.02f, -0.02f), 0.012f), 0.012f);
}

static float apple(struct vec3 p)
{
    float angle = atan2f(p.y, p.x), wide = sqrtf(p.x * p.x + p.y * p.y);
    float d = egg(p, 0, 0, 0, 0.075f, 0.078f, 0.068f) -
              0.05f * wide * cosf(3.0f * angle) * (p.z < 0 ? 0.8f : 0.4f);
    d = without(d, ball(p, 0.004f, 0, 0.082f, 0.034f), 0.02f);
    d = without(d, ball(p, -0.004f, 0.003f, -0.082f, 0.028f), 0.015f);
    d = join(d, rod(p, v3(0, 0, 0.04f), v3(0.012f, 0.008f, 0.1f), 0.007f), 0.006f);
    d = join(d, egg(p, 0.045f, 0.02f, 0.078f, 0.032f, 0.017f, 0.009f), 0.006f);
    return without(d, ball(p, -0.062f, -0.062f, 0.01f, 0.036f), 0.006f);
}

static float can(struct vec3 p)
{
    return most(sqrtf(p.x * p.x + p.y * p.y) - 0.04f, fabsf(p.z) - 0.07f);
}

static float distance(enum shape shape, struct vec3 p)
{
    switch (shape) {
    case SHAPE_CUBE:
        return cube(p);
    case SHAPE_TORTOISE:
        return tortoise(p);
    case SHAPE_PYRAMID:
        return pyramid(p);
    case SHAPE_SPEAKER:
        return speaker(p);
    case SHAPE_MASK:
        return mask(p);
    case SHAPE_FIGURE:
        return figure(p);
    case SHAPE_APPLE:
        return apple(p);
    case SHAPE_TABLE:
        return p.z;
    case SHAPE_BALL:
        return ball(p, 0, 0, 0, 0.06f);
    case SHAPE_CAN:
        return can(p);
    case SHAPE_BOX:
        break;
    }
    return box(p, 0, 0, 0, 0.05f, 0.09f, 0.06f, 0.003f);
}

static struct vec3 unit(struct vec3 a)
{
    float n = sqrtf(vec3_norm2(a));
    return v3(a.x / n, a.y / n, a.z / n);
}

static struct vec3 cross(struct vec3 a, struct vec3 b)
{
    return v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

struct rigid shape_camera(struct vec3 from, struct vec3 at)
{
    struct vec3 z = unit(vec3_sub(at, from)), x = unit(cross(z, v3(0, 0, 1))), y = cross(z, x);
    return (struct rigid){{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}, {from.x, from.y, from.z}};
}

struct rigid shape_around(struct vec3 at, float azimuth, float elevation, float far)
{
    const float degree = (float)M_PI / 180.0f;
    float a = azimuth * degree, e = elevation * degree;
    return shape_camera(
        v3(at.x + far * cosf(e) * cosf(a), at.y + far * cosf(e) * sinf(a), at.z + far * sinf(e)),
        at);
}

struct rigid shape_put(float degrees, float x, float y, float z)
{
    float a = degrees * (float)M_PI / 180.0f, c = cosf(a), s = sinf(a);
    return (struct rigid){{c, -s, 0, s, c, 0, 0, 0, 1}, {x, y, z}};
}

#define REACH_M 0.2f /* of any shape but the table */

/* How far along the ray (direction of z = 1) a shape is, within [near, far]; far: not at all. */
static float trace(enum shape shape, struct vec3 from, struct vec3 ray, float near, float far)
{
    float t = near, length = sqrtf(vec3_norm2(ray));
    for (int i = 0; i < STEPS && t < far; i++) {
        float d = distance(shape, v3(from.x + t * ray.x, from.y + t * ray.y, from.z + t * ray.z));
        if (d < HIT_M)
            return t;
        t += CAREFUL * d / length;
    }
    return far;
}

/* Where the ray is within REACH_M of a shape's origin: 0 = nowhere. */
static int reach(float *near, float *far, struct vec3 from, struct vec3 ray)
{
    float a = vec3_norm2(ray), b = from.x * ray.x + from.y * ray.y + from.z * ray.z;
    float root = b * b - a * (vec3_norm2(from) - REACH_M * REACH_M);
    if (!(root > 0.0f))
        return 0;
    *near = most(NEAR_M, (-b - sqrtf(root)) / a);
    *far = least(FAR_M, (-b + sqrtf(root)) / a);
    return *near < *far;
}

void shape_draw(float *depth, int *owner, int w, int h, struct intrinsics K,
                const struct rigid *T_wc, const struct shape_place *place, int n)
{
    for (int i = 0; i < w * h; i++) {
        depth[i] = 0.0f;
        if (owner)
            owner[i] = -1;
    }
    for (int k = 0; k < n; k++) {
        struct rigid T_ow = rigid_inverse(&place[k].T_wo), T_oc = rigid_mul(&T_ow, T_wc);
        struct vec3 from = v3(T_oc.t[0], T_oc.t[1], T_oc.t[2]);
        for (int i = 0; i < w * h; i++) {
            struct vec3 ray = v3(((float)(i % w) - K.cx) / K.fx, ((float)(i / w) - K.cy) / K.fy, 1);
            float near = NEAR_M, far = FAR_M, t;
            struct vec3 to = rigid_apply(&T_oc, ray);
            ray = vec3_sub(to, from);
            if (place[k].shape != SHAPE_TABLE && !reach(&near, &far, from, ray))
                continue;
            t = trace(place[k].shape, from, ray, near, far);
            if (t >= far || (depth[i] > 0.0f && t >= depth[i]))
                continue;
            depth[i] = t;
            if (owner)
                owner[i] = k;
        }
    }
}

void shape_noise(float *depth, int n, uint32_t seed)
{
    const float eighths = 8.0f * 43.5f;
    for (int i = 0; i < n; i++) {
        float d;
        if (!(depth[i] > 0.0f))
            continue;
        d = floorf(eighths / depth[i] + 0.5f * shape_normal(&seed) + 0.5f);
        depth[i] = d > 0.0f ? eighths / d : 0.0f;
    }
}
