/*
 * cuda_runtime.h - the part of the CUDA run-time that the fusion kernels and their rig use, on the
 * host: kernels as plain C++, so that their logic is tested where there is no GPU
 *
 * This folder comes before CUDA's own on the include path of `make check-emulated`, and nowhere
 * else.
 * Threads: of a block they are fibers of one thread of the host (emulate.cc). A fiber runs until a
 *          barrier or an exchange within its warp; then another one does. Which is next, and which
 *          block comes next, is drawn by lot (EMULATE_SEED): a result that depends on either
 *          differs from the CPU twin's.
 * Shows:   indices, counts, barriers that not all threads reach (the program ends), shared memory
 *          that is read before it was written (it holds rubbish when a block begins), passes that
 *          read what the same pass writes in another block.
 * Not:     memory order between blocks that run at once, alignment, registers, time. Kernels run
 *          when they are launched, or when the graph is that recorded them (emulate_graph.h).
 */
#pragma once

#include <malloc.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------- host */

typedef enum cudaError {
    cudaSuccess,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNotReady = 600,
    cudaErrorLaunchFailure = 719
} cudaError_t;
typedef struct emulate_stream *cudaStream_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaStreamNonBlocking = 1, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2 };

#include "tests/emulate/emulate_graph.h"

static inline const char *cudaGetErrorName(cudaError_t e)
{
    return e == cudaSuccess ? "cudaSuccess" : "cudaErrorMemoryAllocation";
}

static inline const char *cudaGetErrorString(cudaError_t e)
{
    return e == cudaSuccess ? "no error" : "out of memory";
}

static inline cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

static inline cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return cudaSuccess;
}

static inline cudaError_t cudaSetDevice(int device)
{
    (void)device;
    return cudaSuccess;
}

static inline cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
    *total = EMULATE_DEVICE_BYTES;
    *unused = *total - emulate_hold(0);
    return cudaSuccess;
}

/* What the driver gives is aligned to 256 bytes, and holds anything. */
static inline cudaError_t emulate_take(void **memory, size_t bytes)
{
    size_t whole = (bytes + 255) / 256 * 256;
    *memory = aligned_alloc(256, whole ? whole : 256);
    if (!*memory)
        return cudaErrorMemoryAllocation;
    memset(*memory, 0x5a, bytes);
    return cudaSuccess;
}

static inline cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return emulate_take(memory, bytes);
}

static inline cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    return emulate_take(memory, bytes);
}

static inline cudaError_t cudaHostGetDevicePointer(void **there, void *here, unsigned flags)
{
    (void)flags;
    *there = here;
    return cudaSuccess;
}

static inline cudaError_t cudaFree(void *memory)
{
    if (memory)
        (void)emulate_hold(-(long)malloc_usable_size(memory));
    free(memory);
    return cudaSuccess;
}

static inline cudaError_t cudaFreeHost(void *memory)
{
    free(memory);
    return cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

struct emulate_copy {
    void *to;
    const void *from;
    int byte;
    size_t n;
};

static inline void emulate_do_set(void *what)
{
    const struct emulate_copy *c = (const struct emulate_copy *)what;
    memset(c->to, c->byte, c->n);
}

static inline void emulate_do_copy(void *what)
{
    const struct emulate_copy *c = (const struct emulate_copy *)what;
    memcpy(c->to, c->from, c->n);
}

static inline cudaError_t cudaMemsetAsync(void *to, int byte, size_t n, cudaStream_t stream)
{
    struct emulate_copy c = {to, NULL, byte, n};
    if (emulate_records(stream))
        emulate_record(stream, emulate_do_set, &c, sizeof c);
    else
        emulate_do_set(&c);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n,
                                          enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct emulate_copy c = {to, from, 0, n};
    (void)kind;
    if (emulate_records(stream))
        emulate_record(stream, emulate_do_copy, &c, sizeof c);
    else
        emulate_do_copy(&c);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                                            size_t from_pitch, size_t width, size_t height,
                                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)kind;
    (void)stream;
    for (size_t i = 0; i < height; i++)
        memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    return cudaSuccess;
}

static inline cudaError_t emulate_take_device(void **memory, size_t bytes)
{
    cudaError_t e = bytes > EMULATE_DEVICE_BYTES - emulate_hold(0) ? cudaErrorMemoryAllocation
                                                                   : emulate_take(memory, bytes);
    if (e == cudaSuccess)
        (void)emulate_hold((long)malloc_usable_size(*memory));
    return e;
}

#ifndef __cplusplus
static inline cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    return emulate_take_device(memory, bytes);
}
#else
template <class T> static inline cudaError_t cudaMalloc(T **memory, size_t bytes)
{
    return emulate_take_device((void **)memory, bytes);
}

/* ------------------------------------------------------------------------- launches */

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

/* What scan_launch() asks for, and is told: no kernel may come before its turn. */
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaGraphNodeType { cudaGraphNodeTypeKernel };
struct cudaFuncAttributes {
    int ptxVersion;
};
typedef struct emulate_node *cudaGraphNode_t;
struct cudaGraphEdgeData {
    int unused;
};
enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization };
struct cudaLaunchAttribute {
    enum cudaLaunchAttributeID id;
    struct {
        int programmaticStreamSerializationAllowed;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *code, const void *kernel)
{
    (void)kernel;
    code->ptxVersion = 0;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus *status,
                                                   void *, void *, const cudaGraphNode_t **front,
                                                   const cudaGraphEdgeData **edges, size_t *n)
{
    *status = cudaStreamCaptureStatusNone;
    *front = NULL;
    *edges = NULL;
    *n = 0;
    return cudaSuccess;
}

static inline cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType *type)
{
    *type = cudaGraphNodeTypeKernel;
    return cudaSuccess;
}

typedef void emulate_thread_fn(void *kernel);
struct emulate_shared { /* shared memory of the kernels of one file */
    char *first, *end;
};
void emulate_launch(dim3 grid, dim3 block, emulate_thread_fn *thread, void *kernel,
                    struct emulate_shared shared);

/* Where static variables of the file's section begin and end, as the linker says; NULL: the file
 * has none. EMULATE_FILE is the file's stem. */
#define EMULATE_JOIN(a, b) a##b
#define EMULATE_NAMED(a, b) EMULATE_JOIN(a, b)
#define EMULATE_TEXT_OF(a) #a
#define EMULATE_TEXT(a) EMULATE_TEXT_OF(a)
#define EMULATE_SECTION EMULATE_NAMED(emulate_shared_, EMULATE_FILE)
#define EMULATE_START EMULATE_NAMED(__start_, EMULATE_SECTION)
#define EMULATE_STOP EMULATE_NAMED(__stop_, EMULATE_SECTION)
extern "C" {
extern char EMULATE_START[] __attribute__((weak)), EMULATE_STOP[] __attribute__((weak));
}

template <class... Params, class... Args>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                             void (*kernel)(Params...), Args... args)
{
    auto run = [=]() { kernel(args...); };
    typedef decltype(run) call;
    struct launch {
        dim3 grid, block;
        call thread;
    } one = {config->gridDim, config->blockDim, run};
    void (*launch_it)(void *) = [](void *what) {
        launch *l = (launch *)what;
        emulate_launch(
            l->grid, l->block, [](void *thread) { (*(call *)thread)(); }, &l->thread,
            emulate_shared{EMULATE_START, EMULATE_STOP});
    };
    if (emulate_records(config->stream))
        emulate_record(config->stream, launch_it, &one, sizeof one);
    else
        launch_it(&one);
    return cudaSuccess;
}

/* ------------------------------------------------------------------------- device */

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
/* one block runs at a time; before each, emulate_launch() fills this section with rubbish */
#define __shared__ static __attribute__((section(EMULATE_TEXT(EMULATE_SECTION))))

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return uint2{x, y};
}

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return uint4{x, y, z, w};
}

static inline float4 make_float4(float x, float y, float z, float w)
{
    return float4{x, y, z, w};
}

/* Waits for all threads of the block that have not returned. Returns the sum of what they
 * brought. */
unsigned emulate_barrier(unsigned value);
/* Waits for the warp; *all: what its 32 lanes brought. */
void emulate_exchange(uint64_t value, const uint64_t **all);

static inline void __syncthreads(void)
{
    (void)emulate_barrier(0);
}

static inline int __syncthreads_count(int value)
{
    return (int)emulate_barrier(value != 0);
}

static inline int __syncthreads_or(int value)
{
    return emulate_barrier(value != 0) != 0;
}

static inline void __syncwarp(void)
{
    const uint64_t *all;
    emulate_exchange(0, &all);
}

static inline unsigned __ballot_sync(unsigned, int value)
{
    const uint64_t *all;
    unsigned bits = 0;
    emulate_exchange(value != 0, &all);
    for (int i = 0; i < 32; i++)
        bits |= (unsigned)all[i] << i;
    return bits;
}

static inline unsigned __reduce_add_sync(unsigned, unsigned value)
{
    const uint64_t *all;
    unsigned sum = 0;
    emulate_exchange(value, &all);
    for (int i = 0; i < 32; i++)
        sum += (unsigned)all[i];
    return sum;
}

static inline unsigned __reduce_max_sync(unsigned, unsigned value)
{
    const uint64_t *all;
    unsigned most = 0;
    emulate_exchange(value, &all);
    for (int i = 0; i < 32; i++)
        most = all[i] > most ? (unsigned)all[i] : most;
    return most;
}

static inline unsigned __reduce_min_sync(unsigned, unsigned value)
{
    const uint64_t *all;
    unsigned least = ~0u;
    emulate_exchange(value, &all);
    for (int i = 0; i < 32; i++)
        least = all[i] < least ? (unsigned)all[i] : least;
    return least;
}

static inline unsigned __shfl_sync(unsigned, unsigned value, int lane)
{
    const uint64_t *all;
    emulate_exchange(value, &all);
    return (unsigned)all[lane % 32];
}

static inline unsigned __shfl_up_sync(unsigned mask, unsigned value, unsigned by)
{
    int lane = (int)threadIdx.x % 32;
    return __shfl_sync(mask, value, lane < (int)by ? lane : lane - (int)by);
}

static inline unsigned __shfl_down_sync(unsigned mask, unsigned value, unsigned by)
{
    int lane = (int)threadIdx.x % 32;
    return __shfl_sync(mask, value, lane + (int)by > 31 ? lane : lane + (int)by);
}

static inline uint64_t __shfl_xor_sync(unsigned, uint64_t value, int with)
{
    const uint64_t *all;
    emulate_exchange(value, &all);
    return all[((int)threadIdx.x % 32) ^ with];
}

/* The lower 32 of 64 bits that are moved right. */
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (by & 31));
}

/* Products of four bytes each, added up. */
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum)
{
    for (int i = 0; i < 32; i += 8)
        sum += (a >> i & 255) * (b >> i & 255);
    return sum;
}

static inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}

static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}

static inline unsigned __float_as_uint(float f)
{
    unsigned bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float __uint_as_float(unsigned bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline float rsqrtf(float f)
{
    return 1.0f / sqrtf(f);
}

template <class T, class U> static inline T atomicAdd(T *at, U value)
{
    T was = *at;
    *at = was + (T)value;
    return was;
}

template <class T, class U> static inline T atomicExch(T *at, U value)
{
    T was = *at;
    *at = (T)value;
    return was;
}

template <class T, class U> static inline T atomicCAS(T *at, T is, U value)
{
    T was = *at;
    *at = was == is ? (T)value : was;
    return was;
}

template <class T, class U> static inline T atomicMin(T *at, U value)
{
    T was = *at;
    *at = (T)value < was ? (T)value : was;
    return was;
}

template <class T, class U> static inline T atomicMax(T *at, U value)
{
    T was = *at;
    *at = (T)value > was ? (T)value : was;
    return was;
}

#endif
