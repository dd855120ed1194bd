/*
 * remove_cuda.cu - points that were seen through or never confirmed go; their slots are used again
 *
 * Grid:    votes: (blocks of pixels, frames), a thread a pixel. Then (SCAN_CHUNKS, frames) over the
 *          list of unstable points, whose length only the device knows: a block has a contiguous
 *          share of it. Then both kinds of blocks at once write the lists.
 * Order:   carved slots in the order of pixels, then expired ones in the order of the list; the
 *          list keeps its order and goes from one array to the other.
 */
#include "gpu/scan_cuda.cuh"

#include "gpu/cuda_try.h"
#include "gpu/remove_point.h"

/* (R2) The vote of the pixel that has the claim of fuse_cuda(). Returns its marks. */
static __device__ uint32_t vote(struct session_dev *s, uint32_t slot, bool *stable)
{
    struct point_stat *stat = &s->stat[slot];
    s->claims[slot] = POINT_UNCLAIMED;
    if (!remove_vote(stat, s->frame, s->fuse.carve_votes))
        return 0;
    *stable = stat->state == POINT_STABLE;
    remove_free(&s->place[slot], stat);
    return SCAN_MARK_CARVED | (s->out[slot].confidence ? SCAN_MARK_WITHDRAWN : 0u);
}

static __global__ void vote_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    struct session_dev *s = frames[blockIdx.y].s;
    uint32_t pixel = scan_pixel(), mark = 0, slot, blocks;
    bool stable = false;
    int n_stable, n_carved, n_withdrawn;
    uint64_t total;

    if (scan_idle(s))
        return;
    blocks = scan_blocks_of(s->n_pixels);
    slot = pixel < s->n_pixels ? s->through[pixel] : POINT_NONE;
    if (slot != POINT_NONE && s->claims[slot] == pixel) {
        mark = vote(s, slot, &stable);
        if (mark)
            s->mark[pixel] |= (uint8_t)mark;
    }
    n_carved = __syncthreads_count(mark & SCAN_MARK_CARVED);
    n_withdrawn = __syncthreads_count(mark & SCAN_MARK_WITHDRAWN);
    n_stable = __syncthreads_count(stable);
    if (threadIdx.x == 0 && n_stable)
        atomicSub(&s->n_stable, (uint32_t)n_stable);
    if (!scan_arrive(s, SCAN_VOTE, blocks, scan_pair((uint32_t)n_carved, (uint32_t)n_withdrawn)))
        return;
    total = scan_offsets(s, SCAN_VOTE, blocks);
    if (threadIdx.x == 0) {
        s->n_carved = scan_low(total);
        s->n_withdrawn = scan_high(total);
        s->n_free_was = s->n_free;
        s->n_unstable_was = s->n_unstable + s->n_inserted;
    }
}

/* What becomes of entry i of the list. */
enum fate { FATE_GONE, FATE_KEPT, FATE_EXPIRED };

static __device__ inline enum fate fate_of(const struct session_dev *s, uint32_t slot)
{
    const struct point_stat *stat = &s->stat[slot];
    if (stat->state != POINT_UNSTABLE)
        return FATE_GONE;
    return remove_expired(stat, s->frame, s->fuse.grace_frames) ? FATE_EXPIRED : FATE_KEPT;
}

/* Entries of a chunk: a whole number of rounds of a block. */
static __device__ inline uint32_t chunk_size(uint32_t n)
{
    return scan_blocks_of((n + SCAN_CHUNKS - 1) / SCAN_CHUNKS) * SCAN_BLOCK;
}

static __global__ void count_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    struct session_dev *s = frames[blockIdx.y].s;
    uint32_t size, n_kept = 0, n_expired = 0, n;
    const uint32_t *list;
    uint64_t total;

    if (s == NULL)
        return;
    n = s->n_unstable_was;
    list = s->unstable[s->unstable_now];
    size = chunk_size(n);
    for (uint32_t round = 0; round < size; round += SCAN_BLOCK) {
        uint32_t i = blockIdx.x * size + round + threadIdx.x;
        enum fate fate = i < n ? fate_of(s, list[i]) : FATE_GONE;
        n_kept += (uint32_t)__syncthreads_count(fate == FATE_KEPT);
        n_expired += (uint32_t)__syncthreads_count(fate == FATE_EXPIRED);
    }
    if (!scan_arrive(s, SCAN_KEEP, SCAN_CHUNKS, scan_pair(n_kept, n_expired)))
        return;
    total = scan_offsets(s, SCAN_KEEP, SCAN_CHUNKS);
    if (threadIdx.x == 0) {
        s->n_unstable = scan_low(total);
        s->n_removed = scan_high(total);
        s->n_free = s->n_free_was + s->n_carved + s->n_removed;
        s->n_points -= s->n_carved + s->n_removed;
        s->unstable_now = 1 - s->unstable_now;
    }
}

/* A block of pixels: carved slots are free. */
static __device__ void write_carved(struct session_dev *s)
{
    uint32_t pixel = scan_pixel();
    bool carved = pixel < s->n_pixels && (s->mark[pixel] & SCAN_MARK_CARVED);
    uint32_t at = scan_low(scan_rank(carved, false));
    if (!carved)
        return;
    at += scan_low(scan_offset(s, SCAN_VOTE, blockIdx.x));
    s->carved[at] = s->through[pixel];
    s->free_slots[s->n_free_was + at] = s->through[pixel];
}

/* A chunk of the list: what stays goes to the other array, expired points are free. */
static __device__ void write_chunk(struct session_dev *s, uint32_t chunk)
{
    const uint32_t *from = s->unstable[1 - s->unstable_now];
    uint32_t *to = s->unstable[s->unstable_now];
    uint32_t *expired = s->free_slots + s->n_free_was + s->n_carved;
    uint32_t n = s->n_unstable_was, size = chunk_size(n);
    uint64_t at = scan_offset(s, SCAN_KEEP, chunk);
    uint32_t n_kept = scan_low(at), n_expired = scan_high(at);
    for (uint32_t round = 0; round < size; round += SCAN_BLOCK) {
        uint32_t i = chunk * size + round + threadIdx.x, slot = i < n ? from[i] : 0;
        enum fate fate = i < n ? fate_of(s, slot) : FATE_GONE;
        uint64_t rank = scan_rank(fate == FATE_KEPT, fate == FATE_EXPIRED);
        if (fate == FATE_KEPT) {
            to[n_kept + scan_low(rank)] = slot;
        } else if (fate == FATE_EXPIRED) {
            expired[n_expired + scan_high(rank)] = slot;
            remove_free(&s->place[slot], &s->stat[slot]);
        }
        n_kept += (uint32_t)__syncthreads_count(fate == FATE_KEPT);
        n_expired += (uint32_t)__syncthreads_count(fate == FATE_EXPIRED);
    }
}

static __global__ void write_kernel(const struct frame_cuda *frames, uint32_t pixel_blocks)
{
    scan_begin();
    struct session_dev *s = frames[blockIdx.y].s;
    if (s == NULL)
        return;
    if (blockIdx.x >= pixel_blocks)
        write_chunk(s, blockIdx.x - pixel_blocks);
    else if (!scan_idle(s))
        write_carved(s);
    scan_stamp(s, GPU_STAGE_CHANGE);
}

int remove_cuda(const struct frame_cuda *frames, int n, uint32_t pixels_max, cudaStream_t stream,
                struct err *err)
{
    uint32_t blocks = scan_blocks(pixels_max);
    dim3 grid(blocks, (unsigned)n), chunks(SCAN_CHUNKS, (unsigned)n);
    dim3 both(blocks + SCAN_CHUNKS, (unsigned)n);
    int rc = 0;
    CU_TRY(scan_launch(vote_kernel, grid, SCAN_BLOCK, stream, frames));
    CU_TRY(scan_launch(count_kernel, chunks, SCAN_BLOCK, stream, frames));
    CU_TRY(scan_launch(write_kernel, both, SCAN_BLOCK, stream, frames, blocks));
out:
    return rc;
}
