/*
 * view_point.h - what a frame fuses: its own depth or, where many views are used, either that depth
 * corrected or a keyframe in its final form
 *
 * Maths:   MATH.md (V13), (V22), (V27)
 */
#pragma once

#include "gpu/base/point.h"
#include "gpu/views/field_point.h"

#define VIEW_TRUST_FINAL 96     /* trust in a keyframe's final view ... */
#define VIEW_TRUST_MEASURED 192 /* ... measured by views that agree */

struct view {
    uint32_t submap; /* the submap that the camera is in */
    struct camera camera;
    const float *depth;   /* [h][w] metres, 0 = none */
    const uint8_t *rgb;   /* [h][w][3] */
    const uint8_t *trust; /* [h][w]; NULL = every pixel is one observation */
    int guesses;          /* points without a measurement are provisional ... */
    int settles;          /* ... until a view with measurements settles them */
    int is_of_views;      /* it was made from many views */
};

/* (V13) The number of observations that pixel i of a view counts for. */
GPU_HD static inline int view_evidence(const struct view *view, uint32_t i,
                                       const struct fuse_params *p)
{
    int trust = view->trust ? view->trust[i] : 0;
    return trust >= VIEW_TRUST_MEASURED ? p->mono.evidence_measured
           : trust >= VIEW_TRUST_FINAL  ? p->mono.evidence_final
                                        : 1;
}

/* (V27) The step between neighbours beyond which neither is fused (E1), w pixels a row. */
GPU_HD static inline float view_edge_rel(int is_of_views, int w, const struct fuse_params *p)
{
    float most = p->mono.view_edge / (float)w;
    return is_of_views && most < p->edge_rel ? most : p->edge_rel;
}

/* (V22) Is the point of pixel i provisional? */
GPU_HD static inline int view_is_guess(const struct view *view, uint32_t i)
{
    return view->guesses && view->trust[i] <= FIELD_TRUST_SINGLE;
}

/* The view that the stages of many views have made for this frame. */
GPU_HD static inline struct view view_of_views(const struct views *v, const uint8_t *rgb_now,
                                               uint32_t submap_now)
{
    int final = v->plan.final, target = final >= 0 ? VIEWS_FINAL : VIEWS_FRAME;
    const struct views_camera *c = final >= 0 ? &v->kept[final].camera : &v->plan.camera;
    struct view view;
    view.submap = final >= 0 ? v->kept[final].submap : submap_now;
    view.camera.T_wc = c->T_wc;
    view.camera.T_cw = c->T_cw;
    view.camera.K = c->K;
    view.camera.w = v->w;
    view.camera.h = v->h;
    view.depth = v->target[target].depth;
    view.trust = v->target[target].trust;
    view.guesses = final < 0;
    view.settles = final >= 0 && field_is_carried(v, &v->target[target]);
    view.is_of_views = 1;
    view.rgb = final >= 0 ? v->rgb + 3 * (size_t) final * v->n_pixels : rgb_now;
    return view;
}
