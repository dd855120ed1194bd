/*
 * refine_cuda.cu - the poses of a swept keyframe's sources: blurred pictures, how its depths stand
 * to those of other keyframes, then all rounds of the system by one block
 *
 * Grid:    blur, scales: (blocks of pixels, frames), a thread a pixel. pose: (1, frames), a thread
 *          a sum of the system; points go by in their order, PART at a time, through shared memory.
 */
#include "gpu/views/refine_point.h"
#include "gpu/views/views_cuda.cuh"

#define THREADS 1024 /* at least REFINE_SUMS, a power of two */
#define PART 32
#define CELLS ((VIEWS_POINTS + THREADS - 1) / THREADS)

static __global__ void blur_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    int i = (int)views_pixel_of_thread();
    if (!v || !refine_is_wanted(v))
        return;
    for (int k = i; k < VIEWS_SCALES; k += (int)v->n_pixels)
        v->scales[k] = 0;
    for (int l = 0; l < REFINE_LEVELS; l++) {
        int w = v->w >> l, h = v->h >> l;
        if (i >= w * h)
            return;
        for (int picture = 0; picture < REFINE_PICTURES; picture++)
            if (refine_is_there(v, picture))
                refine_level(v, picture, l)[i] =
                    refine_shrink(refine_grey(v, picture), v->w, v->h, l, i % w, i / w);
    }
}

static __global__ void scales_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    __shared__ struct rigid there[VIEWS_KEPT];
    __shared__ int is_other[VIEWS_KEPT];
    uint32_t i = views_pixel_of_thread();
    if (!v || !refine_is_wanted(v) || blockIdx.x * VIEWS_BLOCK >= v->n_pixels)
        return;
    if (threadIdx.x < VIEWS_KEPT) {
        int j = (int)threadIdx.x;
        is_other[j] = refine_is_other(v, j);
        if (is_other[j])
            there[j] = rigid_mul(&v->kept[v->plan.swept].camera.T_cw, &v->kept[j].camera.T_wc);
    }
    __syncthreads();
    if (i >= v->n_pixels || i % REFINE_EVERY != 0)
        return;
    for (int j = 0; j < VIEWS_KEPT; j++)
        if (is_other[j]) {
            int bin = refine_scale_bin(v, j, &there[j], i);
            if (bin >= 0)
                atomicAdd(&v->scales[bin], 1u);
        }
}

/* What the rounds share. */
struct shared {
    struct refine_term terms[PART][VIEWS_SOURCES];
    float gd[PART];
    float A[REFINE_PAIRS], b[REFINE_UNKNOWNS], moments[VIEWS_SOURCES * REFINE_MOMENTS];
    uint32_t count[THREADS];
    uint32_t n_points;
    int done;
};

/* Points in the order of their cells: each thread has a run of cells. */
static __device__ void choose(struct views *v, struct shared *s)
{
    int cells = (v->w / v->cell) * (v->h / v->cell), t = (int)threadIdx.x;
    uint32_t at[CELLS], n = 0, before = 0;
    for (int k = 0; k < CELLS; k++) {
        int cell = t * CELLS + k;
        uint32_t found = cell < cells ? refine_choose(v, cell) : 0xffffffffu;
        if (found != 0xffffffffu)
            at[n++] = found;
    }
    s->count[t] = n;
    __syncthreads();
    for (int k = 0; k < t; k++)
        before += s->count[k];
    for (uint32_t k = 0; k < n; k++)
        v->points[before + k] = refine_point(v, at[k]);
    if (t == THREADS - 1) {
        v->n_points = before + n;
        s->n_points = before + n;
    }
    __syncthreads();
}

static __device__ void look(struct refine_row *rows, const struct views *v, int level, uint32_t i)
{
    for (int k = 0; k < v->plan.n_sources; k++)
        rows[k] = refine_look_from(v, k, level, &v->plan.pose[k], &v->points[i]);
}

/* The sums over all points: each by its thread, in their order. */
static __device__ void sum(const struct views *v, struct shared *s, int level)
{
    int t = (int)threadIdx.x, n = v->plan.n_sources;
    struct refine_sum at = refine_sum_of(t < REFINE_SUMS ? t : 0);
    int source = at.column < -1 ? at.row : at.row / REFINE_POSE;
    bool mine = t < REFINE_SUMS && source < n;
    float total = 0.0f;
    for (uint32_t i = 0; i < s->n_points; i += PART) {
        uint32_t left = s->n_points - i, part = left < PART ? left : PART;
        __syncthreads();
        if ((uint32_t)t < part) {
            struct refine_row rows[VIEWS_SOURCES];
            look(rows, v, level, i + (uint32_t)t);
            refine_terms(s->terms[t], &s->gd[t], rows, n);
        }
        __syncthreads();
        for (uint32_t k = 0; mine && k < part; k++)
            total = refine_add(total, at, s->terms[k], s->gd[k]);
    }
    if (t < REFINE_PAIRS)
        s->A[t] = total;
    else if (t < REFINE_PAIRS + REFINE_UNKNOWNS)
        s->b[t - REFINE_PAIRS] = total;
    else if (t < REFINE_SUMS)
        s->moments[t - REFINE_PAIRS - REFINE_UNKNOWNS] = total;
    __syncthreads();
}

#define AT(i, k) s->A[(i) * ((i) + 1) / 2 + (k)]

/* As on the CPU, column by column; the rows of a column side by side. */
static __device__ void factor(struct shared *s, int n)
{
    int t = (int)threadIdx.x;
    struct refine_sum at = refine_sum_of(t < REFINE_PAIRS ? t : 0);
    for (int k = 0; k < n; k++) {
        if (t == 0) {
            s->done = s->done && AT(k, k) > REFINE_SINGULAR;
            AT(k, k) = sqrtf(s->done ? AT(k, k) : 1.0f);
        }
        __syncthreads();
        if (t > k && t < n)
            AT(t, k) /= AT(k, k);
        __syncthreads();
        if (t < REFINE_PAIRS && at.row < n && at.column > k)
            AT(at.row, at.column) -= AT(at.row, k) * AT(at.column, k);
        __syncthreads();
    }
}

static __device__ void solve(struct shared *s, int n)
{
    int t = (int)threadIdx.x;
    factor(s, n);
    for (int k = 0; k < n; k++) {
        if (t == k)
            s->b[k] /= AT(k, k);
        __syncthreads();
        if (t > k && t < n)
            s->b[t] -= AT(t, k) * s->b[k];
        __syncthreads();
    }
    for (int k = n - 1; k >= 0; k--) {
        if (t == k)
            s->b[k] /= AT(k, k);
        __syncthreads();
        if (t < k)
            s->b[t] -= AT(k, t) * s->b[k];
        __syncthreads();
    }
}

#undef AT

static __device__ void step(struct views *v, struct shared *s, int level)
{
    int t = (int)threadIdx.x, n = v->plan.n_sources;
    sum(v, s, level);
    if (t < n)
        refine_prior(s->A, s->b, t, &v->plan.pose[t]);
    __syncthreads();
    solve(s, REFINE_POSE * n);
    if (!s->done)
        return;
    for (uint32_t i = (uint32_t)t; i < s->n_points; i += THREADS) {
        struct refine_row rows[VIEWS_SOURCES];
        look(rows, v, level, i);
        v->points[i].inv = refine_depth(v->points[i].inv, rows, n, s->b);
    }
    __syncthreads();
    if (t < n) {
        refine_move(&v->plan.pose[t].T, s->b + REFINE_POSE * t);
        refine_light(&v->plan.pose[t], s->moments + REFINE_MOMENTS * t);
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(THREADS)
    pose_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    __shared__ struct shared s;
    int t = (int)threadIdx.x;
    if (!v || !refine_is_wanted(v))
        return;
    choose(v, &s);
    if (s.n_points < REFINE_LEAST)
        return;
    if (t == 0)
        s.done = 1;
    __syncthreads();
    for (int i = 0; i < REFINE_LIGHT; i++) {
        sum(v, &s, REFINE_LEVELS - 1);
        if (t < v->plan.n_sources)
            refine_light(&v->plan.pose[t], s.moments + REFINE_MOMENTS * t);
        __syncthreads();
    }
    for (int level = REFINE_LEVELS - 1; level >= 0; level--)
        for (int i = 0; i < REFINE_ROUNDS && s.done; i++)
            step(v, &s, level);
    if (t == 0)
        refine_finish(v, s.done, refine_scale(v->scales));
}

int refine_cuda(const struct views_batch *b, struct err *err)
{
    int rc = views_launch(blur_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
    if (rc == 0)
        rc = views_launch(scales_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
    if (rc == 0)
        rc = views_launch(pose_kernel, 1, THREADS, b, err);
    return rc ? rc : sweep_cuda_again(b, err);
}
