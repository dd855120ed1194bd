/*
 * keyframe_point.h - whether a frame is so near to a keyframe that it adds nothing
 *
 * Maths:   MATH.md (K2)
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/point.h"

/* trace(R_a^T R_b) = 1 + 2 cos(angle between a and b) */
GPU_HD static inline float keyframe_cos_angle(const struct rigid *a, const struct rigid *b)
{
    float trace = 0.0f, c;
    for (int i = 0; i < 9; i++)
        trace += a->r[i] * b->r[i];
    c = (trace - 1.0f) * 0.5f;
    return c > 1.0f ? 1.0f : c < -1.0f ? -1.0f : c;
}

/* (K2) Is the frame near: moved by at most kf_translation_rel of the median depth and turned by at
 * most kf_rotation_rad. */
GPU_HD static inline int keyframe_near(const struct rigid *a, const struct rigid *b,
                                       float median_depth_m, const struct fuse_params *p)
{
    struct vec3 d = vec3_make(a->t[0] - b->t[0], a->t[1] - b->t[1], a->t[2] - b->t[2]);
    float limit = p->kf_translation_rel * median_depth_m;
    return vec3_norm2(d) <= limit * limit && keyframe_cos_angle(a, b) >= cosf(p->kf_rotation_rad);
}

/* (K2) Is the share of usable pixels that found no point above the threshold? */
GPU_HD static inline int keyframe_much_new(uint32_t n_valid, uint32_t n_associated,
                                           float kf_new_share)
{
    return (float)(n_valid - n_associated) > kf_new_share * (float)n_valid;
}
