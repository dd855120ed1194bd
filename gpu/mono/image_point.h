/*
 * image_point.h - the area-averaged resize of one row or column, and the normalisation of one value
 *
 * The box of output i covers the input interval [i n_in/n_out, (i+1) n_in/n_out). In units of
 * 1/n_out pixel both ends are integers, so the overlaps are integers that add up to n_in, the sum
 * over a box is an integer, and its value does not depend on the order of summation or the machine.
 * If the picture is not of a pinhole camera, or of another shape, output i is instead the mean of a
 * few places of the picture, each interpolated between four pixels in 256ths: integers again.
 * Maths:   MATH.md (I1), (I3), (I4), (L7)
 */
#pragma once

#include "gpu/base/point.h"
#include "proto/geom/lens.h"

GPU_HD static inline int image_first(int i, int n_out, int n_in)
{
    return (int)((int64_t)i * n_in / n_out);
}

/* The index behind the last input pixel of box i. */
GPU_HD static inline int image_end(int i, int n_out, int n_in)
{
    return (int)(((int64_t)(i + 1) * n_in + n_out - 1) / n_out);
}

/* (I1) Overlap of input pixel j with box i; the overlaps of a box add up to n_in. */
GPU_HD static inline uint32_t image_overlap(int i, int j, int n_out, int n_in)
{
    int64_t a = (int64_t)i * n_in, b = a + n_in, c = (int64_t)j * n_out, d = c + n_out;
    int64_t lo = a > c ? a : c, hi = b < d ? b : d;
    return hi > lo ? (uint32_t)(hi - lo) : 0;
}

#define IMAGE_LEVEL \
    8u /* image_level() units in a level: sums of 25 squares, times 25, fit 32 bits */
#define IMAGE_PLACE_AREA 65536u /* sum of the weights of a place's four pixels */

/* (L7) Adds the picture's colour at (u, v), which lies within it. */
GPU_HD static inline void image_add_place(uint32_t sum[3], const uint8_t *rgb, int w, int h,
                                          float u, float v)
{
    int x = (int)(u * 256.0f), y = (int)(v * 256.0f);
    uint32_t fx = (uint32_t)x & 255u, fy = (uint32_t)y & 255u;
    size_t x0 = (size_t)(x >> 8), y0 = (size_t)(y >> 8);
    size_t right = x0 + 1 < (size_t)w ? 3 : 0, below = y0 + 1 < (size_t)h ? (size_t)w * 3 : 0;
    const uint8_t *p = rgb + (y0 * (size_t)w + x0) * 3;
    for (int ch = 0; ch < 3; ch++, p++)
        sum[ch] += (256u - fy) * ((256u - fx) * p[0] + fx * p[right]) +
                   fy * ((256u - fx) * p[below] + fx * p[below + right]);
}

/* (L7) The sum of taps x taps places below pixel (x, y); area: sum of the weights. */
GPU_HD static inline void image_sample(uint64_t sum[3], uint64_t *area, const struct lens_map *m,
                                       const uint8_t *rgb, int x, int y)
{
    uint32_t n[3] = {0, 0, 0};
    float step = 1.0f / (float)m->taps, first = 0.5f * step - 0.5f, u, v;
    for (int j = 0; j < m->taps; j++)
        for (int i = 0; i < m->taps; i++) {
            lens_map_at(m, (float)x + first + (float)i * step, (float)y + first + (float)j * step,
                        &u, &v);
            image_add_place(n, rgb, m->w, m->h, u, v);
        }
    *area = (uint64_t)(m->taps * m->taps) * IMAGE_PLACE_AREA;
    for (int ch = 0; ch < 3; ch++)
        sum[ch] = n[ch];
}

GPU_HD static inline uint8_t image_round(uint64_t sum, uint64_t area)
{
    return (uint8_t)((sum + area / 2) / area);
}

/* (V25) The brightness of a pixel in parts of a level (IMAGE_LEVEL), from sums not rounded to
 * levels. */
GPU_HD static inline uint16_t image_level(const uint64_t sum[3], uint64_t area)
{
    return (uint16_t)((77u * sum[0] + 150u * sum[1] + 29u * sum[2]) / (256u / IMAGE_LEVEL * area));
}

/* Rounds to 11 significant bits, ties to even. The result is a half if |v| is at least 2^-14 and
 * below 65520. */
GPU_HD static inline float image_half(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits = (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
    memcpy(&v, &bits, sizeof bits);
    return v;
}

/* (I3) (x/255 - mean)/std, as a half: networks on CUDA read nothing finer. */
GPU_HD static inline float image_normalise(uint64_t sum, uint64_t area, float mean, float std)
{
    return image_half(((float)sum / ((float)area * 255.0f) - mean) / std);
}

/* (I4) The place of pixel (x, y) of a w x h picture in the picture turned clockwise by `turn`
 * quarters, whose rows are h long if that is odd. */
GPU_HD static inline uint32_t image_turned(int x, int y, int w, int h, int turn)
{
    int u = turn == 1 ? h - 1 - y : turn == 2 ? w - 1 - x : turn == 3 ? y : x;
    int v = turn == 1 ? x : turn == 2 ? h - 1 - y : turn == 3 ? w - 1 - x : y;
    return (uint32_t)v * (uint32_t)(turn & 1 ? h : w) + (uint32_t)u;
}
