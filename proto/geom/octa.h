/*
 * octa.h - a direction as twelve bits: the unit sphere folded onto a square
 *
 * A code is u << 6 | v with u and v in 4...60; 0 is no direction. Each half stands for (u - 32)/28:
 * the axes are codes themselves, so walls and floors of an upright world keep their normals. A code
 * with one half 0 is none either. A coarser code uses every step-th value of each half, for steps
 * that divide 28.
 * Error:   2.9 degrees at most with step 1, 11.4 with step 4; 1.4 and 5.7 in the mean
 * Maths:   MATH.md (N3)
 */
#ifndef RECOND_PROTO_OCTA_H
#define RECOND_PROTO_OCTA_H

#include "proto/types.h"

#define OCTA_HALF_BITS 6
#define OCTA_BITS (2 * OCTA_HALF_BITS)
#define OCTA_MIDDLE 32
#define OCTA_REACH 28

/* The point of the sphere for the square's point (u, v), both in -1...1. */
GPU_HD static inline struct vec3 octa_unfold(float u, float v)
{
    struct vec3 n = vec3_make(u, v, 1.0f - fabsf(u) - fabsf(v));
    float length;
    if (n.z < 0.0f) {
        n.x = (1.0f - fabsf(v)) * (u < 0.0f ? -1.0f : 1.0f);
        n.y = (1.0f - fabsf(u)) * (v < 0.0f ? -1.0f : 1.0f);
    }
    length = sqrtf(vec3_norm2(n));
    return vec3_make(n.x / length, n.y / length, n.z / length);
}

/* The unit vector of a code, or zero. */
GPU_HD static inline struct vec3 octa_decode(uint32_t code)
{
    int a = (int)(code >> OCTA_HALF_BITS & 63u), b = (int)(code & 63u);
    if (a == 0 || b == 0)
        return vec3_make(0.0f, 0.0f, 0.0f);
    return octa_unfold((float)(a - OCTA_MIDDLE) / (float)OCTA_REACH,
                       (float)(b - OCTA_MIDDLE) / (float)OCTA_REACH);
}

/* The best code of a direction of any length; 0 for length zero or values that are not finite. Of
 * the four codes around its place in the square, the one with the smallest angle is taken. */
GPU_HD static inline uint16_t octa_encode(struct vec3 n, int step)
{
    float sum = fabsf(n.x) + fabsf(n.y) + fabsf(n.z), most = -INFINITY, u, v;
    int levels = OCTA_REACH / step, first_a, first_b;
    uint32_t code = 0;
    if (!(sum > 0.0f && sum < INFINITY))
        return 0;
    u = n.x / sum;
    v = n.y / sum;
    if (n.z < 0.0f) {
        float folded = (1.0f - fabsf(v)) * (u < 0.0f ? -1.0f : 1.0f);
        v = (1.0f - fabsf(u)) * (v < 0.0f ? -1.0f : 1.0f);
        u = folded;
    }
    first_a = (int)floorf(u * (float)levels);
    first_b = (int)floorf(v * (float)levels);
    for (int i = 0; i < 4; i++) {
        int a = first_a + (i & 1), b = first_b + (i >> 1);
        struct vec3 c = octa_unfold((float)a / (float)levels, (float)b / (float)levels);
        float dot = c.x * n.x + c.y * n.y + c.z * n.z;
        if (a <= levels && b <= levels && dot > most) {
            most = dot;
            code = (uint32_t)(OCTA_MIDDLE + step * a) << OCTA_HALF_BITS |
                   (uint32_t)(OCTA_MIDDLE + step * b);
        }
    }
    return (uint16_t)code;
}

#endif
