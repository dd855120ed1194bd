/*
 * corner_point.h - which tracks stay, and where new ones begin
 *
 * Maths:   MATH.md (L5), (L6)
 */
#pragma once

#include "gpu/track/klt_point.h"

#include <string.h>

#define CORNER_RADIUS 3 /* half side of a corner's window */
#define CORNER_BORDER 8 /* least distance of a corner from the picture's edge */
#define CORNER_NO_CLAIM 0xffffffffffffffffull

GPU_HD static inline int corner_cell(const struct track *t, int x, int y)
{
    int cx = x / t->cell, cy = y / t->cell;
    cx = cx < t->grid_w ? cx : t->grid_w - 1;
    cy = cy < t->grid_h ? cy : t->grid_h - 1;
    return cy * t->grid_w + cx;
}

/* (L5) The quarter of a cell that a track is in. */
GPU_HD static inline int corner_quarter(const struct track *t, const struct track_slot *s)
{
    int x = (int)(s->x + 0.5f), y = (int)(s->y + 0.5f), cell = corner_cell(t, x, y);
    int right = x - cell % t->grid_w * t->cell >= t->cell / 2;
    int low = y - cell / t->grid_w * t->cell >= t->cell / 2;
    return 4 * cell + 2 * low + right;
}

/* (L5) The claim on a quarter; its oldest track wins. Ids rise and are unique. */
GPU_HD static inline uint64_t corner_claim(const struct track_slot *s, uint32_t slot)
{
    return (uint64_t)s->id << 32 | slot;
}

GPU_HD static inline int corner_is_empty(const struct track *t, int cell)
{
    const uint64_t *c = t->claim + 4 * (size_t)cell;
    return (c[0] & c[1] & c[2] & c[3]) == CORNER_NO_CLAIM;
}

/* (L6) The mean square of the gradient along its weakest direction, in levels squared a pixel. */
GPU_HD static inline float corner_response(int32_t xx, int32_t xy, int32_t yy)
{
    float n = 4.0f * (2 * CORNER_RADIUS + 1) * (2 * CORNER_RADIUS + 1);
    float a = (float)xx, b = (float)xy, c = (float)yy, half = 0.5f * (a - c);
    return (0.5f * (a + c) - sqrtf(half * half + b * b)) / n;
}

/* (L6) Is the response the largest among its neighbours? Among equals the first is. */
GPU_HD static inline int corner_is_peak(const struct track *t, int x, int y)
{
    int w = t->w;
    const float *at = t->response + (size_t)y * (size_t)w + (size_t)x;
    if (!(*at >= t->params.corner_least))
        return 0;
    for (int i = -1; i < 2; i++)
        for (int k = -1; k < 2; k++) {
            float v = at[i * w + k];
            if (i < 0 || (i == 0 && k < 0) ? v >= *at : (i || k) && v > *at)
                return 0;
        }
    return 1;
}

/* The claim of a pixel: the least one has the largest response, among equals the first pixel. */
GPU_HD static inline uint64_t corner_best(float response, uint32_t pixel)
{
    uint32_t bits;
    memcpy(&bits, &response, sizeof bits);
    return (uint64_t)~bits << 32 | pixel;
}

/* Begins a track at a pixel in the current frame. */
GPU_HD static inline struct track_slot corner_born(const struct track *t, uint32_t id,
                                                   uint32_t pixel)
{
    struct track_slot s;
    s.id = id;
    s.born = t->n_frames;
    s.x = (float)(pixel % (uint32_t)t->w);
    s.y = (float)(pixel / (uint32_t)t->w);
    return s;
}

/* Is a pixel at least `border` away from the picture's edge? */
GPU_HD static inline int corner_is_within(const struct track *t, int x, int y, int border)
{
    return x >= border && y >= border && x < t->w - border && y < t->h - border;
}
