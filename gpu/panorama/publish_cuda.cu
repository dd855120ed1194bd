/*
 * publish_cuda.cu - publishes the changed voxels (carve_cpu_publish())
 *
 * Grid:    (PANORAMA_CUDA_BLOCKS, pairs). Each block has a stretch of words of 32 voxels.
 *          count_kernel, a thread a word, drops changes that cancelled out and counts the others:
 *          carving writes `opaque` beside `dirty`, so no voxel is read. One block of place_kernel
 *          turns counts into places. write_kernel writes in the order of voxels: its threads read a
 *          word each, then each warp goes through its 32 words, a lane a voxel, so that voxels are
 *          read and changes written in whole lines. A block whose changes have no room leaves at
 *          once.
 */
#include "gpu/panorama/panorama_cuda.cuh"

#include <cub/block/block_scan.cuh>

#define PLACES ((PANORAMA_CUDA_BLOCKS + PANORAMA_CUDA_BLOCK - 1) / PANORAMA_CUDA_BLOCK)

typedef cub::BlockScan<uint32_t, PANORAMA_CUDA_BLOCK> block_scan;

/* The words of this block: a whole number of rounds of its threads. */
static __device__ inline void stretch(const struct pair_cuda *p, uint32_t *first, uint32_t *end)
{
    uint32_t n = voxel_columns(&p->view.volume) * (uint32_t)panorama_words(&p->view.volume);
    uint32_t rounds = (n + PANORAMA_CUDA_BLOCK - 1) / PANORAMA_CUDA_BLOCK;
    uint32_t each = (rounds + gridDim.x - 1) / gridDim.x * PANORAMA_CUDA_BLOCK;
    uint64_t from = (uint64_t)blockIdx.x * each;
    *first = from < n ? (uint32_t)from : n;
    *end = from + each < n ? (uint32_t)(from + each) : n;
}

/* The first voxel of a word. */
static __device__ inline uint32_t voxel_of(const struct gpu_volume *v, uint32_t word)
{
    uint32_t words = (uint32_t)panorama_words(v);
    return word / words * (uint32_t)v->n[2] + word % words * 32;
}

/* The colour of voxel `lane` of a word, if its bit is set. */
static __device__ inline uint32_t colour_of(const struct pair_cuda *p, uint32_t word, uint32_t bits,
                                            uint32_t lane)
{
    if (!(bits >> lane & 1))
        return 0;
    return p->s.voxels[voxel_of(&p->view.volume, word) + lane] & VOXEL_COLOUR;
}

static __global__ void count_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    __shared__ block_scan::TempStorage scan;
    uint32_t first, end, n = 0, before, all;
    if (!p->on)
        return;
    panorama_stamp(p, PANORAMA_CUDA_PUBLISH);
    stretch(p, &first, &end);
    for (uint32_t w = first + threadIdx.x; w < end; w += PANORAMA_CUDA_BLOCK) {
        uint32_t dirty = p->s.dirty[w], keep;
        if (!dirty)
            continue;
        keep = dirty & (p->s.opaque[w] | p->s.told[w]);
        if (keep != dirty)
            p->s.dirty[w] = keep;
        n += (uint32_t)__popc(keep);
    }
    block_scan(scan).ExclusiveSum(n, before, all);
    if (threadIdx.x == 0)
        p->s.counts[blockIdx.x] = all;
}

/* One block a pair: finds where each block's changes begin and writes the host's result. */
static __global__ void place_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    __shared__ block_scan::TempStorage scan;
    uint32_t count[PLACES], mine = 0, before, all;
    if (!p->on)
        return;
    for (int i = 0; i < PLACES; i++) {
        uint32_t block = threadIdx.x * PLACES + (uint32_t)i;
        count[i] = block < PANORAMA_CUDA_BLOCKS ? p->s.counts[block] : 0;
        mine += count[i];
    }
    block_scan(scan).ExclusiveSum(mine, before, all);
    for (int i = 0; i < PLACES; i++) {
        uint32_t block = threadIdx.x * PLACES + (uint32_t)i;
        if (block < PANORAMA_CUDA_BLOCKS)
            p->s.counts[block] = before;
        before += count[i];
    }
    if (threadIdx.x == 0) {
        struct gpu_pair_result r;
        r.paired = p->view.paired;
        r.iterations = 0;
        while (r.iterations < GPU_VOXELS_ITERATIONS && p->s.needed[r.iterations])
            r.iterations++;
        r.settled = !p->s.needed[r.iterations];
        r.n_opaque = *p->s.n_opaque;
        r.n_changes = all < p->max_changes ? all : p->max_changes;
        r.n_waiting = all - r.n_changes;
        p->result->result = r;
    }
}

/* Called by a warp: writes the changes of one word from place `at` on. Returns the voxels whose
 * change had room; *opaque: the opaque ones of them. */
static __device__ inline uint32_t write_word(const struct pair_cuda *p, uint32_t word,
                                             uint32_t bits, uint32_t at, uint32_t *opaque)
{
    uint32_t lane = threadIdx.x % 32, colour = colour_of(p, word, bits, lane);
    uint32_t place = at + (uint32_t)__popc(bits & ((1u << lane) - 1));
    int has_room = (bits >> lane & 1) && place < p->max_changes;
    if (has_room) {
        uint32_t kind = colour ? GPU_CHANGE_PUT : GPU_CHANGE_REMOVE;
        ((uint2 *)p->changes)[place] =
            make_uint2(voxel_of(&p->view.volume, word) + lane, colour | kind << 24);
    }
    *opaque = __ballot_sync(PANORAMA_ALL, has_room && colour);
    return __ballot_sync(PANORAMA_ALL, has_room);
}

static __global__ void write_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    __shared__ block_scan::TempStorage scan;
    __shared__ uint32_t words[PANORAMA_CUDA_BLOCK], places[PANORAMA_CUDA_BLOCK];
    uint32_t lane = threadIdx.x % 32, first, end, place, all;
    static_assert(sizeof(struct gpu_voxel_change) == sizeof(uint2), "written as two words");
    if (!p->on)
        return;
    stretch(p, &first, &end);
    place = p->s.counts[blockIdx.x];
    for (uint32_t from = first; from < end && place < p->max_changes; from += PANORAMA_CUDA_BLOCK) {
        uint32_t w = from + threadIdx.x, dirty = w < end ? p->s.dirty[w] : 0, before;
        uint32_t done = 0, opaque = 0;
        block_scan(scan).ExclusiveSum((uint32_t)__popc(dirty), before, all);
        words[threadIdx.x] = dirty;
        places[threadIdx.x] = place + before;
        __syncthreads();
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t at = threadIdx.x - lane + i, is, had_room;
            if (!words[at])
                continue;
            had_room = write_word(p, w - lane + i, words[at], places[at], &is);
            if (i == lane) {
                done = had_room;
                opaque = is;
            }
        }
        if (done) {
            p->s.dirty[w] = dirty & ~done;
            p->s.told[w] = (p->s.told[w] & ~done) | opaque;
        }
        place += all;
        __syncthreads();
    }
}

static __global__ void end_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    if (!p->on || threadIdx.x)
        return;
    for (int i = 0; i < PANORAMA_CUDA_PASSES; i++)
        p->result->stamp_ns[i] = p->s.stamp_ns[i];
    p->result->stamp_ns[PANORAMA_CUDA_PASSES] = scan_now();
}

int publish_cuda(const struct pass_cuda *p, struct err *err)
{
    int rc = panorama_launch_pass(count_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, p, err);
    if (rc == 0)
        rc = panorama_launch_pass(place_kernel, 1, PANORAMA_CUDA_BLOCK, p, err);
    if (rc == 0)
        rc = panorama_launch_pass(write_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, p, err);
    if (rc == 0)
        rc = panorama_launch_pass(end_kernel, 1, 32, p, err);
    return rc;
}
