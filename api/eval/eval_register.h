/*
 * eval_register.h - bring a cloud A onto a cloud B
 *
 * Two ways: point-to-point ICP from a start (Besl and McKay 1992, pairs beyond a radius rejected),
 * and fast global registration, which needs none (Zhou, Park, Koltun, "Fast Global Registration",
 * ECCV 2016). Both answer the motion that takes A's coordinates to B's. Lengths are in metres.
 * The same input gives the same answer, bit for bit.
 */
#ifndef RECOND_API_EVAL_REGISTER_H
#define RECOND_API_EVAL_REGISTER_H

#include "api/eval/eval_fit.h"
#include "api/eval/eval_tree.h"
#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eval_register_result {
    struct eval_fit_motion motion; /* A to B */
    size_t inliers;                /* points of A with a point of B nearer than the radius */
    double fitness;                /* inliers / points of A (as PCL and others count it) */
    double rmse;                   /* of the inliers' distances; NAN without any */
    int iterations;
    bool converged;
    size_t n_a, n_b;  /* global: points after thinning */
    size_t n_matches; /* global: matches that were optimised */
};

/*
 * eval_register_score - inliers, fitness and RMSE of a given motion
 *
 * In:      a [n][3] checked by eval_cloud_check(); b: tree over the truth, 3 dimensions
 * Cost:    O(n log m)
 */
void eval_register_score(struct eval_register_result *out, const float *a, size_t n,
                         const struct eval_tree *b, const struct eval_fit_motion *motion,
                         double radius_m);

/* out [n][3] = motion(a); out may be a. */
void eval_register_apply(float *out, const float *a, size_t n,
                         const struct eval_fit_motion *motion);

struct eval_register_icp_options {
    double radius_m; /* pairs farther apart are left out */
    int max_iterations;
    bool scale;        /* find a scale too */
    double tolerance;  /* converged: no entry of sR and of t (metres) changes by more */
    size_t max_points; /* 0 = all; else every k-th of A, so that no more are used */
};

extern const struct eval_register_icp_options eval_register_icp_defaults;

/*
 * eval_register_icp - point-to-point ICP
 *
 * In:      b [n_b][3] and its tree; start
 * Out:     *out; inliers, fitness and rmse are those of all points of A at the end. Not converged
 *          within max_iterations is an answer, not an error
 * Returns: 0; ERR_INPUT: options; fewer than three pairs, or on one line; ERR_MEMORY
 * Cost:    O(iterations n log n_b)
 */
MUST_CHECK int eval_register_icp(struct eval_register_result *out, const float *a, size_t n,
                                 const float *b, const struct eval_tree *tree,
                                 const struct eval_fit_motion *start,
                                 const struct eval_register_icp_options *options, struct err *err);

struct eval_register_global_options {
    double voxel_m;     /* clouds are thinned to one mean point per cell; 0 = B's diagonal / 128 */
    double tuple_ratio; /* of two corresponding edges, the shorter over the longer, at least */
    int max_tuples;
    uint64_t seed;
    bool scale;
};

extern const struct eval_register_global_options eval_register_global_defaults;

/*
 * eval_register_global - fast global registration
 *
 * Thin to voxel_m; normals by PCA of up to 30 neighbours within 2 voxels; FPFH (Rusu 2009) of up to
 * 100 neighbours within 5 voxels, its three angles folded so that a normal and its opposite give
 * the same (a cloud does not say from where it was seen); matches that are each other's nearest
 * descriptor; triples of them whose three edges are as long in both clouds; then the paper's
 * scaled Geman-McClure objective with its line process, mu from the squared diameter down to the
 * squared voxel by 1.4 every four rounds. Each round finds T exactly (eval_fit_pairs with the
 * weights), where the paper makes one Gauss-Newton step.
 *
 * Out:     *out; inliers, fitness and rmse of all points of A within two voxels of B
 * Returns: 0; ERR_INPUT: options, clouds without enough structure; ERR_LIMIT: a voxel so small that
 *          a cloud is more than 2^20 cells long, or more than EVAL_REGISTER_THIN_MAX points remain;
 *          ERR_MEMORY
 * Cost:    O(n log n) to thin n points; then neighbours and descriptors of the m that remain, the
 *          matches O(m log m) where descriptors differ and O(m^2) where they do not
 */
#define EVAL_REGISTER_THIN_MAX 60000
MUST_CHECK int eval_register_global(struct eval_register_result *out, const float *a, size_t n_a,
                                    const float *b, size_t n_b,
                                    const struct eval_register_global_options *options,
                                    struct err *err);

#endif
