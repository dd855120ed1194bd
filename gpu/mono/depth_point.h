/*
 * depth_point.h - one output value of a depth network to metres
 *
 * Out:     metres along z; 0 = no depth: not finite, not positive, or outside the model's range
 * Maths:   MATH.md (D1)-(D4)
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/point.h"

/* The values of a model and a frame that depth_metres() needs. */
struct depth_scale {
    enum gpu_depth_output output;
    float inverse_far, inverse_span; /* disparity: 1/max, 1/min - 1/max */
    float focal;                     /* depth_focal() of the network's picture / focal_px, or 1 */
    float min_m, max_m;
};

/* The focal length of square pixels that keeps areas the same. */
GPU_HD static inline float depth_focal(struct intrinsics K)
{
    return sqrtf(K.fx * K.fy);
}

/* focal: depth_focal() of the network's picture */
GPU_HD static inline struct depth_scale depth_scale_make(const struct gpu_model_info *info,
                                                         float focal)
{
    struct depth_scale s;
    s.output = info->output;
    s.inverse_far = 0.0f;
    s.inverse_span = 0.0f;
    if (info->output == GPU_OUTPUT_DISPARITY) {
        s.inverse_far = 1.0f / info->disparity_range_m[1];
        s.inverse_span = 1.0f / info->disparity_range_m[0] - s.inverse_far;
    }
    s.focal = info->focal_px > 0.0f ? focal / info->focal_px : 1.0f;
    s.min_m = info->min_depth_m;
    s.max_m = info->max_depth_m;
    return s;
}

GPU_HD static inline float depth_metres(const struct depth_scale *s, float raw)
{
    float d = raw;
    if (s->output == GPU_OUTPUT_INVERSE)
        d = 1.0f / raw;
    else if (s->output == GPU_OUTPUT_DISPARITY)
        d = 1.0f / (s->inverse_far + raw * s->inverse_span);
    else if (s->output == GPU_OUTPUT_LOG)
        d = expf(raw);
    d *= s->focal;
    return d >= s->min_m && d <= s->max_m ? d : 0.0f;
}
