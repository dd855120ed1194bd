/*
 * match_point.h - how alike two tensors are (match.h)
 */
#ifndef RECOND_GPU_MATCH_POINT_H
#define RECOND_GPU_MATCH_POINT_H

#include "gpu/recognise/match.h"

#include <string.h>

/* Sums over the voxels that both tensors have: p of the library's, q of the picture's. Values are
 * below 2^10 and voxels at most 1000, so none exceeds 2^30. */
struct match_sums {
    uint32_t n, p, q, pp, qq, pq;
};

GPU_HD static inline void match_add(struct match_sums *s, uint32_t p, uint32_t q)
{
    if (q == 0)
        return;
    s->n++;
    s->p += p;
    s->q += q;
    s->pp += p * p;
    s->qq += q * q;
    s->pq += p * q;
}

/* The voxel that another one is after half a turn about z. */
GPU_HD static inline uint32_t match_turn(uint32_t voxel)
{
    const uint32_t layer = TENSOR_SIDE * TENSOR_SIDE;
    return voxel / layer * layer + layer - 1 - voxel % layer;
}

/* (O12) Are n voxels in common enough for a match of tensors of a and b voxels? */
GPU_HD static inline int match_overlaps(uint32_t n, uint32_t a, uint32_t b,
                                        const struct match_params *params)
{
    return n >= 8 && (float)n >= params->overlap * (float)(a + b - n);
}

/* (O12) 0: they do not match. a, b: voxels of either tensor. */
GPU_HD static inline float match_score(const struct match_sums *s, uint32_t a, uint32_t b,
                                       const struct match_params *params)
{
    double n = (double)s->n, p = (double)s->p, q = (double)s->q;
    double var = (n * (double)s->pp - p * p) * (n * (double)s->qq - q * q), c;

    if (!match_overlaps(s->n, a, b, params) || !(var > 0.0))
        return 0.0f;
    c = (n * (double)s->pq - p * q) / sqrt(var);
    c *= n / (double)(a + b - s->n);
    return c > 0.0 ? (float)c : 0.0f;
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

/* The tensors of a library that one of bin `bin` is compared with: [*first, *end). */
GPU_HD static inline void match_range(uint32_t *first, uint32_t *end, const uint32_t *bins,
                                      uint32_t bin)
{
    *first = bins[bin > 0 ? bin - 1 : 0];
    *end = bins[bin + 2 < TENSOR_BINS ? bin + 2 : TENSOR_BINS];
}

#endif
