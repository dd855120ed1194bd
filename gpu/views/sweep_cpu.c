/*
 * sweep_cpu.c - the sweep by bands of rows: each plane and source warps a band, and sums over
 * windows run along its columns
 *
 * Rows are BORDER + whole blocks of BLOCK columns + BORDER long; pixels outside the picture are 0.
 * Loops over a block have a constant length, which the compiler turns into vector instructions.
 *
 * LANES threads at most take bands in turn, each with memory of its own; bands are independent.
 */
#include "gpu/base/wide_cpu.h"
#include "gpu/views/fine_point.h"

#define BAND 32 /* rows */
#define ROWS (BAND + 2 * VIEWS_RADIUS)
#define BLOCK 32
#define BORDER 8
#define LANES 4 /* of memory for bands */
#define WINDOW ((2 * VIEWS_RADIUS + 1) * (2 * VIEWS_RADIUS + 1))

/* What a block's pixels read of a source. */
struct block {
    int at[BLOCK];                      /* pixel of the source, ... */
    uint16_t pair[BLOCK], below[BLOCK]; /* ... its levels, ... */
    int16_t a[BLOCK], b[BLOCK];         /* ... and 64ths of a pixel beyond it */
};

/* A lane's memory: a band of rows first ... last-1, and the rows of its windows, `top` ...
 * bottom-1. Rows have n columns, are `stride` apart and begin behind their border. */
struct sweep_band {
    int first, last, top, bottom, w, n, stride;
    float *across[VIEWS_SOURCES]; /* [3] terms of x in a ray's coordinates */
    uint16_t *zeros;              /* a row outside the picture */
    float *inverse;               /* [ROWS] inverse depths to try */
    uint16_t *own, *warped;       /* [ROWS] levels */
    int16_t *inside;              /* [ROWS] */
    uint16_t *column;             /* a row's sums of levels, ... */
    int *squares, *products; /* ... of their squares, and of products with the keyframe's levels */
    int *counts;             /* [BAND] pixels in the keyframe's windows ... */
    uint16_t *levels;        /* [BAND] ... and sums of their levels */
    float *root;             /* [BAND] */
    int16_t *best[SWEEP_HALF], *n_best; /* [BAND] */
    int16_t *scores;                    /* [VIEWS_PLANES][BAND] */
    struct sweep_sums *sums;            /* [BAND] */
};

/* n rows of elements of `size` bytes; every row and its border start at a multiple of 16 bytes. */
static void *sweep_take(uint8_t *base, size_t *used, const struct sweep_band *b, size_t n,
                        size_t size)
{
    size_t at = *used;

    *used += n * (size_t)b->stride * size;
    return base ? base + at + BORDER * size : NULL;
}

static size_t lay_out_lane(const struct views *v, uint8_t *base)
{
    struct sweep_band b;
    size_t used = (sizeof b + 15) / 16 * 16;

    memset(&b, 0, sizeof b);
    b.w = v->w;
    b.n = (v->w + BLOCK - 1) / BLOCK * BLOCK;
    b.stride = b.n + 2 * BORDER;
    for (int i = 0; i < VIEWS_SOURCES; i++)
        b.across[i] = sweep_take(base, &used, &b, 3, sizeof *b.across[i]);
    b.zeros = sweep_take(base, &used, &b, 1, sizeof *b.zeros);
    b.inverse = sweep_take(base, &used, &b, ROWS, sizeof *b.inverse);
    b.column = sweep_take(base, &used, &b, 1, sizeof *b.column);
    b.squares = sweep_take(base, &used, &b, 1, sizeof *b.squares);
    b.products = sweep_take(base, &used, &b, 1, sizeof *b.products);
    b.own = sweep_take(base, &used, &b, ROWS, sizeof *b.own);
    b.warped = sweep_take(base, &used, &b, ROWS, sizeof *b.warped);
    b.inside = sweep_take(base, &used, &b, ROWS, sizeof *b.inside);
    b.counts = sweep_take(base, &used, &b, BAND, sizeof *b.counts);
    b.levels = sweep_take(base, &used, &b, BAND, sizeof *b.levels);
    b.root = sweep_take(base, &used, &b, BAND, sizeof *b.root);
    for (int i = 0; i < SWEEP_HALF; i++)
        b.best[i] = sweep_take(base, &used, &b, BAND, sizeof *b.best[i]);
    b.n_best = sweep_take(base, &used, &b, BAND, sizeof *b.n_best);
    b.scores = sweep_take(base, &used, &b, VIEWS_PLANES * BAND, sizeof *b.scores);
    b.sums = sweep_take(base, &used, &b, BAND, sizeof *b.sums);
    if (base) {
        memset(base, 0, used);
        *(struct sweep_band *)base = b;
    }
    return used;
}

size_t sweep_cpu_lay_out(struct views *v, uint8_t *base)
{
    size_t bytes = lay_out_lane(v, NULL);

    for (int lane = 0; base && lane < LANES; lane++)
        lay_out_lane(v, base + (size_t)lane * bytes);
    if (base)
        v->band = (struct sweep_band *)base;
    return LANES * bytes;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

static size_t in_band(const struct sweep_band *b, int y)
{
    return (size_t)(y - b->first) * (size_t)b->stride;
}

static size_t in_rows(const struct sweep_band *b, int y)
{
    return (size_t)(y - b->top) * (size_t)b->stride;
}

/* The keyframe's own levels and windows. */
static void sum_own(struct sweep_band *b, const uint8_t *grey)
{
    for (int y = b->top; y < b->bottom; y++)
        for (int x = 0; x < b->w; x++)
            b->own[in_rows(b, y) + (size_t)x] = grey[(size_t)y * (size_t)b->w + (size_t)x];
    for (int y = b->first; y < b->last; y++) {
        for (int x = 0; x < b->w; x++) {
            size_t at = in_band(b, y) + (size_t)x;
            struct sweep_sums s = {0, 0, 0};
            for (int j = most(y - VIEWS_RADIUS, b->top); j < least(y + VIEWS_RADIUS + 1, b->bottom);
                 j++)
                for (int i = most(x - VIEWS_RADIUS, 0); i < least(x + VIEWS_RADIUS + 1, b->w);
                     i++) {
                    int level = b->own[in_rows(b, j) + (size_t)i];
                    s.n++;
                    s.a += level;
                    s.aa += level * level;
                }
            b->sums[at] = s;
            b->counts[at] = s.n;
            b->levels[at] = (uint16_t)s.a;
            b->root[at] = sqrtf((float)(s.n * s.aa - s.a * s.a));
        }
        for (int x = b->w; x < b->n; x++) /* no variance is negative there either */
            b->counts[in_band(b, y) + (size_t)x] = WINDOW;
    }
}

/* Where the source sees a block; rest: the ray's coordinates without the terms of x. */
static void sweep_place_block(struct block *restrict p, int16_t *restrict inside,
                              const float *across, const float *inverse, size_t stride,
                              const struct sweep_ray *rest, const struct sweep_source *s, int w,
                              int h)
{
    const struct sweep_ray t = *rest;
    const struct intrinsics K = s->K;

    for (size_t i = 0; i < BLOCK; i++) {
        int u, v;
        inside[i] = (int16_t)sweep_place(K, sweep_ray_at(across[i], t.x, inverse[i]),
                                         sweep_ray_at(across[i + stride], t.y, inverse[i]),
                                         sweep_ray_at(across[i + 2 * stride], t.z, inverse[i]), w,
                                         h, &u, &v);
        p->a[i] = (int16_t)(u & 63);
        p->b[i] = (int16_t)(v & 63);
        p->at[i] = (int)((float)(v >> 6) * (float)w) + (u >> 6); /* exact: pixels < 2^24 */
    }
}

/* The border's last pixels read a neighbour of weight 0 that may lie behind the picture; it is in
 * the session's memory, since other maps follow. */
static void sweep_fetch(struct block *p, const uint8_t *grey, int w)
{
    for (int i = 0; i < BLOCK; i++) {
        const uint8_t *g = grey + p->at[i];
        p->pair[i] = sweep_pair(g);
        p->below[i] = sweep_pair(g + w);
    }
}

static void blend(const struct block *restrict p, uint16_t *restrict warped)
{
    for (int i = 0; i < BLOCK; i++)
        warped[i] = (uint16_t)sweep_blend(p->pair[i], p->below[i], p->a[i], p->b[i]);
}

static void warp(struct sweep_band *b, const struct views *v, int source,
                 const struct sweep_source *s)
{
    const struct intrinsics *K = &v->kept[v->plan.swept].camera.K;
    size_t stride = (size_t)b->stride;
    struct block p;

    for (int y = b->top; y < b->bottom; y++) {
        struct sweep_ray rest = sweep_ray_of(s, ((float)y - K->cy) / K->fy);
        uint16_t *warped = b->warped + in_rows(b, y);
        for (size_t x = 0; x < (size_t)b->n; x += BLOCK) {
            sweep_place_block(&p, b->inside + in_rows(b, y) + x, b->across[source] + x,
                              b->inverse + in_rows(b, y) + x, stride, &rest, s, v->w, v->h);
            sweep_fetch(&p, s->grey, v->w);
            blend(&p, warped + x);
        }
        memset(warped + b->w, 0, (size_t)(b->n - b->w) * sizeof *warped);
    }
}

/* Rows enter the columns' sums, and leave them. */
static void slide(uint16_t *restrict column, int *restrict squares, int *restrict products,
                  const uint16_t *enter, const uint16_t *enter_own, const uint16_t *leave,
                  const uint16_t *leave_own)
{
    for (int i = 0; i < BLOCK; i++) {
        uint16_t in = enter[i], out = leave[i];
        column[i] = (uint16_t)(column[i] + in - out);
        squares[i] += (uint16_t)(in * in) - (uint16_t)(out * out);
        products[i] += (uint16_t)(in * enter_own[i]) - (uint16_t)(out * leave_own[i]);
    }
}

/* Scores of a block's windows; their first columns are given. */
static void score(int16_t *restrict scores, const uint16_t *c, const int *cc, const int *ac,
                  const int *n, const uint16_t *sum, const float *root)
{
    for (int i = 0; i < BLOCK; i++) {
        uint16_t b =
            (uint16_t)(c[i] + c[i + 1] + c[i + 2] + c[i + 3] + c[i + 4] + c[i + 5] + c[i + 6]);
        int bb = cc[i] + cc[i + 1] + cc[i + 2] + cc[i + 3] + cc[i + 4] + cc[i + 5] + cc[i + 6];
        int ab = ac[i] + ac[i + 1] + ac[i + 2] + ac[i + 3] + ac[i + 4] + ac[i + 5] + ac[i + 6];
        scores[i] = (int16_t)sweep_score(n[i], sum[i], root[i], b, bb, ab);
    }
}

static void count_inside(int16_t *restrict scores, int16_t *restrict n_best, const int16_t *inside)
{
    for (int i = 0; i < BLOCK; i++) {
        scores[i] = inside[i] ? scores[i] : SWEEP_NONE;
        n_best[i] = (int16_t)(n_best[i] + inside[i]);
    }
}

static int any(const int16_t *inside)
{
    int sum = 0;

    for (int i = 0; i < BLOCK; i++)
        sum += inside[i];
    return sum;
}

/* The better score stays; the worse one goes on to the next place. */
static void sweep_keep(int16_t *restrict best, int16_t *restrict scores)
{
    for (int i = 0; i < BLOCK; i++) {
        int16_t was = best[i], now = scores[i];
        best[i] = was > now ? was : now;
        scores[i] = was > now ? now : was;
    }
}

static void score_row(struct sweep_band *b, int y)
{
    int16_t scores[BLOCK];

    for (int x = 0; x < b->n; x += BLOCK) {
        size_t at = in_band(b, y) + (size_t)x;
        const int16_t *inside = b->inside + in_rows(b, y) + x;
        int first = x - VIEWS_RADIUS;
        if (!any(inside))
            continue;
        score(scores, b->column + first, b->squares + first, b->products + first, b->counts + at,
              b->levels + at, b->root + at);
        count_inside(scores, b->n_best + at, inside);
        for (int i = 0; i < SWEEP_HALF; i++)
            sweep_keep(b->best[i] + at, scores);
    }
}

static void score_band(struct sweep_band *b)
{
    size_t n = (size_t)b->n;

    memset(b->column, 0, n * sizeof *b->column);
    memset(b->squares, 0, n * sizeof *b->squares);
    memset(b->products, 0, n * sizeof *b->products);
    for (int y = b->top - VIEWS_RADIUS; y < b->last; y++) {
        int in = y + VIEWS_RADIUS, out = y - VIEWS_RADIUS - 1;
        const uint16_t *enter = in < b->bottom ? b->warped + in_rows(b, in) : b->zeros;
        const uint16_t *leave = out >= b->top ? b->warped + in_rows(b, out) : b->zeros;
        const uint16_t *enter_own = in < b->bottom ? b->own + in_rows(b, in) : b->zeros;
        const uint16_t *leave_own = out >= b->top ? b->own + in_rows(b, out) : b->zeros;
        for (int x = 0; x < b->n; x += BLOCK)
            slide(b->column + x, b->squares + x, b->products + x, enter + x, enter_own + x,
                  leave + x, leave_own + x);
        if (y >= b->first)
            score_row(b, y);
    }
}

static void sweep_finish(int16_t *restrict scores, const int16_t *first, const int16_t *second,
                         const int16_t *third, const int16_t *n, int alone)
{
    for (int i = 0; i < BLOCK; i++)
        scores[i] = (int16_t)sweep_best_half(first[i], second[i], third[i], n[i], alone);
}

/* A sweep: by planes, or in fine steps around a guide. */
struct sweep {
    struct sweep_planes planes;
    const float *guide; /* [h][w] depth, NULL: there is none */
    const uint8_t *own; /* [h][w] the keyframe's levels, or its contrasts */
    int steps;
    struct sweep_source sources[VIEWS_SOURCES];
};

static void put_inverse(struct sweep_band *b, const struct sweep *s, int d)
{
    for (int y = b->top; y < b->bottom; y++)
        for (int x = 0; x < b->w; x++)
            b->inverse[in_rows(b, y) + (size_t)x] =
                s->guide
                    ? fine_inverse(&s->planes, s->guide[(size_t)y * (size_t)b->w + (size_t)x], d)
                    : s->planes.first + s->planes.step * (float)d;
}

/* The scores of all steps of a band's pixels. */
static void score_steps(struct sweep_band *b, const struct views *v, const struct sweep *s)
{
    size_t n = in_band(b, b->last) - 2 * BORDER;
    int alone = v->params.sweep_alone;

    for (int d = 0; d < s->steps; d++) {
        put_inverse(b, s, d);
        for (int j = 0; j < SWEEP_HALF; j++)
            for (size_t i = 0; i < n; i++)
                b->best[j][i] = SWEEP_NONE;
        memset(b->n_best, 0, n * sizeof *b->n_best);
        for (int i = 0; i < v->plan.n_sources; i++) {
            warp(b, v, i, &s->sources[i]);
            score_band(b);
        }
        for (int y = b->first; y < b->last; y++)
            for (int x = 0; x < b->n; x += BLOCK) {
                size_t at = in_band(b, y) + (size_t)x;
                sweep_finish(b->scores + (size_t)d * BAND * (size_t)b->stride + at, b->best[0] + at,
                             b->best[1] + at, b->best[2] + at, b->n_best + at, alone);
            }
    }
}

static void raise(int16_t *restrict peak, const int16_t *scores)
{
    for (int i = 0; i < BLOCK; i++)
        peak[i] = peak[i] > scores[i] ? peak[i] : scores[i];
}

/* What pixel i of the keyframe measures. */
static uint16_t sweep_measure_pixel(const struct views *v, const struct sweep *s,
                                    const int16_t *scores, const struct sweep_sums *sums,
                                    uint32_t i)
{
    return s->guide ? fine_own(v, i, fine_measure(v, s->guide[i], scores, sums))
                    : sweep_measure(v, &s->planes, scores, sums);
}

/* Scores lie step by step, so only pixels that may measure are read one by one, where no earlier
 * measurement may stay. `i`: the block's first pixel. */
static uint32_t measure_block(const struct sweep_band *b, const struct views *v,
                              const struct sweep *s, size_t at, int n, uint32_t i)
{
    size_t stride = BAND * (size_t)b->stride;
    uint16_t *own = v->own + views_at(v, v->plan.swept);
    int16_t peak[BLOCK] = {0}, scores[VIEWS_PLANES];
    uint32_t n_measured = 0;

    for (size_t d = 0; d < (size_t)s->steps; d++)
        raise(peak, b->scores + d * stride + at);
    for (int k = 0; k < n; k++, at++, i++) {
        if (!s->guide && peak[k] < v->params.sweep_peak) {
            own[i] = 0;
            continue;
        }
        for (size_t d = 0; d < (size_t)s->steps; d++)
            scores[d] = b->scores[d * stride + at];
        own[i] = sweep_measure_pixel(v, s, scores, &b->sums[at], i);
        n_measured += own[i] > 0;
    }
    return n_measured;
}

static void turn_across(struct sweep_band *b, int source, const struct sweep_source *s,
                        const struct intrinsics *K)
{
    for (int x = 0; x < b->w; x++) {
        float rx = ((float)x - K->cx) / K->fx;
        for (int k = 0; k < 3; k++)
            b->across[source][k * b->stride + x] = s->T.r[3 * k] * rx;
    }
}

/* Sweeps every LANES-th band from the lane's number on. Returns how many pixels measure. */
static uint32_t run_lane(const struct views *v, const struct sweep *s, int lane)
{
    struct sweep_band *b =
        (struct sweep_band *)((uint8_t *)v->band + (size_t)lane * lay_out_lane(v, NULL));
    uint32_t n_measured = 0;

    for (int i = 0; i < v->plan.n_sources; i++)
        turn_across(b, i, &s->sources[i], &v->kept[v->plan.swept].camera.K);
    for (int top = lane * BAND; top < v->h; top += LANES * BAND) {
        b->first = top;
        b->last = least(top + BAND, v->h);
        b->top = most(top - VIEWS_RADIUS, 0);
        b->bottom = least(b->last + VIEWS_RADIUS, v->h);
        sum_own(b, s->own);
        score_steps(b, v, s);
        for (int y = b->first; y < b->last; y++)
            for (int x = 0; x < b->w; x += BLOCK)
                n_measured +=
                    measure_block(b, v, s, in_band(b, y) + (size_t)x, least(BLOCK, b->w - x),
                                  (uint32_t)y * (uint32_t)b->w + (uint32_t)x);
    }
    return n_measured;
}

WIDE_CPU_FN static uint32_t run_lane_wide(const struct views *v, const struct sweep *s, int lane)
{
    return run_lane(v, s, lane);
}

static void sweep_run(struct views *v, struct sweep *s)
{
    uint32_t n_measured = 0;
    int wide = wide_cpu_has();

    s->planes = sweep_planes_of(v);
    for (int i = 0; i < v->plan.n_sources; i++)
        s->sources[i] = s->guide ? fine_source_of(v, i) : sweep_source_of(v, i);
#pragma omp parallel for schedule(dynamic) reduction(+ : n_measured)
    for (int lane = 0; lane < LANES; lane++)
        n_measured += wide ? run_lane_wide(v, s, lane) : run_lane(v, s, lane);
    v->kept[v->plan.swept].n_measured += n_measured;
}

void sweep_cpu(struct views *v)
{
    struct sweep s = {.guide = NULL, .steps = VIEWS_PLANES};

    if (v->plan.swept < 0 || v->plan.n_sources == 0)
        return;
    s.own = v->grey + views_at(v, v->plan.swept);
    sweep_run(v, &s);
}

void sweep_fine_cpu(struct views *v)
{
    struct sweep s = {.guide = v->target[VIEWS_FINAL].depth,
                      .own = v->contrast + views_at(v, v->plan.swept),
                      .steps = FINE_STEPS};

    sweep_run(v, &s);
}
