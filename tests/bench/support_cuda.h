/*
 * support_cuda.h - what the measurements of the CUDA back end share: the card, its copy rate,
 * medians
 *
 * Clock:   events around work that was enqueued ahead of the device. support_cuda_hold() keeps a
 *          stream back while the host fills its queue; without it a short graph is timed by the
 *          host's launches.
 */
#pragma once

#include "proto/err.h"

#include <cuda_runtime.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SUPPORT_CUDA_SKIP 77 /* exit status: nothing to measure here, said why */

struct support_cuda_card {
    char name[64];
    int multiprocessors;
    double clock_ghz;
    double l2_mib;
};

/* Returns: 0; ERR_UNSUPPORTED: no device that works. */
MUST_CHECK int support_cuda_open(struct support_cuda_card *card, cudaStream_t *stream,
                                 struct err *err);

/* Bytes read plus bytes written a second by cudaMemcpyAsync() within the device: 1 GiB, median of
 * 20. */
MUST_CHECK int support_cuda_copy_rate(double *bytes_per_s, cudaStream_t stream, struct err *err);

/* Sorts v. */
double support_cuda_median(double *v, int n);

/* Work behind this waits until so many milliseconds have passed. */
MUST_CHECK int support_cuda_hold(cudaStream_t stream, int ms, struct err *err);

/* Halves in -2...2, the same in every run: [pixels][pitch], channels beyond c are zero. */
MUST_CHECK int support_cuda_noise(void *halves, size_t pixels, int c, int pitch,
                                  cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
