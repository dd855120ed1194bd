/*
 * match_point.h - how alike two tensors are (match.h)
 */
#pragma once

#include "gpu/recognise/match.h"

#include <string.h>

/* Where a voxel goes in half a turn about z. */
GPU_HD static inline uint32_t match_turn(uint32_t voxel)
{
    const uint32_t layer = TENSOR_SIDE * TENSOR_SIDE;
    return voxel / layer * layer + layer - 1 - voxel % layer;
}

/* A voxel of the picture's tensor, spread out: its root, or this. */
#define MATCH_HIDDEN 0x10000u

/* Sums over the voxels of a library's tensor, as it is or turned by half: products with the
 * picture's, and squares of what the picture cannot show. */
struct match_sums {
    uint32_t both, hidden;
};

GPU_HD static inline void match_add(struct match_sums *sums, uint32_t root, uint32_t voxel)
{
    sums->hidden += root * root * (voxel / MATCH_HIDDEN);
    sums->both += root * (voxel % MATCH_HIDDEN);
}

/* The value of a voxel without an entry. */
GPU_HD static inline uint32_t match_empty(const struct tensor *t, uint32_t voxel)
{
    return t->hidden[voxel / 32] >> voxel % 32 & 1 ? MATCH_HIDDEN : 0;
}

/* (O12) The score from sums over voxels: of both values' products, and of each one's squares. With
 * values up to 256 and 1000 voxels no sum exceeds 2^26, and no product 2^52. */
GPU_HD static inline float match_score(uint32_t both, uint32_t p, uint32_t q)
{
    return both ? (float)((double)both / sqrt((double)p * (double)q)) : 0.0f;
}

/* (O13) */
GPU_HD static inline uint64_t match_key(float score, uint32_t tensor, int turned)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    return (uint64_t)bits << 32 | (uint64_t)(0x7fffffffu - tensor) << 1 | (uint64_t)turned;
}

GPU_HD static inline struct match match_of(uint64_t key)
{
    struct match m;
    uint32_t bits = (uint32_t)(key >> 32);
    memcpy(&m.score, &bits, sizeof m.score);
    m.tensor = 0x7fffffffu - ((uint32_t)key >> 1);
    m.turned = (int)(key & 1);
    return m;
}

/* The library tensors to compare with one of bin `bin`: [*first, *end). */
GPU_HD static inline void match_range(uint32_t *first, uint32_t *end, const uint32_t *bins,
                                      uint32_t bin)
{
    *first = bins[bin > 0 ? bin - 1 : 0];
    *end = bins[bin + 2 < TENSOR_BINS ? bin + 2 : TENSOR_BINS];
}
