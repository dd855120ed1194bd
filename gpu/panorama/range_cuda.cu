/*
 * range_cuda.cu - distances of the surfaces in a pair (range_cpu.c)
 *
 * Grid:    (PANORAMA_CUDA_BLOCKS, pairs). look_kernel: a thread a pixel of both cylinders;
 *          cost_kernel: a warp a pixel, a lane a label, 32 labels at a time, so that a warp writes
 *          whole lines; walk_kernel: a warp a line of a path, which keeps the previous pixel's sums
 *          in registers, label 32 i + lane in place i; best_kernel: a warp a pixel; hide_kernel: a
 *          thread a pixel.
 */
#include "gpu/panorama/panorama_cuda.cuh"

#define WARPS (PANORAMA_CUDA_BLOCK / 32)
#define PLACES (RANGE_LABELS_MAX / 32) /* labels of a lane */
#define SUM_NONE 60000u

static __device__ inline uint32_t warp_of(void)
{
    return blockIdx.x * WARPS + threadIdx.x / 32;
}

static __device__ inline int is_needed(const struct pair_cuda *p)
{
    return p->on && p->view.patch && p->view.paired == GPU_PAIRED_LAID;
}

static __global__ void look_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    const struct voxel_cylinder *c = &p->view.cylinder;
    if (p->on)
        panorama_stamp(p, PANORAMA_CUDA_RANGE);
    if (!is_needed(p))
        return;
    for (uint32_t i = blockIdx.x * PANORAMA_CUDA_BLOCK + threadIdx.x; i < range_pixels(c);
         i += gridDim.x * PANORAMA_CUDA_BLOCK) {
        for (int e = 0; e < 2; e++)
            p->s.look[e][i] =
                range_look(&p->view, e, (int)(i % (uint32_t)c->w), (int)(i / (uint32_t)c->w));
        p->s.front[i] = 0;
    }
}

static __global__ void cost_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    const struct voxel_cylinder *c = &p->view.cylinder;
    if (!is_needed(p))
        return;
    for (uint32_t i = warp_of(); i < range_pixels(c); i += gridDim.x * WARPS)
        for (int k = (int)(threadIdx.x % 32); k < c->n_labels; k += 32)
            p->s.costs[(size_t)i * (size_t)c->stride + (size_t)k] =
                (uint8_t)range_cost_of(c, p->s.look[0], p->s.look[1], (int)(i % (uint32_t)c->w),
                                       (int)(i / (uint32_t)c->w), k);
}

/* The sum of the label before the one in place i of this lane; the first label of a kind has none
 * before it. */
static __device__ inline uint32_t below(const struct voxel_cylinder *c, const uint32_t *sums, int i)
{
    int lane = (int)(threadIdx.x % 32), k = 32 * i + lane;
    uint32_t beside = __shfl_up_sync(PANORAMA_ALL, sums[i], 1);
    uint32_t last = i ? __shfl_sync(PANORAMA_ALL, sums[i - 1], 31) : SUM_NONE;
    return k == 0 || k == c->n_stand ? SUM_NONE : lane ? beside : last;
}

static __device__ inline uint32_t above(const struct voxel_cylinder *c, const uint32_t *sums, int i)
{
    int lane = (int)(threadIdx.x % 32), k = 32 * i + lane;
    uint32_t beside = __shfl_down_sync(PANORAMA_ALL, sums[i], 1);
    uint32_t first = i + 1 < PLACES ? __shfl_sync(PANORAMA_ALL, sums[i + 1], 0) : SUM_NONE;
    return k == c->n_stand - 1 || k >= c->n_labels - 1 ? SUM_NONE : lane < 31 ? beside : first;
}

/* Called by a warp: goes one pixel further along a line. Returns the least sum. */
static __device__ inline uint32_t range_step_row(const struct voxel_cylinder *c, uint32_t *to,
                                                 const uint32_t *from, const uint8_t *costs,
                                                 uint32_t least, uint32_t edge, uint32_t flat)
{
    uint32_t best = SUM_NONE;
#pragma unroll
    for (int i = 0; i < PLACES; i++) {
        int k = 32 * i + (int)(threadIdx.x % 32);
        uint32_t low = below(c, from, i), high = above(c, from, i);
        to[i] = SUM_NONE;
        if (k < c->n_labels)
            to[i] = range_step(from[i], low, high, least, edge, flat, costs[k]);
        best = to[i] < best ? to[i] : best;
    }
    return __reduce_min_sync(PANORAMA_ALL, best);
}

static __global__ void walk_kernel(const struct pair_cuda *pairs, int path)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    const struct voxel_cylinder *c = &p->view.cylinder;
    int lead, lane = (int)(threadIdx.x % 32);
    if (!is_needed(p))
        return;
    lead = range_lead(c, path);
    for (int line = (int)warp_of(); line < range_lines(c, path); line += (int)(gridDim.x * WARPS)) {
        uint32_t from[PLACES], to[PLACES], least = 0, before = 0;
#pragma unroll
        for (int i = 0; i < PLACES; i++)
            from[i] = 32 * i + lane < c->n_labels ? 0 : SUM_NONE;
        for (int n = -lead; n < range_steps(c, path); n++) {
            size_t pixel = range_at(c, path, line, n), at = pixel * (size_t)c->stride;
            uint32_t here = p->s.look[0][pixel];
            least = range_step_row(c, to, from, p->s.costs + at, least, range_edge(here, before),
                                   range_flat(c, p->s.look[0], pixel));
            before = here;
#pragma unroll
            for (int i = 0; i < PLACES; i++) {
                uint16_t *sum = p->s.sums + at + 32 * i + lane;
                from[i] = to[i];
                if (n >= 0 && 32 * i + lane < c->n_labels)
                    *sum = (uint16_t)(path == 0 ? to[i] : *sum + to[i]);
            }
        }
    }
}

/* A warp a pixel: its best label, the first among equals, and its sureness. */
static __global__ void best_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    const struct voxel_cylinder *c = &p->view.cylinder;
    if (!is_needed(p))
        return;
    for (uint32_t i = warp_of(); i < range_pixels(c); i += gridDim.x * WARPS) {
        const uint16_t *sums = p->s.sums + (size_t)i * (size_t)c->stride;
        int u = (int)(i % (uint32_t)c->w), v = (int)(i / (uint32_t)c->w), best, at, row;
        uint32_t key = 0xffffffffu, next = SUM_NONE;
        struct range_pixel pixel;
        for (int k = (int)(threadIdx.x % 32); k < c->n_labels; k += 32) {
            uint32_t one = (uint32_t)sums[k] << 16 | (uint32_t)k;
            key = one < key ? one : key;
        }
        key = __reduce_min_sync(PANORAMA_ALL, key);
        best = (int)(key & 0xffffu);
        at = range_disparity4(c, v, best);
        for (int k = (int)(threadIdx.x % 32); k < c->n_labels; k += 32) {
            int off = range_disparity4(c, v, k) - at;
            if ((off > RANGE_OTHER || off < -RANGE_OTHER) && sums[k] < next)
                next = sums[k];
        }
        next = __reduce_min_sync(PANORAMA_ALL, next);
        if (threadIdx.x % 32)
            continue;
        row = range_row(v, at);
        pixel.sure = range_sure(c, p->s.look[0], i, next - (key >> 16));
        pixel.place = p->s.look[0][i] & RANGE_SHOWN ? range_place(c, sums, best) : 0.0f;
        p->s.range[i] = pixel;
        p->s.at4[i] = (uint16_t)at;
        if (pixel.place != 0.0f && row >= 0)
            atomicMax(&p->s.front[(size_t)row * (size_t)c->w + (size_t)u], (uint32_t)at);
    }
}

static __global__ void hide_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    const struct voxel_cylinder *c = &p->view.cylinder;
    if (!is_needed(p))
        return;
    for (uint32_t i = blockIdx.x * PANORAMA_CUDA_BLOCK + threadIdx.x; i < range_pixels(c);
         i += gridDim.x * PANORAMA_CUDA_BLOCK) {
        int at = p->s.at4[i], row = range_row((int)(i / (uint32_t)c->w), at);
        size_t there = (size_t)(row < 0 ? 0 : row) * (size_t)c->w + i % (uint32_t)c->w;
        if (row < 0 || p->s.front[there] > (uint32_t)(at + RANGE_HIDDEN))
            p->s.range[i].place = 0.0f;
    }
}

int range_cuda(const struct pass_cuda *p, struct err *err)
{
    const struct pair_cuda *pairs = (const struct pair_cuda *)p->args;
    int rc = panorama_launch_pass(look_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, p, err);
    if (rc == 0)
        rc = panorama_launch_pass(cost_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, p, err);
    for (int path = 0; path < RANGE_PATHS && rc == 0; path++)
        rc = panorama_launch(walk_kernel, RANGE_SIDE_MAX / WARPS, PANORAMA_CUDA_BLOCK,
                             (unsigned)p->n, p->stream, err, pairs, path);
    if (rc == 0)
        rc = panorama_launch_pass(best_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, p, err);
    if (rc == 0)
        rc = panorama_launch_pass(hide_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, p, err);
    return rc;
}
