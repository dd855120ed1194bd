/*
 * draw_cuda.cu - measurements of keyframes drawn into a frame's views: the nearest, then the mean
 *
 * Grid:    (blocks of pixels, frames), a thread a pixel of every keyframe that is drawn. Minima and
 *          sums of whole numbers: their order does not matter.
 */
#include "gpu/views/draw_point.h"
#include "gpu/views/views_cuda.cuh"

#define SOURCES (VIEWS_TARGETS * VIEWS_POOL)

static __device__ void draw_one(struct views_target *t, const struct views *v,
                                const struct draw_source *s, uint32_t i, int round)
{
    uint32_t at;
    float z;
    if (!draw_pixel(s, v->w, v->h, i, &at, &z))
        return;
    if (round == 0) {
        atomicMin(&t->front[at], views_bits(z));
    } else if (draw_is_front(t->front[at], z)) {
        uint32_t w = draw_weight(s->agree[i]);
        atomicAdd(&t->weight[at], w);
        atomicAdd(&t->sum[at], draw_term(w, z));
    }
}

static __device__ void draw_round(const struct views_job *job, int round)
{
    struct views *v = job->v;
    __shared__ struct draw_source sources[SOURCES];
    uint32_t i = views_pixel_of_thread();
    if (!v || blockIdx.x * VIEWS_BLOCK >= v->n_pixels)
        return;
    if (threadIdx.x < SOURCES) {
        int target = (int)threadIdx.x / VIEWS_POOL, k = (int)threadIdx.x % VIEWS_POOL;
        if (k < v->plan.n_pool[target])
            sources[threadIdx.x] = draw_source_of(v, target, k);
    }
    __syncthreads();
    if (i >= v->n_pixels)
        return;
    for (int target = 0; target < VIEWS_TARGETS; target++)
        for (int k = 0; k < v->plan.n_pool[target]; k++)
            draw_one(&v->target[target], v, &sources[target * VIEWS_POOL + k], i, round);
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
    int rc = views_launch(draw_front_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
    return rc ? rc : views_launch(draw_sum_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}
