/*
 * field_point.h - a smooth field on a coarse grid of nodes corrects a view's single-view depth by
 * what was measured
 *
 * The field is log2 of a factor. It follows measurements that agree with each other, is stiff
 * where the picture is plain and gives way at its edges.
 * Maths:   MATH.md (V9)-(V12), (V21)
 */
#pragma once

#include "gpu/views/draw_point.h"

#define FIELD_ROUNDS 3
#define FIELD_SWEEPS 60     /* relaxations of each round */
#define FIELD_OVER 1.7f     /* over-relaxation */
#define FIELD_BIN_ONE 64.0f /* bins of an octave */

#define FIELD_QUARTILES 0.7413f /* a normal distribution's deviation over its quartiles' distance */

enum field_trust {
    FIELD_TRUST_NONE = 0,       /* where keyframes carry the frame: final views to come do better */
    FIELD_TRUST_MEASURED = 192, /* two keyframes agree; each further one adds 3, up to 255 */
    FIELD_TRUST_FILLED = 96,    /* in a final view: corrected, not measured */
    FIELD_TRUST_FRAME = 48,     /* in a frame: keyframes have measured there */
    FIELD_TRUST_SINGLE = 24     /* corrected by distant measurements, or not at all */
};

/* A final view's own confirmed measurement at pixel i, 0 = none. */
GPU_HD static inline float field_own(const struct views *v, uint32_t i)
{
    size_t at = views_at(v, v->plan.final) + i;
    return v->agree[at] >= v->params.confirmed && views_is_sound(v, v->plan.final)
               ? views_decode(v->own[at])
               : 0.0f;
}

/* (V9) What was measured at pixel i, against single-view depth. Returns the weight. */
GPU_HD static inline float field_sample(const struct views *v, int target, uint32_t i, float single,
                                        float *ratio)
{
    const struct views_target *t = &v->target[target];
    float log_single, sum = 0.0f, weight = 0.0f, own = 0.0f, pool;
    *ratio = 0.0f;
    if (!(single > 0.0f))
        return 0.0f;
    log_single = power_log2(single);
    if (target == VIEWS_FINAL)
        own = field_own(v, i);
    if (own > 0.0f) {
        own = power_log2(own);
        weight = 1.0f;
        sum = own - log_single;
    }
    if (t->weight[i] > 0) {
        float w = (float)t->weight[i] * 0.05f;
        w = w < 2.0f ? w : 2.0f;
        pool = (float)t->sum[i] / (float)t->weight[i] * (1.0f / DRAW_LOG_ONE);
        if (!(weight > 0.0f && views_abs(pool - own) > v->params.field_apart)) {
            sum += w * (pool - log_single);
            weight += w;
        }
    }
    if (weight > 0.0f)
        *ratio = sum / weight;
    return views_abs(*ratio) < v->params.field_most ? weight : 0.0f;
}

GPU_HD static inline int field_bin(float ratio)
{
    int bin = (int)(ratio * FIELD_BIN_ONE + (float)(VIEWS_BINS / 2));
    return bin < 0 ? 0 : bin < VIEWS_BINS ? bin : VIEWS_BINS - 1;
}

/* How much n measured pixels say of a whole view. */
GPU_HD static inline float field_known(const struct views *v, uint32_t n)
{
    return (float)n / (float)(n + v->n_pixels / v->params.field_doubt);
}

GPU_HD static inline uint32_t field_count(const uint32_t *bins)
{
    uint32_t n = 0;
    for (int i = 0; i < VIEWS_BINS; i++)
        n += bins[i];
    return n;
}

/* (V10) The common value: the median ratio, shrunk where little was measured. n > 0 ratios were
 * counted, half of them in `bin` or below. */
GPU_HD static inline float field_common_of(const struct views *v, int bin, uint32_t n)
{
    return ((float)bin + 0.5f - (float)(VIEWS_BINS / 2)) / FIELD_BIN_ONE * field_known(v, n);
}

/* The bin at or below which n quarters of what was counted lie. */
GPU_HD static inline int field_quartile(const uint32_t *bins, uint32_t n_counted, uint32_t n)
{
    uint32_t sum = 0;
    int bin = 0;
    while (4 * (sum + bins[bin]) < n * n_counted)
        sum += bins[bin++];
    return bin;
}

GPU_HD static inline float field_common(const struct views *v, const uint32_t *bins)
{
    uint32_t n = field_count(bins);
    return n ? field_common_of(v, field_quartile(bins, n, 2), n) : 0.0f;
}

/* (V15) The standard error of n > 0 ratios' common value; apart: bins between their quartiles. */
GPU_HD static inline float field_sigma_of(const struct views *v, int apart, uint32_t n)
{
    return (float)(apart > 1 ? apart : 1) * (FIELD_QUARTILES / FIELD_BIN_ONE) *
           sqrtf((float)v->n_pixels / (v->params.field_parts * (float)n));
}

/* 0: nothing was measured. */
GPU_HD static inline float field_sigma(const struct views *v, const uint32_t *bins)
{
    uint32_t n = field_count(bins);
    return n ? field_sigma_of(v, field_quartile(bins, n, 3) - field_quartile(bins, n, 1), n) : 0.0f;
}

/* (V10) The tie between a node and that dx or dy steps beside it, by the largest step of the
 * picture between them. */
GPU_HD static inline float field_tie(const struct views *v, const uint8_t *grey, int nx, int ny,
                                     int dx, int dy)
{
    int x = nx * v->step, y = ny * v->step, most = 0;
    float e;
    x = x < v->w ? x : v->w - 1;
    y = y < v->h ? y : v->h - 1;
    for (int i = 0; i < v->step; i++) {
        int x2 = x + dx, y2 = y + dy, d;
        if (x2 >= v->w || y2 >= v->h)
            break;
        d = (int)grey[(size_t)y * (size_t)v->w + (size_t)x] -
            (int)grey[(size_t)y2 * (size_t)v->w + (size_t)x2];
        d = d < 0 ? -d : d;
        most = d > most ? d : most;
        x = x2;
        y = y2;
    }
    e = (float)most / v->params.field_edge;
    return v->params.field_tie / (1.0f + e * e);
}

/* The field at a pixel: bilinear between nodes. */
GPU_HD static inline float field_at(const struct views *v, const float *nodes, int x, int y)
{
    int i = x / v->step, j = y / v->step;
    float a = (float)(x - i * v->step) / (float)v->step,
          b = (float)(y - j * v->step) / (float)v->step;
    const float *c = nodes + (size_t)j * (size_t)v->nodes_w + (size_t)i;
    return (1.0f - b) * ((1.0f - a) * c[0] + a * c[1]) +
           b * ((1.0f - a) * c[v->nodes_w] + a * c[v->nodes_w + 1]);
}

/* The pixels around node (nx, ny), up to its neighbours. */
struct field_around {
    int x, y, w, h; /* the first, how many */
};

GPU_HD static inline struct field_around field_around(const struct views *v, int nx, int ny)
{
    int x1 = (nx + 1) * v->step, y1 = (ny + 1) * v->step;
    struct field_around a;
    a.x = nx > 0 ? (nx - 1) * v->step + 1 : 0;
    a.y = ny > 0 ? (ny - 1) * v->step + 1 : 0;
    a.w = (x1 < v->w ? x1 : v->w) - a.x;
    a.h = (y1 < v->h ? y1 : v->h) - a.y;
    return a;
}

/* (V10) Adds what pixel (x, y) says to node (nx, ny). */
GPU_HD static inline struct views_load field_pull(const struct views *v,
                                                  const struct views_target *t, int nx, int ny,
                                                  int x, int y, float scatter)
{
    size_t at = (size_t)y * (size_t)v->w + (size_t)x;
    struct views_load l = {0.0f, 0.0f};
    float e, dx, dy;
    if (!(t->share[at] > 0.0f))
        return l;
    e = (t->ratio[at] - field_at(v, t->nodes, x, y)) / scatter;
    dx = 1.0f - views_abs((float)(x - nx * v->step)) / (float)v->step;
    dy = 1.0f - views_abs((float)(y - ny * v->step)) / (float)v->step;
    l.weight = t->share[at] * dx * dy / ((1.0f + e * e) * (1.0f + e * e));
    l.sum = l.weight * t->ratio[at];
    return l;
}

/* (V11) The terms of a node that are the same in each step; a tie without neighbour is 0. */
struct field_stand {
    float sum, weight, left, right, up, down;
};

GPU_HD static inline struct field_stand field_stand(const struct views *v,
                                                    const struct views_target *t, int x, int y)
{
    int w = v->nodes_w, i = y * w + x;
    struct field_stand s;
    s.left = x > 0 ? t->right[i - 1] : 0.0f;
    s.right = x + 1 < w ? t->right[i] : 0.0f;
    s.up = y > 0 ? t->down[i - w] : 0.0f;
    s.down = y + 1 < v->nodes_h ? t->down[i] : 0.0f;
    s.sum = t->load[i].sum + v->params.field_hold * t->common;
    s.weight = t->load[i].weight + v->params.field_hold + s.left + s.right + s.up + s.down;
    return s;
}

/* (V11) One step of a node towards its neighbours, w nodes a row, and its measurements. A missing
 * neighbour has tie 0; the memory read for it holds a finite value. */
GPU_HD static inline float field_relax(const struct field_stand *s, float own, const float *node,
                                       int w)
{
    float sum =
        s->sum + s->left * node[-1] + s->right * node[1] + s->up * node[-w] + s->down * node[w];
    return own + FIELD_OVER * (sum / s->weight - own);
}

/* The width of round 0, 1 or 2; the first is the widest. */
GPU_HD static inline float field_scatter(const struct views *v, int round)
{
    return v->params.field_scatter * (float)(1 << (FIELD_ROUNDS - 1 - round));
}

GPU_HD static inline float field_clamp(const struct views *v, float field)
{
    return field < -v->params.field_most  ? -v->params.field_most
           : field > v->params.field_most ? v->params.field_most
                                          : field;
}

/* (V12) Are there measurements enough for a view? */
GPU_HD static inline int field_is_carried(const struct views *v, const struct views_target *t)
{
    return t->n_share * v->params.field_carried >= v->n_pixels;
}

/* (V12) Trust of a frame's pixel. Where keyframes carry a frame, its unmeasured pixels get no
 * trust: a final view shows them better within two seconds. */
GPU_HD static inline int field_frame_trust(const struct views *v, const struct views_target *t,
                                           uint32_t i)
{
    if (t->share[i] > 0.0f)
        return FIELD_TRUST_FRAME;
    return field_is_carried(v, t) ? FIELD_TRUST_NONE : FIELD_TRUST_SINGLE;
}

/* (V12) The view's depth and trust at a pixel. */
GPU_HD static inline void field_apply(const struct views *v, int target, uint32_t i, float single)
{
    const struct views_target *t = &v->target[target];
    int x = (int)(i % (uint32_t)v->w), y = (int)(i / (uint32_t)v->w);
    float field, depth = 0.0f;
    int trust = 0;
    if (single > 0.0f) {
        field = field_at(v, t->nodes, x, y);
        depth = single * power_exp2(field_clamp(v, field));
        trust = target == VIEWS_FINAL ? FIELD_TRUST_FILLED : field_frame_trust(v, t, i);
        if (target == VIEWS_FINAL) {
            float own = field_own(v, i);
            int more = v->agree[views_at(v, v->plan.final) + i] - v->params.confirmed;
            if (own > 0.0f &&
                views_abs(power_log2(own) - power_log2(depth)) < v->params.field_near) {
                depth = own;
                trust = FIELD_TRUST_MEASURED + 3 * (more < 21 ? more : 21);
            }
        }
        if (v->plan.stretch != 0.0f)
            depth *= power_exp2(-v->plan.stretch * field_known(v, t->n_share));
    }
    t->depth[i] = depth;
    t->trust[i] = (uint8_t)trust;
}
