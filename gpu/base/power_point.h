/*
 * power_point.h - logarithms and powers as polynomials, so that both back ends round alike
 *
 * The last bits of expf() and log2f() differ between libraries, and one bit changes a session: a
 * point falls into another cube, and all later results differ.
 * Maths:   MATH.md (V2)
 */
#pragma once

#include "proto/types.h"

#include <string.h>

GPU_HD static inline uint32_t power_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

GPU_HD static inline float power_float(uint32_t b)
{
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

/* (V2) log2 of a positive number, within 3e-7; 2^x for |x| < 100, relatively the same. */
GPU_HD static inline float power_log2(float x)
{
    uint32_t bits = power_bits(x), half = bits - 0x3f3504f3u; /* from the square root of 1/2 */
    float e = (float)((int32_t)half >> 23);
    float m = power_float((half & 0x7fffffu) + 0x3f3504f3u);
    float s = (m - 1.0f) / (m + 1.0f), q = s * s;
    return e + 2.8853900818f * s *
                   (1.0f + q * (0.3333333333f + q * (0.2f + q * (0.1428571429f + q * 0.11111f))));
}

GPU_HD static inline float power_exp2(float x)
{
    float whole = (float)(int)(x + (x < 0.0f ? -0.5f : 0.5f)), f = (x - whole) * 0.6931471806f;
    float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.1666666667f +
                                                  f * (0.0416666667f +
                                                       f * (0.0083333333f + f * 0.0013888889f)))));
    return p * power_float((uint32_t)((int)whole + 127) << 23);
}

/* e^x for -69 < x < 69; e^-69 below. */
GPU_HD static inline float power_exp(float x)
{
    return power_exp2((x > -69.0f ? x : -69.0f) * 1.4426950409f);
}
