/* Models of cameras against the equations of docs/MATH.md in double precision, there and back; what
 * is refused at declaration; where the pixels of the network's picture lie in the one that came. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/geom/lens.h"
#include "tests/support/bound.h"
#include "tests/support/geom_case.h"
#include "tests/support/unit.h"

#define W 640
#define H 480

static const struct intrinsics K640 = {517.3f, 516.5f, 318.6f, 255.3f};

/* Calibrations of the kinds that there are: TUM freiburg1, TUM-VI, a mild phone, a wide lens. */
struct known {
    const char *name;
    enum lens_model model;
    float k[LENS_PARAMS_MAX];
    struct intrinsics K;
    int w, h;
};
static const struct known known[] = {
    {"pinhole", LENS_PINHOLE, {0}, {500, 510, 320, 240}, W, H},
    {"freiburg1",
     LENS_RADIAL,
     {0.2624f, -0.9531f, -0.0054f, 0.0026f, 1.1633f},
     {517.3f, 516.5f, 318.6f, 255.3f},
     W,
     H},
    {"barrel", LENS_RADIAL, {-0.28f, 0.09f, 0.001f, -0.0008f, 0}, {420, 420, 322, 238}, W, H},
    {"tum-vi",
     LENS_FISHEYE,
     {0.0034823f, 0.0007150f, -0.0020532f, 0.0002029f},
     {190.98f, 190.97f, 254.93f, 256.90f},
     512,
     512},
    {"half sphere", LENS_FISHEYE, {0.02f, -0.004f, 0, 0}, {300, 300, 480, 480}, 960, 960},
    {"sphere", LENS_SPHERE, {0}, {0, 0, 0, 0}, 1280, 640},
    {"mirror", LENS_UNIFIED, {0.966f, 0, 0, 0, 0}, {242, 242, 511.5f, 511.5f}, 1024, 1024},
    {"bent mirror",
     LENS_UNIFIED,
     {0.9f, -0.02f, 0.001f, 0.002f, -0.001f},
     {180, 182, 400, 390},
     800,
     800},
    {"wide fisheye", LENS_UNIFIED, {1.6f, 0, 0, 0, 0}, {500, 500, 400, 400}, 800, 800},
};
#define N_KNOWN (sizeof known / sizeof *known)

static struct lens make(const struct known *c, struct intrinsics *K)
{
    struct err err = {0};
    struct lens l;

    *K = c->model == LENS_SPHERE ? lens_sphere_intrinsics(c->w, c->h) : c->K;
    if (lens_make(&l, c->model, c->k, *K, c->w, c->h, &err))
        fail_msg("%s: %s", c->name, err.text);
    assert_true(lens_valid(&l));
    return l;
}

/* The equations (L1)-(L4) with the C library's functions. */
static void exact(const struct lens *l, struct intrinsics K, struct vec3 ray, double *u, double *v)
{
    double X = (double)ray.x, Y = (double)ray.y, Z = (double)ray.z, a = X / Z, b = Y / Z;
    double k[5];

    for (int i = 0; i < 5; i++)
        k[i] = (double)l->k[i];
    if (l->model == LENS_RADIAL) {
        double x = a, y = b, s = x * x + y * y;
        double f = 1 + k[0] * s + k[1] * s * s + k[4] * s * s * s;

        a = x * f + 2 * k[2] * x * y + k[3] * (s + 2 * x * x);
        b = y * f + k[2] * (s + 2 * y * y) + 2 * k[3] * x * y;
    } else if (l->model == LENS_FISHEYE) {
        double r = sqrt(X * X + Y * Y), t = atan2(r, Z), s = t * t;
        double d = t * (1 + k[0] * s + k[1] * pow(s, 2) + k[2] * pow(s, 3) + k[3] * pow(s, 4));

        a = r > 0 ? X / r * d : 0;
        b = r > 0 ? Y / r * d : 0;
    } else if (l->model == LENS_UNIFIED) {
        double n = sqrt(X * X + Y * Y + Z * Z), x = X / (Z + k[0] * n), y = Y / (Z + k[0] * n);
        double s = x * x + y * y, f = 1 + k[1] * s + k[2] * s * s;

        a = x * f + 2 * k[3] * x * y + k[4] * (s + 2 * x * x);
        b = y * f + k[3] * (s + 2 * y * y) + 2 * k[4] * x * y;
    } else if (l->model == LENS_SPHERE) {
        a = atan2(X, Z);
        b = atan2(Y, sqrt(X * X + Z * Z));
    }
    *u = (double)K.fx * a + (double)K.cx;
    *v = (double)K.fy * b + (double)K.cy;
}

TEST(functions_are_those_of_the_library)
{
    double worst_atan = 0, worst_sin = 0;

    for (int i = -4000; i <= 4000; i++) {
        float angle = (float)i / 4000 * LENS_PI, s, c;

        lens_sincos(angle, &s, &c);
        worst_sin = fmax(worst_sin, fabs((double)s - sin((double)angle)));
        worst_sin = fmax(worst_sin, fabs((double)c - cos((double)angle)));
        for (float r = 1e-3f; r < 1e6f; r *= 1e4f) {
            double y = (double)(r * s), x = (double)(r * c);
            worst_atan = fmax(worst_atan, fabs((double)lens_atan2(r * s, r * c) - atan2(y, x)));
        }
    }
    assert_true(worst_sin < 4e-7);
    assert_true(worst_atan < 4e-7);
}

/* Every pixel's ray comes back to it, and is the ray of the equations. */
TEST(pixels_come_back)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        const struct known *c = &known[i];
        struct intrinsics K;
        struct lens l = make(c, &K);
        int n = 0;

        for (int y = 0; y < c->h; y += 7)
            for (int x = 0; x < c->w; x += 5) {
                struct vec3 ray;
                double eu, ev;
                float u, v;

                if (!lens_ray(&l, K, (float)x, (float)y, &ray)) {
                    assert_true(c->model == LENS_FISHEYE || c->model == LENS_UNIFIED); /* corners */
                    continue;
                }
                n++;
                assert_true(lens_project(&l, K, ray, &u, &v));
                exact(&l, K, ray, &eu, &ev);
                if (!(hypot((double)u - x, (double)v - y) < 0.01 &&
                      hypot((double)u - eu, (double)v - ev) < 0.002))
                    fail_msg("%s: (%d, %d) comes back as (%g, %g), exactly (%g, %g)", c->name, x, y,
                             (double)u, (double)v, eu, ev);
            }
        assert_true(n > c->w * c->h / 35 * 7 / 10);
    }
}

/* A model that folds: no ray beyond comes back into the picture as if it were one within. */
TEST(what_folds_ends)
{
    const float k[5] = {-0.3f, 0, 0, 0, 0}; /* r (1 - 0.3 r^2) falls from 1.05 on */
    const struct intrinsics K = {700, 700, 319.5f, 239.5f};
    struct lens l;
    float u, v, at = 0, last = 319.5f;

    assert_int_equal(lens_make(&l, LENS_RADIAL, k, K, W, H, NULL), 0);
    assert_true(l.limit > 0.9f && l.limit < 1.06f);
    for (int i = 1; i < 2000; i++) {
        int inside = lens_project(&l, K, vec3_make((float)i / 400, 0, 1), &u, &v);

        assert_int_equal(inside, (float)i / 400 <= l.limit);
        assert_true(u >= last - 1e-3f);
        last = u;
        at = inside ? u : at;
    }
    assert_true(fabsf(last - at) < 2.0f);
    assert_false(lens_project(&l, K, vec3_make(0, 0, -1), &u, &v));
    assert_false(lens_project(&l, K, vec3_make(0.1f, 0, 0), &u, &v));
}

static void expect_refused(enum lens_model model, const float *k, struct intrinsics K, int w, int h,
                           const char *word)
{
    struct err err = {0};
    struct lens l;

    assert_int_equal(lens_make(&l, model, k, K, w, h, &err), ERR_INPUT);
    if (!strstr(err.text, word))
        fail_msg("'%s' without '%s'", err.text, word);
}

TEST(wrong_models_are_refused)
{
    const struct intrinsics wide = {250, 250, 319.5f, 239.5f};

    expect_refused(LENS_RADIAL, (const float[5]){NAN}, K640, W, H, "at most");
    expect_refused(LENS_RADIAL, (const float[5]){0, 0, 0, 0, INFINITY}, K640, W, H, "at most");
    expect_refused(LENS_FISHEYE, (const float[4]){0, 0, 0, NAN}, K640, W, H, "at most");
    expect_refused(LENS_RADIAL, (const float[5]){1001}, K640, W, H, "at most");
    expect_refused(LENS_RADIAL, (const float[5]){0, 0, 0.3f}, K640, W, H, "at most");
    expect_refused(LENS_RADIAL, (const float[5]){-0.3f}, wide, W, H, "folds 4");
    expect_refused(LENS_RADIAL, (const float[5]){-900}, K640, W, H, "folds");
    expect_refused(LENS_FISHEYE, (const float[4]){-0.3f}, wide, W, H, "folds");
    expect_refused(LENS_SPHERE, NULL, wide, 1000, 400, "twice as wide");
}

/* Whatever numbers come: a sentence, or a model whose functions are finite, there and back. */
TEST(wild_models_are_refused_or_hold)
{
    int taken = 0;

    for (int i = 0; i < 3000; i++) {
        enum lens_model model = i & 1 ? LENS_RADIAL : LENS_FISHEYE;
        double size = pow(10, uniform(-4, 1));
        struct intrinsics K = {(float)pow(10, uniform(0, 5.7)), (float)pow(10, uniform(0, 5.7)),
                               (float)uniform(-1000, 2000), (float)uniform(-1000, 2000)};
        float k[5], a, u, v;
        struct vec3 ray;
        struct lens l;

        for (int j = 0; j < 5; j++)
            k[j] = (float)(size * uniform(-1, 1));
        if (lens_make(&l, model, k, K, W, H, NULL))
            continue;
        taken++;
        for (int j = 0; j < 20; j++) {
            float x = (float)uniform(0, W), y = (float)uniform(0, H);

            if (!lens_ray(&l, K, x, y, &ray))
                continue;
            assert_true(isfinite(ray.x) && isfinite(ray.y) && isfinite(ray.z));
            lens_project(&l, K, ray, &u, &v);
            a = fabsf(x - K.cx) / K.fx + fabsf(y - K.cy) / K.fy; /* in units of which it rounds */
            if (!(hypotf(u - x, v - y) < 0.02f + 2e-5f * (1 + a) * (K.fx + K.fy)))
                fail_msg("model %d: (%g, %g) became (%g, %g)", i, (double)x, (double)y, (double)u,
                         (double)v);
        }
    }
    assert_true(taken > 300);
}

TEST(bytes_come_back)
{
    uint8_t bytes[LENS_BYTES], bad[LENS_BYTES];
    struct lens l, back;
    struct intrinsics K;

    for (size_t i = 0; i < N_KNOWN; i++) {
        l = make(&known[i], &K);
        lens_put(bytes, &l);
        assert_int_equal(lens_get(&back, bytes, NULL), 0);
        assert_memory_equal(&l, &back, sizeof l);
    }
    l = make(&known[1], &K);
    lens_put(bytes, &l);
    for (int at = 0; at < LENS_BYTES; at += 4) {
        memcpy(bad, bytes, sizeof bad);
        memset(bad + at, 0xff, 4);
        assert_int_equal(lens_get(&back, bad, NULL), ERR_INPUT);
    }
}

/* ------------------------------------------------------------------------- maps */

/* A point seen by the network's camera lies in the picture where the model says. */
TEST(maps_follow_the_model)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        struct intrinsics K;
        struct lens l = make(&known[i], &K);
        struct lens_map m = lens_map_make(&l, K, known[i].w, known[i].h, 256, 192);
        int shown = 0;

        assert_int_equal(m.mapped, known[i].model != LENS_PINHOLE);
        for (int y = 0; y < 192; y += 3)
            for (int x = 0; x < 256; x += 3) {
                struct vec3 p = vec3_make(((float)x - m.K.cx) / m.K.fx * 2.5f,
                                          ((float)y - m.K.cy) / m.K.fy * 2.5f, 2.5f);
                double eu, ev;
                float u, v;

                if (!lens_map_at(&m, (float)x, (float)y, &u, &v))
                    continue;
                shown++;
                exact(&l, K, p, &eu, &ev);
                assert_true(hypot((double)u - eu, (double)v - ev) < 0.51); /* half at the border */
                if (u > 0 && v > 0 && u < (float)known[i].w - 1 && v < (float)known[i].h - 1)
                    assert_true(hypot((double)u - eu, (double)v - ev) < 0.01);
            }
        assert_true(shown > 64 * 86 * 7 / 10);
    }
}

/* Pinhole pictures of any shape are resized each axis by itself; so is what other lenses show. */
TEST(axes_are_scaled_by_themselves)
{
    const struct lens pinhole = {0};
    const struct intrinsics K = {500, 500, 235, 322};
    struct intrinsics S = intrinsics_scale(K, H, W, 256, 192);
    struct lens_map m = lens_map_make(&pinhole, K, H, W, 256, 192);
    struct lens bent;
    float u, v;

    assert_false(m.mapped);
    assert_memory_equal(&m.K, &S, sizeof S);
    assert_true(lens_map_shows(&m, 0, 0));
    assert_int_equal(
        lens_make(&bent, LENS_RADIAL, (const float[5]){0.2f, 0, 0, 0, 0}, K, H, W, NULL), 0);
    m = lens_map_make(&bent, K, H, W, 256, 192);
    assert_true(m.mapped);
    assert_memory_equal(&m.K, &S, sizeof S);
    assert_false(lens_map_at(&m, 0, 0, &u, &v)); /* the nearest that there is */
    assert_true(u == 0.0f && v == 0.0f);
    assert_true(lens_map_at(&m, S.cx, S.cy, &u, &v));
    assert_true(fabsf(u - 235) < 1e-2f && fabsf(v - 322) < 1e-2f);
}

/* The view forward of a sphere: 45 degrees to either side. */
TEST(spheres_look_forward)
{
    struct intrinsics K;
    struct lens l = make(&known[5], &K);
    struct lens_map m = lens_map_make(&l, K, 1280, 640, 256, 192);
    float u, v;

    assert_true(lens_map_at(&m, 127.5f, 95.5f, &u, &v));
    assert_true(fabsf(u - 639.5f) < 1e-2f && fabsf(v - 319.5f) < 1e-2f);
    assert_true(lens_map_at(&m, -0.5f, 95.5f, &u, &v));
    assert_true(fabsf(u - (639.5f - 160)) < 1e-2f);
    assert_true(lens_map_at(&m, 255.5f, 95.5f, &u, &v));
    assert_true(fabsf(u - (639.5f + 160)) < 1e-2f);
}
