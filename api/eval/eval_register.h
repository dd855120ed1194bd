/*
 * eval_register.h - bring a cloud A onto a cloud B without a start: fast global registration
 *
 * Zhou, Park, Koltun, "Fast Global Registration", ECCV 2016. Answers the motion that takes A's
 * coordinates to B's, near enough for icp_fit() (proto/geom/icp.h) to go on from. Lengths are in
 * metres. The same input gives the same answer, bit for bit.
 */
#ifndef RECOND_API_EVAL_REGISTER_H
#define RECOND_API_EVAL_REGISTER_H

#include "proto/geom/icp.h"

struct eval_register_result {
    /* inliers, fitness and rmse are of all points of A within two voxels of B */
    struct icp_result fit;
    size_t n_a, n_b;  /* points after thinning */
    size_t n_matches; /* matches that were optimised */
};

struct eval_register_global_options {
    /* Clouds are thinned to one mean point per cell of this side; 0 = B's diagonal / 128, or what
     * the limits below allow. */
    double voxel_m;
    double tuple_ratio; /* of two corresponding edges, the shorter over the longer, at least */
    int max_tuples;
    uint64_t seed;
    bool scale;
};

extern const struct eval_register_global_options eval_register_global_defaults;

/*
 * eval_register_global - fast global registration
 *
 * Both clouds are thinned to one mean point per voxel. Normals come from up to 30 neighbours within
 * 2 voxels, descriptors (FPFH, Rusu 2009) from up to 100 neighbours within 5 voxels; their three
 * angles are folded so that a normal and its opposite give the same, because a cloud does not say
 * from where it was seen. Matches are points that are each other's nearest descriptor. Triples of
 * matches whose three edges are as long in both clouds go into robust_fit() (proto/geom/robust.h),
 * from the diameter of the clouds down to a voxel.
 *
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
