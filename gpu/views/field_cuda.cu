/*
 * field_cuda.cu - the correction field and depth of a frame's views, and the guide of a swept
 * keyframe
 *
 * Grid:    sample, apply: (blocks of pixels, frames), a thread a pixel of every view.
 *          begin, relax: (views, frames); begin: a thread a node; relax: a thread a pair of nodes,
 *          one of each colour. gather: (blocks of nodes of every view, frames), a warp a node,
 *          whose pixels are summed up in their order.
 * Order:   sample, begin, gather and relax FIELD_ROUNDS times, apply. The guide is solved in the
 *          final view's memory.
 */
#include "gpu/views/fine_point.h"
#include "gpu/views/pose_check_point.h"
#include "gpu/views/views_cuda.cuh"

#define GATHER_WARPS 8
#define GATHER_PIXELS 256 /* pixels that a warp holds at a time */

/* What is solved. */
enum what { VIEWS_OF_FRAME, GUIDE };

static __device__ inline float single_at(const struct views_job *job, int target, uint32_t i)
{
    const struct views *v = job->v;
    return target == VIEWS_FRAME ? job->frame.depth[i]
                                 : views_decode(v->single[views_at(v, v->plan.final) + i]);
}

static __device__ inline int is_wanted(const struct views *v, int target, enum what what)
{
    return v && (what == GUIDE ? v->plan.fine : draw_is_wanted(v, target));
}

/* Counts the bins of a block's pixels, where `one`: in the block first, since many share a bin. All
 * threads of the block call it. */
static __device__ void field_count(struct views_target *t, int one, float ratio)
{
    __shared__ uint32_t bins[VIEWS_BINS];
    for (int i = (int)threadIdx.x; i < VIEWS_BINS; i += VIEWS_BLOCK)
        bins[i] = 0;
    __syncthreads();
    if (one)
        atomicAdd(&bins[field_bin(ratio)], 1u);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < VIEWS_BINS; i += VIEWS_BLOCK)
        if (bins[i])
            atomicAdd(&t->bins[i], bins[i]);
    __syncthreads();
}

static __global__ void sample_kernel(const struct views_job *first, size_t stride)
{
    const struct views_job *job = views_job_of(first, stride);
    struct views *v = job->v;
    uint32_t i = views_pixel_of_thread();
    if (!v || blockIdx.x * VIEWS_BLOCK >= v->n_pixels)
        return;
    for (int target = 0; target < VIEWS_TARGETS; target++)
        if (draw_is_wanted(v, target)) {
            struct views_target *t = &v->target[target];
            float ratio = 0.0f, share = 0.0f;
            if (i < v->n_pixels) {
                share = field_sample(v, target, i, single_at(job, target, i), &ratio);
                t->share[i] = share;
                t->ratio[i] = ratio;
            }
            field_count(t, share > 0.0f, ratio);
        }
}

/* The first warp turns each bin into the count of that bin and all below. */
static __device__ void add_up(uint32_t *bins)
{
    const int each = VIEWS_BINS / 32;
    uint32_t *own = bins + each * (int)threadIdx.x, before;
    for (int i = 1; i < each; i++)
        own[i] += own[i - 1];
    before = own[each - 1];
    for (unsigned by = 1; by < 32; by *= 2) {
        uint32_t below = __shfl_up_sync(0xffffffffu, before, by);
        before += threadIdx.x >= by ? below : 0;
    }
    before -= own[each - 1];
    for (int i = 0; i < each; i++)
        own[i] += before;
}

/* field_quartile(), by all threads. */
static __device__ int quartile(const uint32_t *sums, uint32_t n_counted, uint32_t n)
{
    int i = (int)threadIdx.x;
    return __syncthreads_count(i < VIEWS_BINS && 4 * sums[i] < n * n_counted);
}

static __device__ void field_begin(struct views *v, struct views_target *t, const uint8_t *grey)
{
    __shared__ uint32_t sums[VIEWS_BINS];
    int i = (int)threadIdx.x, apart;
    float common = 0.0f;
    uint32_t n;
    if (i < VIEWS_BINS)
        sums[i] = t->bins[i];
    __syncthreads();
    if (i < 32)
        add_up(sums);
    __syncthreads();
    n = sums[VIEWS_BINS - 1];
    if (n) {
        common = field_common_of(v, quartile(sums, n, 2), n);
        apart = quartile(sums, n, 3);
        apart -= quartile(sums, n, 1);
    }
    if (i == 0) {
        t->n_share = n;
        t->sigma = n ? field_sigma_of(v, apart, n) : 0.0f;
        t->common = common;
    }
    if (i < v->nodes_w * v->nodes_h) {
        t->nodes[i] = common;
        t->right[i] = field_tie(v, grey, i % v->nodes_w, i / v->nodes_w, 1, 0);
        t->down[i] = field_tie(v, grey, i % v->nodes_w, i / v->nodes_w, 0, 1);
    }
}

static __global__ void begin_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    int target = (int)blockIdx.x;
    if (v && draw_is_wanted(v, target))
        field_begin(v, &v->target[target],
                    target == VIEWS_FRAME ? v->grey_now : v->grey + views_at(v, v->plan.final));
}

/* A warp has a node. Its lanes weigh pixels; then one lane adds the weights and one the sums. */
static __device__ void field_gather(const struct views *v, struct views_target *t, int node,
                                    float scatter)
{
    __shared__ float said[GATHER_WARPS][2][GATHER_PIXELS];
    int lane = (int)threadIdx.x % 32, nx = node % v->nodes_w, ny = node / v->nodes_w;
    const struct field_around a = field_around(v, nx, ny);
    float(*own)[GATHER_PIXELS] = said[threadIdx.x / 32], sum = 0.0f;
    for (int from = 0; from < a.w * a.h; from += GATHER_PIXELS) {
        int n = a.w * a.h - from < GATHER_PIXELS ? a.w * a.h - from : GATHER_PIXELS;
        for (int i = lane; i < n; i += 32) {
            struct views_load l =
                field_pull(v, t, nx, ny, a.x + (from + i) % a.w, a.y + (from + i) / a.w, scatter);
            own[0][i] = l.weight;
            own[1][i] = l.sum;
        }
        __syncwarp();
        if (lane < 2)
            for (int i = 0; i < n; i++)
                sum += own[lane][i];
        __syncwarp();
    }
    if (lane == 0)
        t->load[node].weight = sum;
    if (lane == 1)
        t->load[node].sum = sum;
}

static __global__ void __launch_bounds__(32 * GATHER_WARPS)
    gather_kernel(const struct views_job *first, size_t stride, enum what what, int round)
{
    struct views *v = views_job_of(first, stride)->v;
    int node = (int)(blockIdx.x * GATHER_WARPS + threadIdx.x / 32) % VIEWS_NODES;
    int target = what == GUIDE ? VIEWS_FINAL : (int)blockIdx.x * GATHER_WARPS / VIEWS_NODES;
    if (is_wanted(v, target, what) && node < v->nodes_w * v->nodes_h)
        field_gather(v, &v->target[target], node, field_scatter(v, round));
}

/* Colours alternate between rows: in the n-th pair of a row the first or the second node is red. */
static __device__ void relax(struct views *v, struct views_target *t)
{
    __shared__ float room[3 * VIEWS_NODES]; /* one row before the nodes and one behind */
    float *nodes = room + VIEWS_NODES, own[2] = {0.0f, 0.0f};
    int w = v->nodes_w, half = (w + 1) / 2, y = (int)threadIdx.x / half, at[2], in[2];
    struct field_stand s[2];
    if (y >= v->nodes_h)
        return;
    if ((int)threadIdx.x < w) {
        nodes[(int)threadIdx.x - w] = 0.0f;
        nodes[w * v->nodes_h + (int)threadIdx.x] = 0.0f;
    }
    for (int colour = 0; colour < 2; colour++) {
        int x = 2 * ((int)threadIdx.x % half) + ((y + colour) & 1);
        at[colour] = y * w + x;
        in[colour] = x < w;
        if (in[colour]) {
            s[colour] = field_stand(v, t, x, y);
            own[colour] = t->nodes[at[colour]];
            nodes[at[colour]] = own[colour];
        }
    }
    __syncthreads();
    for (int i = 0; i < FIELD_SWEEPS; i++) {
#pragma unroll
        for (int colour = 0; colour < 2; colour++) {
            if (in[colour]) {
                own[colour] = field_relax(&s[colour], own[colour], &nodes[at[colour]], w);
                nodes[at[colour]] = own[colour];
            }
            __syncthreads();
        }
    }
    for (int colour = 0; colour < 2; colour++)
        if (in[colour])
            t->nodes[at[colour]] = own[colour];
}

/* Empties the bins for the next solution. */
static __global__ void __launch_bounds__(VIEWS_NODES)
    relax_kernel(const struct views_job *first, size_t stride, enum what what, int round)
{
    struct views *v = views_job_of(first, stride)->v;
    int target = what == GUIDE ? VIEWS_FINAL : (int)blockIdx.x;
    struct views_target *t;
    if (!is_wanted(v, target, what))
        return;
    t = &v->target[target];
    if (threadIdx.x < VIEWS_BINS)
        t->bins[threadIdx.x] = 0;
    relax(v, t);
    if (what == VIEWS_OF_FRAME && target == VIEWS_FRAME && round + 1 == FIELD_ROUNDS &&
        threadIdx.x == 0) {
        v->told = pose_check_views(v, t->common);
        pose_check_length(v, t->common);
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

static int rounds(const struct views_batch *b, enum what what, struct err *err)
{
    unsigned n = (unsigned)b->n, targets = what == GUIDE ? 1 : VIEWS_TARGETS;
    int rc = 0;

    for (int round = 0; round < FIELD_ROUNDS && rc == 0; round++) {
        rc = views_launch_by(gather_kernel, dim3(targets * VIEWS_NODES / GATHER_WARPS, n),
                             32 * GATHER_WARPS, b, err, what, round);
        if (rc == 0)
            rc = views_launch_by(relax_kernel, dim3(targets, n), VIEWS_NODES, b, err, what, round);
    }
    return rc;
}

int field_cuda(const struct views_batch *b, struct err *err)
{
    int rc = views_launch(sample_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
    if (rc == 0)
        rc = views_launch(begin_kernel, VIEWS_TARGETS, VIEWS_NODES, b, err);
    if (rc == 0)
        rc = rounds(b, VIEWS_OF_FRAME, err);
    return rc ? rc : views_launch(apply_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}

static __global__ void guide_sample_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    struct views_target *t;
    uint32_t i = views_pixel_of_thread();
    float ratio = 0.0f, share = 0.0f;
    if (!v || blockIdx.x * VIEWS_BLOCK >= v->n_pixels || !fine_is_wanted(v))
        return;
    t = &v->target[VIEWS_FINAL];
    if (i < v->n_pixels) {
        share = fine_sample(v, i, &ratio);
        t->share[i] = share;
        t->ratio[i] = ratio;
    }
    field_count(t, share > 0.0f, ratio);
}

/* One block a frame decides for all later kernels. */
static __global__ void guide_begin_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    int wanted = v && fine_is_wanted(v);
    __syncthreads();
    if (v && threadIdx.x == 0)
        fine_decide(v, wanted);
    if (wanted)
        field_begin(v, &v->target[VIEWS_FINAL], v->grey + views_at(v, v->plan.swept));
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
        rc = views_launch(guide_begin_kernel, 1, VIEWS_NODES, b, err);
    if (rc == 0)
        rc = rounds(b, GUIDE, err);
    return rc ? rc : views_launch(guide_apply_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}
