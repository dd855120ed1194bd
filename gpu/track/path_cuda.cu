/*
 * path_cuda.cu - the pose of a frame by one block of threads
 *
 * Grid:    a block a frame; a thread is a lane of path_block.h, which waits for the block.
 */
#include "gpu/base/cuda_try.h"
#include "gpu/track/path_cuda.h"

#define PATH_FN static __device__ inline
#define PATH_THREADS 256

PATH_FN void path_wait(void)
{
    __syncthreads();
}

#include "gpu/track/path_block.h"

static __global__ void __launch_bounds__(PATH_THREADS)
    path_kernel_run(const struct path_job *first, size_t stride)
{
    const struct path_job *job =
        (const struct path_job *)((const char *)first + (size_t)blockIdx.x * stride);
    __shared__ struct path_shared s;
    struct path_block b;
    if (!job->p)
        return;
    b.p = job->p;
    b.t = job->t;
    b.f = &job->frame;
    b.s = &s;
    b.lane = threadIdx.x;
    b.lanes = PATH_THREADS;
    path_run(&b);
}

int path_cuda_run(const struct path_job *first, size_t stride, int n, cudaStream_t stream,
                  struct err *err)
{
    cudaLaunchConfig_t config = {};
    int rc = 0;

    config.gridDim = dim3((unsigned)n);
    config.blockDim = dim3(PATH_THREADS);
    config.stream = stream;
    CU_TRY(cudaLaunchKernelEx(&config, path_kernel_run, first, stride));
out:
    return rc;
}
