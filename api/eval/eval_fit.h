/*
 * eval_fit.h - the rigid or similarity motion that brings one list of points onto another
 */
#ifndef RECOND_API_EVAL_FIT_H
#define RECOND_API_EVAL_FIT_H

#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>

/* p' = s R p + t; R row by row, s = 1 for a rigid one, t in the unit of the points (metres). */
struct eval_fit_motion {
    double r[9], t[3], s;
};

extern const struct eval_fit_motion eval_fit_identity;

void eval_fit_apply(double out[3], const struct eval_fit_motion *m, const double p[3]);
/* First b, then a. */
struct eval_fit_motion eval_fit_product(const struct eval_fit_motion *a,
                                        const struct eval_fit_motion *b);
/* Angle of the rotation that leads from a's to b's, in degrees. */
double eval_fit_angle(const struct eval_fit_motion *a, const struct eval_fit_motion *b);

/*
 * eval_fit_jacobi - eigenvalues and eigenvectors of a symmetric matrix, by Jacobi's rotations
 *
 * In/out:  a [n][n], n <= 4: destroyed
 * Out:     value [n] descending; vector [n][n]: row i belongs to value[i], of length 1
 */
void eval_fit_jacobi(double *value, double *vector, double *a, int n);

/*
 * eval_fit_pairs - least-squares motion from p to q (Horn 1987: the quaternion is the eigenvector
 * of a 4x4 matrix; scale as Umeyama 1991, which minimises the distances at q)
 *
 * In:      p, q [n][3]; weight [n] >= 0 or NULL; scale: is the motion to have one?
 * Returns: 0; ERR_INPUT: all pairs lie on one line, in one point, or have no weight: no rotation
 *          follows from them
 * Cost:    O(n)
 */
MUST_CHECK int eval_fit_pairs(struct eval_fit_motion *m, const double *p, const double *q,
                              const double *weight, size_t n, bool scale, struct err *err);

#endif
