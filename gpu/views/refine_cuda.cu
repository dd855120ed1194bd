/*
 * refine_cuda.cu - the poses of a swept keyframe's sources: blurred pictures, how its depths stand
 * to those of other keyframes, then the rounds of the system
 *
 * Grid:    blur, scales: (blocks of pixels, frames), a thread a pixel. choose, step: (1, frames).
 *          sum: (blocks of sums, frames), a warp a sum, a lane one part of it.
 * Order:   blur, scales, choose; sum and step once a round. A step looks at all points for the next
 *          round's sums. Frames that refine nothing pass by.
 */
#include "gpu/views/refine_point.h"
#include "gpu/views/views_cuda.cuh"

#define THREADS 1024
#define CELLS ((VIEWS_POINTS + THREADS - 1) / THREADS)
#define SUM_THREADS 256

/* What a point has of each source in v->terms; behind them gd of each point, then the sums. */
enum { J = 0, G = 6, U = 12, V = 18, R = 24, WEIGHT, MINE, OTHER, JD, FIELDS };
#define GD ((size_t)FIELDS * VIEWS_SOURCES * VIEWS_POINTS)
#define SUMS (GD + VIEWS_POINTS)

size_t refine_cuda_lay_out(struct views *v, uint8_t *base)
{
    v->terms = (float *)base;
    return (SUMS + REFINE_SUMS) * sizeof *v->terms;
}

static __device__ inline float *term_at(const struct views *v, int field, int source, uint32_t i)
{
    return &v->terms[((size_t)field * VIEWS_SOURCES + (size_t)source) * VIEWS_POINTS + i];
}

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

/* What a step shares. */
struct shared {
    float A[REFINE_PAIRS], b[REFINE_UNKNOWNS], moments[VIEWS_SOURCES * REFINE_MOMENTS];
    uint32_t count[THREADS];
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
    if (t == THREADS - 1)
        v->n_points = before + n;
    __syncthreads();
}

/* What point i adds to sums at a level, for sum_kernel() to read. */
static __device__ void look(const struct views *v, int level, uint32_t i)
{
    struct refine_row rows[VIEWS_SOURCES];
    struct refine_term terms[VIEWS_SOURCES];
    int n = v->plan.n_sources;
    for (int k = 0; k < n; k++)
        rows[k] = refine_look_from(v, k, level, &v->plan.pose[k], &v->points[i]);
    refine_terms(terms, &v->terms[GD + i], rows, n);
    for (int k = 0; k < n; k++) {
        for (int a = 0; a < REFINE_POSE; a++) {
            *term_at(v, J + a, k, i) = terms[k].j[a];
            *term_at(v, G + a, k, i) = terms[k].g[a];
            *term_at(v, U + a, k, i) = terms[k].u[a];
            *term_at(v, V + a, k, i) = terms[k].v[a];
        }
        *term_at(v, R, k, i) = terms[k].r;
        *term_at(v, WEIGHT, k, i) = terms[k].weight;
        *term_at(v, MINE, k, i) = terms[k].mine;
        *term_at(v, OTHER, k, i) = terms[k].other;
        *term_at(v, JD, k, i) = rows[k].jd;
    }
}

static __device__ void look_at_all(const struct views *v, int level)
{
    for (uint32_t i = threadIdx.x; i < v->n_points; i += THREADS)
        look(v, level, i);
}

/* The rows of a point as they were looked at, for refine_depth(). */
static __device__ void recall(struct refine_row *rows, const struct views *v, uint32_t i)
{
    for (int k = 0; k < v->plan.n_sources; k++) {
        for (int a = 0; a < REFINE_POSE; a++)
            rows[k].j[a] = *term_at(v, J + a, k, i);
        rows[k].jd = *term_at(v, JD, k, i);
        rows[k].r = *term_at(v, R, k, i);
        rows[k].weight = *term_at(v, WEIGHT, k, i);
    }
}

/* What point i adds to a sum. */
static __device__ float add(float sum, const struct views *v, struct refine_sum at, uint32_t i)
{
    int s = at.row / REFINE_POSE, a = at.row % REFINE_POSE;
    if (at.column >= 0) {
        int q = at.column / REFINE_POSE, c = at.column % REFINE_POSE;
        float g = s == q ? *term_at(v, G + a, s, i) : 0.0f;
        float j = s == q ? *term_at(v, J + c, s, i) : 0.0f;
        return refine_add_pair(sum, s == q, g, j, *term_at(v, U + a, s, i),
                               *term_at(v, V + c, q, i));
    }
    if (at.column == -1)
        return refine_add_right(sum, *term_at(v, G + a, s, i), *term_at(v, R, s, i),
                                *term_at(v, V + a, s, i), v->terms[GD + i]);
    return refine_add_moment(sum, -2 - at.column, *term_at(v, WEIGHT, at.row, i),
                             *term_at(v, MINE, at.row, i), *term_at(v, OTHER, at.row, i));
}

static __device__ float add_parts(float sum)
{
    for (int with = REFINE_PARTS / 2; with > 0; with /= 2)
        sum += __uint_as_float(
            (unsigned)__shfl_xor_sync(0xffffffffu, (uint64_t)__float_as_uint(sum), with));
    return sum;
}

static __global__ void __launch_bounds__(SUM_THREADS)
    sum_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    int number = (int)(blockIdx.x * SUM_THREADS + threadIdx.x) / REFINE_PARTS, source;
    uint32_t lane = threadIdx.x % REFINE_PARTS;
    struct refine_sum at;
    float sum = 0.0f;
    if (!v || !v->is_refining || number >= REFINE_SUMS)
        return;
    at = refine_sum_of(number);
    source = at.column < -1 ? at.row : at.row / REFINE_POSE;
    for (uint32_t i = lane; source < v->plan.n_sources && i < v->n_points; i += REFINE_PARTS)
        sum = add(sum, v, at, i);
    sum = add_parts(sum);
    if (lane == 0)
        v->terms[SUMS + number] = sum;
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

static __device__ void fetch(const struct views *v, struct shared *s)
{
    for (int i = (int)threadIdx.x; i < REFINE_SUMS; i += THREADS) {
        float sum = v->terms[SUMS + i];
        if (i < REFINE_PAIRS)
            s->A[i] = sum;
        else if (i < REFINE_PAIRS + REFINE_UNKNOWNS)
            s->b[i - REFINE_PAIRS] = sum;
        else
            s->moments[i - REFINE_PAIRS - REFINE_UNKNOWNS] = sum;
    }
    __syncthreads();
}

/* Poses and depths move. Returns 0 where the system has no solution. */
static __device__ int move(struct views *v, struct shared *s)
{
    int t = (int)threadIdx.x, n = v->plan.n_sources;
    if (t == 0)
        s->done = 1;
    if (t < n)
        refine_prior(s->A, s->b, t, &v->plan.pose[t]);
    __syncthreads();
    solve(s, REFINE_POSE * n);
    if (!s->done)
        return 0;
    for (uint32_t i = (uint32_t)t; i < v->n_points; i += THREADS) {
        struct refine_row rows[VIEWS_SOURCES];
        recall(rows, v, i);
        v->points[i].inv = refine_depth(v->points[i].inv, rows, n, s->b);
    }
    __syncthreads();
    if (t < n)
        refine_move(&v->plan.pose[t].T, s->b + REFINE_POSE * t);
    return 1;
}

static __device__ void end(struct views *v, int done)
{
    if (threadIdx.x == 0) {
        refine_finish(v, done, refine_scale(v->scales));
        v->is_refining = 0;
    }
}

static __global__ void __launch_bounds__(THREADS)
    choose_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    __shared__ struct shared s;
    if (!v)
        return;
    if (threadIdx.x == 0)
        v->is_refining = 0;
    if (!refine_is_wanted(v))
        return;
    choose(v, &s);
    if (v->n_points < REFINE_LEAST)
        return;
    look_at_all(v, REFINE_LEVELS - 1);
    if (threadIdx.x == 0)
        v->is_refining = 1;
}

#define ROUNDS (REFINE_LIGHT + REFINE_LEVELS * REFINE_ROUNDS)

/* The first rounds are of gain and bias alone, at the smallest size. */
static inline __host__ __device__ int level_of(int round)
{
    return round < REFINE_LIGHT ? REFINE_LEVELS - 1
                                : REFINE_LEVELS - 1 - (round - REFINE_LIGHT) / REFINE_ROUNDS;
}

static __global__ void __launch_bounds__(THREADS)
    step_kernel(const struct views_job *first, size_t stride, int round)
{
    struct views *v = views_job_of(first, stride)->v;
    __shared__ struct shared s;
    int t = (int)threadIdx.x;
    if (!v || !v->is_refining)
        return;
    fetch(v, &s);
    if (round >= REFINE_LIGHT && !move(v, &s)) {
        end(v, 0);
        return;
    }
    if (t < v->plan.n_sources)
        refine_light(&v->plan.pose[t], s.moments + REFINE_MOMENTS * t);
    __syncthreads();
    if (round + 1 < ROUNDS)
        look_at_all(v, level_of(round + 1));
    else
        end(v, 1);
}

static int step(const struct views_batch *b, int round, struct err *err)
{
    cudaLaunchConfig_t config = {};
    int rc = 0;

    config.gridDim = dim3(1, (unsigned)b->n);
    config.blockDim = dim3(THREADS);
    config.stream = b->stream;
    CU_TRY(cudaLaunchKernelEx(&config, step_kernel, b->first, b->stride, round));
out:
    return rc;
}

int refine_cuda(const struct views_batch *b, struct err *err)
{
    const uint32_t sums = (REFINE_SUMS * REFINE_PARTS + SUM_THREADS - 1) / SUM_THREADS;
    int rc = views_launch(blur_kernel, views_blocks(b), VIEWS_BLOCK, b, err);

    if (rc == 0)
        rc = views_launch(scales_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
    if (rc == 0)
        rc = views_launch(choose_kernel, 1, THREADS, b, err);
    for (int round = 0; round < ROUNDS && rc == 0; round++) {
        rc = views_launch(sum_kernel, sums, SUM_THREADS, b, err);
        if (rc == 0)
            rc = step(b, round, err);
    }
    return rc ? rc : sweep_cuda_again(b, err);
}
