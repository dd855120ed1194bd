/*
 * scan_cuda.cuh - lists in the order of pixels, written by all blocks at once (internal to the
 * fusion kernels)
 *
 * A list is made by two passes. The first counts per block and ends in scan_arrive(), whose last
 * block turns counts into offsets with scan_offsets(); the second takes its place in the block from
 * scan_rank() and adds the block's offset. Two lists travel in one word: the low and the high half.
 * Order:   an exclusive sum over blocks, then over threads: the order in which a loop over pixels
 *          would have appended, whatever the order in which blocks run.
 * Blocks:  SCAN_BLOCK threads, a pixel a thread: block b of a frame has pixels from b*SCAN_BLOCK.
 *          blockIdx.y is the frame. Blocks beyond a smaller frame's last one leave at once and are
 *          not waited for.
 * Launch:  a kernel launched by scan_launch() comes to the device while the one before it runs, and
 *          waits in scan_begin() until that one is over. Both must call scan_begin() first in every
 *          block: a block that left without it would not have waited for the kernel before, and the
 *          kernel behind waits for this one alone.
 */
#ifndef RECOND_GPU_SCAN_CUDA_CUH
#define RECOND_GPU_SCAN_CUDA_CUH

#include "gpu/session_cuda.h"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#define SCAN_BLOCK 256
#define SCAN_CHUNKS 128 /* blocks that share a list whose length only the device knows */

/* The passes that count, and whose turn it is at which ticket and counts. */
enum scan_kind {
    SCAN_UPDATE, /* newly unstable points | changes of updated points */
    SCAN_INSERT, /* pixels that insert | 0 */
    SCAN_VOTE,   /* carved points | those of them that were published */
    SCAN_KEEP,   /* unstable points that stay | that expired */
    SCAN_CHANGE, /* only the ticket */
    SCAN_KINDS
};

/* What a frame's passes found out about a pixel (session_dev.mark). */
enum scan_mark {
    SCAN_MARK_UNSTABLE = 1,   /* its update made a stable point unstable */
    SCAN_MARK_PUT = 2,        /* the updated point is sent ... */
    SCAN_MARK_REMOVE = 4,     /* ... or taken back */
    SCAN_MARK_CARVED = 8,     /* its vote was the last one */
    SCAN_MARK_WITHDRAWN = 16, /* and clients held the point */
    SCAN_MARK_WON = 32        /* it updated its point */
};

static inline uint32_t scan_blocks(uint32_t n)
{
    return (n + SCAN_BLOCK - 1) / SCAN_BLOCK;
}

static __device__ inline uint32_t scan_blocks_of(uint32_t n)
{
    return (n + SCAN_BLOCK - 1) / SCAN_BLOCK;
}

static __device__ inline uint32_t scan_pixel(void)
{
    return blockIdx.x * SCAN_BLOCK + threadIdx.x;
}

/* Lets the next kernel come to the device, then waits for all that the one before has written. The
 * two calls have no outcome on a device. */
static __device__ inline void scan_begin(void)
{
#if __CUDA_ARCH__ >= 900
    (void)cudaTriggerProgrammaticLaunchCompletion();
    (void)cudaGridDependencySynchronize();
#endif
}

/*
 * Whether a kernel may come before the one in front of it is over: its code waits in scan_begin()
 * (code for older devices has no such wait, also when it is translated for newer ones), and in a
 * recording the node in front is a kernel, not an event or a copy.
 */
static inline cudaError_t scan_may_overlap(int *may, const void *kernel, cudaStream_t stream)
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

/* Launches a kernel behind one of ours. */
template <class... Params, class... Args>
static inline cudaError_t scan_launch(void (*kernel)(Params...), dim3 grid, unsigned block,
                                      cudaStream_t stream, Args... args)
{
    cudaLaunchAttribute overlap = {};
    cudaLaunchConfig_t config = {};
    int may = 0;
    cudaError_t e = scan_may_overlap(&may, (const void *)kernel, stream);

    if (e != cudaSuccess)
        return e;
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid;
    config.blockDim = dim3(block);
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = may ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, args...);
}

/* The frame has no work for this block. */
static __device__ inline bool scan_idle(const struct session_dev *s)
{
    return s == NULL || blockIdx.x >= scan_blocks_of(s->n_pixels);
}

static __device__ inline uint64_t scan_pair(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

static __device__ inline uint32_t scan_low(uint64_t pair)
{
    return (uint32_t)pair;
}

static __device__ inline uint32_t scan_high(uint64_t pair)
{
    return (uint32_t)(pair >> 32);
}

/* Two flags of each thread to the number of threads before it that have them. All threads of the
 * block call it. */
static __device__ inline uint64_t scan_rank(bool low, bool high)
{
    typedef cub::BlockScan<uint32_t, SCAN_BLOCK> scan;
    __shared__ typename scan::TempStorage temp;
    uint32_t flags = (uint32_t)low | (uint32_t)high << 16, before;
    scan(temp).ExclusiveSum(flags, before);
    __syncthreads();
    return scan_pair(before & 0xffffu, before >> 16);
}

/* The offset of this block in the two lists of a pass that is over. */
static __device__ inline uint64_t scan_offset(const struct session_dev *s, enum scan_kind kind,
                                              uint32_t block)
{
    return s->block_counts[(size_t)kind * s->n_counts + block];
}

/*
 * A block is done: leaves its pair of counts (that of thread 0).
 * Returns: to all its threads, true in the block that is the last of n_blocks; it sees the counts
 *          and what thread 0 of the others wrote before, not what their other threads did: nobody
 *          waits for those stores here
 */
static __device__ inline bool scan_arrive(struct session_dev *s, enum scan_kind kind,
                                          uint32_t n_blocks, uint64_t pair)
{
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        s->block_counts[(size_t)kind * s->n_counts + blockIdx.x] = pair;
        __threadfence();
        last = atomicAdd(&s->tickets[kind], 1u) == n_blocks - 1;
        if (last)
            s->tickets[kind] = 0;
        __threadfence();
    }
    __syncthreads();
    return last;
}

/* Counts to offsets, by all threads of the last block. Returns the totals, to all. */
static __device__ inline uint64_t scan_offsets(struct session_dev *s, enum scan_kind kind,
                                               uint32_t n_blocks)
{
    typedef cub::BlockScan<uint64_t, SCAN_BLOCK> scan;
    __shared__ typename scan::TempStorage temp;
    uint64_t *counts = s->block_counts + (size_t)kind * s->n_counts;
    uint64_t total = 0;
    for (uint32_t first = 0; first < n_blocks; first += SCAN_BLOCK) {
        uint32_t i = first + threadIdx.x;
        uint64_t count = i < n_blocks ? __ldcg((const unsigned long long *)counts + i) : 0;
        uint64_t before, sum;
        scan(temp).ExclusiveSum(count, before, sum);
        if (i < n_blocks)
            counts[i] = total + before;
        total += sum;
        __syncthreads();
    }
    return total;
}

/* The stage begins when the last block of the one before it comes here. */
static __device__ inline void scan_stamp(struct session_dev *s, enum gpu_stage stage)
{
    unsigned long long now;
    if (threadIdx.x)
        return;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    atomicMax(&s->stamp_ns[stage], now);
}

/* The cameras of the keyframes that the frame is tested against, to shared memory. */
static __device__ inline void scan_cameras(struct camera *cameras, const struct session_dev *s)
{
    const int words = (int)(sizeof(struct camera) / sizeof(uint32_t));
    for (int i = (int)threadIdx.x; i < s->n_covisible * words; i += SCAN_BLOCK) {
        ((uint32_t *)cameras)[i] = ((const uint32_t *)s->covisible_camera)[i];
    }
    __syncthreads();
}

/* Records of the model in words of 16 bytes: their places are aligned to that. */
template <class T> static __device__ inline T scan_load(const T *from)
{
    uint4 words[sizeof(T) / sizeof(uint4)];
    T value;
    static_assert(sizeof(T) % sizeof(uint4) == 0, "not a whole number of words");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = ((const uint4 *)from)[i];
    memcpy(&value, words, sizeof value);
    return value;
}

template <class T> static __device__ inline void scan_store(T *to, const T &value)
{
    uint4 words[sizeof(T) / sizeof(uint4)];
    static_assert(sizeof(T) % sizeof(uint4) == 0, "not a whole number of words");
    memcpy(words, &value, sizeof value);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ((uint4 *)to)[i] = words[i];
}

static __device__ inline unsigned long long *scan_claim(uint64_t *claims, size_t i)
{
    return (unsigned long long *)claims + i;
}

#endif
