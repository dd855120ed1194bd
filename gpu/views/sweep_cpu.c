/*
 * sweep_cpu.c - the sweep by bands of rows: plane by plane and source by source a band is warped,
 * and sums over windows run along its columns and rows
 */
#include "gpu/views/sweep_point.h"

#define BAND 16 /* rows */
#define ROWS (BAND + 2 * VIEWS_RADIUS)

/* A band of rows first ... last-1, and the rows of its windows from `top` to bottom-1. */
struct sweep_band {
    int first, last, top, bottom, w;
    uint8_t *warped, *inside; /* [ROWS][w] */
    int *column[3];           /* [w] */
    int *list;                /* [BAND][w][VIEWS_SOURCES] */
    uint8_t *n_list;          /* [BAND][w] */
    struct sweep_sums *sums;  /* [BAND][w] */
    float *root;              /* [BAND][w] */
    int16_t *scores;          /* [BAND][w][VIEWS_PLANES] */
};

/* Rounded up to a multiple of 16. */
static void *take(uint8_t *base, size_t *used, size_t bytes)
{
    size_t at = *used;

    *used += (bytes + 15) / 16 * 16;
    return base ? base + at : NULL;
}

size_t sweep_cpu_lay_out(struct views *v, uint8_t *base)
{
    struct sweep_band b;
    size_t w = (size_t)v->w, used = 0;

    memset(&b, 0, sizeof b);
    v->band = take(base, &used, sizeof b);
    b.w = v->w;
    b.warped = take(base, &used, ROWS * w);
    b.inside = take(base, &used, ROWS * w);
    for (int i = 0; i < 3; i++)
        b.column[i] = take(base, &used, w * sizeof *b.column[i]);
    b.list = take(base, &used, BAND * w * VIEWS_SOURCES * sizeof *b.list);
    b.n_list = take(base, &used, BAND * w);
    b.sums = take(base, &used, BAND * w * sizeof *b.sums);
    b.root = take(base, &used, BAND * w * sizeof *b.root);
    b.scores = take(base, &used, BAND * w * VIEWS_PLANES * sizeof *b.scores);
    if (base)
        *v->band = b;
    return used;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

static size_t in_band(const struct sweep_band *b, int x, int y)
{
    return (size_t)(y - b->first) * (size_t)b->w + (size_t)x;
}

static size_t in_rows(const struct sweep_band *b, int x, int y)
{
    return (size_t)(y - b->top) * (size_t)b->w + (size_t)x;
}

/* The keyframe's own windows. */
static void sum_own(struct sweep_band *b, const uint8_t *grey)
{
    for (int y = b->first; y < b->last; y++)
        for (int x = 0; x < b->w; x++) {
            struct sweep_sums s = {0, 0, 0};
            for (int j = most(y - VIEWS_RADIUS, b->top); j < least(y + VIEWS_RADIUS + 1, b->bottom);
                 j++)
                for (int i = most(x - VIEWS_RADIUS, 0); i < least(x + VIEWS_RADIUS + 1, b->w);
                     i++) {
                    int level = grey[(size_t)j * (size_t)b->w + (size_t)i];
                    s.n++;
                    s.a += level;
                    s.aa += level * level;
                }
            b->sums[in_band(b, x, y)] = s;
            b->root[in_band(b, x, y)] = sqrtf((float)(s.n * s.aa - s.a * s.a));
        }
}

static void warp(struct sweep_band *b, const struct views *v, const struct sweep_source *s,
                 const struct intrinsics *K, float inv)
{
    for (int y = b->top; y < b->bottom; y++) {
        float ry = ((float)y - K->cy) / K->fy;
        for (int x = 0; x < b->w; x++) {
            int inside,
                level = sweep_warp(s, ((float)x - K->cx) / K->fx, ry, inv, v->w, v->h, &inside);
            b->warped[in_rows(b, x, y)] = (uint8_t)level;
            b->inside[in_rows(b, x, y)] = (uint8_t)inside;
        }
    }
}

/* A row enters the columns' sums, or leaves them. */
static void add_row(struct sweep_band *b, const uint8_t *grey, int y, int sign)
{
    const uint8_t *own = grey + (size_t)y * (size_t)b->w, *other = b->warped + in_rows(b, 0, y);
    for (int x = 0; x < b->w; x++) {
        int o = sign * other[x];
        b->column[0][x] += o;
        b->column[1][x] += o * other[x];
        b->column[2][x] += o * own[x];
    }
}

static void score_row(struct sweep_band *b, int y)
{
    int sum[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        for (int x = 0; x < VIEWS_RADIUS; x++)
            sum[k] += b->column[k][x];
    for (int x = 0; x < b->w; x++) {
        for (int k = 0; k < 3; k++) {
            if (x + VIEWS_RADIUS < b->w)
                sum[k] += b->column[k][x + VIEWS_RADIUS];
            if (x > VIEWS_RADIUS)
                sum[k] -= b->column[k][x - VIEWS_RADIUS - 1];
        }
        if (b->inside[in_rows(b, x, y)]) {
            size_t at = in_band(b, x, y);
            sweep_put(b->list + at * VIEWS_SOURCES, b->n_list[at]++,
                      sweep_score(&b->sums[at], b->root[at], sum[0], sum[1], sum[2]));
        }
    }
}

static void score_band(struct sweep_band *b, const uint8_t *grey)
{
    for (int k = 0; k < 3; k++)
        memset(b->column[k], 0, (size_t)b->w * sizeof *b->column[k]);
    for (int y = b->top; y < least(b->first + VIEWS_RADIUS, b->bottom); y++)
        add_row(b, grey, y, 1);
    for (int y = b->first; y < b->last; y++) {
        if (y + VIEWS_RADIUS < b->bottom)
            add_row(b, grey, y + VIEWS_RADIUS, 1);
        if (y - VIEWS_RADIUS > b->top)
            add_row(b, grey, y - VIEWS_RADIUS - 1, -1);
        score_row(b, y);
    }
}

/* The scores of all planes of a band's pixels. */
static void score_planes(struct sweep_band *b, const struct views *v,
                         const struct sweep_source *sources, const struct sweep_planes *planes)
{
    const struct intrinsics *K = &v->kept[v->plan.swept].camera.K;
    const uint8_t *grey = v->grey + views_at(v, v->plan.swept);
    size_t n = (size_t)(b->last - b->first) * (size_t)b->w;

    for (int d = 0; d < VIEWS_PLANES; d++) {
        memset(b->n_list, 0, n);
        for (int i = 0; i < v->plan.n_sources; i++) {
            warp(b, v, &sources[i], K, planes->first + planes->step * (float)d);
            score_band(b, grey);
        }
        for (size_t i = 0; i < n; i++)
            b->scores[i * VIEWS_PLANES + (size_t)d] =
                (int16_t)sweep_best_half(b->list + i * VIEWS_SOURCES, b->n_list[i]);
    }
}

void sweep_cpu(struct views *v)
{
    struct sweep_source sources[VIEWS_SOURCES];
    struct sweep_planes planes;
    struct sweep_band *b = v->band;
    uint16_t *own;

    if (v->plan.swept < 0 || v->plan.n_sources == 0)
        return;
    planes = sweep_planes_of(&v->kept[v->plan.swept]);
    own = v->own + views_at(v, v->plan.swept);
    for (int i = 0; i < v->plan.n_sources; i++)
        sources[i] = sweep_source_of(v, i);
    for (int y = 0; y < v->h; y += BAND) {
        size_t at = (size_t)y * (size_t)v->w;
        b->first = y;
        b->last = least(y + BAND, v->h);
        b->top = most(y - VIEWS_RADIUS, 0);
        b->bottom = least(b->last + VIEWS_RADIUS, v->h);
        sum_own(b, v->grey + views_at(v, v->plan.swept));
        score_planes(b, v, sources, &planes);
        for (int i = 0; i < (b->last - b->first) * b->w; i++) {
            own[at + (size_t)i] =
                sweep_measure(&planes, b->scores + (size_t)i * VIEWS_PLANES, &b->sums[i]);
            v->kept[v->plan.swept].n_measured += own[at + (size_t)i] > 0;
        }
    }
}
