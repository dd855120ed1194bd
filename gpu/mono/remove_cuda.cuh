/*
 * remove_cuda.cuh - which points are removed: votes, and the list of unstable points (internal to
 * update_cuda.cu, insert_cuda.cu and remove_cuda.cu)
 *
 * Only the device knows the length of the list; SCAN_CHUNKS blocks share it, a contiguous part
 * each. Entries appended by the frame always stay, so only the older ones are checked.
 */
#pragma once

#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/remove_point.h"

/* (R2) Counts the vote of the pixel that has the point's claim. Returns its marks. */
static __device__ inline uint32_t remove_vote_of(struct session_dev *s, uint32_t slot)
{
    struct point_stat *stat = &s->stat[slot];
    uint32_t mark = 1u << SCAN_CARVED;
    int weight =
        s->table ? cell_vote(&s->view, s->usable, point_position(&s->place[slot]), &s->fuse) : 1;
    s->claims[slot] = POINT_UNCLAIMED;
    if (!remove_vote(stat, s->frame, s->room_short, s->view.settles, weight, &s->fuse))
        return 0;
    if (stat->state == POINT_STABLE)
        mark |= 1u << SCAN_LOST;
    if (s->out[slot].confidence)
        mark |= 1u << SCAN_WITHDRAWN;
    remove_free(&s->place[slot], stat);
    return mark;
}

/* Decides whether an entry stays in the list, after all updates and votes of the frame. */
enum remove_fate { REMOVE_GONE, REMOVE_KEPT, REMOVE_EXPIRED };

static __device__ inline enum remove_fate remove_fate_of(const struct session_dev *s, uint32_t slot)
{
    const struct point_stat *stat = &s->stat[slot];
    if (stat->state != POINT_UNSTABLE)
        return REMOVE_GONE;
    return remove_expired(stat, s->frame, s->fuse.grace_frames) ? REMOVE_EXPIRED : REMOVE_KEPT;
}

/* Entries `first` to `end`-1 of the list: whole rounds of a block, except in the last chunk. */
struct remove_chunk {
    uint32_t first, end;
};

static __device__ inline struct remove_chunk remove_chunk_of(uint32_t n, uint32_t chunk)
{
    uint32_t size = scan_blocks((n + SCAN_CHUNKS - 1) / SCAN_CHUNKS) * SCAN_BLOCK;
    struct remove_chunk c = {chunk * size, chunk * size + size};
    if (c.end > n)
        c.end = n;
    return c;
}

/* By all threads of a block: stores how many entries of the chunk stay (low) and expire (high). */
static __device__ inline void remove_count(struct session_dev *s, uint32_t chunk)
{
    const uint32_t *list = s->unstable[s->was.unstable_now];
    struct remove_chunk c = remove_chunk_of(s->was.n_unstable, chunk);
    uint32_t n_kept = 0, n_expired = 0;
    for (uint32_t round = c.first; round < c.end; round += SCAN_BLOCK) {
        uint32_t i = round + threadIdx.x;
        enum remove_fate fate = i < c.end ? remove_fate_of(s, list[i]) : REMOVE_GONE;
        n_kept += (uint32_t)__syncthreads_count(fate == REMOVE_KEPT);
        n_expired += (uint32_t)__syncthreads_count(fate == REMOVE_EXPIRED);
    }
    if (threadIdx.x == 0)
        s->chunk_counts[chunk] = (uint64_t)n_expired << 32 | n_kept;
}
