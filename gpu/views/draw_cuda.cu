/*
 * draw_cuda.cu - measurements of keyframes drawn into a frame's views: the nearest, then the mean
 *
 * Grid:    (blocks of pixels of every DRAWN keyframes, frames), a thread a pixel. Minima and
 *          sums of whole numbers: their order does not matter.
 */
#include "gpu/views/draw_point.h"
#include "gpu/views/views_cuda.cuh"

#define DRAWN 4 /* keyframes of a block, into one view */
#define GROUPS (VIEWS_TARGETS * VIEWS_POOL / DRAWN)

static __device__ void draw_one(struct views_target *t, const struct views *v,
                                const struct draw_source *s, uint32_t i, int round)
{
    uint32_t at;
    float z;
    if (!draw_pixel(s, v->w, v->h, i, &at, &z))
        return;
    if (round == 0) {
        atomicMin(&t->front[at], power_bits(z));
    } else if (draw_is_front(v, t->front[at], z)) {
        uint32_t w = draw_weight(s->agree[i]);
        atomicAdd(&t->weight[at], w);
        atomicAdd(&t->sum[at], draw_term(w, z));
    }
}

static __device__ void draw_round(const struct views_job *job, int round)
{
    struct views *v = job->v;
    __shared__ struct draw_source sources[DRAWN];
    int first = (int)blockIdx.x % GROUPS * DRAWN, target = first / VIEWS_POOL, n;
    uint32_t i = blockIdx.x / GROUPS * VIEWS_BLOCK + threadIdx.x;
    if (!v)
        return;
    n = draw_count(v, target) - first % VIEWS_POOL;
    n = n < DRAWN ? n : DRAWN;
    if ((int)threadIdx.x < n)
        sources[threadIdx.x] = draw_source_of(v, target, first % VIEWS_POOL + (int)threadIdx.x);
    __syncthreads();
    for (int k = 0; k < n && i < v->n_pixels; k++)
        draw_one(&v->target[target], v, &sources[k], i, round);
}

static __global__ void draw_front_kernel(const struct views_job *first, size_t stride)
{
    draw_round(views_job_of(first, stride), 0);
}

static __global__ void draw_sum_kernel(const struct views_job *first, size_t stride)
{
    draw_round(views_job_of(first, stride), 1);
}

int draw_cuda(const struct views_batch *b, struct err *err)
{
    const uint32_t blocks = views_blocks(b) * GROUPS;
    int rc = views_launch(draw_front_kernel, blocks, VIEWS_BLOCK, b, err);
    return rc ? rc : views_launch(draw_sum_kernel, blocks, VIEWS_BLOCK, b, err);
}
