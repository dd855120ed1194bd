/* panorama_cuda.cuh - helpers of the kernels of a panorama session (internal to them) */
#pragma once

#include "gpu/base/cuda_try.h"
#include "gpu/mono/scan_cuda.cuh"
#include "gpu/panorama/panorama_cuda.h"

#define PANORAMA_ALL 0xffffffffu /* lanes of a warp */

/* Enqueues a kernel with grid (blocks, the batch's pairs) on the pass's stream. */
template <class... Params, class... Args>
static inline int panorama_launch(void (*kernel)(Params...), unsigned blocks, unsigned threads,
                                  unsigned pairs, cudaStream_t stream, struct err *err,
                                  Args... args)
{
    cudaLaunchConfig_t config = {};
    int rc;
    config.gridDim = dim3(blocks, pairs);
    config.blockDim = dim3(threads);
    config.stream = stream;
    CU_TRY(cudaLaunchKernelEx(&config, kernel, args...));
out:
    return rc;
}

static inline int panorama_launch_pass(void (*kernel)(const struct pair_cuda *), unsigned blocks,
                                       unsigned threads, const struct pass_cuda *p, struct err *err)
{
    return panorama_launch(kernel, blocks, threads, (unsigned)p->n, p->stream, err,
                           (const struct pair_cuda *)p->args);
}

static __device__ inline void panorama_stamp(const struct pair_cuda *p, int pass)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        p->s.stamp_ns[pass] = scan_now();
}
