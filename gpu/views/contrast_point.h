/*
 * contrast_point.h - pictures for the fine sweep: how far a pixel's level is from those around it,
 * by how much these differ
 *
 * A window with an edge in it is matched by the edge, so pixels beside the edge get the edge's
 * depth. Contrast against few neighbours makes a faint pattern count as much as an edge.
 * Maths:   MATH.md (V25)
 */
#pragma once

#include "gpu/views/views_point.h"

#define CONTRAST_RADIUS 2
#define CONTRAST_ONE 8 /* views_frame.level in a level; 25 times a sum of 25 squares fits */
#define CONTRAST_MIDDLE 128.0f

/* Sums over a pixel's neighbours and itself. */
struct contrast_sums {
    uint32_t n, a, aa;
};

GPU_HD static inline void contrast_add(struct contrast_sums *s, uint32_t level)
{
    s->n++;
    s->a += level;
    s->aa += level * level;
}

/* (V25) level: the pixel's own. */
GPU_HD static inline uint8_t contrast_value(const struct views_params *p,
                                            const struct contrast_sums *s, uint32_t level)
{
    float off = (float)(int32_t)(s->n * level - s->a);
    float spread = sqrtf((float)(s->n * s->aa - s->a * s->a));
    float value =
        CONTRAST_MIDDLE + p->contrast_gain * off / (spread + (float)(s->n * p->contrast_floor));
    return (uint8_t)(value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value + 0.5f);
}

GPU_HD static inline int contrast_first(int at)
{
    return at > CONTRAST_RADIUS ? at - CONTRAST_RADIUS : 0;
}

GPU_HD static inline int contrast_last(int at, int n)
{
    return at + CONTRAST_RADIUS < n ? at + CONTRAST_RADIUS : n - 1;
}

/* (V25) The contrast at pixel (x, y) of a picture of w x h with brightness `level`. */
GPU_HD static inline uint8_t contrast_at(const struct views_params *p, const uint16_t *level, int w,
                                         int h, int x, int y)
{
    struct contrast_sums s = {0, 0, 0};
    int left = contrast_first(x), right = contrast_last(x, w), last = contrast_last(y, h);
    for (int j = contrast_first(y); j <= last; j++)
        for (int i = left; i <= right; i++)
            contrast_add(&s, level[(size_t)j * (size_t)w + (size_t)i]);
    return contrast_value(p, &s, level[(size_t)y * (size_t)w + (size_t)x]);
}
