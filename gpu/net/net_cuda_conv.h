/*
 * net_cuda_conv.h - one fused convolution on tensor cores (implicit GEMM, mma.sync, cp.async)
 *
 *     out = act(W * cat(up(src0), up(src1)) + bias + residual)
 *
 * Layout:  activations [n][h][w][pitch] halves; a source's channels are the first c of its pitch, a
 *          multiple of 8 (4 for a first layer), padding channels zero. The loads do concatenation
 *          and nearest upsampling by two: nothing is written for them.
 * Order:   K runs over (ky, kx, source, channel) in steps of 16 and is cut into `segments` equal
 *          parts, fixed for a layer whatever the batch. Each part is summed from its beginning by
 *          mma.sync, the parts are added in order as float32. A tile shape changes only which block
 *          computes an output, never the order of its sum, so the bits do not depend on it. If few
 *          tiles would leave the device idle, the parts go to different blocks, and the last block
 *          to finish adds them up.
 */
#pragma once

#include "gpu/net/net_graph.h"

#include "gpu/base/half_cuda.h"
#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct net_cuda_source {
    int c, pitch; /* real channels (padded to 8 inside), halves from pixel to pixel */
    int up;       /* 1: the tensor is stored at half height and width */
};

/* A layer, for one picture. */
struct net_cuda_conv {
    int n_src;
    struct net_cuda_source src[2];
    int h, w; /* of the input, after upsampling */
    int oh, ow, cout, out_pitch;
    struct net_window win; /* any kernel, stride, dilation, padding */
    struct net_act act;
    int has_residual, residual_pitch;
    int out_float; /* the network's answer: float32 [n][cout][oh][ow] instead of halves */
};

/* One way to run it: indices into the table of instantiated tile shapes. */
struct net_cuda_tile {
    int shape;
    int split; /* 1: each segment has its own block; 0: one block takes all segments */
};

struct net_cuda_conv_plan; /* packed weights, bias, segment count; device memory */

/* weights [cout][cin][kh][kw] float32, bias [cout] or NULL; host. Waits for `stream`. */
MUST_CHECK int net_cuda_conv_new(struct net_cuda_conv_plan **p, const struct net_cuda_conv *c,
                                 const float *weights, const float *bias, int max_batch,
                                 cudaStream_t stream, struct err *err);
void net_cuda_conv_free(struct net_cuda_conv_plan **p);
size_t net_cuda_conv_bytes(const struct net_cuda_conv_plan *p);
/*
 * net_cuda_conv_scratch - scratch memory of a split run of n pictures
 *
 * Convolutions of one stream share it, so it has the size of the largest need.
 * In/out:  *sums, *counters: bytes, raised where this layer needs more; counters are zero before
 *          the first run, and each run leaves them zero
 */
void net_cuda_conv_scratch(const struct net_cuda_conv_plan *p, int n, size_t *sums,
                           size_t *counters);

/* The tile shapes that fit this layer; returns how many were written, at most cap. [0] is the
 * rule's choice for n pictures. */
int net_cuda_conv_tiles(const struct net_cuda_conv_plan *p, int n, struct net_cuda_tile *tiles,
                        int cap);

/* Layers with one hash run equally fast in each tile shape. It covers the layer and the table of
 * shapes. */
uint64_t net_cuda_conv_hash(const struct net_cuda_conv_plan *p);

struct net_cuda_conv_args {
    const __half *src[2];
    const __half *residual;
    void *out;
    float *scratch;
    uint32_t *counters;
};
MUST_CHECK int net_cuda_conv_run(const struct net_cuda_conv_plan *p,
                                 const struct net_cuda_conv_args *a, struct net_cuda_tile tile,
                                 int n, cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
