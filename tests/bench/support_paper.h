/*
 * support_paper.h - the paper's own fusion, serial: its pseudo code with the linear search, as a
 * baseline
 *
 * Literal:  Fathy et al. 2021, Figure 3 (= Algorithm 1 of the CUDA paper of 2022), lines 1-28: one
 *           point map M of (x, y, point), unsorted and shared by all keyframes, searched from its
 *           beginning for every pixel and keyframe; what is not found is inserted in P and M; after
 *           the frame the unstable points are removed (Algorithm 5: entries of P and M set to -1).
 * Filled:   constants that the paper does not print are ours (fuse_params): first confidence, first
 *           weight, threshold of stability. A point is removed if it is still unstable in the frame
 *           after its insertion: with the letter (at once) no point could ever be seen twice.
 * Cost:     O(pixels * keyframes * length of M) a frame
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/point.h"

struct support_paper;

/* capacity: of P and M; what finds no room is left out and counted. */
MUST_CHECK int support_paper_new(struct support_paper **p, uint32_t capacity,
                                 const struct fuse_params *params, struct err *err);
void support_paper_free(struct support_paper **p);

struct support_paper_result {
    uint32_t n_updated, n_inserted, n_removed, n_left_out;
    uint32_t n_points;   /* length of P, without removed ones */
    uint64_t n_compared; /* entries of M that the search looked at */
    double search_us, update_us, remove_us;
};

/* One frame: depth [h][w] of camera c, against n keyframes. */
void support_paper_frame(struct support_paper *p, const float *depth, const struct camera *c,
                         const struct camera *keyframes, int n, struct support_paper_result *r);
