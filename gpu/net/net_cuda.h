/*
 * net_cuda.h - the CUDA executor of networks: fp16 channels-last, float32 sums, one plan for every
 * batch size
 *
 * A plan holds packed fp16 weights (once), activations for `max_batch` pictures, and for each batch
 * size 1, 2, 4 ... max_batch the tile shape of every convolution (net_cuda_tune.c measures them
 * once and keeps them on disk).
 * Bits:    a picture's result does not depend on the batch size, its place in the batch or the
 *          other pictures: every sum is taken in one fixed order (net_cuda_conv.h, "Order").
 * Error:   within 5e-3 of the float32 executor, relative to the largest value of the output, for
 *          the shipped networks; tests/twin/gpu_net.c allows 1e-2 for others.
 */
#pragma once

#include "gpu/net/net.h"

#include "gpu/base/half_cuda.h"
#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct net_cuda;

struct net_cuda_config {
    int h, w, max_batch;      /* max_batch: a power of two, at most 64 */
    const char *cache_path;   /* folder for measured tile shapes; NULL or "" = no folder */
    int tune;                 /* 0: take tile shapes by rule, measure nothing (tests) */
    struct net_limits limits; /* max_plan_bytes 0: those of net_limits_default() */
};

/* Device memory is allocated here and nowhere else. Runs on `stream` and waits for it.
 * Returns: 0; ERR_INPUT, ERR_UNSUPPORTED (where names the node), ERR_LIMIT, ERR_MEMORY,
 *          ERR_DEVICE */
MUST_CHECK int net_cuda_new(struct net_cuda **p, const struct net *net,
                            const struct net_cuda_config *config, cudaStream_t stream,
                            struct err *err);
void net_cuda_free(struct net_cuda **p);

/* Device memory [max_batch][h][w][pitch] halves, pitch = 4 for up to 4 input channels, else a
 * multiple of 8; the writing kernel must leave channels beyond the network's zero, as they are at
 * first. */
__half *net_cuda_input(const struct net_cuda *p);
int net_cuda_input_pitch(const struct net_cuda *p);
/* Device memory [max_batch] x output shape, float32 row-major (as net_output_shape() with n =
 * 1). */
const float *net_cuda_output(const struct net_cuda *p);

/* Enqueue the network for pictures 0 ... n-1; n <= max_batch, rounded up to a power of two inside.
 * May be captured into a graph. Allocates nothing, waits for nothing. */
MUST_CHECK int net_cuda_run(struct net_cuda *p, int n, cudaStream_t stream, struct err *err);

size_t net_cuda_bytes(const struct net_cuda *p); /* device memory */
double net_cuda_flops(const struct net_cuda *p); /* of one picture */

#ifdef __cplusplus
}
#endif
