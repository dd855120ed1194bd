/*
 * sim3.h - similarity motions, p' = s R p + t, and the one that brings points onto their partners
 *
 * Frames:  a motion takes points of one frame to another. R is stored row by row, orthonormal with
 *          determinant 1; s = 1 makes the motion rigid. struct rigid (proto/types.h) is the rigid
 *          motion in float, which stages use; this one is in double, for fits.
 * Units:   those of the points (metres)
 */
#ifndef RECOND_PROTO_SIM3_H
#define RECOND_PROTO_SIM3_H

#include "proto/err.h"
#include "proto/types.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim3 {
    double r[9], t[3], s;
};

GPU_HD static inline struct sim3 sim3_identity(void)
{
    struct sim3 m = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}, 1};
    return m;
}

/* out may be p. */
GPU_HD static inline void sim3_apply(double out[3], const struct sim3 *m, const double p[3])
{
    double x = p[0], y = p[1], z = p[2];

    for (int i = 0; i < 3; i++)
        out[i] = m->s * (m->r[3 * i] * x + m->r[3 * i + 1] * y + m->r[3 * i + 2] * z) + m->t[i];
}

/* The angle in degrees between the rotations of a and b. */
double sim3_angle_deg(const struct sim3 *a, const struct sim3 *b);

/* The rotation of the unit quaternion q = (w, x, y, z). */
void sim3_rotation(double r[9], const double q[4]);

/* Sums over the pairs of a fit. With weights w_i, partners q_i and means m, cross = sum w (p -
 * m_p)(q - m_q)^T and spread = sum w |p - m_p|^2. The means are updated with each pair (West 1979),
 * so that no pair is read twice. All zero at first. */
struct sim3_moments {
    double weight, mean_p[3], mean_q[3], cross[9], spread;
};

void sim3_moments_add(struct sim3_moments *s, const double p[3], const double q[3], double weight);

/*
 * sim3_solve - the motion that minimises  sum w |q - (s R p + t)|^2
 *
 * In:      sums of the pairs; scale: is s free, or 1?
 * Out:     *m, also on an error: then one of several motions that are equally good
 * Returns: 0; ERR_INPUT: the pairs lie on one line or in one point, or have no weight, so that no
 *          rotation follows from them
 * Maths:   R is the unit quaternion of Horn 1987, the eigenvector of the largest eigenvalue of his
 *          4 x 4 matrix; s is Umeyama's 1991, that eigenvalue over the spread (1 where it is 0); t
 *          = m_q - s R m_p
 */
MUST_CHECK int sim3_solve(struct sim3 *m, const struct sim3_moments *sums, bool scale,
                          struct err *err);

/*
 * sim3_fit - sim3_solve() for n pairs
 *
 * In:      p, q [n][3]; weight [n] >= 0, or NULL for 1
 * Cost:    O(n)
 */
MUST_CHECK int sim3_fit(struct sim3 *m, const double *p, const double *q, const double *weight,
                        size_t n, bool scale, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
