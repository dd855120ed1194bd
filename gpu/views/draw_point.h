/*
 * draw_point.h - what keyframes measure, drawn into a view
 *
 * The first round finds the nearest depth at each pixel, the second the mean of all depths at it or
 * just behind it.
 * Maths:   MATH.md (V8), (V14)
 */
#pragma once

#include "gpu/views/views_point.h"

#define DRAW_NONE 0xffffffffu
#define DRAW_LOG_ONE 4096.0f

/* From a keyframe's pixels to a view's. */
struct draw_source {
    struct rigid T;
    struct intrinsics K, K_view;
    const uint16_t *own;
    const uint8_t *agree;
    int confirmed; /* agreements that confirm a measurement */
};

GPU_HD static inline const struct views_camera *draw_view(const struct views *v, int target)
{
    return target == VIEWS_FINAL ? &v->kept[v->plan.final].camera : &v->plan.camera;
}

/* Is there a view to make? */
GPU_HD static inline int draw_is_wanted(const struct views *v, int target)
{
    return target == VIEWS_FRAME || v->plan.final >= 0;
}

/* How many keyframes are drawn into a view. None where the pose stands still while the picture
 * moves (V14): the pose is wrong, so measurements would fall on wrong pixels. */
GPU_HD static inline int draw_count(const struct views *v, int target)
{
    int frozen = v->plan.strand >= 0 && v->anchor[v->plan.strand].n_frozen > 0;
    return target == VIEWS_FRAME && frozen ? 0 : v->plan.n_pool[target];
}

GPU_HD static inline struct draw_source draw_source_of(const struct views *v, int target, int i)
{
    const struct views_camera *view = draw_view(v, target);
    int place = v->plan.pool[target][i];
    struct draw_source s;
    s.T = rigid_mul(&view->T_cw, &v->kept[place].camera.T_wc);
    s.K = v->kept[place].camera.K;
    s.K_view = view->K;
    s.own = v->own + views_at(v, place);
    s.agree = v->agree + views_at(v, place);
    s.confirmed = v->params.confirmed;
    return s;
}

/* The weight of a confirmed measurement; it grows with the keyframes that agree. */
GPU_HD static inline uint32_t draw_weight(int agree)
{
    return agree >= 5 ? 30u : agree >= 3 ? 20u : 14u;
}

/* Where pixel i of a keyframe falls in the view, and its depth there. 0: nowhere. */
GPU_HD static inline int draw_pixel(const struct draw_source *s, int w, int h, uint32_t i,
                                    uint32_t *at, float *z)
{
    float d = views_decode(s->own[i]), x, y;
    struct vec3 p;
    if (!(d > 0.0f) || s->agree[i] < s->confirmed)
        return 0;
    p = rigid_apply(&s->T, views_ray(&s->K, (int)(i % (uint32_t)w), (int)(i / (uint32_t)w), d));
    if (!views_project(&s->K_view, w, h, p, &x, &y))
        return 0;
    *at = views_pixel(w, x, y);
    *z = p.z;
    return 1;
}

GPU_HD static inline int draw_is_front(const struct views *v, uint32_t front, float z)
{
    return z <= power_float(front) * v->params.draw_behind;
}

/* What a measurement of weight w adds to the sum. */
GPU_HD static inline int32_t draw_term(uint32_t w, float z)
{
    return (int32_t)w * (int32_t)(power_log2(z) * DRAW_LOG_ONE);
}
