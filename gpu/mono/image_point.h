/*
 * image_point.h - the area-averaged resize of one row or column, and the normalisation of one value
 *
 * The box of output i covers the input interval [i n_in/n_out, (i+1) n_in/n_out). In units of
 * 1/n_out pixel both ends are integers, so the overlaps are integers that add up to n_in, the sum
 * over a box is an integer, and its value does not depend on the order of summation or the machine.
 * Maths:   MATH.md (I1), (I3), (I4)
 */
#ifndef RECOND_GPU_IMAGE_POINT_H
#define RECOND_GPU_IMAGE_POINT_H

#include "gpu/base/point.h"

GPU_HD static inline int image_first(int i, int n_out, int n_in)
{
    return (int)((int64_t)i * n_in / n_out);
}

/* One behind the last input pixel of box i. */
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

GPU_HD static inline uint8_t image_round(uint64_t sum, uint64_t area)
{
    return (uint8_t)((sum + area / 2) / area);
}

/* (I3) (x/255 - mean)/std */
GPU_HD static inline float image_normalise(uint64_t sum, uint64_t area, float mean, float std)
{
    return ((float)sum / ((float)area * 255.0f) - mean) / std;
}

/* (I4) Where pixel (x, y) of a w x h picture lies in the same picture turned clockwise by so many
 * quarters, whose rows are h long if that is odd. */
GPU_HD static inline uint32_t image_turned(int x, int y, int w, int h, int turn)
{
    int u = turn == 1 ? h - 1 - y : turn == 2 ? w - 1 - x : turn == 3 ? y : x;
    int v = turn == 1 ? x : turn == 2 ? h - 1 - y : turn == 3 ? w - 1 - x : y;
    return (uint32_t)v * (uint32_t)(turn & 1 ? h : w) + (uint32_t)u;
}

#endif
