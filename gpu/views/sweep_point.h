/*
 * sweep_point.h - the plane sweep: a keyframe's windows against its sources' at each of
 * VIEWS_PLANES inverse depths
 *
 * Pictures, scores and sums over windows are whole numbers; floats are never added across pixels.
 * Maths:   MATH.md (V5), (V6)
 */
#pragma once

#include "gpu/views/views_point.h"

#define SWEEP_ONE 8192      /* a correlation of 1 */
#define SWEEP_NONE (-32768) /* no source sees the pixel at that plane */
#define SWEEP_HALF 3        /* scores that make up the better half of VIEWS_SOURCES */

/* Planes of a keyframe have inverse depth first + step * plane; a fine sweep's step is a share of
 * inverse depth. */
struct sweep_planes {
    float first, step, fine;
};

/* From a keyframe's rays to a source's pixels. */
struct sweep_source {
    struct rigid T;
    struct intrinsics K;
    const uint8_t *grey; /* [h][w] levels, or contrasts */
};

/* Sums over a window of n pixels. */
struct sweep_sums {
    int n, a, aa; /* the keyframe's levels and their squares */
};

GPU_HD static inline struct sweep_planes sweep_planes_of(const struct views *v)
{
    const struct views_kept *k = &v->kept[v->plan.swept];
    struct sweep_planes p;
    p.first = 1.0f / (k->far_m * v->params.sweep_far_rel);
    p.step = (1.0f / (k->near_m * v->params.sweep_near_rel) - p.first) / (float)(VIEWS_PLANES - 1);
    p.fine = v->params.fine_step;
    return p;
}

GPU_HD static inline struct sweep_source sweep_source_of(const struct views *v, int i)
{
    const struct views_kept *o = &v->kept[v->plan.source[i]];
    struct sweep_source s;
    s.T = v->plan.pose[i].T;
    s.K = o->camera.K;
    s.grey = v->grey + views_at(v, v->plan.source[i]);
    return s;
}

GPU_HD static inline float sweep_clamp(float u, float most)
{
    float v = u > 0.0f ? u : 0.0f;
    return v < most ? v : most;
}

/* A point on ray (rx, ry, 1) of the keyframe at inverse depth d is at p in a source's axes, with d
 * p = R (rx, ry, 1) + d t. A row shares these terms: of ry, of 1, and t. */
struct sweep_ray {
    float x[3], y[3], z[3];
};

GPU_HD static inline struct sweep_ray sweep_ray_of(const struct sweep_source *s, float ry)
{
    const float *r = s->T.r, *t = s->T.t;
    struct sweep_ray a = {
        {r[1] * ry, r[2], t[0]}, {r[4] * ry, r[5], t[1]}, {r[7] * ry, r[8], t[2]}};
    return a;
}

GPU_HD static inline float sweep_base(float across, const float *rest)
{
    return across + rest[0] + rest[1];
}

GPU_HD static inline float sweep_ray_at(float across, const float *rest, float inv)
{
    return sweep_base(across, rest) + rest[2] * inv;
}

/*
 * (V5) Where a source sees its point (x, y, z), in 64ths of a pixel: *a across and *b down, on its
 * border where it does not see it. Returns 1 where it does.
 */
GPU_HD static inline int sweep_place(struct intrinsics K, float x, float y, float z, int w, int h,
                                     int *a, int *b)
{
    float scale = 1.0f / z, u = K.fx * x * scale + K.cx, v = K.fy * y * scale + K.cy;
    float in_u = sweep_clamp(u, (float)(w - 1)), in_v = sweep_clamp(v, (float)(h - 1));
    int before = z > 1e-6f;
    *a = (int)(in_u * 64.0f) & -before;
    *b = (int)(in_v * 64.0f) & -before;
    return before & (in_u == u) & (in_v == v);
}

/* (V5) The level between four pixels, at a and b 64ths; each pair of a row is the left level + 256
 * times the right one. It fits 16 bits, so the CPU blends eight at once. */
GPU_HD static inline int sweep_blend(uint16_t pair, uint16_t below, int16_t a, int16_t b)
{
    int16_t left = pair & 255, right = (int16_t)(pair >> 8);
    int16_t left2 = below & 255, right2 = (int16_t)(below >> 8);
    int16_t top = (int16_t)(left * 64 + a * (right - left));
    int16_t step = (int16_t)((left2 * 64 + a * (right2 - left2) - top) * 2);
    int16_t part = (int16_t)((int16_t)(b * 512) * step >> 16); /* b * (bottom - top) / 64 */
    return (int16_t)(top + part + 32) >> 6;
}

/* (V5) The same from the upper left pixel's address, in 32 bits; w: pixels of a row. */
GPU_HD static inline int sweep_blend_one(const uint8_t *g, int w, int a, int b)
{
    int top = g[0] * 64 + a * (g[1] - g[0]), low = g[w] * 64 + a * (g[w + 1] - g[w]);
    return (top + (b * 512 * ((low - top) * 2) >> 16) + 32) >> 6;
}

GPU_HD static inline uint16_t sweep_pair(const uint8_t *g)
{
    return (uint16_t)(g[0] | g[1] << 8);
}

/* (V5) Correlation of a window with the source's: b, bb, ab are sums of its levels, their squares
 * and products, n and a the keyframe's. root: the square root of n aa - a^2. */
GPU_HD static inline int sweep_score(int n, int a, float root, int b, int bb, int ab)
{
    float both = root * sqrtf((float)(n * bb - b * b)), some = both > 0.0f ? 1.0f : 0.0f;
    return (int)((float)(n * ab - a * b) * some / (both + (1.0f - some)) * (float)SWEEP_ONE);
}

/* (V5) The mean of the better half of n scores, of two at least, from the best three (SWEEP_NONE
 * where missing). alone: the penalty of a single score. */
GPU_HD static inline int sweep_best_half(int first, int second, int third, int n, int alone)
{
    int two = (first + second) / 2, three = (first + second + third) / 3;
    int some = n > 4 ? three : two;
    int one = n > 0 ? first - alone : SWEEP_NONE;
    return n > 1 ? some : one;
}

/* Where the parabola through the best score and its neighbours peaks. */
GPU_HD static inline float sweep_parabola(int left, int best, int right)
{
    int bend = left - 2 * best + right;
    return bend < 0 ? 0.5f * (float)(left - right) / (float)bend : 0.0f;
}

/* (V6) scores: [VIEWS_PLANES] of a pixel. Returns the measured depth's code, 0 = nothing. */
GPU_HD static inline uint16_t sweep_measure(const struct views *v, const struct sweep_planes *p,
                                            const int16_t *scores, const struct sweep_sums *k)
{
    int best = 0, second = SWEEP_NONE, left, right;
    float off;
    for (int d = 1; d < VIEWS_PLANES; d++)
        best = scores[d] > scores[best] ? d : best;
    if (best == 0 || best == VIEWS_PLANES - 1 || scores[best] < v->params.sweep_peak ||
        k->n * k->aa - k->a * k->a < v->params.sweep_variance * k->n * k->n)
        return 0;
    for (int d = 0; d < VIEWS_PLANES; d++)
        if ((d < best - v->params.sweep_beside || d > best + v->params.sweep_beside) &&
            scores[d] > second)
            second = scores[d];
    left = scores[best - 1];
    right = scores[best + 1];
    if (scores[best] - second < v->params.sweep_unique || left == SWEEP_NONE || right == SWEEP_NONE)
        return 0;
    off = sweep_parabola(left, scores[best], right);
    return views_code(1.0f / (p->first + p->step * ((float)best + off)));
}
