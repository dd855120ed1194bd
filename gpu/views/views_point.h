/*
 * views_point.h - numbers and geometry that the stages of many views share
 *
 * Maths:   MATH.md (V1)
 */
#pragma once

#include "gpu/base/power_point.h"
#include "gpu/views/views.h"

#define VIEWS_NEAR_M 0.05f /* nearer than this is not in front of a camera */

/* (V1) Depth in 16 bits: 4096 steps an octave from 1/16 m on; 0 = none, or beyond 4096 m. */
#define VIEWS_CODE_BASE 0x3d800000u
GPU_HD static inline uint16_t views_code(float z)
{
    uint32_t code;
    if (!(z > 0.0626f && z < 4000.0f))
        return 0;
    code = (power_bits(z) - VIEWS_CODE_BASE) >> 11;
    return (uint16_t)code;
}

GPU_HD static inline float views_decode(uint16_t code)
{
    return code ? power_float(VIEWS_CODE_BASE + ((uint32_t)code << 11) + 1024u) : 0.0f;
}

GPU_HD static inline float views_abs(float x)
{
    return x < 0.0f ? -x : x;
}

GPU_HD static inline struct views_camera views_camera_make(const struct rigid *T_wc,
                                                           struct intrinsics K)
{
    struct views_camera c;
    c.T_wc = *T_wc;
    c.T_cw = rigid_inverse(T_wc);
    c.K = K;
    return c;
}

GPU_HD static inline struct vec3 views_ray(const struct intrinsics *K, int x, int y, float z)
{
    return vec3_make(((float)x - K->cx) / K->fx * z, ((float)y - K->cy) / K->fy * z, z);
}

/* Where a camera point is seen; 0: behind the camera or outside the outermost pixel centres. */
GPU_HD static inline int views_project(const struct intrinsics *K, int w, int h, struct vec3 p,
                                       float *u, float *v)
{
    float inv;
    if (!(p.z > VIEWS_NEAR_M))
        return 0;
    inv = 1.0f / p.z;
    *u = K->fx * p.x * inv + K->cx;
    *v = K->fy * p.y * inv + K->cy;
    return *u >= 0.0f && *v >= 0.0f && *u <= (float)(w - 1) && *v <= (float)(h - 1);
}

GPU_HD static inline uint32_t views_pixel(int w, float u, float v)
{
    return (uint32_t)(v + 0.5f) * (uint32_t)w + (uint32_t)(u + 0.5f);
}

GPU_HD static inline uint8_t views_grey(const uint8_t *rgb)
{
    return (uint8_t)((77u * rgb[0] + 150u * rgb[1] + 29u * rgb[2] + 128u) >> 8);
}

/* (V7) Are enough of a keyframe's measurements confirmed? With wrong poses or no parallax they
 * agree by chance alone. */
GPU_HD static inline int views_confirms(const struct views *v, int place, uint32_t least_of)
{
    const struct views_kept *k = &v->kept[place];
    return k->n_confirmed * least_of >= k->n_measured &&
           k->n_confirmed * v->params.least_in >= v->n_pixels;
}

GPU_HD static inline int views_is_sound(const struct views *v, int place)
{
    return views_confirms(v, place, v->params.least_of);
}

GPU_HD static inline size_t views_at(const struct views *v, int place)
{
    return (size_t)place * v->n_pixels;
}
