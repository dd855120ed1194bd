/*
 * refine_cuda.cu - the poses of a swept keyframe's sources: blurred pictures, the ratio of its
 * depths to other keyframes', then the rounds of the system
 *
 * Grid:    blur: (blocks of pixels of every picture, frames), a thread a pixel. scales: (blocks of
 *          pixels and of keyframes, frames). find: a thread a cell. choose: (1, frames). look:
 *          (blocks of points, frames), a warp a source, a lane a point. sum: (blocks of sums,
 *          frames), a warp a sum, a lane one part of it. step: (1, frames), a thread an entry of
 *          the system.
 * Order:   blur, scales, find, choose; look, sum and step once a round. Frames that refine nothing
 *          return at once.
 */
#include "gpu/views/refine_point.h"
#include "gpu/views/views_cuda.cuh"

#define CHOOSE_THREADS 1024
#define CELLS ((VIEWS_POINTS + CHOOSE_THREADS - 1) / CHOOSE_THREADS)
#define FIND_THREADS 64
#define LOOK_POINTS 32
#define LOOK_THREADS 256 /* a warp for each source, and a power of two */
#define SUM_THREADS 256
#define BATCH 8          /* points that a lane loads at a time */
#define SCALES 8         /* keyframes of a block */
#define STEP_THREADS 512 /* at least the entries of the system and its right side */

/* v->terms holds these of each source and point, then gd of each point, the sums, and the system's
 * solution. Before the first look it holds what find_kernel() found. */
enum { J = 0, G = 6, U = 12, V = 18, R = 24, WEIGHT, MINE, OTHER, JD, FIELDS };
#define GD ((size_t)FIELDS * VIEWS_SOURCES * VIEWS_POINTS)
#define SUMS (GD + VIEWS_POINTS)
#define SOLUTION (SUMS + REFINE_SUMS)

size_t refine_cuda_lay_out(struct views *v, uint8_t *base)
{
    v->terms = (float *)base;
    return (SOLUTION + REFINE_UNKNOWNS) * sizeof *v->terms;
}

static __device__ inline float *term_at(const struct views *v, int field, int source, uint32_t i)
{
    return &v->terms[((size_t)field * VIEWS_SOURCES + (size_t)source) * VIEWS_POINTS + i];
}

static __global__ void blur_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    int picture = (int)blockIdx.x % REFINE_PICTURES;
    int i = (int)(blockIdx.x / REFINE_PICTURES * VIEWS_BLOCK + threadIdx.x);
    if (!v || !refine_is_wanted(v) || !refine_is_there(v, picture))
        return;
    for (int k = i; k < VIEWS_SCALES; k += (int)v->n_pixels)
        v->scales[k] = 0;
    for (int l = 0; l < REFINE_LEVELS; l++) {
        int w = v->w >> l, h = v->h >> l;
        if (i >= w * h)
            return;
        refine_level(v, picture, l)[i] =
            refine_shrink(refine_grey(v, picture), v->w, v->h, l, i % w, i / w);
    }
}

static __global__ void scales_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    __shared__ struct rigid there[SCALES];
    __shared__ int is_other[SCALES];
    int from = (int)blockIdx.x % (VIEWS_KEPT / SCALES) * SCALES, t = (int)threadIdx.x;
    uint32_t i = (blockIdx.x / (VIEWS_KEPT / SCALES) * VIEWS_BLOCK + threadIdx.x) * REFINE_EVERY;
    if (!v || !refine_is_wanted(v))
        return;
    if (t < SCALES) {
        is_other[t] = refine_is_other(v, from + t);
        if (is_other[t])
            there[t] =
                rigid_mul(&v->kept[v->plan.swept].camera.T_cw, &v->kept[from + t].camera.T_wc);
    }
    __syncthreads();
    for (int k = 0; k < SCALES && i < v->n_pixels; k++)
        if (is_other[k]) {
            int bin = refine_scale_bin(v, from + k, &there[k], i);
            if (bin >= 0)
                atomicAdd(&v->scales[bin], 1u);
        }
}

/* Finds the pixels that become points. */
static __device__ inline uint32_t *found_of(const struct views *v)
{
    return (uint32_t *)v->terms;
}

static __global__ void __launch_bounds__(FIND_THREADS)
    find_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    int cell = (int)(blockIdx.x * FIND_THREADS + threadIdx.x);
    if (v && refine_is_wanted(v) && cell < (v->w / v->cell) * (v->h / v->cell))
        found_of(v)[cell] = refine_choose(v, cell);
}

/* The sum of n over the block's earlier threads; *all: over all threads. */
static __device__ uint32_t rank_of(uint32_t n, uint32_t *all)
{
    __shared__ uint32_t warps[CHOOSE_THREADS / 32];
    uint32_t sum = n, lane = threadIdx.x % 32, before = 0;
    for (unsigned by = 1; by < 32; by *= 2) {
        uint32_t below = __shfl_up_sync(0xffffffffu, sum, by);
        sum += lane >= by ? below : 0;
    }
    if (lane == 31)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    *all = 0;
    for (uint32_t i = 0; i < CHOOSE_THREADS / 32; i++) {
        before += i < threadIdx.x / 32 ? warps[i] : 0;
        *all += warps[i];
    }
    return before + sum - n;
}

/* Lists the points in the order of their cells; each thread has a run of cells. */
static __device__ void refine_choose_points(struct views *v)
{
    int cells = (v->w / v->cell) * (v->h / v->cell), t = (int)threadIdx.x;
    uint32_t at[CELLS], n = 0, before, all;
    for (int k = 0; k < CELLS; k++) {
        int cell = t * CELLS + k;
        uint32_t found = cell < cells ? found_of(v)[cell] : 0xffffffffu;
        if (found != 0xffffffffu)
            at[n++] = found;
    }
    before = rank_of(n, &all);
    for (uint32_t k = 0; k < n; k++)
        v->points[before + k] = refine_point(v, at[k]);
    if (t == 0) {
        v->n_points = all;
        v->is_refining = all >= v->params.refine_least;
    }
}

static __global__ void __launch_bounds__(CHOOSE_THREADS)
    choose_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v && refine_is_wanted(v))
        refine_choose_points(v);
    else if (v && threadIdx.x == 0)
        v->is_refining = 0;
}

/* Writes a source's terms of point i for sum_kernel(); gd is the point's. */
static __device__ void refine_put(const struct views *v, const struct refine_term *t, float jd,
                                  float gd, int source, uint32_t i)
{
#pragma unroll
    for (int a = 0; a < REFINE_POSE; a++) {
        *term_at(v, J + a, source, i) = t->j[a];
        *term_at(v, G + a, source, i) = t->g[a];
        *term_at(v, U + a, source, i) = t->u[a];
        *term_at(v, V + a, source, i) = t->v[a];
    }
    *term_at(v, R, source, i) = t->r;
    *term_at(v, WEIGHT, source, i) = t->weight;
    *term_at(v, MINE, source, i) = t->mine;
    *term_at(v, OTHER, source, i) = t->other;
    *term_at(v, JD, source, i) = jd;
    if (source == 0)
        v->terms[GD + i] = gd;
}

/* A point's row from before its source moved. */
static __device__ struct refine_row recall(const struct views *v, int source, uint32_t i)
{
    struct refine_row o;
#pragma unroll
    for (int a = 0; a < REFINE_POSE; a++)
        o.j[a] = *term_at(v, J + a, source, i);
    o.jd = *term_at(v, JD, source, i);
    o.r = *term_at(v, R, source, i);
    o.weight = *term_at(v, WEIGHT, source, i);
    return o;
}

/* A warp a source, a lane a point. moved: the last step has moved the sources, so the point's depth
 * follows first. Warps without a source have left. */
static __device__ void refine_look(struct views *v, int level, int moved)
{
    __shared__ struct refine_say said[2][VIEWS_SOURCES][LOOK_POINTS];
    int source = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, n = v->plan.n_sources;
    uint32_t i = blockIdx.x * LOOK_POINTS + (uint32_t)lane;
    int in = i < v->n_points;
    struct views_point p = v->points[in ? i : 0];
    struct refine_row o;
    struct refine_say all;
    if (moved) {
        o = recall(v, source, in ? i : 0);
        said[1][source][lane] =
            refine_say(v, &o, refine_left(&o, v->terms + SOLUTION + REFINE_POSE * source));
        __syncthreads();
        all = refine_hear(v, &said[1][0][lane], LOOK_POINTS, n);
        p.inv = refine_depth(p.inv, &all);
        if (in && source == 0)
            v->points[i].inv = p.inv;
    }
    o = refine_look_from(v, source, level, &v->plan.pose[source], &p);
    said[0][source][lane] = refine_say(v, &o, o.r);
    __syncthreads();
    all = refine_hear(v, &said[0][0][lane], LOOK_POINTS, n);
    if (in) {
        struct refine_term t = refine_term(v, &o, all.h);
        refine_put(v, &t, o.jd, all.g, source, i);
    }
}

static __global__ void __launch_bounds__(LOOK_THREADS)
    look_kernel(const struct views_job *first, size_t stride, int level, int moved)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v && v->is_refining && blockIdx.x * LOOK_POINTS < v->n_points &&
        (int)threadIdx.x / 32 < v->plan.n_sources)
        refine_look(v, level, moved);
}

/* The arrays of terms of a sum; some sums read only a few. */
struct parts {
    const float *of[4];
    int n;
};

/* Terms of BATCH points of a part at a time, so that their loads do not wait for each other; behind
 * the end the last point is read again and left out. */
template <class Add>
static __device__ float add_batches(const struct parts *p, uint32_t lane, uint32_t n, Add add)
{
    float sum = 0.0f;
    for (uint32_t i = lane; i < n; i += REFINE_PARTS * BATCH) {
        float t[BATCH][4];
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) {
            uint32_t at = i + k * REFINE_PARTS < n ? i + k * REFINE_PARTS : n - 1;
#pragma unroll
            for (int q = 0; q < 4; q++)
                t[k][q] = q < p->n ? p->of[q][at] : 0.0f;
        }
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++)
            if (i + k * REFINE_PARTS < n)
                sum = add(sum, t[k]);
    }
    return sum;
}

/* What a part's points add to an entry of the system of sources s and q. */
static __device__ float add_pairs(const struct views *v, struct refine_sum at, uint32_t lane)
{
    int s = at.row / REFINE_POSE, a = at.row % REFINE_POSE;
    int q = at.column / REFINE_POSE, c = at.column % REFINE_POSE;
    const struct parts apart = {{term_at(v, U + a, s, 0), term_at(v, V + c, q, 0), NULL, NULL}, 2};
    const struct parts same = {
        {apart.of[0], apart.of[1], term_at(v, G + a, s, 0), term_at(v, J + c, q, 0)}, 4};
    if (s == q)
        return add_batches(&same, lane, v->n_points, [](float sum, const float *t) {
            return refine_add_pair(sum, 1, t[2], t[3], t[0], t[1]);
        });
    return add_batches(&apart, lane, v->n_points, [](float sum, const float *t) {
        return refine_add_pair(sum, 0, 0.0f, 0.0f, t[0], t[1]);
    });
}

static __device__ float add_rights(const struct views *v, int row, uint32_t lane)
{
    int s = row / REFINE_POSE, a = row % REFINE_POSE;
    const struct parts p = {
        {term_at(v, G + a, s, 0), term_at(v, R, s, 0), term_at(v, V + a, s, 0), v->terms + GD}, 4};
    return add_batches(&p, lane, v->n_points, [](float sum, const float *t) {
        return refine_add_right(sum, t[0], t[1], t[2], t[3]);
    });
}

static __device__ float add_moments(const struct views *v, int s, int moment, uint32_t lane)
{
    const struct parts p = {
        {term_at(v, WEIGHT, s, 0), term_at(v, MINE, s, 0), term_at(v, OTHER, s, 0), NULL}, 3};
    return add_batches(&p, lane, v->n_points, [moment](float sum, const float *t) {
        return refine_add_moment(sum, moment, t[0], t[1], t[2]);
    });
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
    if (source < v->plan.n_sources)
        sum = at.column >= 0    ? add_pairs(v, at, lane)
              : at.column == -1 ? add_rights(v, at.row, lane)
                                : add_moments(v, at.row, -2 - at.column, lane);
    sum = add_parts(sum);
    if (lane == 0)
        v->terms[SUMS + number] = sum;
}

/* A step's shared memory: the system's columns, the factor's rows (the last is the right side), and
 * how the sources differ from the odometry. */
struct shared {
    float column[2][REFINE_UNKNOWNS + 1], factor[REFINE_UNKNOWNS + 1][REFINE_UNKNOWNS + 1];
    float apart[VIEWS_SOURCES][REFINE_POSE];
};

/* A thread's entry of the system; column -1: none. The right side is row REFINE_UNKNOWNS. Threads
 * have entries column by column, so that whole warps finish early. */
static __device__ struct refine_sum entry_of(int t, int n)
{
    struct refine_sum at = {0, 0};
    while (at.column < n && t >= n + 1 - at.column)
        t -= n + 1 - at.column++;
    if (at.column == n)
        at.column = -1;
    else
        at.row = at.column + t < n ? at.column + t : REFINE_UNKNOWNS;
    return at;
}

/* The number of that entry's sum. */
static __device__ int number_of(struct refine_sum at)
{
    return at.row == REFINE_UNKNOWNS ? REFINE_PAIRS + at.column
                                     : at.row * (at.row + 1) / 2 + at.column;
}

static __device__ float add_prior(const struct views *v, const struct shared *s,
                                  struct refine_sum at, float sum)
{
    int source = at.column / REFINE_POSE, c = at.column % REFINE_POSE;
    const float *t = v->plan.pose[source].T.t;
    if (at.row == REFINE_UNKNOWNS)
        return refine_prior_right(v, sum, t, s->apart[source], c);
    return at.row / REFINE_POSE == source ? refine_prior_pair(v, sum, t, at.row % REFINE_POSE, c)
                                          : sum;
}

/* Cholesky as on the CPU, column by column, an entry a thread; the right side is one more row.
 * Returns 0 where there is no solution. */
static __device__ int factor(struct shared *s, struct refine_sum at, float own, int n)
{
    int done = 1;
    if (at.column == 0)
        s->column[0][at.row] = own;
    __syncthreads();
    for (int k = 0; k < n; k++) {
        const float *column = s->column[k & 1];
        float root;
        done = done && column[k] > REFINE_SINGULAR;
        root = sqrtf(done ? column[k] : 1.0f);
        if (at.column == k)
            s->factor[at.row][k] = at.row == k ? root : own / root;
        if (at.column > k)
            own -= column[at.row] / root * (column[at.column] / root);
        if (at.column == k + 1)
            s->column[(k + 1) & 1][at.row] = own;
        __syncthreads();
    }
    return done;
}

/* Back substitution by a warp. x: [n] */
static __device__ void solve_back(float *x, const struct shared *s, int n)
{
    int lane = (int)threadIdx.x, row = lane < n ? lane : 0;
    float own = s->factor[REFINE_UNKNOWNS][row];
    for (int k = n - 1; k >= 0; k--) {
        float there =
            __uint_as_float(__shfl_sync(0xffffffffu, __float_as_uint(own), k)) / s->factor[k][k];
        if (lane < k)
            own -= s->factor[k][row] * there;
        else if (lane == k)
            own = there;
    }
    if (lane < n)
        x[lane] = own;
    __syncwarp();
}

/* The sources' poses move. Returns 0 where the system has no solution. */
static __device__ int refine_move_sources(struct views *v, struct shared *s)
{
    int t = (int)threadIdx.x, n = v->plan.n_sources;
    struct refine_sum at = entry_of(t, REFINE_POSE * n);
    float own = 0.0f, *x = v->terms + SOLUTION;
    if (at.column >= 0)
        own = v->terms[SUMS + (size_t)number_of(at)];
    if (t >= STEP_THREADS - n) /* the last ones: they have no entry, or a late one */
        refine_apart(&v->plan.pose[STEP_THREADS - 1 - t], s->apart[STEP_THREADS - 1 - t]);
    __syncthreads();
    if (at.column >= 0)
        own = add_prior(v, s, at, own);
    if (!factor(s, at, own, REFINE_POSE * n))
        return 0;
    if (t < 32) {
        solve_back(x, s, REFINE_POSE * n);
        if (t < n)
            refine_move(&v->plan.pose[t].T, x + REFINE_POSE * t);
    }
    return 1;
}

/* Finds the bin of the median. */
static __device__ float find_scale(const struct views *v)
{
    __shared__ uint32_t sums[VIEWS_SCALES];
    int t = (int)threadIdx.x;
    uint32_t n;
    sums[t] = v->scales[t];
    for (int by = 1; by < VIEWS_SCALES; by *= 2) {
        uint32_t below;
        __syncthreads();
        below = t >= by ? sums[t - by] : 0;
        __syncthreads();
        sums[t] += below;
    }
    __syncthreads();
    n = sums[VIEWS_SCALES - 1];
    return refine_scale(v, __syncthreads_count(2 * sums[t] < n), n);
}

static __device__ void refine_end(struct views *v, int done)
{
    float scale = find_scale(v);
    if (threadIdx.x == 0) {
        refine_finish(v, done, scale);
        v->is_refining = 0;
    }
}

#define ROUNDS (REFINE_LIGHT + REFINE_LEVELS * REFINE_ROUNDS)

/* The first rounds are of gain and bias alone, at the smallest size. */
static int level_of(int round)
{
    return round < REFINE_LIGHT ? REFINE_LEVELS - 1
                                : REFINE_LEVELS - 1 - (round - REFINE_LIGHT) / REFINE_ROUNDS;
}

static __global__ void __launch_bounds__(STEP_THREADS)
    step_kernel(const struct views_job *first, size_t stride, int round)
{
    struct views *v = views_job_of(first, stride)->v;
    __shared__ struct shared s;
    int t = (int)threadIdx.x - 32; /* a thread of the second warp, as the first may be busy */
    if (!v || !v->is_refining)
        return;
    if (round >= REFINE_LIGHT && !refine_move_sources(v, &s)) {
        refine_end(v, 0);
        return;
    }
    if (t >= 0 && t < v->plan.n_sources)
        refine_light(&v->plan.pose[t], v->terms + SUMS + REFINE_PAIRS + REFINE_UNKNOWNS +
                                           (size_t)(REFINE_MOMENTS * t));
    if (round + 1 < ROUNDS)
        return;
    __syncthreads();
    refine_end(v, 1);
}

static int round_of(const struct views_batch *b, int round, struct err *err)
{
    const uint32_t looks = (VIEWS_POINTS + LOOK_POINTS - 1) / LOOK_POINTS;
    const uint32_t sums = (REFINE_SUMS * REFINE_PARTS + SUM_THREADS - 1) / SUM_THREADS;
    unsigned n = (unsigned)b->n;
    int rc = views_launch_by(look_kernel, dim3(looks, n), LOOK_THREADS, b, err, level_of(round),
                             (int)(round > REFINE_LIGHT));

    if (rc == 0)
        rc = views_launch(sum_kernel, sums, SUM_THREADS, b, err);
    return rc ? rc : views_launch_by(step_kernel, dim3(1, n), STEP_THREADS, b, err, round);
}

int refine_cuda(const struct views_batch *b, struct err *err)
{
    const uint32_t every = views_blocks(b) / REFINE_EVERY + 1;
    int rc = views_launch(blur_kernel, views_blocks(b) * REFINE_PICTURES, VIEWS_BLOCK, b, err);

    if (rc == 0)
        rc = views_launch(scales_kernel, every * (VIEWS_KEPT / SCALES), VIEWS_BLOCK, b, err);
    if (rc == 0)
        rc = views_launch(find_kernel, (VIEWS_POINTS + FIND_THREADS - 1) / FIND_THREADS,
                          FIND_THREADS, b, err);
    if (rc == 0)
        rc = views_launch(choose_kernel, 1, CHOOSE_THREADS, b, err);
    for (int round = 0; round < ROUNDS && rc == 0; round++)
        rc = round_of(b, round, err);
    return rc ? rc : sweep_cuda_again(b, err);
}
