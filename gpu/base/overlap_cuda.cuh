/*
 * overlap_cuda.cuh - a kernel starts on the device while the previous one still runs
 *
 * Such a kernel calls overlap_begin() first in every block. A block that skipped it would not wait
 * for the previous kernel, and the next kernel waits only for this one. So the previous kernel must
 * call it too if it started early itself.
 */
#pragma once

#include <cuda_runtime.h>

/* Lets the next kernel start, then waits for all writes of the previous one.
 * Neither call can fail on a device. */
static __device__ inline void overlap_begin(void)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    (void)cudaTriggerProgrammaticLaunchCompletion();
    (void)cudaGridDependencySynchronize();
#endif
}

/*
 * May a kernel start before the previous one is over? Conditions: its code waits in
 * overlap_begin() (code for older devices has no such wait, also when it is translated for newer
 * ones), and in a recording the previous node is a kernel, not an event or a copy.
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
 * Enqueues a kernel behind others of its chain: early if allowed.
 *
 * Returns: the error of the failed CUDA call, or cudaSuccess
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
