/*
 * sweep_cuda.cu - the sweep by tiles: for each source a block warps its tile and the windows'
 * border into shared memory, several planes at a time; a thread sums the windows of two pixels
 * there, four levels an instruction
 *
 * Grid:    (tiles, frames), a block a tile of TILE_W x TILE_H. Its threads form GROUPS groups:
 *          group g has planes g, g + GROUPS ..., and each of its threads two pixels, one below the
 *          other.
 * Waits:   once a plane and source: a group warps into one of two places while the other is read.
 */
#include "gpu/views/fine_point.h"
#include "gpu/views/views_cuda.cuh"

#define TILE_W 16
#define TILE_H 8
#define TILE_PIXELS (TILE_W * TILE_H)
#define GROUPS 4
#define GROUP (TILE_PIXELS / 2) /* threads */
#define THREADS (GROUPS * GROUP)
#define BORDER (2 * VIEWS_RADIUS)
#define SIDE_W (TILE_W + BORDER)
#define SIDE_H (TILE_H + BORDER)
#define SIDE_PIXELS (SIDE_W * SIDE_H)
#define SHARE ((SIDE_PIXELS + GROUP - 1) / GROUP) /* pixels a thread */
#define WORDS ((SIDE_W + 3) / 4)                  /* a row of levels */
#define ROWS (BORDER + 2)                         /* rows of two pixels' windows together */
#define SCORES (VIEWS_PLANES + 2) /* a pixel's, padded: neighbours lie in different banks */

/* Levels, four a word. */
struct patch {
    uint32_t row[SIDE_H][WORDS];
};

struct tile {
    int x, y, w, h; /* its first pixel; the picture */
    struct sweep_source sources[VIEWS_SOURCES];
    float base[VIEWS_SOURCES][3][SIDE_PIXELS]; /* coordinates' terms without depth */
    struct patch own, other[GROUPS][2];
    uint8_t inside[GROUPS][2][SIDE_PIXELS];
    int16_t scores[TILE_PIXELS][SCORES];
};

/* A thread's group, its number there, its upper pixel, and its windows of the keyframe. */
struct place {
    int group, lane, x, y;
    int to[SHARE]; /* patch bytes of the pixels that it warps; -1: outside */
    uint32_t low[ROWS], high[ROWS];
};

/* Sums over a window that use a source's levels. */
struct sums {
    uint32_t b, bb, ab;
};

static __device__ inline bool in_picture(const struct tile *t, int x, int y)
{
    return x >= 0 && y >= 0 && x < t->w && y < t->h;
}

/* Pixel i of a tile and its border, in the picture. */
static __device__ inline int side_x(const struct tile *t, int i)
{
    return t->x + i % SIDE_W - VIEWS_RADIUS;
}

static __device__ inline int side_y(const struct tile *t, int i)
{
    return t->y + i / SIDE_W - VIEWS_RADIUS;
}

static __device__ inline void put_level(struct patch *p, int i, int level)
{
    ((uint8_t *)p->row[i / SIDE_W])[i % SIDE_W] = (uint8_t)level;
}

static __device__ void load_own(struct tile *t, const uint8_t *grey)
{
    for (int i = (int)threadIdx.x; i < SIDE_PIXELS; i += THREADS) {
        int x = side_x(t, i), y = side_y(t, i);
        put_level(&t->own, i, in_picture(t, x, y) ? grey[(size_t)y * (size_t)t->w + (size_t)x] : 0);
    }
}

/* The terms of sweep_ray_at() without inverse depth. */
static __device__ void load_bases(struct tile *t, const struct intrinsics *K, int n_sources)
{
    for (int i = (int)threadIdx.x; i < SIDE_PIXELS * n_sources; i += THREADS) {
        const struct sweep_source *s = &t->sources[i / SIDE_PIXELS];
        float(*base)[SIDE_PIXELS] = t->base[i / SIDE_PIXELS];
        int at = i % SIDE_PIXELS;
        float rx = ((float)side_x(t, at) - K->cx) / K->fx;
        float ry = ((float)side_y(t, at) - K->cy) / K->fy;
        const struct sweep_ray rest = sweep_ray_of(s, ry);
        base[0][at] = sweep_base(s->T.r[0] * rx, rest.x);
        base[1][at] = sweep_base(s->T.r[3] * rx, rest.y);
        base[2][at] = sweep_base(s->T.r[6] * rx, rest.z);
    }
}

/* The level that a source has for pixel `at`, at inverse depth `inv`. */
static __device__ int warp(const struct tile *t, int source, int at, float inv, int *inside)
{
    const struct sweep_source *s = &t->sources[source];
    const float(*base)[SIDE_PIXELS] = t->base[source];
    const uint8_t *g;
    int a, b;
    *inside = sweep_place(s->K, base[0][at] + s->T.t[0] * inv, base[1][at] + s->T.t[1] * inv,
                          base[2][at] + s->T.t[2] * inv, t->w, t->h, &a, &b);
    g = s->grey + (b >> 6) * t->w + (a >> 6);
    return sweep_blend_one(g, t->w, a & 63, b & 63);
}

/* The inverse depths of step d at a thread's pixels: a plane's where `guide` is NULL, else around
 * guide [h][w]. They do not matter for pixels outside the picture. */
static __device__ void inverses(float inv[SHARE], const struct tile *t, const struct place *me,
                                const struct sweep_planes *p, const float *guide, int d)
{
#pragma unroll
    for (int k = 0; k < SHARE; k++) {
        int i = me->lane + k * GROUP, x = side_x(t, i), y = side_y(t, i);
        inv[k] = p->first + p->step * (float)d;
        if (guide && me->to[k] >= 0)
            inv[k] = fine_inverse(p, guide[(size_t)y * (size_t)t->w + (size_t)x], d);
    }
}

/* Levels outside the picture stay 0 and add nothing to a window's sums. */
static __device__ void clear_others(struct tile *t)
{
    uint32_t *levels = &t->other[0][0].row[0][0];
    for (size_t i = threadIdx.x; i < sizeof t->other / sizeof t->own.row[0][0]; i += THREADS)
        levels[i] = 0;
    for (size_t i = threadIdx.x; i < sizeof t->inside; i += THREADS)
        t->inside[0][0][i] = 0;
}

static __device__ void load_other(struct tile *t, const struct place *me, const float inv[SHARE],
                                  int source, int to)
{
#pragma unroll
    for (int k = 0; k < SHARE; k++) {
        int i = me->lane + k * GROUP, inside;
        if (me->to[k] < 0)
            continue;
        ((uint8_t *)t->other[me->group][to].row)[me->to[k]] =
            (uint8_t)warp(t, source, i, inv[k], &inside);
        t->inside[me->group][to][i] = (uint8_t)inside;
    }
}

/* The seven levels of a row from pixel x on: four, and three with a 0 behind. */
static __device__ inline void window_row(const uint32_t *row, int x, uint32_t *low, uint32_t *high)
{
    const uint32_t *at = row + x / 4;
    unsigned shift = 8u * (unsigned)(x % 4);
    *low = __funnelshift_r(at[0], at[1], shift);
    *high = __funnelshift_r(at[1], at[2], shift) & 0xffffffu;
}

static __device__ struct sweep_sums sum_own(const struct tile *t, int x, int y)
{
    struct sweep_sums s = {0, 0, 0};
    for (int j = 0; j <= BORDER; j++)
        for (int i = 0; i <= BORDER; i++) {
            int level = ((const uint8_t *)t->own.row[y + j])[x + i];
            s.n += in_picture(t, t->x + x + i - VIEWS_RADIUS, t->y + y + j - VIEWS_RADIUS);
            s.a += level;
            s.aa += level * level;
        }
    return s;
}

static __device__ inline void add_row(struct sums *s, const uint32_t *row, const struct place *me,
                                      int j)
{
    uint32_t low, high;
    window_row(row, me->x, &low, &high);
    s->b = __dp4a(low, 0x01010101u, __dp4a(high, 0x01010101u, s->b));
    s->bb = __dp4a(low, low, __dp4a(high, high, s->bb));
    s->ab = __dp4a(low, me->low[j], __dp4a(high, me->high[j], s->ab));
}

/* Both pixels' windows share all rows but the first and the last. */
static __device__ void sum_windows(struct sums of[2], const struct patch *p, const struct place *me)
{
    struct sums both = {0, 0, 0};
#pragma unroll
    for (int j = 1; j < ROWS - 1; j++)
        add_row(&both, p->row[me->y + j], me, j);
    of[0] = of[1] = both;
    add_row(&of[0], p->row[me->y], me, 0);
    add_row(&of[1], p->row[me->y + ROWS - 1], me, ROWS - 1);
}

/* Puts a score into the list of the best, in falling order. */
static __device__ void sweep_keep(int best[SWEEP_HALF], int score)
{
#pragma unroll
    for (int i = 0; i < SWEEP_HALF; i++) {
        int most = score > best[i] ? score : best[i];
        score = score > best[i] ? best[i] : score;
        best[i] = most;
    }
}

static __device__ uint16_t sweep_measure_pixel(const struct views *v, const struct sweep_planes *p,
                                               const float *guide, const int16_t *scores,
                                               const struct sweep_sums *own, uint32_t i)
{
    return guide ? fine_own(v, i, fine_measure(v, guide[i], scores, own))
                 : sweep_measure(v, p, scores, own);
}

/* A pixel's best scores at a plane, and how many sources gave one. */
struct tried {
    int best[SWEEP_HALF], n;
};

static __device__ void score(struct tried *tried, const struct tile *t, const struct place *me,
                             const struct sweep_sums own[2], const float root[2], int from)
{
    const uint8_t *inside = t->inside[me->group][from];
    struct sums of[2];
    sum_windows(of, &t->other[me->group][from], me);
#pragma unroll
    for (int k = 0; k < 2; k++)
        if (inside[(me->y + k + VIEWS_RADIUS) * SIDE_W + me->x + VIEWS_RADIUS]) {
            sweep_keep(tried[k].best, sweep_score(own[k].n, own[k].a, root[k], (int)of[k].b,
                                                  (int)of[k].bb, (int)of[k].ab));
            tried[k].n++;
        }
}

/* All scores of a tile. Each thread goes through all rounds; a group may have one plane less. */
static __device__ void try_all(struct tile *t, const struct place *me, const struct sweep_planes *p,
                               const float *guide, int steps, int n_sources, int alone)
{
    struct sweep_sums own[2];
    float root[2], inv[SHARE];
    int turn = 0;
    for (int k = 0; k < 2; k++) {
        own[k] = sum_own(t, me->x, me->y + k);
        root[k] = sqrtf((float)(own[k].n * own[k].aa - own[k].a * own[k].a));
    }
    for (int first = 0; first < steps; first += GROUPS) {
        const struct tried none = {{SWEEP_NONE, SWEEP_NONE, SWEEP_NONE}, 0};
        struct tried tried[2] = {none, none};
        int d = first + me->group;
        if (d < steps)
            inverses(inv, t, me, p, guide, d);
        for (int i = 0; i < n_sources; i++, turn ^= 1) {
            if (d < steps)
                load_other(t, me, inv, i, turn);
            __syncthreads();
            if (d < steps)
                score(tried, t, me, own, root, turn);
        }
        for (int k = 0; k < 2 && d < steps; k++)
            t->scores[(me->y + k) * TILE_W + me->x][d] = (int16_t)sweep_best_half(
                tried[k].best[0], tried[k].best[1], tried[k].best[2], tried[k].n, alone);
    }
    __syncthreads();
}

static __device__ struct place sweep_place_of(const struct tile *t)
{
    struct place me;
    me.group = (int)threadIdx.x / GROUP;
    me.lane = (int)threadIdx.x % GROUP;
    me.x = me.lane % TILE_W;
    me.y = me.lane / TILE_W * 2;
#pragma unroll
    for (int k = 0; k < SHARE; k++) {
        int i = me.lane + k * GROUP;
        me.to[k] = i < SIDE_PIXELS && in_picture(t, side_x(t, i), side_y(t, i))
                       ? i / SIDE_W * (4 * WORDS) + i % SIDE_W
                       : -1;
    }
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        window_row(t->own.row[me.y + j], me.x, &me.low[j], &me.high[j]);
    return me;
}

/* Sweeps `steps` planes, or steps around a guide. */
static __device__ void sweep_tile(struct views *v, const float *guide, int steps)
{
    __shared__ struct tile t;
    int i = (int)threadIdx.x, x = i % TILE_W, y = i / TILE_W, n_sources, across;
    struct sweep_planes planes;
    struct intrinsics K;
    struct place me;
    uint16_t code = 0;
    int n;
    across = (v->w + TILE_W - 1) / TILE_W;
    if ((int)blockIdx.x >= across * ((v->h + TILE_H - 1) / TILE_H))
        return;
    n_sources = v->plan.n_sources;
    if (i == 0) {
        t.x = (int)blockIdx.x % across * TILE_W;
        t.y = (int)blockIdx.x / across * TILE_H;
        t.w = v->w;
        t.h = v->h;
    }
    if (i < n_sources)
        t.sources[i] = guide ? fine_source_of(v, i) : sweep_source_of(v, i);
    __syncthreads();
    K = v->kept[v->plan.swept].camera.K;
    planes = sweep_planes_of(v);
    load_own(&t, (guide ? v->contrast : v->grey) + views_at(v, v->plan.swept));
    load_bases(&t, &K, n_sources);
    clear_others(&t);
    __syncthreads();
    me = sweep_place_of(&t);
    try_all(&t, &me, &planes, guide, steps, n_sources, v->params.sweep_alone);
    if (i < TILE_PIXELS && in_picture(&t, t.x + x, t.y + y)) {
        uint32_t at = (uint32_t)(t.y + y) * (uint32_t)t.w + (uint32_t)(t.x + x);
        struct sweep_sums own = sum_own(&t, x, y);
        code = sweep_measure_pixel(v, &planes, guide, t.scores[i], &own, at);
        v->own[views_at(v, v->plan.swept) + at] = code;
    }
    n = __syncthreads_count(code != 0);
    if (i == 0 && n > 0)
        atomicAdd(&v->kept[v->plan.swept].n_measured, (uint32_t)n);
}

static __global__ void __launch_bounds__(THREADS, 3)
    sweep_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v && v->plan.swept >= 0 && v->plan.n_sources > 0)
        sweep_tile(v, NULL, VIEWS_PLANES);
}

static __global__ void __launch_bounds__(THREADS, 3)
    sweep_again_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v && v->plan.again)
        sweep_tile(v, NULL, VIEWS_PLANES);
}

static __global__ void __launch_bounds__(THREADS, 3)
    sweep_fine_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v && v->plan.fine)
        sweep_tile(v, v->target[VIEWS_FINAL].depth, FINE_STEPS);
}

static int launch(views_kernel *kernel, const struct views_batch *b, struct err *err)
{
    int across = (b->w_max + TILE_W - 1) / TILE_W, down = (b->h_max + TILE_H - 1) / TILE_H;
    return views_launch(kernel, (uint32_t)(across * down), THREADS, b, err);
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
