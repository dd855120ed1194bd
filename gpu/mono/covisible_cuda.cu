/*
 * covisible_cuda.cu - the pose of the frame, the kept keyframes that it is tested against, and its
 * usable depth
 *
 * Grid:    (1 + blocks of pixels, frames). Block 0: one thread makes the pose (motion_cuda.cuh);
 *          each warp takes every COVISIBLE_WARPS-th keyframe, a lane a grid point; then the first
 *          warp picks the n best, each the largest key below the last one. Block 0 reads depth only
 *          at the grid's points. Other blocks: a thread a pixel, usable depth and its histogram
 *          (associate_depth_cuda.cuh).
 * Also:    block 0 records the model's counts before the frame and clears the counters of later
 *          passes.
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/associate_depth_cuda.cuh"
#include "gpu/mono/cell_cuda.cuh"
#include "gpu/mono/motion_cuda.cuh"

#define COVISIBLE_WARPS 32
#define COVISIBLE_BLOCK (32 * COVISIBLE_WARPS)
#define KEYS_MAX 1024 /* max_keyframes, as fuse_params_check() has it */

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

/* covisible_seen() by a warp, summed up later. A point's position is loaded before the check
 * whether the point exists, so that both loads overlap. */
static __device__ inline int seen_by_lane(const struct covisible_grid *g, const struct camera *c,
                                          int lane)
{
    int n = 0;
#pragma unroll
    for (int first = 0; first < COVISIBLE_GRID; first += 32) {
        int i = first + lane, valid, in;
        uint32_t pixel;
        float z;
        if (i >= COVISIBLE_GRID)
            continue;
        valid = g->valid[i];
        in = point_project(c, g->p[i], &pixel, &z);
        n += valid & in;
    }
    return n;
}

/* A key in the order of covisible_before(): no two kept keyframes have the same frame. */
static __device__ inline uint64_t key_of(unsigned overlap, uint32_t frame, int place)
{
    return overlap ? (uint64_t)overlap << 48 | (uint64_t)frame << 16 | (uint64_t)place : 0;
}

static __device__ void find_overlaps(struct session_dev *s, uint64_t *keys,
                                     const struct covisible_grid *grid, const struct camera *camera,
                                     uint32_t submap)
{
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int k = warp; k < s->fuse.max_keyframes; k += COVISIBLE_WARPS) {
        const struct keyframe *kf = &s->keyframes[k];
        uint32_t frame =
            kf->frame; /* 0: the place has no keyframe, and the other fields do not count */
        unsigned overlap = (unsigned)(seen_by_lane(&kf->grid, camera, lane) +
                                      seen_by_lane(grid, &kf->camera, lane));
        overlap = __reduce_add_sync(0xffffffffu, frame && s->worlds[k] == submap ? overlap : 0u);
        if (lane == 0) {
            s->overlap_now[k] = (uint8_t)overlap;
            keys[k] = key_of(overlap, frame, k);
        }
    }
}

/* Called by one warp: finds the places of the best. Returns their number. */
static __device__ int pick_best(struct session_dev *s, uint32_t *places, const uint64_t *keys)
{
    int n = 0, most = s->fuse.n_covisible, n_keys = s->fuse.max_keyframes;
    uint64_t last = ~0ull;
    for (; n < most; n++) {
        uint64_t best = 0;
        for (int k = (int)threadIdx.x; k < n_keys; k += 32)
            if (keys[k] < last && keys[k] > best)
                best = keys[k];
        for (int step = 16; step > 0; step /= 2) {
            uint64_t other = __shfl_xor_sync(0xffffffffu, best, step);
            best = other > best ? other : best;
        }
        if (best == 0)
            break;
        if (threadIdx.x == 0) {
            places[n] = (uint32_t)best & 0xffffu;
            s->covisible[n].place = places[n];
            s->covisible[n].overlap = (int)(best >> 48);
        }
        last = best;
    }
    return n;
}

/* Stores the cameras of the picked keyframes side by side for the later passes. */
static __device__ void copy_cameras(struct session_dev *s, const uint32_t *places, int n)
{
    const int words = (int)(sizeof(struct camera) / sizeof(uint32_t));
    for (int i = (int)threadIdx.x; i < n * words; i += COVISIBLE_BLOCK) {
        const struct camera *c = &s->keyframes[places[i / words]].camera;
        ((uint32_t *)s->covisible_camera)[i] = ((const uint32_t *)c)[i % words];
    }
}

/* Called by one thread, before any pass changes the counts. */
static __device__ void note_tally(struct session_dev *s)
{
    s->was.n_slots = s->n_slots;
    s->was.n_unstable = s->n_unstable;
    s->was.n_free = s->n_free;
    s->was.n_points = s->n_points;
    s->was.n_stable = s->n_stable;
    s->was.unstable_now = s->unstable_now;
    s->was.next_id = s->next_id;
    if (s->table_worn)
        s->n_entries = s->n_points;
    s->room_short = s->table && s->n_free + (s->max_points - s->n_slots) < 2 * s->n_pixels ? 1 : 0;
}

/* Called by one thread: sets the view that the frame fuses. */
static __device__ struct view view_of(const struct frame_cuda *f, const struct camera *camera)
{
    struct view view = {f->submap, *camera, f->s->depth, f->s->rgb, f->s->trust, 0, 0, 0};
    return f->views.v ? view_of_views(f->views.v, f->s->rgb, f->submap) : view;
}

static __device__ void find_covisible(const struct frame_cuda *f, struct session_dev *s)
{
    __shared__ struct covisible_grid grid;
    __shared__ struct camera camera;
    __shared__ uint64_t keys[KEYS_MAX];
    __shared__ uint32_t places[GPU_COVISIBLE_MAX];
    __shared__ int n_covisible;
    uint32_t *counts = (uint32_t *)s->groups;
    uint32_t n_counts = scan_groups(s->n_pixels) * SCAN_GROUP_WIDTH;

    if (!f->views.v)
        scan_stamp(s, SESSION_CUDA_VIEWS);
    scan_stamp(s, SESSION_CUDA_COVISIBLE);
    if (threadIdx.x == 0) {
        camera = motion_camera(f, s);
        s->view = view_of(f, &camera);
        s->submap = f->submap;
    } else if (threadIdx.x == 32) {
        note_tally(s);
    }
    for (uint32_t i = threadIdx.x; i < n_counts; i += COVISIBLE_BLOCK)
        counts[i] = 0;
    __syncthreads();
    make_grid(&grid, s, &camera);
    __syncthreads();
    if (threadIdx.x < COVISIBLE_GRID) {
        s->grid.valid[threadIdx.x] = grid.valid[threadIdx.x];
        s->grid.p[threadIdx.x] = grid.p[threadIdx.x];
    }
    find_overlaps(s, keys, &grid, &camera, f->submap);
    __syncthreads();
    if (threadIdx.x < 32) {
        int n = pick_best(s, places, keys);
        if (threadIdx.x == 0)
            s->n_covisible = n_covisible = n;
    }
    __syncthreads();
    copy_cameras(s, places, n_covisible);
}

static __global__ void __launch_bounds__(COVISIBLE_BLOCK)
    covisible_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    if (s == NULL)
        return;
    if (blockIdx.x == 0)
        find_covisible(f, s);
    else
        associate_usable<COVISIBLE_BLOCK>(f, blockIdx.x - 1);
    if (s->table_worn && blockIdx.x > 0)
        cell_fill(s, (blockIdx.x - 1) * COVISIBLE_BLOCK + threadIdx.x,
                  (gridDim.x - 1) * COVISIBLE_BLOCK);
}

int covisible_cuda(const struct pass_cuda *p, struct err *err)
{
    return scan_launch(SCAN_BEHIND_ANY, covisible_kernel,
                       1 + (p->pixels_max + COVISIBLE_BLOCK - 1) / COVISIBLE_BLOCK, COVISIBLE_BLOCK,
                       p, err);
}
