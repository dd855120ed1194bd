/*
 * plan_cuda.cu - what a frame has to do, then its picture and the new keyframe's maps
 *
 * Grid:    plan: a block a frame; a thread a sample, then a warp for each keyframe and view, then a
 *          warp for each choice among keyframes, two a lane. store: (blocks of pixels, frames), a
 *          thread a pixel; it clears the targets, too.
 */
#include "gpu/views/contrast_point.h"
#include "gpu/views/draw_point.h"
#include "gpu/views/pose_check_point.h"
#include "gpu/views/views_cuda.cuh"

#define FROM_FRAME 0 /* views whose samples keyframes may see */
#define FROM_FINAL 1
#define FROM_SWEPT 2
#define FROM 3
#define THREADS 1024
#define WARPS (THREADS / 32)

/* The samples of an earlier frame's keyframe. */
static __device__ void load_samples(float *z, const struct views *v, int place)
{
    int i = (int)threadIdx.x;
    if (place >= 0 && i < VIEWS_GRID)
        z[i] = views_decode(v->single[views_at(v, place) + plan_pixel(i, v->w, v->h)]);
}

/* How the keyframe at place j sees a view's samples; a warp calls it. */
static __device__ struct plan_sight plan_look(const struct views *v, const float *z, int from,
                                              int j)
{
    __shared__ float sines[WARPS][VIEWS_GRID];
    const struct views_plan *p = &v->plan;
    const struct views_kept *k = &v->kept[from == FROM_FINAL   ? p->final
                                          : from == FROM_SWEPT ? p->swept
                                                               : 0];
    float median_m = from == FROM_FRAME ? p->median_m : k->median_m, *own;
    const struct views_camera *view = from == FROM_FRAME ? &p->camera : &k->camera;
    const struct views_camera *other = &v->kept[j].camera;
    const struct plan_between between = plan_between(view, other);
    struct plan_sight sight = {0.0f, 0.0f};
    if (!plan_faces(v, &between))
        return sight;
    own = sines[threadIdx.x / 32];
    for (int i = (int)threadIdx.x % 32; i < VIEWS_GRID; i += 32)
        own[i] = plan_sine(v, i, z[i], median_m, view, other, &between);
    __syncwarp();
    sight = plan_sight(own);
    __syncwarp();
    return sight;
}

/* The place with the largest value among a warp's, two a lane; -1 where none is above 0. Among
 * equals the first place wins, or with `index` the largest index. */
static __device__ int largest(const float value[2], const uint32_t *index)
{
    uint32_t bits[2] = {power_bits(value[0]), power_bits(value[1])}, in[2];
    uint32_t most = __reduce_max_sync(0xffffffffu, bits[0] > bits[1] ? bits[0] : bits[1]);
    if (most == 0)
        return -1;
    in[0] = bits[0] == most;
    in[1] = bits[1] == most;
    if (index) {
        uint32_t a = in[0] ? index[0] : 0, b = in[1] ? index[1] : 0;
        uint32_t last = __reduce_max_sync(0xffffffffu, a > b ? a : b);
        in[0] = in[0] && index[0] == last;
        in[1] = in[1] && index[1] == last;
    }
    in[0] = __ballot_sync(0xffffffffu, (int)in[0]);
    in[1] = __ballot_sync(0xffffffffu, (int)in[1]);
    return in[0] ? __ffs((int)in[0]) - 1 : 32 + __ffs((int)in[1]) - 1;
}

/* The CPU's choice, made by a warp. */
static __device__ void choose_pool(struct views *v, const struct plan_sight *sight, int target)
{
    int lane = (int)threadIdx.x % 32, n = 0;
    float share[2];
    uint32_t index[2];
    for (int h = 0; h < 2; h++) {
        int j = lane + 32 * h;
        share[h] = plan_share(v, j, target, &sight[j]);
        index[h] = share[h] > 0.0f ? v->kept[j].index : 0;
    }
    for (; n < VIEWS_POOL; n++) {
        int best = largest(share, index);
        if (best < 0)
            break;
        if (lane == 0)
            v->plan.pool[target][n] = best;
        if (lane == best % 32)
            share[best / 32] = 0.0f;
    }
    if (lane == 0)
        v->plan.n_pool[target] = n;
}

static __device__ void choose_sources(struct views *v, const struct plan_sight *sight)
{
    int lane = (int)threadIdx.x % 32, n = 0;
    float worth[2];
    for (int h = 0; h < 2; h++)
        worth[h] = plan_worth(v, lane + 32 * h, &sight[lane + 32 * h]);
    for (; n < VIEWS_SOURCES; n++) {
        int best = largest(worth, NULL);
        if (best < 0)
            break;
        if (lane == n) {
            v->plan.source[n] = best;
            v->plan.pose[n] = plan_pose(v, best);
        }
        for (int h = 0; h < 2; h++)
            if (worth[h] > 0.0f)
                worth[h] = plan_worth_left(v, lane + 32 * h, best, worth[h]);
    }
    if (lane == 0)
        v->plan.n_sources = n;
}

static __device__ void plan_begin_frame(struct views *v, const struct views_job *job)
{
    struct views_frame f = job->frame;
    if (job->stand) {
        f.T_wc = job->stand->T_wc;
        f.begins = job->stand->begins;
    }
    plan_begin(v, &f);
    v->plan.camera = views_camera_make(&f.T_wc, f.K);
}

/* All threads read the keyframes' cache lines once; the deciding thread alone would fetch them one
 * after the other. */
static __device__ void fetch_kept(const struct views *v)
{
    const uint32_t *kept = (const uint32_t *)v->kept;
    uint32_t some = 0;
    for (size_t i = threadIdx.x * 8; i < sizeof v->kept / (sizeof *kept); i += THREADS * 8)
        some |= kept[i];
    (void)__syncthreads_or(some != 0);
}

static __global__ void __launch_bounds__(THREADS)
    plan_kernel(const struct views_job *first, size_t stride)
{
    const struct views_job *job = views_job_of(first, stride);
    struct views *v = job->v;
    __shared__ float z[FROM][VIEWS_GRID];
    __shared__ struct plan_sight sight[FROM][VIEWS_KEPT];
    __shared__ uint8_t now[VIEWS_GRID];
    int t = (int)threadIdx.x, warp = t / 32;
    if (!v)
        return;
    if (t < VIEWS_GRID) {
        z[FROM_FRAME][t] = job->frame.depth[plan_pixel(t, v->w, v->h)];
        now[t] = pose_check_level(v, &job->frame, t);
    }
    fetch_kept(v);
    if (t == 0)
        plan_begin_frame(v, job);
    __syncthreads();
    if (t < VIEWS_GRID)
        plan_quantile(&v->plan, z[FROM_FRAME], t, plan_count(z[FROM_FRAME]));
    __syncthreads();
    if (t == 0)
        plan_decide(v);
    __syncthreads();
    load_samples(z[FROM_FINAL], v, v->plan.final);
    load_samples(z[FROM_SWEPT], v, v->plan.swept);
    __syncthreads();
    for (int k = warp; k < FROM * VIEWS_KEPT; k += WARPS) {
        int from = k / VIEWS_KEPT, j = k % VIEWS_KEPT;
        struct plan_sight none = {0.0f, 0.0f};
        if (from == FROM_FRAME || (from == FROM_FINAL ? v->plan.final : v->plan.swept) >= 0)
            sight[from][j] = plan_is_kept(v, j) ? plan_look(v, z[from], from, j) : none;
    }
    __syncthreads();
    if (warp == 0)
        choose_pool(v, sight[FROM_FRAME], VIEWS_FRAME);
    if (warp == 1 && v->plan.final >= 0)
        choose_pool(v, sight[FROM_FINAL], VIEWS_FINAL);
    if (warp == 2 && v->plan.swept >= 0)
        choose_sources(v, sight[FROM_SWEPT]);
    if (t == 96)
        pose_check_still(v, now);
}

static __device__ void plan_keep(struct views *v, const struct views_frame *f, uint32_t i)
{
    size_t at = views_at(v, v->plan.taken) + i;
    v->grey[at] = v->grey_now[i];
    for (int ch = 0; ch < 3; ch++)
        v->rgb[3 * at + ch] = f->rgb[3 * (size_t)i + ch];
    v->single[at] = views_code(f->depth[i]);
    v->own[at] = 0;
    v->agree[at] = 0;
    v->contrast[at] = contrast_at(&v->params, f->level, v->w, v->h, (int)i % v->w, (int)i / v->w);
}

static __global__ void store_kernel(const struct views_job *first, size_t stride)
{
    const struct views_job *job = views_job_of(first, stride);
    struct views *v = job->v;
    uint32_t i = views_pixel_of_thread();
    if (!v || i >= v->n_pixels)
        return;
    v->grey_now[i] = views_grey(job->frame.rgb + 3 * (size_t)i);
    if (v->plan.taken >= 0)
        plan_keep(v, &job->frame, i);
    for (int t = 0; t < VIEWS_TARGETS; t++)
        if (draw_is_wanted(v, t)) {
            v->target[t].front[i] = DRAW_NONE;
            v->target[t].weight[i] = 0;
            v->target[t].sum[i] = 0;
        }
    for (int t = 0; t < VIEWS_TARGETS; t++)
        for (uint32_t k = i; k < VIEWS_BINS; k += v->n_pixels)
            v->target[t].bins[k] = 0;
}

int plan_cuda(const struct views_batch *b, struct err *err)
{
    int rc = views_launch(plan_kernel, 1, THREADS, b, err);
    return rc ? rc : views_launch(store_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}
