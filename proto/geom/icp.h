/*
 * icp.h - bring a cloud A onto a cloud B from a start near the truth: the iterated closest point
 *
 * Point to point (Besl and McKay 1992); pairs farther apart than a radius are left out. Answers the
 * motion that takes A's coordinates to B's. Lengths are in the unit of the points (metres). The
 * same input gives the same answer, bit for bit.
 */
#ifndef RECOND_PROTO_ICP_H
#define RECOND_PROTO_ICP_H

#include "proto/geom/sim3.h"
#include "proto/geom/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

struct icp_result {
    struct sim3 motion; /* A to B */
    size_t inliers;     /* points of A with a point of B nearer than the radius */
    double fitness;     /* inliers / points of A (as PCL and others count it) */
    double rmse;        /* of the inliers' distances; NAN without any */
    int iterations;
    bool converged;
};

/*
 * icp_score - inliers, fitness and RMSE of a given motion; the other members stay
 *
 * In:      a [n][3], all finite; b: tree over the points of B
 * Cost:    O(n log m)
 */
void icp_score(struct icp_result *out, const float *a, size_t n, const struct tree *b,
               const struct sim3 *motion, double radius_m);

/* out [n][3] = motion(a); out may be a. */
void icp_apply(float *out, const float *a, size_t n, const struct sim3 *motion);

struct icp_options {
    double radius_m; /* pairs farther apart are left out */
    int max_iterations;
    bool scale;        /* find a scale too */
    double tolerance;  /* converged: no entry of sR and of t (metres) changes by more */
    size_t max_points; /* 0 = all; else every k-th of A, so that no more are used */
    /* Is told before each round how many of the rounds are over, 0 ... 1; or NULL. */
    void (*progress)(void *ctx, double done);
    void *ctx;
};

extern const struct icp_options icp_defaults;

/*
 * icp_fit - pair each point with its nearest, fit the motion, and again
 *
 * In:      a [n][3]; b [..][3] and the tree over it; start
 * Out:     *out; inliers, fitness and rmse are those of all points of A at the end. Not converged
 *          within max_iterations is an answer, not an error
 * Returns: 0; ERR_INPUT: options; fewer than three pairs, or pairs on one line; ERR_MEMORY
 * Maths:   sim3_fit() of the pairs of each round, starting from A's unmoved points, so that
 *          rounding errors do not add up
 * Cost:    O(iterations n log m)
 */
MUST_CHECK int icp_fit(struct icp_result *out, const float *a, size_t n, const float *b,
                       const struct tree *tree, const struct sim3 *start,
                       const struct icp_options *options, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
