/*
 * change_point.h - which changes of a point clients receive
 *
 * Maths:   MATH.md (C1)
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/point.h"
#include "gpu/mono/normal_point.h"

#define CHANGE_CONFIDENCE_MAX 15
#define CHANGE_LIMIT_Q 2147483392.0f /* a float below 2^31 after one half is added */

/* round(v / step), halves away from zero, saturated */
GPU_HD static inline int32_t change_quantise(float v, float step_m)
{
    float q = v / step_m;
    q += q < 0.0f ? -0.5f : 0.5f;
    return q >= CHANGE_LIMIT_Q   ? (int32_t)CHANGE_LIMIT_Q
           : q > -CHANGE_LIMIT_Q ? (int32_t)q
                                 : -(int32_t)CHANGE_LIMIT_Q;
}

GPU_HD static inline uint8_t change_colour(float c)
{
    c += 0.5f;
    return c >= 255.0f ? 255 : c > 0.0f ? (uint8_t)c : 0;
}

/* 1, plus 1 for each doubling from 8 observations on: 2^(c + 1) give c; the most, 65535, give
 * 14. */
GPU_HD static inline uint8_t change_confidence(uint32_t n_observations)
{
    uint8_t level = 1;
    while (n_observations >> (level + 2) && level < CHANGE_CONFIDENCE_MAX)
        level++;
    return level;
}

/* The form in which the point would be published now. */
GPU_HD static inline struct point_out change_now(const struct point_place *place,
                                                 const struct point_stat *stat, float step_m)
{
    struct point_out o;
    o.p_q[0] = change_quantise(place->x, step_m);
    o.p_q[1] = change_quantise(place->y, step_m);
    o.p_q[2] = change_quantise(place->z, step_m);
    for (int i = 0; i < 3; i++)
        o.rgb[i] = change_colour(stat->rgb[i]);
    o.confidence = change_confidence(stat->n_observations);
    return o;
}

/* Published and current differ enough to be sent: position by publish_rel of the depth z, colour,
 * or confidence by two levels, four times the observations. */
GPU_HD static inline int change_enough(const struct point_out *was, const struct point_out *now,
                                       float z, float step_m, const struct fuse_params *p)
{
    float d2 = 0.0f, limit = p->publish_rel * z;
    int rise = (int)now->confidence - (int)was->confidence;
    if (rise >= p->mono.change_confidence || -rise >= p->mono.change_confidence)
        return 1;
    for (int i = 0; i < 3; i++) {
        float d = (float)((int64_t)now->p_q[i] - was->p_q[i]) * step_m;
        int c = (int)now->rgb[i] - (int)was->rgb[i];
        if (c >= p->publish_colour || -c >= p->publish_colour)
            return 1;
        d2 += d * d;
    }
    return d2 > 0.0f && d2 >= limit * limit;
}

/*
 * (C1) The change of a point that was updated in this frame at depth z.
 * In/out: out and the code of normal, as clients have them
 * Returns: enum gpu_change_kind, or 0
 */
GPU_HD static inline int change_updated(const struct point_place *place,
                                        const struct point_stat *stat, struct point_normal *normal,
                                        struct point_out *out, float z, float step_m,
                                        const struct fuse_params *p)
{
    struct point_out now;
    if (stat->state != POINT_STABLE) {
        int was = out->confidence;
        out->confidence = 0;
        return was ? GPU_CHANGE_REMOVE : 0;
    }
    now = change_now(place, stat, step_m);
    if (out->confidence && !change_enough(out, &now, z, step_m, p))
        return 0;
    *out = now;
    normal->code = normal_code(normal);
    return GPU_CHANGE_PUT;
}

GPU_HD static inline struct gpu_change change_make(uint64_t id, uint32_t slot,
                                                   const struct point_normal *normal,
                                                   const struct point_out *out, int kind)
{
    struct gpu_change c;
    c.id = id;
    c.slot = slot;
    for (int i = 0; i < 3; i++) {
        c.p_q[i] = out->p_q[i];
        c.rgb[i] = out->rgb[i];
    }
    c.confidence = out->confidence;
    c.kind = (uint8_t)kind;
    c.pad = 0;
    c.normal = normal->code;
    return c;
}
