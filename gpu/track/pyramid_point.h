/*
 * pyramid_point.h - a picture in grey, and smaller ones of it
 *
 * Maths:   MATH.md (L1)
 */
#pragma once

#include "gpu/track/track.h"

GPU_HD static inline uint8_t pyramid_grey(const uint8_t *rgb)
{
    return (uint8_t)((77u * rgb[0] + 150u * rgb[1] + 29u * rgb[2] + 128u) >> 8);
}

GPU_HD static inline int pyramid_clamp(int i, int n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* (L1) 1 3 3 1 in both directions, around the corner that four pixels share. */
GPU_HD static inline uint8_t pyramid_half(const uint8_t *from, int w, int h, int x, int y)
{
    uint32_t sum = 0;
    for (int i = -1; i < 3; i++) {
        const uint8_t *row = from + (size_t)pyramid_clamp(2 * y + i, h) * (size_t)w;
        uint32_t s = (uint32_t)row[pyramid_clamp(2 * x - 1, w)] +
                     3u * row[pyramid_clamp(2 * x, w)] + 3u * row[pyramid_clamp(2 * x + 1, w)] +
                     row[pyramid_clamp(2 * x + 2, w)];
        sum += i == 0 || i == 1 ? 3u * s : s;
    }
    return (uint8_t)((sum + 32u) >> 6);
}
