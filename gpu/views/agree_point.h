/*
 * agree_point.h - do two keyframes measure the same surface?
 *
 * Maths:   MATH.md (V7)
 */
#pragma once

#include "gpu/views/plan_point.h"

/* (V7) Returns 1 if `to` measures the point that `from` measures at pixel i. T takes points of
 * from's camera to to's. */
GPU_HD static inline int agree_pixel(const struct views *v, int from, int to, const struct rigid *T,
                                     uint32_t i)
{
    float z = views_decode(v->own[views_at(v, from) + i]), x, y, other;
    struct vec3 p;
    if (!(z > 0.0f))
        return 0;
    p = rigid_apply(T, views_ray(&v->kept[from].camera.K, (int)(i % (uint32_t)v->w),
                                 (int)(i / (uint32_t)v->w), z));
    if (!views_project(&v->kept[to].camera.K, v->w, v->h, p, &x, &y))
        return 0;
    other = views_decode(v->own[views_at(v, to) + views_pixel(v->w, x, y)]);
    return other > 0.0f && views_abs(other - p.z) <= v->params.agree_rel * p.z;
}

/* Counts an agreement of a pixel, if agrees. Returns 1 if that confirms its measurement. */
GPU_HD static inline int agree_count(const struct views *v, uint8_t *n, int agrees)
{
    if (!agrees || *n == 255)
        return 0;
    return ++*n == v->params.confirmed;
}

/* Is the swept keyframe compared with the keyframe at this place? */
GPU_HD static inline int agree_is_other(const struct views *v, int place)
{
    return plan_is_swept(v, place);
}
