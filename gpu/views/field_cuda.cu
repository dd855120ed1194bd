/*
 * field_cuda.cu - the correction field of a frame's views, and their depth; and the guide of a
 * swept keyframe
 *
 * Grid:    sample, apply: (blocks of pixels, frames), a thread a pixel of every view. solve:
 *          (views, frames), a thread a node, which sums up its pixels in their order.
 */
#include "gpu/views/fine_point.h"
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

/* A node a thread. Returns the common value. */
static __device__ float solve(struct views *v, int target, const uint8_t *grey)
{
    __shared__ float nodes[VIEWS_NODES], right[VIEWS_NODES], down[VIEWS_NODES];
    int i = (int)threadIdx.x, x, y, in;
    struct field_load load = {0.0f, 0.0f};
    float common;
    x = i % v->nodes_w;
    y = i / v->nodes_w;
    in = y < v->nodes_h;
    common = find_common(v, &v->target[target]);
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
    return common;
}

static __global__ void solve_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    int target = (int)blockIdx.x;
    float common;
    if (!v || !draw_is_wanted(v, target))
        return;
    common = solve(v, target,
                   target == VIEWS_FRAME ? v->grey_now : v->grey + views_at(v, v->plan.final));
    if (target == VIEWS_FRAME && threadIdx.x == 0) {
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

static __global__ void guide_sample_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    uint32_t i = views_pixel_of_thread();
    struct views_target *t;
    if (!v || i >= v->n_pixels || !fine_is_wanted(v))
        return;
    t = &v->target[VIEWS_FINAL];
    t->share[i] = fine_sample(v, i, &t->ratio[i]);
}

/* One block a frame: it decides for all kernels that follow. */
static __global__ void guide_solve_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    int wanted = v && fine_is_wanted(v);
    __syncthreads();
    if (v && threadIdx.x == 0)
        fine_decide(v, wanted);
    if (wanted)
        solve(v, VIEWS_FINAL, v->grey + views_at(v, v->plan.swept));
}

static __global__ void guide_apply_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    uint32_t i = views_pixel_of_thread();
    if (v && i < v->n_pixels && v->plan.fine)
        v->target[VIEWS_FINAL].depth[i] = fine_guide(v, v->target[VIEWS_FINAL].nodes, i);
}

int field_cuda_guide(const struct views_batch *b, struct err *err)
{
    int rc = views_launch(guide_sample_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
    if (rc == 0)
        rc = views_launch(guide_solve_kernel, 1, VIEWS_NODES, b, err);
    return rc ? rc : views_launch(guide_apply_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}
