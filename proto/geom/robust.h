/*
 * robust.h - what a few wrong values cannot move: ranks, and a fit that leaves wrong pairs out
 */
#ifndef RECOND_PROTO_ROBUST_H
#define RECOND_PROTO_ROBUST_H

#include "proto/geom/sim3.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROBUST_ROUNDS_MAX 400 /* as many show that `from` or `to` was no length */

/* Sorts n finite values, the smallest first. */
void robust_sort(double *v, size_t n);

/*
 * robust_select - the value of rank k, counted from 0: the median for k = n / 2
 *
 * In/out:  v [n], n > k, finite: reordered
 * Cost:    O(n) where values are in any order
 */
float robust_select(float *v, size_t n, size_t k);

/*
 * robust_fit - the motion that most of the pairs agree on, by graduated non-convexity
 *
 * In:      p, q [n][3]; from: residuals of the start, to: those of right pairs, in metres; scale:
 *          is one to be found?
 * Out:     *m; weight [n]: 1 where a pair is right, towards 0 where it is wrong; *rounds
 * Returns: 0; as sim3_fit()
 * Maths:   minimises  sum mu r^2 / (mu + r^2),  the scaled Geman-McClure of Zhou, Park and Koltun
 *          2016, by reweighted fits with l = (mu / (mu + r^2))^2; mu goes from from^2 down to to^2
 *          by 1.4 every four rounds. Each round is an exact fit, where the paper makes one
 *          Gauss-Newton step.
 * Cost:    O(n log(from / to))
 */
MUST_CHECK int robust_fit(struct sim3 *m, double *weight, int *rounds, const double *p,
                          const double *q, size_t n, double from, double to, bool scale,
                          struct err *err);

#ifdef __cplusplus
}
#endif
#endif
