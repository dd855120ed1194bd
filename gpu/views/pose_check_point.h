/*
 * pose_check_point.h - do a session's poses and pictures agree?
 *
 * What a session tells of this changes no depth; the length of poses, kept here, does.
 * Maths:   MATH.md (V14), (V15), (V21)
 */
#pragma once

#include "gpu/views/plan_point.h"

/* The frame's level at sample i. */
GPU_HD static inline uint8_t pose_check_level(const struct views *v, const struct views_frame *f,
                                              int i)
{
    return views_grey(f->rgb + 3 * (size_t)plan_pixel(i, v->w, v->h));
}

/* (V14) Does the frame's camera stand where it stood when the anchor was set? */
GPU_HD static inline int pose_check_is_still(const struct views *v)
{
    const struct views_anchor *a = &v->anchor[v->plan.strand];
    struct rigid T = rigid_inverse(&a->T_wc);
    float most = v->params.pose_check_moved_rel * v->plan.median_m;
    T = rigid_mul(&T, &v->plan.camera.T_wc);
    return a->set && T.t[0] * T.t[0] + T.t[1] * T.t[1] + T.t[2] * T.t[2] <= most * most &&
           (T.r[0] + T.r[4] + T.r[8] - 1.0f) * 0.5f >= v->params.pose_check_rotated_cos;
}

/* (V14) Do two pictures show the same? A plain picture is taken to. */
GPU_HD static inline int pose_check_is_same(const struct views *v, const uint8_t *a,
                                            const uint8_t *b)
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
    if (va < n * n * v->params.pose_check_contrast || vb < n * n * v->params.pose_check_contrast)
        return 1;
    return ab > 0 && (float)ab * (float)ab >= 0.25f * (float)va * (float)vb;
}

/* (V14) By one thread, when the plan is made. now: [VIEWS_GRID] the frame's levels. */
GPU_HD static inline void pose_check_still(struct views *v, const uint8_t *now)
{
    struct views_anchor *a;
    if (v->plan.strand < 0)
        return;
    a = &v->anchor[v->plan.strand];
    if (pose_check_is_still(v)) {
        a->n_frozen = pose_check_is_same(v, a->grey, now) ? 0 : a->n_frozen + 1;
        return;
    }
    a->T_wc = v->plan.camera.T_wc;
    a->set = 1;
    a->n_frozen = 0;
    for (int i = 0; i < VIEWS_GRID; i++)
        a->grey[i] = now[i];
}

/* (V15) By one thread, when the frame's view is made; common: its common value (V10). */
GPU_HD static inline struct gpu_views pose_check_views(const struct views *v, float common)
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
            k->n_measured * v->params.pose_check_measured_in < v->n_pixels)
            continue;
        told.n_judged++;
        told.n_sound += views_confirms(v, i, v->params.pose_check_least_of) != 0;
        told.n_measured += k->n_measured;
        told.n_confirmed += k->n_confirmed;
    }
    return told;
}

/* (V21) Adds a frame's common value to the mean; the thread of pose_check_views() calls it. */
GPU_HD static inline void pose_check_length(struct views *v, float common)
{
    struct views_length *l = &v->length[v->plan.strand < 0 ? 0 : v->plan.strand];
    if (v->plan.strand < 0 || common == 0.0f)
        return;
    l->n += l->n < v->params.pose_check_frames;
    l->mean += (common - l->mean) / (float)l->n;
}
