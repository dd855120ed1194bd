/*
 * hypothesis_cuda.cu - from matches to poses
 *
 * guess_kernel     a block an object: a thread has a tensor's guess and counts its votes; all
 *                  search for the next one to try
 * refine_kernel    a block a pose (blockIdx.x the try, blockIdx.y the object), from its first round
 *                  to its verdict: a thread has points, whose sums are added up over the block
 * keep_kernel      one block takes poses one after the other; a thread has points of each
 */
#include "gpu/recognise/hypothesis_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/recognise/hypothesis_pose.h"

#define THREADS 256
#define WARPS (THREADS / 32)

/* The largest key of the block's threads; all get it. room: shared [WARPS] */
static __device__ uint64_t largest(uint64_t key, uint64_t *room)
{
    for (int with = 16; with > 0; with /= 2) {
        uint64_t other = __shfl_xor_sync(0xffffffffu, key, with);
        key = other > key ? other : key;
    }
    __syncthreads(); /* the last one's readers are done */
    if (threadIdx.x % 32 == 0)
        room[threadIdx.x / 32] = key;
    __syncthreads();
    for (int i = 0; i < WARPS; i++)
        key = room[i] > key ? room[i] : key;
    return key;
}

/* Adds the threads' sum [n] over the block; all get it. room: shared [WARPS][n] */
template <int n> static __device__ void add_up(int64_t *sum, int64_t *room)
{
    __syncthreads(); /* the last one's readers are done */
#pragma unroll
    for (int i = 0; i < n; i++) {
        uint64_t v = (uint64_t)sum[i];
        for (int with = 16; with > 0; with /= 2)
            v += __shfl_xor_sync(0xffffffffu, v, with);
        if (threadIdx.x % 32 == 0)
            room[(int)threadIdx.x / 32 * n + i] = (int64_t)v;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < n; i++) {
        sum[i] = room[i];
        for (int w = 1; w < WARPS; w++)
            sum[i] += room[w * n + i];
    }
}

static __global__ void __launch_bounds__(THREADS)
    guess_kernel(struct hypothesis_picture h, struct hypothesis_params p)
{
    __shared__ uint64_t room[WARPS];
    uint32_t object = blockIdx.x, n = *h.n_tensors;
    struct hypothesis_guess *guess = h.q.guess + (size_t)object * h.q.tensors;
    struct hypothesis *tried = h.q.tried + (size_t)object * (uint32_t)p.tries;

    for (uint32_t i = threadIdx.x; i < n; i += THREADS) {
        uint64_t key = h.best[(size_t)i * h.l.n_objects + object];
        struct match m = match_of(key);
        if (key)
            guess[i] =
                hypothesis_guess_of(&h.tensor[i].T_cb, &h.l.T_ob[m.tensor], &m, h.l.middle[object]);
        else
            guess[i] = hypothesis_no_guess();
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += THREADS)
        if (!guess[i].over)
            hypothesis_vote(guess, n, i, &p);
    for (int k = 0; k < p.tries; k++) {
        uint64_t top = 0;
        for (uint32_t i = threadIdx.x; i < n; i += THREADS)
            if (!guess[i].over && hypothesis_key(guess[i].votes, i) > top)
                top = hypothesis_key(guess[i].votes, i);
        top = largest(top, room);
        if (threadIdx.x == 0)
            tried[k] =
                top ? hypothesis_begin(&guess[hypothesis_number(top)], object) : hypothesis_none();
        for (uint32_t i = threadIdx.x; i < n && top; i += THREADS)
            guess[i].over |= hypothesis_agree(&guess[hypothesis_number(top)], &guess[i], &p);
    }
}

/* (O17) Judges each stride-th point by the picture. pixel: the pixels that support them; or
 * NULL. */
static __device__ void hypothesis_count_pixels(int64_t *tally, int32_t *pixel, int64_t *room,
                                               const struct surface *s,
                                               const struct object_point *point, uint32_t n,
                                               const struct rigid *T_co, uint32_t stride,
                                               const struct hypothesis_params *p)
{
    for (int i = 0; i < HYPOTHESIS_TALLY; i++)
        tally[i] = 0;
    for (uint32_t i = threadIdx.x * stride; i < n; i += THREADS * stride) {
        int at = hypothesis_count(tally, s, T_co, &point[i], p);
        if (pixel)
            pixel[i] = at;
    }
    add_up<HYPOTHESIS_TALLY>(tally, room);
}

/* (O16) Does rounds over each stride-th point. Returns 0: the pose has no solution. */
static __device__ int run_rounds(struct rigid *T_co, float *gate, int64_t *room,
                                 const struct surface *s, const struct object_point *point,
                                 uint32_t n, uint32_t stride, int rounds,
                                 const struct hypothesis_params *p)
{
    __shared__ struct rigid next;
    __shared__ int solved;

    for (int k = 0; k < rounds; k++) {
        int64_t sum[HYPOTHESIS_SUMS] = {0};
        for (uint32_t i = threadIdx.x * stride; i < n; i += THREADS * stride)
            hypothesis_add(sum, s, T_co, &point[i], *gate, p);
        add_up<HYPOTHESIS_SUMS>(sum, room);
        if (threadIdx.x == 0) {
            next = *T_co;
            solved = hypothesis_step(&next, sum);
        }
        __syncthreads();
        if (!solved)
            return 0;
        *T_co = next;
        *gate = hypothesis_shrink(*gate, p);
    }
    return 1;
}

/* (O16), (O17) Does the work of refine() of hypothesis_cpu.c by a block. */
static __device__ void refine(struct hypothesis *own, int64_t *room, const struct surface *s,
                              const struct object_point *point, uint32_t n, int is_coarse,
                              const struct hypothesis_params *p)
{
    int64_t tally[HYPOTHESIS_TALLY];
    struct hypothesis_view v;
    float gate = p->gate_m;
    uint32_t stride = hypothesis_stride(n);

    if (!run_rounds(&own->T_co, &gate, room, s, point, n, stride, p->rounds, p))
        return;
    hypothesis_count_pixels(tally, NULL, room, s, point, n, &own->T_co, stride, p);
    v = hypothesis_view_of(tally);
    if (hypothesis_score(&v) < p->hopeless ||
        !run_rounds(&own->T_co, &gate, room, s, point, n, 1, p->last, p))
        return;
    hypothesis_count_pixels(tally, NULL, room, s, point, n, &own->T_co, 1, p);
    hypothesis_judge(own, tally, is_coarse, p);
}

static __global__ void __launch_bounds__(THREADS)
    refine_kernel(struct hypothesis_picture h, struct surface s, struct hypothesis_params p)
{
    __shared__ int64_t room[WARPS * HYPOTHESIS_SUMS];
    uint32_t object = blockIdx.y, from = h.l.first[object], n = h.l.first[object + 1] - from;
    struct hypothesis *at = &h.q.tried[object * (uint32_t)p.tries + blockIdx.x], own = *at;

    if (!own.votes)
        return;
    refine(&own, room, &s, h.l.point + from, n, h.l.is_coarse[object], &p);
    if (threadIdx.x == 0)
        *at = own;
}

/* (O17) Takes a pose if enough of its surface is unclaimed. */
static __device__ int hypothesis_take(const struct hypothesis_picture *h, int64_t *room,
                                      const struct hypothesis *at, const struct surface *s,
                                      const struct hypothesis_params *p)
{
    uint32_t from = h->l.first[at->object], n = h->l.first[at->object + 1] - from;
    int64_t tally[HYPOTHESIS_TALLY], open = 0;

    hypothesis_count_pixels(tally, h->q.pixel, room, s, h->l.point + from, n, &at->T_co, 1, p);
    for (uint32_t i = threadIdx.x; i < n; i += THREADS)
        open += h->q.pixel[i] >= 0 && !h->q.claims[h->q.pixel[i]];
    add_up<1>(&open, room);
    if (!hypothesis_open((uint32_t)open, at, p))
        return 0;
    for (uint32_t i = threadIdx.x; i < n; i += THREADS)
        if (h->q.pixel[i] >= 0)
            hypothesis_claim(h->q.claims, s, h->q.pixel[i]);
    return 1;
}

static __global__ void __launch_bounds__(THREADS)
    keep_kernel(struct hypothesis_picture h, struct surface s, struct hypothesis_params p)
{
    __shared__ int64_t room[WARPS * HYPOTHESIS_TALLY];
    __shared__ uint64_t keys[WARPS];
    uint32_t n = h.l.n_objects * (uint32_t)p.tries, found = 0;

    for (int looked = 0; looked < HYPOTHESES_MAX; looked++) {
        uint64_t top = 0;
        struct hypothesis *at;
        for (uint32_t i = threadIdx.x; i < n; i += THREADS)
            if (h.q.tried[i].points && hypothesis_key(hypothesis_worth(&h.q.tried[i]), i) > top)
                top = hypothesis_key(hypothesis_worth(&h.q.tried[i]), i);
        top = largest(top, keys);
        if (top == 0)
            break;
        at = &h.q.tried[hypothesis_number(top)];
        if (hypothesis_take(&h, room, at, &s, &p)) {
            if (threadIdx.x == 0)
                h.q.found[found] = *at;
            found++;
        }
        __syncthreads(); /* all have read it, and its claims are written */
        if (threadIdx.x == 0)
            at->points = 0;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *h.q.n_found = found;
}

static cudaLaunchConfig_t config_of(unsigned x, unsigned y, cudaStream_t stream)
{
    cudaLaunchConfig_t c = {};
    c.gridDim = dim3(x, y);
    c.blockDim = dim3(THREADS);
    c.stream = stream;
    return c;
}

int hypothesis_cuda_guess(const struct hypothesis_picture *h, const struct surface *s,
                          const struct hypothesis_params *p, cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = config_of(h->l.n_objects, 1, stream);
    int rc = 0;
    (void)s;
    CU_TRY(cudaLaunchKernelEx(&config, guess_kernel, *h, *p));
out:
    return rc;
}

int hypothesis_cuda_refine(const struct hypothesis_picture *h, const struct surface *s,
                           const struct hypothesis_params *p, cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = config_of((unsigned)p->tries, h->l.n_objects, stream);
    int rc = 0;
    CU_TRY(cudaLaunchKernelEx(&config, refine_kernel, *h, *s, *p));
out:
    return rc;
}

int hypothesis_cuda_keep(const struct hypothesis_picture *h, const struct surface *s,
                         const struct hypothesis_params *p, cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = config_of(1, 1, stream);
    int rc = 0;
    CU_TRY(cudaMemsetAsync(h->q.claims, 0, (size_t)s->w * (size_t)s->h, stream));
    CU_TRY(cudaLaunchKernelEx(&config, keep_kernel, *h, *s, *p));
out:
    return rc;
}
