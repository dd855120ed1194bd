/*
 * geom_case.h - clouds and motions that tests of geometry share: noise with a seed, a plane
 */
#ifndef RECOND_TESTS_GEOM_CASE_H
#define RECOND_TESTS_GEOM_CASE_H

#include "proto/geom/sim3.h"
#include "tests/support/unit.h"

#include <stdlib.h>

#define DEGREE (M_PI / 180)

static uint64_t state = 1;

/* Uniform in [lo, hi), splitmix64. */
static inline double uniform(double lo, double hi)
{
    uint64_t v = state += 0x9e3779b97f4a7c15u;

    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    v ^= v >> 31;
    return lo + (hi - lo) * (double)(v >> 11) * 0x1p-53;
}

static inline float *cloud_of(size_t n)
{
    float *xyz = calloc(n, 3 * sizeof *xyz);

    assert_non_null(xyz);
    return xyz;
}

static inline void near(double is, double should, double within)
{
    if (!(fabs(is - should) <= within))
        fail_msg("%.12g is not %.12g within %g", is, should, within);
}

/* A square grid of side x side points in the plane z, 0.2 m apart. */
static inline float *plane(int side, float z)
{
    float *xyz = cloud_of((size_t)(side * side));

    for (int i = 0; i < side * side; i++) {
        xyz[3 * i] = 0.2f * (float)(i % side);
        xyz[3 * i + 1] = 0.2f * (float)(i / side);
        xyz[3 * i + 2] = z;
    }
    return xyz;
}

static inline struct sim3 motion_of(const double axis[3], double degrees, double x, double y,
                                    double z, double s)
{
    double c = cos(degrees * DEGREE),
           n = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    double u[3] = {axis[0] / n, axis[1] / n, axis[2] / n}, sn = sin(degrees * DEGREE);
    const double hat[9] = {0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0};
    struct sim3 m = {.t = {x, y, z}, .s = s};

    for (int i = 0; i < 9; i++)
        m.r[i] = (i % 4 ? 0 : c) + sn * hat[i] + (1 - c) * u[i / 3] * u[i % 3];
    return m;
}

static inline double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static inline void same_motion(const struct sim3 *is, const struct sim3 *should, double metres,
                               double degrees, double scale)
{
    near(distance(is->t, should->t), 0, metres);
    near(sim3_angle_deg(is, should), 0, degrees);
    near(is->s, should->s, scale);
}

#endif
