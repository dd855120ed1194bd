/*
 * sweep_cuda.cu - the sweep by tiles: step by step and source by source a block warps its tile and
 * the border of its windows into shared memory; each thread sums up its own window there
 *
 * Grid:    (tiles, frames), a thread a pixel of a tile of 16x16
 */
#include "gpu/views/fine_point.h"
#include "gpu/views/views_cuda.cuh"

#define TILE 16
#define SIDE (TILE + 2 * VIEWS_RADIUS)

struct tile {
    int x, y, w, h; /* its first pixel; the picture */
    uint8_t own[SIDE][SIDE], other[SIDE][SIDE], inside[SIDE][SIDE];
    struct sweep_source sources[VIEWS_SOURCES];
};

static __device__ inline bool in_picture(const struct tile *t, int x, int y)
{
    return x >= 0 && y >= 0 && x < t->w && y < t->h;
}

static __device__ void load_own(struct tile *t, const uint8_t *grey)
{
    for (int i = (int)threadIdx.x; i < SIDE * SIDE; i += TILE * TILE) {
        int x = t->x + i % SIDE - VIEWS_RADIUS, y = t->y + i / SIDE - VIEWS_RADIUS;
        t->own[i / SIDE][i % SIDE] =
            in_picture(t, x, y) ? grey[(size_t)y * (size_t)t->w + (size_t)x] : 0;
    }
}

/* The level that a source has for a ray, at inverse depth `inv`. */
static __device__ int warp(const struct sweep_source *s, float rx, float ry, float inv,
                           const struct tile *t, int *inside)
{
    const struct sweep_turn rest = sweep_turn_of(s, ry);
    int a, b, i, j;
    const uint8_t *g;
    *inside = sweep_place(s->K, sweep_turn(s->T.r[0] * rx, rest.x, inv),
                          sweep_turn(s->T.r[3] * rx, rest.y, inv),
                          sweep_turn(s->T.r[6] * rx, rest.z, inv), t->w, t->h, &a, &b);
    i = a >> 6;
    j = b >> 6;
    g = s->grey + (size_t)j * (size_t)t->w + (size_t)i;
    return sweep_blend(sweep_pair(g), sweep_pair(g + t->w), (int16_t)(a & 63), (int16_t)(b & 63));
}

/* The inverse depth that is tried at pixel (x, y) in step d: `guide` is NULL, and it is a plane's,
 * or [h][w] depth. */
static __device__ float inverse_at(const struct tile *t, const struct sweep_planes *p,
                                   const float *guide, int d, int x, int y)
{
    return guide ? fine_inverse(guide[(size_t)y * (size_t)t->w + (size_t)x], d)
                 : p->first + p->step * (float)d;
}

/* Outside the picture all levels are 0, and add nothing to a window's sums. */
static __device__ void load_other(struct tile *t, const struct sweep_source *s,
                                  const struct intrinsics *K, const struct sweep_planes *p,
                                  const float *guide, int d)
{
    for (int i = (int)threadIdx.x; i < SIDE * SIDE; i += TILE * TILE) {
        int x = t->x + i % SIDE - VIEWS_RADIUS, y = t->y + i / SIDE - VIEWS_RADIUS;
        int inside = 0, level = 0;
        if (in_picture(t, x, y))
            level = warp(s, ((float)x - K->cx) / K->fx, ((float)y - K->cy) / K->fy,
                         inverse_at(t, p, guide, d, x, y), t, &inside);
        t->other[i / SIDE][i % SIDE] = (uint8_t)level;
        t->inside[i / SIDE][i % SIDE] = (uint8_t)inside;
    }
}

static __device__ struct sweep_sums sum_own(const struct tile *t, int x, int y)
{
    struct sweep_sums s = {0, 0, 0};
    for (int j = 0; j <= 2 * VIEWS_RADIUS; j++)
        for (int i = 0; i <= 2 * VIEWS_RADIUS; i++) {
            int level = t->own[y + j][x + i];
            s.n += in_picture(t, t->x + x + i - VIEWS_RADIUS, t->y + y + j - VIEWS_RADIUS);
            s.a += level;
            s.aa += level * level;
        }
    return s;
}

static __device__ int score(const struct tile *t, const struct sweep_sums *k, float root, int x,
                            int y)
{
    int b = 0, bb = 0, ab = 0;
#pragma unroll
    for (int j = 0; j <= 2 * VIEWS_RADIUS; j++)
#pragma unroll
        for (int i = 0; i <= 2 * VIEWS_RADIUS; i++) {
            int level = t->other[y + j][x + i];
            b += level;
            bb += level * level;
            ab += level * t->own[y + j][x + i];
        }
    return sweep_score(k->n, k->a, root, b, bb, ab);
}

/* Puts a score into the best, which fall. */
static __device__ void keep(int best[SWEEP_HALF], int score)
{
#pragma unroll
    for (int i = 0; i < SWEEP_HALF; i++) {
        int most = score > best[i] ? score : best[i];
        score = score > best[i] ? best[i] : score;
        best[i] = most;
    }
}

static __device__ uint16_t measure(const struct views *v, const struct sweep_planes *p,
                                   const float *guide, const int16_t *scores,
                                   const struct sweep_sums *own, uint32_t i)
{
    return guide ? fine_own(v, i, fine_measure(guide[i], scores, own))
                 : sweep_measure(p, scores, own);
}

/* By `steps` planes, or around a guide. */
static __device__ void sweep_tile(struct views *v, const float *guide, int steps)
{
    __shared__ struct tile t;
    int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE, n_sources, across, n;
    int best[SWEEP_HALF];
    int16_t scores[VIEWS_PLANES];
    struct sweep_planes planes;
    struct sweep_sums own;
    struct intrinsics K;
    float root;
    across = (v->w + TILE - 1) / TILE;
    if ((int)blockIdx.x >= across * ((v->h + TILE - 1) / TILE))
        return;
    n_sources = v->plan.n_sources;
    if (threadIdx.x == 0) {
        t.x = (int)blockIdx.x % across * TILE;
        t.y = (int)blockIdx.x / across * TILE;
        t.w = v->w;
        t.h = v->h;
    }
    if ((int)threadIdx.x < n_sources)
        t.sources[threadIdx.x] = sweep_source_of(v, (int)threadIdx.x);
    __syncthreads();
    load_own(&t, v->grey + views_at(v, v->plan.swept));
    K = v->kept[v->plan.swept].camera.K;
    planes = sweep_planes_of(&v->kept[v->plan.swept]);
    __syncthreads();
    own = sum_own(&t, x, y);
    root = sqrtf((float)(own.n * own.aa - own.a * own.a));
    for (int d = 0; d < steps; d++) {
        n = 0;
        for (int i = 0; i < SWEEP_HALF; i++)
            best[i] = SWEEP_NONE;
        for (int i = 0; i < n_sources; i++) {
            load_other(&t, &t.sources[i], &K, &planes, guide, d);
            __syncthreads();
            if (t.inside[y + VIEWS_RADIUS][x + VIEWS_RADIUS]) {
                keep(best, score(&t, &own, root, x, y));
                n++;
            }
            __syncthreads();
        }
        scores[d] = (int16_t)sweep_best_half(best[0], best[1], best[2], n);
    }
    if (in_picture(&t, t.x + x, t.y + y)) {
        uint32_t i = (uint32_t)(t.y + y) * (uint32_t)t.w + (uint32_t)(t.x + x);
        uint16_t code = measure(v, &planes, guide, scores, &own, i);
        v->own[views_at(v, v->plan.swept) + i] = code;
        if (code)
            atomicAdd(&v->kept[v->plan.swept].n_measured, 1u);
    }
}

static __global__ void sweep_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v && v->plan.swept >= 0 && v->plan.n_sources > 0)
        sweep_tile(v, NULL, VIEWS_PLANES);
}

static __global__ void sweep_again_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v && v->plan.again)
        sweep_tile(v, NULL, VIEWS_PLANES);
}

static __global__ void sweep_fine_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v && v->plan.fine)
        sweep_tile(v, v->target[VIEWS_FINAL].depth, FINE_STEPS);
}

static int launch(views_kernel *kernel, const struct views_batch *b, struct err *err)
{
    uint32_t tiles = (uint32_t)((b->w_max + TILE - 1) / TILE * ((b->h_max + TILE - 1) / TILE));
    return views_launch(kernel, tiles, TILE * TILE, b, err);
}

int sweep_cuda(const struct views_batch *b, struct err *err)
{
    return launch(sweep_kernel, b, err);
}

int sweep_cuda_again(const struct views_batch *b, struct err *err)
{
    return launch(sweep_again_kernel, b, err);
}

int sweep_cuda_fine(const struct views_batch *b, struct err *err)
{
    return launch(sweep_fine_kernel, b, err);
}
