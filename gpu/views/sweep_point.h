/*
 * sweep_point.h - the plane sweep: a keyframe's windows against its sources' at each of
 * VIEWS_PLANES inverse depths
 *
 * Pictures and scores are whole numbers, sums over windows too; what is float is one value's own.
 * Maths:   MATH.md (V5), (V6)
 */
#ifndef RECOND_GPU_VIEWS_SWEEP_POINT_H
#define RECOND_GPU_VIEWS_SWEEP_POINT_H

#include "gpu/views/views_point.h"

#define SWEEP_NEAR_REL 0.5f /* planes from this share of the near samples' depth ... */
#define SWEEP_FAR_REL 2.0f  /* ... to this share of the far ones' */
#define SWEEP_ONE 8192      /* a correlation of 1 */
#define SWEEP_NONE (-32768) /* no source sees the pixel at that plane */
#define SWEEP_ALONE 819     /* taken from the score of a plane that a single source sees */
#define SWEEP_PEAK 5325     /* a measurement: its score is at least this, 0.65 ... */
#define SWEEP_UNIQUE 655    /* ... and 0.08 above any plane that is not beside it ... */
#define SWEEP_BESIDE 2
#define SWEEP_VARIANCE 4 /* ... and the window varies by this, in squared levels */

/* Planes of a keyframe: inverse depth first + step * plane. */
struct sweep_planes {
    float first, step;
};

/* From a keyframe's rays to a source's pixels. */
struct sweep_source {
    struct rigid T;
    struct intrinsics K;
    const uint8_t *grey;
};

/* Sums over a window of n pixels. */
struct sweep_sums {
    int n, a, aa; /* the keyframe's levels and their squares */
};

GPU_HD static inline struct sweep_planes sweep_planes_of(const struct views_kept *k)
{
    struct sweep_planes p;
    p.first = 1.0f / (k->far_m * SWEEP_FAR_REL);
    p.step = (1.0f / (k->near_m * SWEEP_NEAR_REL) - p.first) / (float)(VIEWS_PLANES - 1);
    return p;
}

GPU_HD static inline struct sweep_source sweep_source_of(const struct views *v, int i)
{
    const struct views_kept *k = &v->kept[v->plan.swept], *o = &v->kept[v->plan.source[i]];
    struct sweep_source s;
    s.T = rigid_mul(&o->camera.T_cw, &k->camera.T_wc);
    s.K = o->camera.K;
    s.grey = v->grey + views_at(v, v->plan.source[i]);
    return s;
}

GPU_HD static inline float sweep_clamp(float u, float most)
{
    return u > 0.0f ? (u < most ? u : most) : 0.0f;
}

/*
 * (V5) The source's level where it sees the point at inverse depth `inv` on ray (rx, ry, 1); of the
 * nearest pixel of its border where it does not see it, and then *inside is 0.
 */
GPU_HD static inline int sweep_warp(const struct sweep_source *s, float rx, float ry, float inv,
                                    int w, int h, int *inside)
{
    const float *r = s->T.r, *t = s->T.t;
    float x = r[0] * rx + r[1] * ry + r[2] + t[0] * inv;
    float y = r[3] * rx + r[4] * ry + r[5] + t[1] * inv;
    float z = r[6] * rx + r[7] * ry + r[8] + t[2] * inv;
    float near = z > 1e-6f ? 1.0f : 0.0f, scale = 1.0f / (near > 0.0f ? z : 1.0f);
    float u = (s->K.fx * x * scale + s->K.cx) * near, v = (s->K.fy * y * scale + s->K.cy) * near;
    int a, b, i, j;
    const uint8_t *g;
    *inside = near > 0.0f && u >= 0.0f && v >= 0.0f && u <= (float)(w - 1) && v <= (float)(h - 1);
    a = (int)(sweep_clamp(u, (float)(w - 1)) * 64.0f);
    b = (int)(sweep_clamp(v, (float)(h - 1)) * 64.0f);
    i = a >> 6 < w - 2 ? a >> 6 : w - 2;
    j = b >> 6 < h - 2 ? b >> 6 : h - 2;
    a -= i << 6;
    b -= j << 6;
    g = s->grey + (size_t)j * (size_t)w + (size_t)i;
    return ((64 - b) * ((64 - a) * g[0] + a * g[1]) + b * ((64 - a) * g[w] + a * g[w + 1]) +
            2048) >>
           12;
}

/* (V5) Correlation of a window with the source's: b, bb, ab are sums of its levels, their squares
 * and products. root: the square root of n aa - a^2. */
GPU_HD static inline int sweep_score(const struct sweep_sums *k, float root, int b, int bb, int ab)
{
    int other = k->n * bb - b * b;
    if (!(root > 0.0f) || other <= 0)
        return 0;
    return (int)((float)(k->n * ab - k->a * b) / (root * sqrtf((float)other)) * (float)SWEEP_ONE);
}

/* Puts a score into a list of n that falls. */
GPU_HD static inline void sweep_put(int *list, int n, int score)
{
    for (; n > 0 && list[n - 1] < score; n--)
        list[n] = list[n - 1];
    list[n] = score;
}

/* (V5) The mean of the better half of n scores, at least of two. */
GPU_HD static inline int sweep_best_half(const int *list, int n)
{
    int half = n > 3 ? (n + 1) / 2 : 2, sum = 0;
    if (n == 0)
        return SWEEP_NONE;
    if (n == 1)
        return list[0] - SWEEP_ALONE;
    for (int i = 0; i < half; i++)
        sum += list[i];
    return sum / half;
}

/* (V6) scores: [VIEWS_PLANES] of a pixel. Returns the measured depth's code, 0 = nothing. */
GPU_HD static inline uint16_t sweep_measure(const struct sweep_planes *p, const int16_t *scores,
                                            const struct sweep_sums *k)
{
    int best = 0, second = SWEEP_NONE, left, right, bend;
    float off;
    for (int d = 1; d < VIEWS_PLANES; d++)
        best = scores[d] > scores[best] ? d : best;
    if (best == 0 || best == VIEWS_PLANES - 1 || scores[best] < SWEEP_PEAK ||
        k->n * k->aa - k->a * k->a < SWEEP_VARIANCE * k->n * k->n)
        return 0;
    for (int d = 0; d < VIEWS_PLANES; d++)
        if ((d < best - SWEEP_BESIDE || d > best + SWEEP_BESIDE) && scores[d] > second)
            second = scores[d];
    left = scores[best - 1];
    right = scores[best + 1];
    bend = left - 2 * scores[best] + right;
    if (scores[best] - second < SWEEP_UNIQUE || left == SWEEP_NONE || right == SWEEP_NONE)
        return 0;
    off = bend < 0 ? 0.5f * (float)(left - right) / (float)bend : 0.0f;
    return views_code(1.0f / (p->first + p->step * ((float)best + off)));
}

#endif
