/*
 * plan_cuda.cu - what a frame has to do, then its picture and the new keyframe's maps
 *
 * Grid:    plan: a block a frame; a thread a sample, then a thread for each keyframe and view.
 *          store: (blocks of pixels, frames), a thread a pixel; it clears what is drawn into, too.
 */
#include "gpu/views/draw_point.h"
#include "gpu/views/tell_point.h"
#include "gpu/views/views_cuda.cuh"

#define FROM_FRAME 0 /* views that keyframes are looked at from */
#define FROM_FINAL 1
#define FROM_SWEPT 2
#define FROM 3

/* The samples of a keyframe that was kept before this frame. */
static __device__ void load_samples(float *z, const struct views *v, int place)
{
    if (place < 0)
        return;
    for (int i = (int)threadIdx.x; i < VIEWS_GRID; i += VIEWS_BLOCK)
        z[i] = views_decode(v->single[views_at(v, place) + plan_pixel(i, v->w, v->h)]);
}

static __device__ void look(struct plan_sight *sight, const struct views *v, const float *z,
                            int from, int j)
{
    const struct views_plan *p = &v->plan;
    const struct views_kept *k = &v->kept[from == FROM_FINAL   ? p->final
                                          : from == FROM_SWEPT ? p->swept
                                                               : 0];
    float median_m = from == FROM_FRAME ? p->median_m : k->median_m;
    const struct views_camera *view = from == FROM_FRAME ? &p->camera : &k->camera;
    struct plan_sight none = {0.0f, 0.0f};
    *sight = plan_is_kept(v, j) ? plan_look(v, z, median_m, view, &v->kept[j].camera) : none;
}

static __device__ void begin(struct views *v, const struct views_frame *f)
{
    plan_begin(v, f);
    v->plan.camera = views_camera_make(&f->T_wc, f->K);
}

static __global__ void plan_kernel(const struct views_job *first, size_t stride)
{
    const struct views_job *job = views_job_of(first, stride);
    struct views *v = job->v;
    __shared__ float z[FROM][VIEWS_GRID];
    __shared__ struct plan_sight sight[FROM][VIEWS_KEPT];
    __shared__ uint8_t now[VIEWS_GRID];
    int t = (int)threadIdx.x;
    if (!v)
        return;
    if (t == 0)
        begin(v, &job->frame);
    for (int i = t; i < VIEWS_GRID; i += VIEWS_BLOCK) {
        z[FROM_FRAME][i] = job->frame.depth[plan_pixel(i, v->w, v->h)];
        now[i] = tell_level(v, &job->frame, i);
    }
    __syncthreads();
    for (int i = t; i < VIEWS_GRID; i += VIEWS_BLOCK)
        plan_quantile(&v->plan, z[FROM_FRAME], i, plan_count(z[FROM_FRAME]));
    __syncthreads();
    if (t == 0)
        plan_decide(v);
    __syncthreads();
    load_samples(z[FROM_FINAL], v, v->plan.final);
    load_samples(z[FROM_SWEPT], v, v->plan.swept);
    __syncthreads();
    if (t < FROM * VIEWS_KEPT) {
        int from = t / VIEWS_KEPT;
        if (from == FROM_FRAME || (from == FROM_FINAL ? v->plan.final : v->plan.swept) >= 0)
            look(&sight[from][t % VIEWS_KEPT], v, z[from], from, t % VIEWS_KEPT);
    }
    __syncthreads();
    if (t == 0)
        plan_pool(v, sight[FROM_FRAME], VIEWS_FRAME);
    if (t == 32 && v->plan.final >= 0)
        plan_pool(v, sight[FROM_FINAL], VIEWS_FINAL);
    if (t == 64 && v->plan.swept >= 0)
        plan_sources(v, sight[FROM_SWEPT]);
    if (t == 96)
        tell_still(v, now);
}

static __device__ void keep(struct views *v, const struct views_frame *f, uint32_t i)
{
    size_t at = views_at(v, v->plan.taken) + i;
    v->grey[at] = v->grey_now[i];
    for (int ch = 0; ch < 3; ch++)
        v->rgb[3 * at + ch] = f->rgb[3 * (size_t)i + ch];
    v->single[at] = views_code(f->depth[i]);
    v->own[at] = 0;
    v->agree[at] = 0;
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
        keep(v, &job->frame, i);
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
    int rc = views_launch(plan_kernel, 1, VIEWS_BLOCK, b, err);
    return rc ? rc : views_launch(store_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}
