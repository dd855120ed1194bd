/* shape_random.h - numbers of chance that are the same everywhere */
#pragma once

#include <math.h>
#include <stdint.h>

static inline uint32_t shape_draw_lot(uint32_t *state)
{
    uint32_t x = *state += 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x21f0aaadu;
    x = (x ^ x >> 15) * 0x735a2d97u;
    return x ^ x >> 15;
}

/* In [0, 1). */
static inline float shape_uniform(uint32_t *state)
{
    return (float)(shape_draw_lot(state) >> 8) / 16777216.0f;
}

/* Mean 0, deviation 1: twelve uniform ones, less their mean. */
static inline float shape_normal(uint32_t *state)
{
    float sum = -6.0f;
    for (int i = 0; i < 12; i++)
        sum += shape_uniform(state);
    return sum;
}
