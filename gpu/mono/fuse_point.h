/*
 * fuse_point.h - the update of a point by an observation (3)-(5), new points, stability
 *
 * Maths:   MATH.md (3)-(5), (F1)-(F3), (Q3), (V22) <- Fathy et al. 2021, eq. 3-5
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/point.h"
#include "gpu/base/power_point.h"
#include "gpu/mono/cell_point.h"

/* Largest distance of a pixel of the picture from the principal point: one of the corners. */
GPU_HD static inline float fuse_radius_max(struct intrinsics K, int w, int h)
{
    float dx = fmaxf(fabsf(K.cx), fabsf((float)(w - 1) - K.cx));
    float dy = fmaxf(fabsf(K.cy), fabsf((float)(h - 1) - K.cy));
    return fmaxf(sqrtf(dx * dx + dy * dy), 1e-6f);
}

/* (F1) w_A = exp(-gamma^2 / sigma^2), gamma = distance from the principal point / the largest in
 * the picture */
GPU_HD static inline float fuse_first_weight(int x, int y, struct intrinsics K, float radius_max,
                                             float sigma)
{
    float dx = ((float)x - K.cx) / radius_max, dy = ((float)y - K.cy) / radius_max;
    return power_exp(-(dx * dx + dy * dy) / (sigma * sigma));
}

/* (Q3) Stable: seen min_observations times more often than seen through. */
GPU_HD static inline int fuse_state_cell(const struct point_stat *stat, const struct fuse_params *p)
{
    return stat->n_observations >= p->min_observations + stat->votes ? POINT_STABLE
                                                                     : POINT_UNSTABLE;
}

/* (F2) A point is stable below stable_rel - hysteresis_rel, unstable above stable_rel +
 * hysteresis_rel, else unchanged. */
GPU_HD static inline int fuse_state(int state, float c_c, uint32_t n_observations, float z,
                                    const struct fuse_params *p)
{
    if (c_c > (p->stable_rel + p->hysteresis_rel) * z)
        return POINT_UNSTABLE;
    if (n_observations >= (uint32_t)p->min_observations &&
        c_c < (p->stable_rel - p->hysteresis_rel) * z)
        return POINT_STABLE;
    return state;
}

/* Counts an observation with the weight `evidence`. It cancels all votes (R2), or one of them
 * (Q3). */
GPU_HD static inline void fuse_confirm(struct point_stat *stat, int evidence,
                                       const struct fuse_params *p)
{
    if (!p->cells)
        stat->votes = 0;
    else if (stat->votes > 0 && stat->n_observations >= p->mono.cell_credit)
        stat->votes--;
    if (stat->n_observations <= 0xffff - evidence)
        stat->n_observations = (uint16_t)(stat->n_observations + evidence);
}

/* (V22) A provisional point that is settled begins anew as a point seen once. */
GPU_HD static inline void fuse_settle(struct point_stat *stat, int settles)
{
    if (!settles || !stat->provisional)
        return;
    stat->w_a = 0.0f;
    stat->n_observations = 1;
    stat->votes = 0;
}

/* (3)-(5), with the old p in (4); colours are averaged as positions are. evidence: the number of
 * observations that this one counts for (V13). */
GPU_HD static inline void fuse_update(struct point_place *place, struct point_stat *stat,
                                      struct vec3 p_i, const uint8_t rgb[3], float z, int evidence,
                                      uint32_t frame, const struct fuse_params *p)
{
    struct vec3 old = point_position(place);
    float w = stat->w_a, w0 = p->w0 * (float)evidence, sum = w + w0;
    float d = sqrtf(vec3_norm2(vec3_sub(p_i, old)));
    place->x = (w * old.x + w0 * p_i.x) / sum;
    place->y = (w * old.y + w0 * p_i.y) / sum;
    place->z = (w * old.z + w0 * p_i.z) / sum;
    stat->c_c = (w * stat->c_c + w0 * d) / sum;
    for (int i = 0; i < 3; i++)
        stat->rgb[i] = (w * stat->rgb[i] + w0 * (float)rgb[i]) / sum;
    stat->w_a = sum < p->w_max ? sum : p->w_max;
    stat->last_seen = frame;
    fuse_confirm(stat, evidence, p);
    stat->state = 0x7f & (unsigned)(p->cells ? fuse_state_cell(stat, p)
                                             : fuse_state(stat->state, stat->c_c,
                                                          stat->n_observations, z, p));
}

/* A new point: unstable and seen once, whatever the weight of that observation. */
GPU_HD static inline void fuse_create(struct point_place *place, struct point_stat *stat,
                                      uint64_t id, struct vec3 p_i, const uint8_t rgb[3], float z,
                                      float weight, int evidence, uint32_t frame,
                                      const struct fuse_params *p)
{
    place->x = p_i.x;
    place->y = p_i.y;
    place->z = p_i.z;
    place->tag = (uint32_t)id;
    for (int i = 0; i < 3; i++)
        stat->rgb[i] = (float)rgb[i];
    stat->c_c = p->initial_rel * z;
    stat->w_a = weight * (float)evidence;
    stat->last_seen = frame;
    stat->vote_frame = 0;
    stat->n_observations = (uint16_t)evidence;
    stat->votes = 0;
    stat->state = POINT_UNSTABLE;
    stat->provisional = 0;
}
