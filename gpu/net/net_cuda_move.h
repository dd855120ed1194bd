/*
 * net_cuda_move.h - all steps of a network except plain convolutions, one kernel launch each
 *
 * The kernels take any shape: a thread makes 8 channels of a pixel, or one number. Sums are
 * float32, from the first term to the last in one thread, so their order does not depend on the
 * batch.
 */
#pragma once

#include "gpu/base/half_cuda.h"
#include "gpu/net/net_graph.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor [d0][d1][d2][d3] of the graph as it lies on the device: [picture][d0][d2][d3][pitch]. */
struct net_cuda_view {
    __half *p;
    int d[4];
    int pitch; /* a multiple of 8; 4 for a narrow input, which no move writes */
};

/*
 * The arguments of a kernel; the fields are net_step's, tables are device memory. Three kinds of
 * moves are only parts of steps:
 *     NET_STEP_NONE    src[0] under another pitch
 *     NET_STEP_CONCAT  src[0] as the part of dst that begins at `from` along `axis`
 *     answer set       src[0] as float32 in row-major order
 */
struct net_cuda_move {
    enum net_step_kind kind;
    struct net_cuda_view src[2], residual, dst; /* residual.p NULL = none */
    float *answer;                              /* NULL = the result goes to dst */
    struct net_act act;
    struct net_window win;
    enum net_binary binary;
    enum net_pool pool;
    float fill;
    int group, axis, first, block, crd, perm[4];
    int from, is_last; /* the last part also writes the zeros behind the channels */
    const int *i0[2], *i1[2];
    const float *w1[2];
    const float *scale, *bias; /* [channels]; NULL = 1, 0 */
    const float *weight;       /* [kh][kw][I/g][O] */
};

/* Enqueue for pictures 0 ... n-1. Returns: 0; ERR_DEVICE */
MUST_CHECK int net_cuda_move_run(const struct net_cuda_move *m, int n, cudaStream_t stream,
                                 struct err *err);

#ifdef __cplusplus
}
#endif
