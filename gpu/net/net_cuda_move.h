/*
 * net_cuda_move.h - every step of a network that is no plain convolution, one kernel launch each
 *
 * Written to be right for any shape: a thread makes 8 channels of a pixel, or one number. Sums are
 * float32, from the first term to the last in one thread, so their order is that of the picture
 * alone.
 */
#ifndef RECOND_GPU_NET_CUDA_MOVE_H
#define RECOND_GPU_NET_CUDA_MOVE_H

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

enum net_cuda_move_kind {
    NET_CUDA_MOVE_COPY, /* the same shape under another pitch */
    NET_CUDA_MOVE_CONV, /* with groups */
    NET_CUDA_MOVE_DECONV,
    NET_CUDA_MOVE_ACT,
    NET_CUDA_MOVE_AFFINE,
    NET_CUDA_MOVE_BINARY,
    NET_CUDA_MOVE_POOL,
    NET_CUDA_MOVE_REMAP,
    NET_CUDA_MOVE_LERP,
    NET_CUDA_MOVE_RESHAPE,
    NET_CUDA_MOVE_TRANSPOSE,
    NET_CUDA_MOVE_SLICE,
    NET_CUDA_MOVE_SHUFFLE,
    NET_CUDA_MOVE_PART, /* src[0] becomes the part of dst that begins at `from` along `axis` */
    NET_CUDA_MOVE_FLOAT /* src[0] as float32 in row-major order */
};

/* What a kernel gets, whole; the fields are net_step's, tables are device memory. */
struct net_cuda_move {
    enum net_cuda_move_kind kind;
    struct net_cuda_view src[2], residual, dst; /* residual.p NULL = none */
    float *answer;                              /* of NET_CUDA_MOVE_FLOAT */
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
#endif
