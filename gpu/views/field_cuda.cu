/*
 * field_cuda.cu - the correction field of a frame's views, and their depth
 *
 * Grid:    sample, apply: (blocks of pixels, frames), a thread a pixel of every view. solve:
 *          (views, frames), a thread a node, which sums up its pixels in their order.
 */
#include "gpu/views/field_point.h"
#include "gpu/views/tell_point.h"
#include "gpu/views/views_cuda.cuh"

static __device__ inline float single_at(const struct views_job *job, int target, uint32_t i)
{
    const struct views *v = job->v;
    return target == VIEWS_FRAME ? job->frame.depth[i]
                                 : views_decode(v->single[views_at(v, v->plan.final) + i]);
}

static __global__ void sample_kernel(const struct views_job *first, size_t stride)
{
    const struct views_job *job = views_job_of(first, stride);
    struct views *v = job->v;
    uint32_t i = views_pixel_of_thread();
    if (!v || i >= v->n_pixels)
        return;
    for (int target = 0; target < VIEWS_TARGETS; target++)
        if (draw_is_wanted(v, target)) {
            struct views_target *t = &v->target[target];
            t->share[i] = field_sample(v, target, i, single_at(job, target, i), &t->ratio[i]);
        }
}

static __device__ float find_common(const struct views *v, struct views_target *t)
{
    __shared__ uint32_t bins[VIEWS_BINS];
    __shared__ float common;
    for (int i = (int)threadIdx.x; i < VIEWS_BINS; i += VIEWS_NODES)
        bins[i] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < v->n_pixels; i += VIEWS_NODES)
        if (t->share[i] > 0.0f)
            atomicAdd(&bins[field_bin(t->ratio[i])], 1u);
    __syncthreads();
    if (threadIdx.x == 0) {
        t->n_share = field_count(bins);
        t->sigma = field_sigma(bins, v->n_pixels);
        common = field_common(bins, v->n_pixels);
    }
    __syncthreads();
    return common;
}

static __global__ void solve_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    __shared__ float nodes[VIEWS_NODES], right[VIEWS_NODES], down[VIEWS_NODES];
    int target = (int)blockIdx.x, i = (int)threadIdx.x, x, y, in;
    struct field_load load = {0.0f, 0.0f};
    const uint8_t *grey;
    float common;
    if (!v || !draw_is_wanted(v, target))
        return;
    x = i % v->nodes_w;
    y = i / v->nodes_w;
    in = y < v->nodes_h;
    common = find_common(v, &v->target[target]);
    grey = target == VIEWS_FRAME ? v->grey_now : v->grey + views_at(v, v->plan.final);
    if (in) {
        nodes[i] = common;
        right[i] = field_tie(v, grey, x, y, 1, 0);
        down[i] = field_tie(v, grey, x, y, 0, 1);
    }
    __syncthreads();
    for (int round = 0; round < FIELD_ROUNDS; round++) {
        if (in)
            load = field_gather(v, &v->target[target], nodes, x, y, field_scatter(round));
        __syncthreads();
        for (int k = 0; k < 2 * FIELD_SWEEPS; k++) {
            if (in && ((x + y) & 1) == (k & 1))
                nodes[i] = field_relax(v, nodes, right, down, &load, common, x, y);
            __syncthreads();
        }
    }
    if (in)
        v->target[target].nodes[i] = nodes[i];
    if (target == VIEWS_FRAME && i == 0) {
        v->told = tell_views(v, common);
        tell_length(v, common);
    }
}

static __global__ void apply_kernel(const struct views_job *first, size_t stride)
{
    const struct views_job *job = views_job_of(first, stride);
    struct views *v = job->v;
    uint32_t i = views_pixel_of_thread();
    if (!v || i >= v->n_pixels)
        return;
    for (int target = 0; target < VIEWS_TARGETS; target++)
        if (draw_is_wanted(v, target))
            field_apply(v, target, i, single_at(job, target, i));
}

int field_cuda(const struct views_batch *b, struct err *err)
{
    int rc = views_launch(sample_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
    if (rc == 0)
        rc = views_launch(solve_kernel, VIEWS_TARGETS, VIEWS_NODES, b, err);
    return rc ? rc : views_launch(apply_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}
