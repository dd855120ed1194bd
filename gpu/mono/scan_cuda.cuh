/*
 * scan_cuda.cuh - lists in the order of pixels, written by all blocks at once (internal to the
 * fusion kernels)
 *
 * A list is made by two passes. In the first each block stores how many of its pixels belong to the
 * list (scan_count()). In the second a block adds up the counts of the blocks before it
 * (scan_sum()) and takes the places behind that sum in the order of its threads (scan_rank()). No
 * block waits for a last block: each adds up the groups before its own and the blocks before it in
 * its group.
 * Order:   by blocks, then by threads: the order of a loop over pixels, whatever the order in which
 *          blocks run.
 * Blocks:  SCAN_BLOCK threads, a pixel a thread: block b of a frame has pixels from b*SCAN_BLOCK.
 *          blockIdx.y is the frame. Blocks beyond a smaller frame's last one leave at once.
 * Launch:  a kernel launched by scan_launch() starts while the previous one runs, and waits in
 *          scan_begin() until that one is over. Both must call scan_begin() first in every block:
 *          the next kernel waits only for this one, so a block that skipped it would let the next
 *          kernel overtake the previous one.
 */
#pragma once

#include "gpu/base/cuda_try.h"
#include "gpu/base/overlap_cuda.cuh"
#include "gpu/mono/session_cuda.h"

#include <cub/block/block_scan.cuh>

#define SCAN_WARPS (SCAN_BLOCK / 32)

/* The findings of the passes about a pixel: bits of session_dev.mark, which blocks count. */
enum scan_mark {
    SCAN_UNSTABLE,  /* its update made a stable point unstable */
    SCAN_CHANGED,   /* clients must receive the point that it updated ... */
    SCAN_WITHDRAWN, /* ... and the removal of the point that it carved */
    SCAN_CARVED,    /* its vote was the last one */
    SCAN_WANTS,     /* it is usable and has found no point */
    SCAN_WINS,      /* it found no point and won a cell for one */
    SCAN_WON,       /* it updated its point */
    SCAN_UP,        /* ... which became stable */
    SCAN_LOST,      /* the point that it carved was stable */
    SCAN_COUNTED,
    SCAN_FOUND = SCAN_COUNTED,     /* it observes a point: counted by groups alone, no bit */
    SCAN_TAKEN_BACK = SCAN_COUNTED /* the change is a removal: a bit, not counted */
};

/* Lists in which pixels have places: one for each of the first marks, and one of the pixels that
 * insert a point, marked SCAN_WANTS or SCAN_WINS. */
enum scan_list { SCAN_FRESH = SCAN_CARVED + 1, SCAN_LISTS };

static __device__ inline void scan_begin(void)
{
    overlap_begin();
}

/* The kind of kernel that a pass is launched behind. */
enum scan_front { SCAN_BEHIND_OURS, SCAN_BEHIND_ANY };

/*
 * Enqueues a pass: `blocks` blocks of `threads` threads for each of its frames. Behind a kernel of
 * ours it may start early; behind any other it starts when that one is over.
 */
template <class... Params, class... Args>
static inline int scan_launch(enum scan_front front, void (*kernel)(Params...), uint32_t blocks,
                              unsigned threads, const struct pass_cuda *pass, struct err *err,
                              Args... args)
{
    cudaLaunchAttribute overlap = {};
    cudaLaunchConfig_t config = {};
    int may = 0, rc = 0;

    if (front == SCAN_BEHIND_OURS)
        CU_TRY(overlap_may(&may, (const void *)kernel, pass->stream));
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(blocks, (unsigned)pass->n);
    config.blockDim = dim3(threads);
    config.stream = pass->stream;
    config.attrs = &overlap;
    config.numAttrs = may ? 1 : 0;
    CU_TRY(cudaLaunchKernelEx(&config, kernel, (const struct frame_cuda *)pass->args, args...));
out:
    return rc;
}

/* The frame has no pixels for this block. */
static __device__ inline bool scan_idle(const struct session_dev *s, uint32_t block)
{
    return s == NULL || block >= scan_blocks(s->n_pixels);
}

/* Records in words of 16 bytes: their places are aligned to that. */
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

/* The sums over earlier blocks of pixels, and over all blocks of a frame. */
struct scan_sums {
    uint32_t before[SCAN_COUNTED], total[SCAN_COUNTED];
};

/* Called once by all threads of block `block` of pixels: counts their marks. */
static __device__ inline void scan_count(struct session_dev *s, uint32_t block, uint32_t mark)
{
    __shared__ uint32_t parts[SCAN_WARPS][SCAN_COUNTED];
    uint32_t warp = threadIdx.x / 32, k = threadIdx.x, n = 0;
#pragma unroll
    for (int i = 0; i < SCAN_COUNTED; i++) {
        uint32_t have = __ballot_sync(0xffffffffu, mark >> i & 1);
        if (threadIdx.x % 32 == 0)
            parts[warp][i] = (uint32_t)__popc(have);
    }
    __syncthreads();
    if (k >= SCAN_COUNTED)
        return;
    for (int i = 0; i < SCAN_WARPS; i++)
        n += parts[i][k];
    s->counts[block].n[k] = (uint16_t)n;
    if (n)
        atomicAdd(&s->groups[block / SCAN_GROUP].n[k], n);
}

/*
 * Called by all threads of a block, in the pass after scan_count()'s: sums over the blocks of
 * pixels before `block`, and over all.
 * Out:     sums, in shared memory, for all threads
 */
static __device__ inline void scan_sum(struct scan_sums *sums, const struct session_dev *s,
                                       uint32_t block)
{
    __shared__ uint32_t parts[SCAN_WARPS][2 * SCAN_COUNTED];
    uint32_t n_groups = scan_groups(s->n_pixels), group = block / SCAN_GROUP;
    uint32_t n = n_groups + block % SCAN_GROUP, warp = threadIdx.x / 32;
    uint32_t sum[2 * SCAN_COUNTED] = {0};
    for (uint32_t i = threadIdx.x; i < n; i += SCAN_BLOCK) {
        if (i < n_groups) {
            struct scan_group g = scan_load(&s->groups[i]);
#pragma unroll
            for (int k = 0; k < SCAN_COUNTED; k++) {
                sum[k] += i < group ? g.n[k] : 0;
                sum[SCAN_COUNTED + k] += g.n[k];
            }
        } else {
            struct scan_counts c = scan_load(&s->counts[group * SCAN_GROUP + (i - n_groups)]);
#pragma unroll
            for (int k = 0; k < SCAN_COUNTED; k++)
                sum[k] += c.n[k];
        }
    }
#pragma unroll
    for (int k = 0; k < 2 * SCAN_COUNTED; k++) {
        sum[k] = __reduce_add_sync(0xffffffffu, sum[k]);
        if (threadIdx.x % 32 == 0)
            parts[warp][k] = sum[k];
    }
    __syncthreads();
    if (threadIdx.x < 2 * SCAN_COUNTED) {
        uint32_t k = threadIdx.x, all = 0;
        for (int i = 0; i < SCAN_WARPS; i++)
            all += parts[i][k];
        if (k < SCAN_COUNTED)
            sums->before[k] = all;
        else
            sums->total[k - SCAN_COUNTED] = all;
    }
    __syncthreads();
}

/* Takes the lists that a thread is in (bits: marks, SCAN_FRESH) and returns, as a word for
 * scan_place(), how many earlier threads of its block are in each. All threads of the block call
 * it, with a barrier between two calls. */
static __device__ inline uint64_t scan_rank(uint32_t lists)
{
    typedef cub::BlockScan<uint64_t, SCAN_BLOCK> scan;
    __shared__ typename scan::TempStorage temp;
    uint64_t flags = 0, before;
    static_assert(SCAN_LISTS * 12 <= 64 && SCAN_BLOCK < 1 << 12, "ranks do not fit");
#pragma unroll
    for (int i = 0; i < SCAN_LISTS; i++)
        flags |= (uint64_t)(lists >> i & 1) << (12 * i);
    scan(temp).ExclusiveSum(flags, before);
    return before;
}

static __device__ inline uint32_t scan_place(uint64_t rank, int list)
{
    return (uint32_t)(rank >> (12 * list)) & 0xfffu;
}

static __device__ inline unsigned long long scan_now(void)
{
    unsigned long long now = 0;
#ifdef __CUDA_ARCH__
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
#endif
    return now;
}

/* A pass begins when a block of it comes here first of all, or, behind kernels that leave no
 * stamps before it, when the last block of those in front of them comes here. */
static __device__ inline void scan_stamp(struct session_dev *s, enum session_cuda_pass pass)
{
    if (threadIdx.x == 0)
        atomicMax(&s->stamp_ns[pass], scan_now());
}

/* The claim of a pixel that sees through a point: larger than those of all pixels that observe it
 * (point_claim() leaves the highest bit 0); among these claims the first pixel wins. */
static __device__ inline uint64_t scan_vote(uint32_t pixel)
{
    return 1ull << 63 | pixel;
}

/* Copies the cameras of the keyframes that the frame is tested against to shared memory. */
static __device__ inline void scan_cameras(struct camera *cameras, const struct session_dev *s)
{
    const int words = (int)(sizeof(struct camera) / sizeof(uint32_t));
    for (int i = (int)threadIdx.x; i < s->n_covisible * words; i += SCAN_BLOCK) {
        ((uint32_t *)cameras)[i] = ((const uint32_t *)s->covisible_camera)[i];
    }
    __syncthreads();
}

static __device__ inline unsigned long long *scan_claim(uint64_t *claims, size_t i)
{
    return (unsigned long long *)claims + i;
}
