/*
 * overlap_cuda.cuh - a kernel comes to the device while the one in front of it still runs
 *
 * Such a kernel calls overlap_begin() first in every block, and so does the one in front of it if
 * that came early itself: a block that left without it would not have waited for the kernel before,
 * and the kernel behind waits for this one alone.
 */
#pragma once

#include <cuda_runtime.h>

/* Lets the next kernel come to the device, then waits for all that the one before has written.
 * Neither call can fail on a device. */
static __device__ inline void overlap_begin(void)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    (void)cudaTriggerProgrammaticLaunchCompletion();
    (void)cudaGridDependencySynchronize();
#endif
}

/*
 * Whether a kernel may come before the one in front of it is over: its code waits in
 * overlap_begin() (code for older devices has no such wait, also when it is translated for newer
 * ones), and in a recording the node in front is a kernel, not an event or a copy.
 */
static inline cudaError_t overlap_may(int *may, const void *kernel, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status;
    enum cudaGraphNodeType type;
    struct cudaFuncAttributes code;
    const cudaGraphNode_t *front;
    const cudaGraphEdgeData *edges;
    size_t n;
    cudaError_t e = cudaFuncGetAttributes(&code, kernel);

    *may = e == cudaSuccess && code.ptxVersion >= 90;
    if (!*may)
        return e;
    e = cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &front, &edges, &n);
    if (e != cudaSuccess || status != cudaStreamCaptureStatusActive)
        return e;
    *may = n == 1;
    if (!*may)
        return e;
    e = cudaGraphNodeGetType(front[0], &type);
    *may = e == cudaSuccess && type == cudaGraphNodeTypeKernel;
    return e;
}

/*
 * Enqueues a kernel behind others of its chain: early, if that may be.
 *
 * Returns: what the CUDA call that failed says, or cudaSuccess
 */
template <class... Params, class... Args>
static inline cudaError_t overlap_launch(void (*kernel)(Params...), dim3 grid, unsigned threads,
                                         cudaStream_t stream, Args... args)
{
    cudaLaunchAttribute overlap = {};
    cudaLaunchConfig_t config = {};
    int may = 0;
    cudaError_t e = overlap_may(&may, (const void *)kernel, stream);

    if (e != cudaSuccess)
        return e;
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = may ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, args...);
}
