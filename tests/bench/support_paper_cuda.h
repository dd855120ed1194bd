/*
 * support_paper_cuda.h - the paper's three CUDA kernels, as a baseline
 *
 * Literal:  Fathy et al. 2022, Algorithms 2-5. For each keyframe: kernel 1, a thread a pixel, walks
 *           the unsorted map M of (x, y) until it meets the pixel's u_k; kernel 2, a thread a
 *           pixel, updates the point that was found or adds one to P and M. After the last
 *           keyframe: kernel 3, a thread an entry, sets unstable ones to -1. Entries are never used
 *           again.
 * Threads:  two pixels of a launch may update the same point, or both add one for the same u_k:
 *           the paper has no rule for that, and so neither have we. Its result is not the same
 *           twice.
 * Filled:   as support_paper.h, which is the serial form. Algorithm 3 compares with M[tid] and
 *           tests tid > L: read as M[i] and tid >= L. Algorithm 2 copies M and P to the device for
 *           each keyframe but back once a frame, which would lose updates: both go there once a
 *           frame, as its section 4.3 says, and u_k for each keyframe. p_i and u_k are the host's
 *           work (its Figure 4).
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/point.h"

#ifdef __cplusplus
extern "C" {
#endif

struct support_paper_cuda;

enum support_paper_cuda_mode {
    SUPPORT_PAPER_CUDA_SEARCH,   /* kernel 1 on the device, the rest serial: its "apply kernel 1" */
    SUPPORT_PAPER_CUDA_TRANSFER, /* all three, with the copies of Algorithm 2 */
    SUPPORT_PAPER_CUDA_RESIDENT  /* all three, M and P stay on the device: kindest to the paper */
};

/* capacity: of P and M; what finds no room is left out and counted.
 * Returns: 0; ERR_UNSUPPORTED: no device; ERR_MEMORY; ERR_DEVICE */
MUST_CHECK int support_paper_cuda_new(struct support_paper_cuda **p,
                                      enum support_paper_cuda_mode mode, uint32_t capacity, int w,
                                      int h, const struct fuse_params *params, struct err *err);
void support_paper_cuda_free(struct support_paper_cuda **p);

struct support_paper_cuda_result {
    uint32_t n_updated, n_inserted, n_removed, n_left_out;
    uint32_t n_points, length; /* points of P without removed ones; entries of P and M */
    /* device time of the kernels; host time of what SEARCH does there */
    double search_us, update_us, remove_us;
    double transfer_us; /* host clock, copies; 0 where M and P stay (u_k is not counted there) */
    double project_us;  /* host clock, p_i and u_k: not part of frame_us */
    double frame_us;    /* RESIDENT: the kernels; else the host's clock from first to last */
};

/* One frame: depth [h][w] of camera c against n keyframes, `threads` a block. Waits. */
MUST_CHECK int support_paper_cuda_frame(struct support_paper_cuda *p, int threads,
                                        const float *depth, const struct camera *c,
                                        const struct camera *keyframes, int n,
                                        struct support_paper_cuda_result *r, struct err *err);

/* The stable points: at most cap are written. Returns their number or an error's code. */
MUST_CHECK int support_paper_cuda_points(struct support_paper_cuda *p, struct vec3 *points,
                                         uint32_t cap, struct err *err);

#ifdef __cplusplus
}
#endif
