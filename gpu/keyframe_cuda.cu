/*
 * keyframe_cuda.cu - the median depth, and whether and where the frame becomes a keyframe
 *
 * Grid:    (1, frames): threads share the histogram's bins, the co-visible keyframes, the rows and
 *          columns of the table of overlaps.
 */
#include "gpu/scan_cuda.cuh"

#include "gpu/associate_point.h"
#include "gpu/cuda_try.h"
#include "gpu/keyframe_point.h"

#define BINS_EACH (ASSOCIATE_BINS / SCAN_BLOCK)

/* The first bin up to which half of the usable pixels lie: one thread finds it in its share. */
static __device__ float median_depth(const struct session_dev *s)
{
    typedef cub::BlockScan<uint32_t, SCAN_BLOCK> scan;
    __shared__ typename scan::TempStorage temp;
    __shared__ float median;
    const uint32_t *bins = s->bins + threadIdx.x * BINS_EACH;
    uint32_t half = (s->n_valid + 1) / 2, own = 0, below;
    if (threadIdx.x == 0)
        median = 0.0f;
    for (int i = 0; i < BINS_EACH; i++)
        own += bins[i];
    scan(temp).ExclusiveSum(own, below);
    __syncthreads();
    if (s->n_valid && below < half && below + own >= half) {
        int bin = 0;
        while ((below += bins[bin]) < half)
            bin++;
        median = associate_bin_depth((int)threadIdx.x * BINS_EACH + bin);
    }
    __syncthreads();
    return median;
}

/* (K2), by all threads. */
static __device__ int is_keyframe(const struct session_dev *s, float median)
{
    const struct fuse_params *p = &s->fuse;
    int k = (int)threadIdx.x, near = 0;
    if (s->n_valid == 0)
        return 0;
    if (s->n_covisible == 0 || keyframe_much_new(s->n_valid, s->n_associated, p->kf_new_share))
        return 1;
    if (k < s->n_covisible)
        near = keyframe_near(&s->covisible_camera[k].T_wc, &s->camera.T_wc, median, p);
    return !__syncthreads_or(near);
}

static __device__ int is_covisible(const struct session_dev *s, uint32_t place)
{
    for (int k = 0; k < s->n_covisible; k++)
        if (s->covisible[k].place == place)
            return 1;
    return 0;
}

/* By a warp: the largest overlap of a keyframe with another one, plus 1. */
static __device__ uint32_t covered(const struct session_dev *s, uint32_t place, uint32_t lane)
{
    uint32_t n = (uint32_t)s->fuse.max_keyframes, most = 0;
    for (uint32_t j = lane; j < n; j += 32)
        if (j != place && s->overlaps[(size_t)place * n + j] + 1u > most)
            most = s->overlaps[(size_t)place * n + j] + 1u;
    return __reduce_max_sync(0xffffffffu, most);
}

/* The most covered keyframe, then the oldest; those that the frame is tested against stay. */
static __device__ uint32_t least_useful(const struct session_dev *s)
{
    __shared__ unsigned long long worst;
    uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        worst = 0;
    __syncthreads();
    for (uint32_t i = warp; i < (uint32_t)s->fuse.max_keyframes; i += SCAN_BLOCK / 32) {
        uint64_t most;
        if (is_covisible(s, i))
            continue;
        most = covered(s, i, lane);
        if (lane == 0)
            atomicMax(&worst,
                      most << 48 | (uint64_t)(0xffffffffu - s->keyframes[i].frame) << 16 | i);
    }
    __syncthreads();
    return (uint32_t)worst & 0xffffu;
}

static __device__ void enter_overlaps(struct session_dev *s, uint32_t place)
{
    uint32_t n = (uint32_t)s->fuse.max_keyframes;
    for (uint32_t j = threadIdx.x; j < n; j += SCAN_BLOCK) {
        uint8_t overlap = j == place ? 0 : s->overlap_now[j];
        s->overlaps[(size_t)place * n + j] = overlap;
        s->overlaps[(size_t)j * n + place] = overlap;
        s->overlap_now[j] = overlap;
    }
}

static __global__ void keyframe_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    struct session_dev *s = frames[blockIdx.y].s;
    uint32_t place;
    float median;
    int is;

    if (s == NULL)
        return;
    median = median_depth(s);
    is = is_keyframe(s, median);
    if (is) {
        place = s->n_keyframes;
        if (place >= (uint32_t)s->fuse.max_keyframes)
            place = least_useful(s);
        enter_overlaps(s, place);
        __syncthreads(); /* all have read n_keyframes and the frame that had the place */
        if (threadIdx.x < COVISIBLE_GRID) {
            s->keyframes[place].grid.p[threadIdx.x] = s->grid.p[threadIdx.x];
            s->keyframes[place].grid.valid[threadIdx.x] = s->grid.valid[threadIdx.x];
        }
        if (threadIdx.x == 0) {
            s->keyframes[place].camera = s->camera;
            s->keyframes[place].frame = s->frame;
            s->place_new = place;
            if (place == s->n_keyframes)
                s->n_keyframes++;
        }
    }
    if (threadIdx.x == 0) {
        s->is_keyframe = is;
        s->median_depth_m = median;
    }
    scan_stamp(s, GPU_STAGE_FUSE);
}

int keyframe_cuda(const struct frame_cuda *frames, int n, uint32_t pixels_max, cudaStream_t stream,
                  struct err *err)
{
    dim3 grid(1, (unsigned)n);
    int rc = 0;
    (void)pixels_max;
    CU_TRY(scan_launch(keyframe_kernel, grid, SCAN_BLOCK, stream, frames));
out:
    return rc;
}
