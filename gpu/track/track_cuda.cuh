/*
 * track_cuda.cuh - how kernels of tracks find their frame, and are launched
 */
#pragma once

#include "gpu/base/cuda_try.h"
#include "gpu/base/overlap_cuda.cuh"
#include "gpu/track/track_cuda.h"

#define TRACK_BLOCK 256 /* threads, a pixel each */

typedef void track_kernel(const struct track_job *first, size_t stride, int level);

/* A kernel calls this first, and so waits for the previous kernel. */
static __device__ inline const struct track_job *track_job_of(const struct track_job *first,
                                                              size_t stride)
{
    overlap_begin();
    return (const struct track_job *)((const char *)first + (size_t)blockIdx.y * stride);
}

static __device__ inline uint8_t *track_now(const struct track *t)
{
    return t->pyramid[t->n_frames % 2];
}

static inline uint32_t track_blocks(uint32_t elements, uint32_t threads)
{
    return (elements + threads - 1) / threads;
}

static inline int track_launch(track_kernel *kernel, uint32_t blocks, unsigned threads,
                               const struct track_batch *b, int level, struct err *err)
{
    int rc = 0;

    CU_TRY(overlap_launch(kernel, dim3(blocks, (unsigned)b->n), threads, b->stream, b->first,
                          b->stride, level));
out:
    return rc;
}
