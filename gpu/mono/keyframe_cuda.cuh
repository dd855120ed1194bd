/*
 * keyframe_cuda.cuh - the median depth, and whether and where the frame becomes a keyframe
 * (internal to update_cuda.cu, one block of which decides while others update points, and to
 * insert_cuda.cu, which fills the new keyframe's map)
 *
 * Threads share out the histogram's bins, the co-visible keyframes, and the rows and columns of the
 * table of overlaps. The thread that has read a bin clears it for the next frame.
 */
#pragma once

#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/associate_point.h"
#include "gpu/mono/keyframe_point.h"

#define KEYFRAME_BINS (ASSOCIATE_BINS / SCAN_BLOCK) /* of a thread */

/* Counts the pixels that are usable (low half) and that observe a point (high), and finds the
 * median depth: the first bin up to which half of the usable pixels lie. One thread finds it in its
 * share. */
static __device__ inline uint64_t keyframe_count(struct session_dev *s, float *median_depth_m)
{
    typedef cub::BlockScan<uint64_t, SCAN_BLOCK> scan;
    __shared__ typename scan::TempStorage temp;
    __shared__ float median;
    uint32_t *bins = s->bins + threadIdx.x * KEYFRAME_BINS, bin[KEYFRAME_BINS], half, below;
    uint32_t n_groups = scan_groups(s->n_pixels);
    uint64_t own = 0, before, total;
    for (uint32_t i = threadIdx.x; i < n_groups; i += SCAN_BLOCK)
        own += (uint64_t)s->groups[i].n[SCAN_FOUND] << 32;
#pragma unroll
    for (int i = 0; i < KEYFRAME_BINS; i++) {
        bin[i] = bins[i];
        own += bin[i];
    }
#pragma unroll
    for (int i = 0; i < KEYFRAME_BINS; i++)
        bins[i] = 0;
    if (threadIdx.x == 0)
        median = 0.0f;
    scan(temp).ExclusiveSum(own, before, total);
    __syncthreads();
    half = ((uint32_t)total + 1) / 2;
    below = (uint32_t)before;
#pragma unroll
    for (int i = 0; i < KEYFRAME_BINS; i++) {
        if (below < half && below + bin[i] >= half)
            median = associate_bin_depth((int)threadIdx.x * KEYFRAME_BINS + i);
        below += bin[i];
    }
    __syncthreads();
    *median_depth_m = median;
    return total;
}

/* (K2); called by all threads. */
static __device__ inline int keyframe_is_new(const struct session_dev *s, uint32_t n_valid,
                                             uint32_t n_associated, float median)
{
    const struct fuse_params *p = &s->fuse;
    int k = (int)threadIdx.x, near = 0;
    if (n_valid == 0)
        return 0;
    if (s->n_covisible == 0 || keyframe_much_new(n_valid, n_associated, p->kf_new_share))
        return 1;
    if (k < s->n_covisible)
        near = keyframe_near(&s->covisible_camera[k].T_wc, &s->camera.T_wc, median, p);
    return !__syncthreads_or(near);
}

static __device__ inline int keyframe_is_tested(const struct session_dev *s, uint32_t place)
{
    for (int k = 0; k < s->n_covisible; k++)
        if (s->covisible[k].place == place)
            return 1;
    return 0;
}

/* Called by a warp: the largest overlap of a keyframe with another one, plus 1. */
static __device__ inline uint32_t keyframe_covered(const struct session_dev *s, uint32_t place,
                                                   uint32_t lane)
{
    uint32_t n = (uint32_t)s->fuse.max_keyframes, most = 0;
    for (uint32_t j = lane; j < n; j += 32)
        if (j != place && s->overlaps[(size_t)place * n + j] + 1u > most)
            most = s->overlaps[(size_t)place * n + j] + 1u;
    return __reduce_max_sync(0xffffffffu, most);
}

/* The most covered keyframe, then the oldest, but none that the frame is tested against. */
static __device__ inline uint32_t keyframe_least_useful(const struct session_dev *s)
{
    __shared__ unsigned long long worst;
    uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        worst = 0;
    __syncthreads();
    for (uint32_t i = warp; i < (uint32_t)s->fuse.max_keyframes; i += SCAN_BLOCK / 32) {
        uint64_t most;
        if (keyframe_is_tested(s, i))
            continue;
        most = keyframe_covered(s, i, lane);
        if (lane == 0)
            atomicMax(&worst,
                      most << 48 | (uint64_t)(0xffffffffu - s->keyframes[i].frame) << 16 | i);
    }
    __syncthreads();
    return (uint32_t)worst & 0xffffu;
}

static __device__ inline void keyframe_enter(struct session_dev *s, uint32_t place)
{
    uint32_t n = (uint32_t)s->fuse.max_keyframes;
    for (uint32_t j = threadIdx.x; j < n; j += SCAN_BLOCK) {
        uint8_t overlap = j == place ? 0 : s->overlap_now[j];
        s->overlaps[(size_t)place * n + j] = overlap;
        s->overlaps[(size_t)j * n + place] = overlap;
        s->overlap_now[j] = overlap;
    }
}

/* Called by all threads of a block. Reads the counts of covisible_cuda() and associate_cuda(). */
static __device__ inline void keyframe_choose(struct session_dev *s)
{
    float median;
    uint64_t counts = keyframe_count(s, &median);
    uint32_t n_valid = (uint32_t)counts, n_associated = (uint32_t)(counts >> 32), place;
    int is = keyframe_is_new(s, n_valid, n_associated, median);
    if (is) {
        place = s->n_keyframes;
        if (place >= (uint32_t)s->fuse.max_keyframes)
            place = keyframe_least_useful(s);
        keyframe_enter(s, place);
        __syncthreads(); /* all have read n_keyframes and the place's old frame */
        if (threadIdx.x < COVISIBLE_GRID) {
            s->keyframes[place].grid.p[threadIdx.x] = s->grid.p[threadIdx.x];
            s->keyframes[place].grid.valid[threadIdx.x] = s->grid.valid[threadIdx.x];
        }
        if (threadIdx.x == 0) {
            s->keyframes[place].camera = s->camera;
            s->keyframes[place].frame = s->frame;
            s->worlds[place] = s->submap;
            s->place_new = place;
            if (place == s->n_keyframes)
                s->n_keyframes++;
        }
    }
    if (threadIdx.x == 0) {
        s->is_keyframe = is;
        s->median_depth_m = median;
        s->n_valid = n_valid;
        s->n_associated = n_associated;
    }
}

/* Writes the pixel's cell of a new map: the point that it observed, or inserted with tag
 * `fresh`. */
static __device__ inline void keyframe_fill_map(struct session_dev *s, uint32_t pixel,
                                                uint32_t found, uint32_t inserted, uint32_t fresh)
{
    struct map_cell cell = {0, 0};
    if (found != POINT_NONE) {
        cell.slot = found;
        cell.tag = s->place[found].tag;
    } else if (inserted != POINT_NONE) {
        cell.slot = inserted;
        cell.tag = fresh;
    }
    s->maps[(size_t)s->place_new * s->n_pixels + pixel] = cell;
}
