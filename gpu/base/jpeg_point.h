/*
 * jpeg_point.h - a pixel of a picture at 1/1, 1/2, 1/4 or 1/8 of its size, out of the planes that
 * JPEG codes: luma, and the differences of blue and red from it
 *
 * Maths:   MATH.md (I0)
 */
#pragma once

#include "gpu/base/point.h"

#define JPEG_PLANES 3
/* libjpeg-turbo repeats the colours of narrower pictures, so (I0) does not cover them */
#define JPEG_WIDTH_MIN 5

/* A picture as it is coded. 4:4:4 halves nothing, 4:2:2 columns, 4:2:0 columns and rows; nothing
 * halves rows alone. */
struct jpeg_planes {
    const uint8_t *plane[JPEG_PLANES]; /* [rows][pitch], levels 0...255 */
    size_t pitch[JPEG_PLANES];         /* bytes from a row to the next */
    int width, height;                 /* of the picture and of luma, pixels */
    int halved_x, halved_y; /* 1 = a colour plane has half as many columns, rows, rounded up */
};

/* Returns how many columns or rows a plane has. */
GPU_HD static inline int jpeg_extent(int pixels, int halved)
{
    return (pixels + halved) >> halved;
}

/* The mean of box (x, y) of n x n samples, cut to the w x h plane, rounded, ties to even. */
GPU_HD static inline int jpeg_mean(const uint8_t *plane, size_t pitch, int w, int h, int n, int x,
                                   int y)
{
    int x1 = (x + 1) * n < w ? (x + 1) * n : w;
    int y1 = (y + 1) * n < h ? (y + 1) * n : h;
    unsigned sum = 0, count = (unsigned)((x1 - x * n) * (y1 - y * n)), level, rest;

    for (int i = y * n; i < y1; i++)
        for (int j = x * n; j < x1; j++)
            sum += plane[(size_t)i * pitch + (size_t)j];
    level = sum / count;
    rest = 2 * (sum % count);
    return (int)(level + (rest > count || (rest == count && level % 2)));
}

/* Pixel `at` lies in sample at / 2, in its first or second half. Returns the sample of n beside
 * that half; at an edge, the same sample. */
GPU_HD static inline int jpeg_far(int at, int n)
{
    int far = at & 1 ? at / 2 + 1 : at / 2 - 1;

    return far < 0 ? 0 : far < n ? far : n - 1;
}

/* 4:2:2: boxes of n x n samples, interpolated across; at 1/8 repeated. */
GPU_HD static inline int jpeg_colour_422(const uint8_t *plane, size_t pitch, int w, int h, int n,
                                         int x, int y)
{
    int near = x / 2, far = n < 8 ? jpeg_far(x, (w + n - 1) / n) : near;

    return (3 * jpeg_mean(plane, pitch, w, h, n, near, y) +
            jpeg_mean(plane, pitch, w, h, n, far, y) + (x & 1 ? 2 : 1)) >>
           2;
}

/* 4:2:0 at 1/1: samples, interpolated across and down. */
GPU_HD static inline int jpeg_colour_420(const uint8_t *plane, size_t pitch, int w, int h, int x,
                                         int y)
{
    int near = x / 2, far = jpeg_far(x, w);
    const uint8_t *row = plane + (size_t)(y / 2) * pitch;
    const uint8_t *other = plane + (size_t)jpeg_far(y, h) * pitch;

    return (3 * (3 * row[near] + other[near]) + 3 * row[far] + other[far] + (x & 1 ? 7 : 8)) >> 4;
}

/* Colour difference i (1 = blue, 2 = red) at pixel (x, y) of the picture at 1/n. */
GPU_HD static inline int jpeg_colour(const struct jpeg_planes *p, int i, int n, int x, int y)
{
    int w = jpeg_extent(p->width, p->halved_x), h = jpeg_extent(p->height, p->halved_y);

    if (p->halved_x && !p->halved_y)
        return jpeg_colour_422(p->plane[i], p->pitch[i], w, h, n, x, y);
    if (p->halved_y && n == 1)
        return jpeg_colour_420(p->plane[i], p->pitch[i], w, h, x, y);
    return jpeg_mean(p->plane[i], p->pitch[i], w, h, n >> p->halved_y, x, y);
}

GPU_HD static inline uint8_t jpeg_level(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Luma, blue and red differences 0...255 to red, green, blue. The factors are 1.402, 0.34414,
 * 0.71414 and 1.772 times 2^16; a shift rounds down, also for negative numbers. */
GPU_HD static inline void jpeg_rgb(uint8_t rgb[3], int luma, int blue, int red)
{
    const int half = 1 << 15;

    blue -= 128;
    red -= 128;
    rgb[0] = jpeg_level(luma + ((91881 * red + half) >> 16));
    rgb[1] = jpeg_level(luma + ((half - 22554 * blue - 46802 * red) >> 16));
    rgb[2] = jpeg_level(luma + ((116130 * blue + half) >> 16));
}

/* (I0) Pixel (x, y) of the picture at 1/n of its size; n of 1, 2, 4, 8. */
GPU_HD static inline void jpeg_pixel(uint8_t rgb[3], const struct jpeg_planes *p, int n, int x,
                                     int y)
{
    int luma = jpeg_mean(p->plane[0], p->pitch[0], p->width, p->height, n, x, y);

    jpeg_rgb(rgb, luma, jpeg_colour(p, 1, n, x, y), jpeg_colour(p, 2, n, x, y));
}
