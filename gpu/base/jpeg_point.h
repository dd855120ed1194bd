/*
 * jpeg_point.h - a decoded picture to a half, a quarter, an eighth of its size
 *
 * Maths:   MATH.md (I0)
 */
#ifndef RECOND_GPU_JPEG_POINT_H
#define RECOND_GPU_JPEG_POINT_H

#include "gpu/base/point.h"

/* (I0) Pixel (x, y) of channel ch: the mean of that part of its n x n box which lies in the
 * picture, rounded to the nearest level. */
GPU_HD static inline uint8_t jpeg_shrunk(const uint8_t *picture, int width, int height, int n,
                                         int x, int y, int ch)
{
    int x1 = (x + 1) * n < width ? (x + 1) * n : width;
    int y1 = (y + 1) * n < height ? (y + 1) * n : height;
    unsigned sum = 0, count = (unsigned)((x1 - x * n) * (y1 - y * n));

    for (int i = y * n; i < y1; i++)
        for (int j = x * n; j < x1; j++)
            sum += picture[((size_t)i * (size_t)width + (size_t)j) * 3 + (size_t)ch];
    return (uint8_t)((sum + count / 2) / count);
}

#endif
