/*
 * views_cuda.cuh - how kernels of many views find their frame, and are launched
 */
#pragma once

#include "gpu/base/cuda_try.h"
#include "gpu/base/overlap_cuda.cuh"
#include "gpu/views/views_cuda.h"

#define VIEWS_BLOCK 256 /* threads, a pixel each */

/* A kernel calls this first, and so waits for the previous kernel. */
static __device__ inline const struct views_job *views_job_of(const struct views_job *first,
                                                              size_t stride)
{
    overlap_begin();
    return (const struct views_job *)((const char *)first + (size_t)blockIdx.y * stride);
}

static __device__ inline uint32_t views_pixel_of_thread(void)
{
    return blockIdx.x * VIEWS_BLOCK + threadIdx.x;
}

static inline uint32_t views_blocks(const struct views_batch *b)
{
    return (b->pixels_max + VIEWS_BLOCK - 1) / VIEWS_BLOCK;
}

typedef void views_kernel(const struct views_job *first, size_t stride);

/* Launches a kernel with arguments besides its jobs. */
template <class Kernel, class... More>
static inline int views_launch_by(Kernel *kernel, dim3 grid, unsigned threads,
                                  const struct views_batch *b, struct err *err, More... more)
{
    int rc = 0;

    CU_TRY(overlap_launch(kernel, grid, threads, b->stream, b->first, b->stride, more...));
out:
    return rc;
}

static inline int views_launch(views_kernel *kernel, uint32_t blocks, unsigned threads,
                               const struct views_batch *b, struct err *err)
{
    return views_launch_by(kernel, dim3(blocks, (unsigned)b->n), threads, b, err);
}
