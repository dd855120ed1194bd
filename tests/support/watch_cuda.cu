/* The wrapped calls (CUDA 13: a launch is __cudaLaunchKernel). Linked only where a test names
 * watch_cuda_*(), and then with the Makefile's WATCHED: elsewhere __real_* does not exist. */
#include "tests/support/watch_cuda.h"

#include <cuda_runtime.h>
#include <stdio.h>

static volatile int watching, n_made, n_streamed, n_streamless;
static char offender[64];

static void blame(volatile int *count, const char *call)
{
    if (__atomic_fetch_add(count, 1, __ATOMIC_RELAXED) == 0 && !offender[0])
        snprintf(offender, sizeof offender, "%s", call);
}

static void saw_made(const char *call)
{
    if (watching)
        blame(&n_made, call);
}

static void saw_stream(const char *call, cudaStream_t stream)
{
    if (!watching)
        return;
    __atomic_add_fetch(&n_streamed, 1, __ATOMIC_RELAXED);
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        blame(&n_streamless, call);
}

static void saw_no_stream(const char *call)
{
    if (watching)
        blame(&n_streamless, call);
}

void watch_cuda_begin(void)
{
    n_made = n_streamed = n_streamless = 0;
    offender[0] = '\0';
    watching = 1;
}

struct watch_cuda watch_cuda_end(void)
{
    struct watch_cuda w = {n_made, n_streamed, n_streamless, ""};

    watching = 0;
    snprintf(w.offender, sizeof w.offender, "%s", offender);
    return w;
}

int watch_cuda_misbehave(void)
{
    void *p = NULL;
    cudaError_t e = cudaMalloc(&p, 256);

    if (e == cudaSuccess)
        e = cudaMemsetAsync(p, 0, 256, 0);
    if (e == cudaSuccess)
        e = cudaMemsetAsync(p, 0, 256, cudaStreamLegacy);
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(cudaStreamLegacy);
    watching = 0;
    (void)cudaFree(p);
    return (int)e;
}

/* MADE and NO_STREAM note the call, STREAMED its stream, then the call is made. */
#define WRAP(saw, name, parameters, arguments)       \
    extern "C" cudaError_t __real_##name parameters; \
    extern "C" cudaError_t __wrap_##name parameters  \
    {                                                \
        saw;                                         \
        return __real_##name arguments;              \
    }
#define MADE(name, parameters, arguments) WRAP(saw_made(#name), name, parameters, arguments)
#define NO_STREAM(name, parameters, arguments) \
    WRAP(saw_no_stream(#name), name, parameters, arguments)
#define STREAMED(name, stream, parameters, arguments) \
    WRAP(saw_stream(#name, stream), name, parameters, arguments)

MADE(cudaMalloc, (void **p, size_t n), (p, n))
MADE(cudaMallocManaged, (void **p, size_t n, unsigned flags), (p, n, flags))
MADE(cudaMallocHost, (void **p, size_t n), (p, n))
MADE(cudaHostAlloc, (void **p, size_t n, unsigned flags), (p, n, flags))
MADE(cudaHostRegister, (void *p, size_t n, unsigned flags), (p, n, flags))
MADE(cudaMallocAsync, (void **p, size_t n, cudaStream_t s), (p, n, s))
MADE(cudaFreeAsync, (void *p, cudaStream_t s), (p, s))
MADE(cudaFree, (void *p), (p))
MADE(cudaFreeHost, (void *p), (p))
MADE(cudaStreamCreateWithFlags, (cudaStream_t * s, unsigned flags), (s, flags))
MADE(cudaStreamCreateWithPriority, (cudaStream_t * s, unsigned flags, int priority),
     (s, flags, priority))
MADE(cudaEventCreate, (cudaEvent_t * e), (e))
MADE(cudaEventCreateWithFlags, (cudaEvent_t * e, unsigned flags), (e, flags))
MADE(cudaGraphInstantiate, (cudaGraphExec_t * x, cudaGraph_t g, unsigned long long flags),
     (x, g, flags))
MADE(cudaGraphExecDestroy, (cudaGraphExec_t x), (x))

STREAMED(__cudaLaunchKernel, s,
         (cudaKernel_t k, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s),
         (k, grid, block, args, shared, s))
STREAMED(cudaLaunchKernel, s,
         (const void *k, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s),
         (k, grid, block, args, shared, s))
STREAMED(cudaLaunchKernelExC, c->stream, (const cudaLaunchConfig_t *c, const void *k, void **args),
         (c, k, args))
STREAMED(cudaMemcpyAsync, s,
         (void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s),
         (to, from, n, kind, s))
STREAMED(cudaMemcpy2DAsync, s,
         (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t w, size_t h,
          enum cudaMemcpyKind kind, cudaStream_t s),
         (to, to_pitch, from, from_pitch, w, h, kind, s))
STREAMED(cudaMemsetAsync, s, (void *to, int value, size_t n, cudaStream_t s), (to, value, n, s))
STREAMED(cudaGraphUpload, s, (cudaGraphExec_t x, cudaStream_t s), (x, s))
STREAMED(cudaGraphLaunch, s, (cudaGraphExec_t x, cudaStream_t s), (x, s))
STREAMED(cudaEventRecord, s, (cudaEvent_t e, cudaStream_t s), (e, s))
STREAMED(cudaStreamWaitEvent, s, (cudaStream_t s, cudaEvent_t e, unsigned flags), (s, e, flags))
STREAMED(cudaLaunchHostFunc, s, (cudaStream_t s, cudaHostFn_t fn, void *what), (s, fn, what))
STREAMED(cudaStreamSynchronize, s, (cudaStream_t s), (s))

NO_STREAM(cudaDeviceSynchronize, (void), ())
NO_STREAM(cudaMemcpy, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind),
          (to, from, n, kind))
NO_STREAM(cudaMemset, (void *to, int value, size_t n), (to, value, n))
