/*
 * covisible_cuda.cu - the keyframes that a frame is tested against, out of all that are kept
 *
 * Grid:    (1, frames): a warp takes every COVISIBLE_WARPS-th keyframe, its lanes the grid points;
 *          then the first warp picks the best, n times the largest key below the last one picked.
 * Also:    clears what associate counts.
 */
#include "gpu/scan_cuda.cuh"

#include "gpu/associate_point.h"
#include "gpu/cuda_try.h"

#define COVISIBLE_WARPS 16
#define COVISIBLE_BLOCK (32 * COVISIBLE_WARPS)

static __device__ void make_grid(struct covisible_grid *grid, const struct session_dev *s,
                                 const struct camera *c)
{
    for (int i = (int)threadIdx.x; i < COVISIBLE_GRID; i += COVISIBLE_BLOCK) {
        uint32_t pixel = covisible_pixel(i, s->w, s->h);
        float z = s->depth[pixel];
        grid->valid[i] = z > 0.0f;
        grid->p[i] = point_back_project(c, (int)pixel % s->w, (int)pixel / s->w, z);
    }
}

/* covisible_seen() by a warp, summed up later. */
static __device__ int seen_by_lane(const struct covisible_grid *g, const struct camera *c, int lane)
{
    int n = 0;
    for (int i = lane; i < COVISIBLE_GRID; i += 32) {
        uint32_t pixel;
        float z;
        n += g->valid[i] && point_project(c, g->p[i], &pixel, &z);
    }
    return n;
}

static __device__ void find_overlaps(struct session_dev *s, const struct covisible_grid *grid,
                                     const struct camera *camera)
{
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int k = warp; k < s->fuse.max_keyframes; k += COVISIBLE_WARPS) {
        const struct keyframe *kf = &s->keyframes[k];
        unsigned overlap = 0;
        if (kf->frame)
            overlap = (unsigned)(seen_by_lane(&kf->grid, camera, lane) +
                                 seen_by_lane(grid, &kf->camera, lane));
        overlap = __reduce_add_sync(0xffffffffu, overlap);
        if (lane == 0)
            s->overlap_now[k] = (uint8_t)overlap;
    }
}

/* Orders as covisible_before() does: no two kept keyframes are of the same frame. */
static __device__ inline uint64_t key_of(const struct session_dev *s, int k)
{
    uint64_t overlap = s->overlap_now[k];
    return overlap ? overlap << 48 | (uint64_t)s->keyframes[k].frame << 16 | (uint64_t)k : 0;
}

/* By one warp. */
static __device__ void pick_best(struct session_dev *s)
{
    uint64_t last = ~0ull;
    int n = 0;
    for (; n < s->fuse.n_covisible; n++) {
        uint64_t best = 0;
        for (int k = (int)threadIdx.x; k < s->fuse.max_keyframes; k += 32) {
            uint64_t key = key_of(s, k);
            if (key < last && key > best)
                best = key;
        }
        for (int step = 16; step > 0; step /= 2) {
            uint64_t other = __shfl_xor_sync(0xffffffffu, best, step);
            best = other > best ? other : best;
        }
        if (best == 0)
            break;
        if (threadIdx.x == 0) {
            s->covisible[n].place = (uint32_t)best & 0xffffu;
            s->covisible[n].overlap = (int)(best >> 48);
        }
        last = best;
    }
    if (threadIdx.x == 0)
        s->n_covisible = n;
}

static __global__ void covisible_kernel(const struct frame_cuda *frames)
{
    __shared__ struct covisible_grid grid;
    __shared__ struct camera camera;
    struct session_dev *s = frames[blockIdx.y].s;
    if (s == NULL)
        return;
    if (threadIdx.x == 0) {
        camera = s->camera;
        s->n_valid = 0;
        s->n_associated = 0;
        s->n_updated = 0;
    }
    for (int i = (int)threadIdx.x; i < ASSOCIATE_BINS; i += COVISIBLE_BLOCK)
        s->bins[i] = 0;
    __syncthreads();
    make_grid(&grid, s, &camera);
    __syncthreads();
    if (threadIdx.x < COVISIBLE_GRID) {
        s->grid.valid[threadIdx.x] = grid.valid[threadIdx.x];
        s->grid.p[threadIdx.x] = grid.p[threadIdx.x];
    }
    find_overlaps(s, &grid, &camera);
    __syncthreads();
    if (threadIdx.x < 32)
        pick_best(s);
    scan_stamp(s, GPU_STAGE_ASSOCIATE);
}

int covisible_cuda(const struct frame_cuda *frames, int n, uint32_t pixels_max, cudaStream_t stream,
                   struct err *err)
{
    dim3 grid(1, (unsigned)n);
    int rc = 0;
    (void)pixels_max;
    covisible_kernel<<<grid, COVISIBLE_BLOCK, 0, stream>>>(frames);
    CU_TRY(cuda_try_launch());
out:
    return rc;
}
