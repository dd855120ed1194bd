/*
 * tell_point.h - what a session says of its many views: do poses and pictures agree?
 *
 * Nothing of what is told changes a depth; the length of poses, which is noted here, does.
 * Maths:   MATH.md (V14), (V15), (V21)
 */
#ifndef RECOND_GPU_VIEWS_TELL_POINT_H
#define RECOND_GPU_VIEWS_TELL_POINT_H

#include "gpu/views/plan_point.h"

#define TELL_MOVED_REL 0.002f /* a pose stands still within this share of the median depth ... */
#define TELL_TURNED 0.999998f /* ... and the angle of this cosine (0.11 degrees) */
#define TELL_CONTRAST 16      /* least variance of a picture that can be told from another */
#define TELL_MEASURED_IN 50   /* a keyframe is judged if it measures one pixel in so many ... */
#define TELL_LEAST_OF 6       /* ... and its poses are in order if so few of these are confirmed */
#define TELL_FRAMES 64        /* that the length of poses is a running mean of */

/* The frame's level at sample i. */
GPU_HD static inline uint8_t tell_level(const struct views *v, const struct views_frame *f, int i)
{
    return views_grey(f->rgb + 3 * (size_t)plan_pixel(i, v->w, v->h));
}

/* (V14) Does the frame's camera stand where it stood when the anchor was set? */
GPU_HD static inline int tell_is_still(const struct views *v)
{
    const struct views_anchor *a = &v->anchor[v->plan.strand];
    struct rigid T = rigid_inverse(&a->T_wc);
    float most = TELL_MOVED_REL * v->plan.median_m;
    T = rigid_mul(&T, &v->plan.camera.T_wc);
    return a->set && T.t[0] * T.t[0] + T.t[1] * T.t[1] + T.t[2] * T.t[2] <= most * most &&
           (T.r[0] + T.r[4] + T.r[8] - 1.0f) * 0.5f >= TELL_TURNED;
}

/* (V14) Do two pictures show the same? Where one is plain it cannot be told, and they do. */
GPU_HD static inline int tell_is_same(const uint8_t *a, const uint8_t *b)
{
    int64_t sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0, n = VIEWS_GRID, va, vb, ab;
    for (int i = 0; i < VIEWS_GRID; i++) {
        sa += a[i];
        sb += b[i];
        saa += a[i] * a[i];
        sbb += b[i] * b[i];
        sab += a[i] * b[i];
    }
    va = n * saa - sa * sa;
    vb = n * sbb - sb * sb;
    ab = n * sab - sa * sb;
    if (va < n * n * TELL_CONTRAST || vb < n * n * TELL_CONTRAST)
        return 1;
    return ab > 0 && (float)ab * (float)ab >= 0.25f * (float)va * (float)vb;
}

/* (V14) By one thread, when the plan is made. now: [VIEWS_GRID] the frame's levels. */
GPU_HD static inline void tell_still(struct views *v, const uint8_t *now)
{
    struct views_anchor *a;
    if (v->plan.strand < 0)
        return;
    a = &v->anchor[v->plan.strand];
    if (tell_is_still(v)) {
        a->n_frozen = tell_is_same(a->grey, now) ? 0 : a->n_frozen + 1;
        return;
    }
    a->T_wc = v->plan.camera.T_wc;
    a->set = 1;
    a->n_frozen = 0;
    for (int i = 0; i < VIEWS_GRID; i++)
        a->grey[i] = now[i];
}

/* (V15) By one thread, when the frame's view is made; common: its common value (V10). */
GPU_HD static inline struct gpu_views tell_views(const struct views *v, float common)
{
    struct gpu_views told;
    const struct views_strand *s = &v->strand[v->plan.strand < 0 ? 0 : v->plan.strand];
    memset(&told, 0, sizeof told);
    if (v->plan.strand < 0)
        return told;
    told.n_keyframes = s->n_taken;
    told.n_refined = s->n_final;
    told.n_frozen = v->anchor[v->plan.strand].n_frozen;
    told.log_scale = common;
    told.log_sigma = v->target[VIEWS_FRAME].sigma;
    for (int i = 0; i < VIEWS_KEPT; i++) {
        const struct views_kept *k = &v->kept[i];
        if (!plan_is_near(v, i, s->first) || k->index >= s->n_swept ||
            k->n_measured * TELL_MEASURED_IN < v->n_pixels)
            continue;
        told.n_judged++;
        told.n_sound += views_confirms(v, i, TELL_LEAST_OF) != 0;
        told.n_measured += k->n_measured;
        told.n_confirmed += k->n_confirmed;
    }
    return told;
}

/* (V21) What a frame measures adds to the mean, by the thread that tells. */
GPU_HD static inline void tell_length(struct views *v, float common)
{
    struct views_length *l = &v->length[v->plan.strand < 0 ? 0 : v->plan.strand];
    if (v->plan.strand < 0 || common == 0.0f)
        return;
    l->n += l->n < TELL_FRAMES;
    l->mean += (common - l->mean) / (float)l->n;
}

#endif
