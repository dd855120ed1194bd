/*
 * landmark_search_cuda.cu - landmarks in parallel, and places of each in parallel
 *
 * With many places a round two kernels take turns: step_kernel moves each landmark and makes its
 * rows, try_kernel tries places and leaves the smallest claim. With few, rounds_kernel does all
 * rounds of a landmark in one block, since launches would cost more than the work. All places are
 * tried fast, with fused multiply-adds and the special units' reciprocal root: 14 operations a
 * reprojection. Those within that arithmetic's error of the block's smallest, a few of 2048, are
 * computed again as on the CPU. So the claims are the CPU's, bit for bit.
 */
#include "gpu/base/cuda_try.h"
#include "gpu/track/landmark_search_cuda.h"
#include "gpu/track/landmark_search_point.h"

#include <stdlib.h>

#define STEP_THREADS 64 /* threads, one an observation */
#define TRY_THREADS 256 /* at most; a power of two */
#define PER_THREAD 8    /* places that share one read of a row from shared memory */
#define FEW_PER_THREAD 2
#define FEW 512 /* places of a round that one block tries, at most */
#define WARPS_MAX (TRY_THREADS / 32)
#define TINY 1e-36f            /* keeps the reciprocal root of an error of zero finite */
#define ROUNDING 5.9604645e-8f /* 2^-24 */

/* The error of a fast residual in the cube: pixels (infinite if the cube comes near to a camera)
 * and a share of the residual. */
struct landmark_search_bound {
    float slack, share;
};

struct landmark_search_cuda {
    struct memory_cuda *memory;
    int landmarks_max;
    float *noise;
    struct landmark_search_state *state;
    struct landmark_search_row *row; /* [landmarks_max][LANDMARK_SEARCH_OBSERVATIONS] */
    struct landmark_search_bound *bound;
    void *piece;
};

struct landmark_search_args {
    struct landmark_search_batch b;
    struct landmark_search_params p;
    const float *noise;
    struct landmark_search_state *state;
    struct landmark_search_row *row;
    struct landmark_search_bound *bound;
};

/* ------------------------------------------------------------------------- a step */

/* What a step's threads pass to its first thread. */
struct step_shared {
    float error[STEP_THREADS], unit[STEP_THREADS], depth[STEP_THREADS];
    float size[STEP_THREADS], low[STEP_THREADS], slope[STEP_THREADS];
    struct vec3 ray[STEP_THREADS];
    struct landmark_search_state st;
};

/* Sum of errors at one place, in the order of the observations. Every thread calls it; the first
 * one's answer counts. */
static __device__ float step_residual(struct step_shared *sh, const struct landmark_search_args *a,
                                      const struct landmark_search_landmark *m, struct vec3 place)
{
    const struct landmark_search_box none = {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f};
    uint32_t k = threadIdx.x;
    float sum = 0.0f, nearest = INFINITY;

    if (k < m->n) {
        const struct landmark_search_observation *o = &a->b.observation[m->first + k];
        struct landmark_search_row r =
            landmark_search_row_make(&a->b.camera[o->camera], o, place, &none);
        sh->depth[k] = INFINITY;
        sh->error[k] = landmark_search_error(&r, 0.0f, 0.0f, 0.0f, &sh->depth[k]);
    }
    __syncthreads();
    for (uint32_t i = 0; k == 0 && i < m->n; i++) {
        sum += sh->error[i];
        nearest = sh->depth[i] < nearest ? sh->depth[i] : nearest;
    }
    return nearest > LANDMARK_SEARCH_NEAR_M && sum < INFINITY ? sum : INFINITY;
}

/* (T2) The first box. Every thread calls it; the first one fills sh->st. */
static __device__ void step_begin(struct step_shared *sh, const struct landmark_search_args *a,
                                  const struct landmark_search_landmark *m, float residual)
{
    const struct landmark_search_box unit = {{0.0f, 0.0f, 0.0f}, 1.0f, 0.0f};
    uint32_t k = threadIdx.x;
    struct vec3 sum = {0.0f, 0.0f, 0.0f};
    struct landmark_search_row r = {};
    float unit_sum = 0.0f, slope_sum = 0.0f;

    if (k < m->n) {
        const struct landmark_search_observation *o = &a->b.observation[m->first + k];
        const struct landmark_search_camera *c = &a->b.camera[o->camera];
        r = landmark_search_row_make(c, o, m->p, &unit);
        sh->unit[k] = landmark_search_unit_m(&r, c);
        sh->ray[k] = landmark_search_ray(c, m->p);
    }
    __syncthreads();
    for (uint32_t i = 0; i < m->n; i++) /* every thread needs it */
        sum = vec3_make(sum.x + sh->ray[i].x, sum.y + sh->ray[i].y, sum.z + sh->ray[i].z);
    sum = landmark_search_mean_ray(sum);
    if (k < m->n)
        sh->slope[k] = landmark_search_slope(&r, sum);
    __syncthreads();
    if (k)
        return;
    for (uint32_t i = 0; i < m->n; i++) {
        unit_sum += sh->unit[i];
        slope_sum += sh->slope[i];
    }
    sh->st.p = m->p;
    sh->st.n = m->n;
    sh->st.box.ray = sum;
    landmark_search_begin(&sh->st, residual, unit_sum, slope_sum, &a->p);
}

static __device__ float step_size(const float c[4])
{
    return fabsf(c[0]) + fabsf(c[1]) + fabsf(c[2]) + fabsf(c[3]);
}

/* Makes rows of the next round, and the bound of MATH.md (T5). Every thread calls it. */
static __device__ void step_rows(struct step_shared *sh, const struct landmark_search_args *a,
                                 const struct landmark_search_landmark *m,
                                 struct landmark_search_row *row, struct landmark_search_bound *out)
{
    uint32_t k = threadIdx.x, n = m->n;
    struct landmark_search_bound bound = {INFINITY, (float)(2 * n + 64) * ROUNDING};
    float low = INFINITY, size = 0.0f;

    if (k < n) {
        const struct landmark_search_observation *o = &a->b.observation[m->first + k];
        struct landmark_search_row r =
            landmark_search_row_make(&a->b.camera[o->camera], o, sh->st.p, &sh->st.box);
        float high = step_size(r.w), least = 2.0f * r.w[3] - high;
        row[k] = r;
        sh->size[k] = step_size(r.x) + step_size(r.y);
        sh->low[k] = r.w[3] > 0.0f && least > 0.25f * high ? least : 0.0f;
    }
    __syncthreads();
    if (k)
        return;
    for (uint32_t i = 0; i < n; i++) {
        low = sh->low[i] < low ? sh->low[i] : low;
        size += sh->size[i];
    }
    if (low > 2.0f * LANDMARK_SEARCH_NEAR_M)
        bound.slack = 8.0f * ROUNDING * size / low + 1e-9f;
    *out = bound;
}

/*
 * Grid:    a block a landmark, a thread an observation
 * Reads:   the landmark's state and the claim that the round left; round 0: the landmark
 * Writes:  its next state, rows and bound; the landmark as it stands
 */
static __global__ void step_kernel(struct landmark_search_args a, int round)
{
    __shared__ struct step_shared sh;
    struct landmark_search_landmark *m = &a.b.landmark[blockIdx.x];
    struct landmark_search_state *at = &a.state[blockIdx.x];
    uint32_t j = round ? (uint32_t)at->claim % LANDMARK_SEARCH_HYPOTHESES : 0;
    struct vec3 place = m->p;
    float residual;

    if (round && !(at->box.s > 0.0f))
        return;
    if (round)
        place = landmark_search_place(at, a.noise, j);
    residual = step_residual(&sh, &a, m, place);
    if (!round)
        step_begin(&sh, &a, m, residual);
    if (threadIdx.x == 0 && round) {
        sh.st = *at;
        landmark_search_take(&sh.st, place, residual, landmark_search_edge(a.noise, j), a.p.shrink);
    }
    if (threadIdx.x == 0 && !round)
        m->prior_px = m->n ? residual / (float)m->n : INFINITY;
    __syncthreads();
    if (sh.st.box.s > 0.0f)
        step_rows(&sh, &a, m, a.row + (size_t)blockIdx.x * LANDMARK_SEARCH_OBSERVATIONS,
                  &a.bound[blockIdx.x]);
    if (threadIdx.x == 0) {
        *at = sh.st;
        m->p = sh.st.p;
        m->residual_px = sh.st.n ? sh.st.residual / (float)sh.st.n : INFINITY;
    }
}

/* ------------------------------------------------------------------------- a round */

/* A thread's places: from number `first` on, as many apart as the block has threads. */
template <int PER> struct try_places {
    uint32_t first;
    float x[PER], y[PER], z[PER], sum[PER];
};

static __device__ float try_fma(float4 c, float x, float y, float z)
{
    return fmaf(c.x, x, fmaf(c.y, y, fmaf(c.z, z, c.w)));
}

/* |(x, y)| / w as S / sqrt(S w w), S = x x + y y: one call of the special units. */
template <int PER>
static __device__ void try_fast(struct try_places<PER> *t, const float4 *row, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        const float4 rx = row[3 * k], ry = row[3 * k + 1], rw = row[3 * k + 2];
#pragma unroll
        for (int i = 0; i < PER; i++) {
            float x = try_fma(rx, t->x[i], t->y[i], t->z[i]);
            float y = try_fma(ry, t->x[i], t->y[i], t->z[i]);
            float w = try_fma(rw, t->x[i], t->y[i], t->z[i]);
            float s = fmaf(x, x, y * y);
            t->sum[i] = fmaf(s, rsqrtf(fmaf(s * w, w, TINY)), t->sum[i]);
        }
    }
}

/* The claim of one place, computed as on the CPU. */
static __device__ uint64_t try_exact(const struct landmark_search_row *row, uint32_t n, float x,
                                     float y, float z, uint32_t j)
{
    float sum = 0.0f, nearest = INFINITY;
    for (uint32_t k = 0; k < n; k++)
        sum += landmark_search_error(&row[k], x, y, z, &nearest);
    return nearest > LANDMARK_SEARCH_NEAR_M && sum < INFINITY ? landmark_search_claim(sum, j)
                                                              : LANDMARK_SEARCH_NO_CLAIM;
}

/* The smallest of the block's values; none is negative. */
static __device__ float try_least(float v, uint32_t *shared)
{
    uint32_t bits = __float_as_uint(v);
    for (int with = 16; with; with /= 2) {
        uint32_t other = (uint32_t)__shfl_xor_sync(0xffffffffu, bits, with);
        bits = other < bits ? other : bits;
    }
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = bits;
    __syncthreads();
    for (int i = 0; i < (int)blockDim.x / 32; i++)
        bits = shared[i] < bits ? shared[i] : bits;
    return __uint_as_float(bits);
}

/* The largest fast residual with which a place may still win, by the block's smallest and by what
 * other blocks have found. */
static __device__ float try_limit(const struct landmark_search_bound *b, float least,
                                  uint64_t found)
{
    float limit = least + 2.0f * (b->slack + b->share * least);
    float best = __uint_as_float((uint32_t)(found >> 32));
    if (found != LANDMARK_SEARCH_NO_CLAIM && best + b->slack + b->share * best < limit)
        limit = best + b->slack + b->share * best;
    return limit * (1.0f + 8.0f * ROUNDING);
}

/* Tries places from number `base` on, PER a thread. Every thread calls it. In/out: *claim, shared
 * by all that try places of the landmark. */
template <int PER>
static __device__ void try_all(const struct landmark_search_args *a, const float4 *rows, uint32_t n,
                               const struct landmark_search_bound *bound, uint32_t base,
                               uint64_t *claim, uint32_t *least_of)
{
    const struct landmark_search_row *row = (const struct landmark_search_row *)rows;
    struct try_places<PER> t;
    float least = INFINITY, limit;

    t.first = base + threadIdx.x;
    for (int i = 0; i < PER; i++) {
        uint32_t j = (t.first + (uint32_t)i * blockDim.x) % LANDMARK_SEARCH_HYPOTHESES;
        t.x[i] = a->noise[j];
        t.y[i] = a->noise[LANDMARK_SEARCH_HYPOTHESES + j];
        t.z[i] = a->noise[2 * LANDMARK_SEARCH_HYPOTHESES + j];
        t.sum[i] = 0.0f;
    }
    try_fast(&t, rows, n);
    for (int i = 0; i < PER; i++)
        if (t.first + (uint32_t)i * blockDim.x < a->p.n_hypotheses)
            least = fminf(least, t.sum[i]);
    least = try_least(least, least_of);
    limit = try_limit(bound, least, *(volatile uint64_t *)claim);
    for (int i = 0; i < PER; i++) {
        uint32_t j = t.first + (uint32_t)i * blockDim.x;
        if (j < a->p.n_hypotheses && t.sum[i] <= limit) {
            uint64_t c = try_exact(row, n, t.x[i], t.y[i], t.z[i], j);
            if (c != LANDMARK_SEARCH_NO_CLAIM)
                atomicMin((unsigned long long *)claim, (unsigned long long)c);
        }
    }
}

/*
 * Grid:    (blocks of PER_THREAD places a thread, landmarks)
 * Reads:   the landmark's rows, noise
 * Writes:  its claim
 */
static __global__ void __launch_bounds__(TRY_THREADS) try_kernel(struct landmark_search_args a)
{
    __shared__ float4 rows[3 * LANDMARK_SEARCH_OBSERVATIONS]; /* aligned: a row is three loads */
    __shared__ uint32_t least_of[WARPS_MAX];
    struct landmark_search_state *st = &a.state[blockIdx.y];
    const struct landmark_search_bound bound = a.bound[blockIdx.y];
    const float *from = (const float *)(a.row + (size_t)blockIdx.y * LANDMARK_SEARCH_OBSERVATIONS);

    if (!(st->box.s > 0.0f))
        return;
    for (uint32_t i = threadIdx.x; i < st->n * 12; i += blockDim.x)
        ((float *)rows)[i] = from[i];
    __syncthreads();
    try_all<PER_THREAD>(&a, rows, st->n, &bound, blockIdx.x * PER_THREAD * blockDim.x, &st->claim,
                        least_of);
}

/*
 * Grid:    a block a landmark; its threads are observations, and then FEW_PER_THREAD places each
 * Writes:  the landmark
 */
static __global__ void __launch_bounds__(STEP_THREADS) rounds_kernel(struct landmark_search_args a)
{
    __shared__ float4 rows[3 * LANDMARK_SEARCH_OBSERVATIONS];
    __shared__ struct step_shared sh;
    __shared__ struct landmark_search_bound bound;
    __shared__ uint32_t least_of[WARPS_MAX];
    struct landmark_search_landmark *m = &a.b.landmark[blockIdx.x];
    const float prior = step_residual(&sh, &a, m, m->p);

    step_begin(&sh, &a, m, prior);
    __syncthreads();
    for (int round = 0; round < a.p.n_rounds && sh.st.box.s > 0.0f; round++) {
        struct vec3 place;
        float residual;
        uint32_t j;
        step_rows(&sh, &a, m, (struct landmark_search_row *)rows, &bound);
        __syncthreads();
        for (j = 0; j < a.p.n_hypotheses; j += STEP_THREADS * FEW_PER_THREAD) {
            try_all<FEW_PER_THREAD>(&a, rows, m->n, &bound, j, &sh.st.claim, least_of);
            __syncthreads();
        }
        j = (uint32_t)sh.st.claim % LANDMARK_SEARCH_HYPOTHESES;
        place = landmark_search_place(&sh.st, a.noise, j);
        residual = step_residual(&sh, &a, m, place);
        if (threadIdx.x == 0)
            landmark_search_take(&sh.st, place, residual, landmark_search_edge(a.noise, j),
                                 a.p.shrink);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        float n = (float)m->n;
        m->p = sh.st.p;
        m->prior_px = m->n ? prior / n : INFINITY;
        m->residual_px = m->n ? sh.st.residual / n : INFINITY;
    }
}

/* ------------------------------------------------------------------------- the host's side */

static __global__ void noise_kernel(float *noise)
{
    uint32_t j = blockIdx.x * TRY_THREADS + threadIdx.x;
    for (uint32_t axis = 0; axis < 3; axis++)
        noise[axis * LANDMARK_SEARCH_HYPOTHESES + j] = landmark_search_unit(j, axis);
}

static cudaLaunchConfig_t config_of(unsigned x, unsigned y, unsigned threads, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(x, y);
    config.blockDim = dim3(threads);
    config.stream = stream;
    return config;
}

/* Lays m out in memory at `base`. Returns its bytes. */
static size_t landmark_search_lay_out(struct landmark_search_cuda *m, char *base)
{
    size_t n = (size_t)m->landmarks_max, at = LANDMARK_SEARCH_NOISE_BYTES;
    m->noise = (float *)base;
    m->row = (struct landmark_search_row *)(base + at);
    at += n * LANDMARK_SEARCH_OBSERVATIONS * sizeof *m->row;
    m->bound = (struct landmark_search_bound *)(base + at);
    at += n * sizeof *m->bound;
    m->state = (struct landmark_search_state *)(base + at);
    return at + n * sizeof *m->state;
}

int landmark_search_cuda_open(struct landmark_search_cuda **out, struct memory_cuda *memory,
                              int landmarks_max, cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config =
        config_of(LANDMARK_SEARCH_HYPOTHESES / TRY_THREADS, 1, TRY_THREADS, stream);
    struct landmark_search_cuda *m = NULL;
    int rc = 0;

    *out = NULL;
    if (landmarks_max < 1 || landmarks_max > LANDMARK_SEARCH_CUDA_LANDMARKS)
        return err_set(err, ERR_LIMIT, "%d landmarks: 1 to %d are possible", landmarks_max,
                       LANDMARK_SEARCH_CUDA_LANDMARKS);
    m = (struct landmark_search_cuda *)calloc(1, sizeof *m);
    if (!m)
        return err_set(err, ERR_MEMORY, "no memory for an optimiser of landmarks");
    m->memory = memory;
    m->landmarks_max = landmarks_max;
    rc = memory_cuda_get(memory, MEMORY_CUDA_DEVICE, &m->piece, landmark_search_lay_out(m, NULL),
                         err);
    if (rc)
        goto out;
    (void)landmark_search_lay_out(m, (char *)m->piece);
    CU_TRY(cudaLaunchKernelEx(&config, noise_kernel, m->noise));
    *out = m;
    m = NULL;
out:
    landmark_search_cuda_free(&m);
    return rc;
}

void landmark_search_cuda_free(struct landmark_search_cuda **m)
{
    if (!*m)
        return;
    memory_cuda_put((*m)->memory, MEMORY_CUDA_DEVICE, (*m)->piece);
    free(*m);
    *m = NULL;
}

int landmark_search_cuda_run(struct landmark_search_cuda *m, const struct landmark_search_batch *b,
                             const struct landmark_search_params *p, cudaStream_t stream,
                             struct err *err)
{
    struct landmark_search_args a = {*b, *p, m->noise, m->state, m->row, m->bound};
    unsigned n = (unsigned)b->n_landmarks, threads = TRY_THREADS, places;
    cudaLaunchConfig_t step = config_of(n, 1, STEP_THREADS, stream), round;
    int rc = 0;

    while (threads > 32 && threads / 2 * PER_THREAD >= p->n_hypotheses)
        threads /= 2;
    places = threads * PER_THREAD;
    round = config_of((p->n_hypotheses + places - 1) / places, n, threads, stream);
    if (b->n_landmarks > m->landmarks_max)
        return err_set(err, ERR_LIMIT, "%d landmarks, and room for %d", b->n_landmarks,
                       m->landmarks_max);
    if (n == 0)
        return 0;
    if (p->n_hypotheses <= FEW) {
        CU_TRY(cudaLaunchKernelEx(&step, rounds_kernel, a));
        return 0;
    }
    CU_TRY(cudaLaunchKernelEx(&step, step_kernel, a, 0));
    for (int i = 0; i < p->n_rounds; i++) {
        CU_TRY(cudaLaunchKernelEx(&round, try_kernel, a));
        CU_TRY(cudaLaunchKernelEx(&step, step_kernel, a, i + 1));
    }
out:
    return rc;
}
