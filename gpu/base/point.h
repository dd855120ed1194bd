/*
 * point.h - points of the model, cells of keyframes' maps, cameras, and the geometry that all
 * stages share
 *
 * Slots:   a point stays in one slot from its insertion to its removal. A map cell names slot and
 *          tag (the low 32 bits of the id); a freed slot has tag 0 and a reused slot another tag,
 *          so the cells of a removed point become stale and no map is rewritten.
 * Layout:  data that is read together lies together: one 16-byte load (place) decides on a
 *          candidate, an update touches 40 bytes more (stat, normal), a change 16 more (out).
 * Order:   where several pixels claim one thing, the smallest point_claim() wins; a minimum does
 *          not depend on the order of claims, so loops and atomicMin agree.
 * Maths:   MATH.md (1), (2), (A2)
 */
#pragma once

#include "proto/types.h"

#include <string.h>

#define POINT_NONE 0xffffffffu
#define POINT_UNCLAIMED 0xffffffffffffffffull
#define POINT_NEAR_M 1e-3f /* nearer than this is not in front of a camera */

enum point_state { POINT_FREE, POINT_UNSTABLE, POINT_STABLE };

struct point_place {
    float x, y, z; /* world, metres */
    uint32_t tag;  /* low 32 bits of the id; 0 = the slot is free */
};

struct point_stat {
    float rgb[3];        /* running average, 0...255 */
    float c_c;           /* confidence counter of (4), metres: small is good */
    float w_a;           /* weight of (5) */
    uint32_t last_seen;  /* frame of the last update */
    uint32_t vote_frame; /* frame of the last vote to carve */
    uint16_t n_observations;
    uint8_t votes;
    uint8_t state : 7;       /* enum point_state */
    uint8_t provisional : 1; /* so far no view has a measurement at the point */
};

/* The direction that its surface faces (gpu/mono/normal_point.h). */
struct point_normal {
    int16_t n[3];  /* running average, times 32767 */
    uint16_t code; /* code of octa.h that clients have; 0 = none */
};

/* The state of the point that clients have. */
struct point_out {
    int32_t p_q[3];
    uint8_t rgb[3];
    uint8_t confidence; /* 0 = not published */
};

struct map_cell {
    uint32_t slot, tag; /* tag 0 = empty */
};

struct camera {
    struct rigid T_wc, T_cw;
    struct intrinsics K;
    int w, h;
};

GPU_HD static inline struct camera camera_make(const struct rigid *T_wc, struct intrinsics K, int w,
                                               int h)
{
    struct camera c;
    c.T_wc = *T_wc;
    c.T_cw = rigid_inverse(T_wc);
    c.K = K;
    c.w = w;
    c.h = h;
    return c;
}

GPU_HD static inline struct vec3 point_position(const struct point_place *p)
{
    return vec3_make(p->x, p->y, p->z);
}

/* (1) p_i = T_wc * K^-1 (x, y, 1) z */
GPU_HD static inline struct vec3 point_back_project(const struct camera *c, int x, int y, float z)
{
    struct vec3 p =
        vec3_make(((float)x - c->K.cx) / c->K.fx * z, ((float)y - c->K.cy) / c->K.fy * z, z);
    return rigid_apply(&c->T_wc, p);
}

/*
 * (2) u = f(K T_cw p), rounded to the nearest pixel (halves up)
 * Out:     pixel y*w + x and depth z in that camera
 * Returns: 1; 0 if p is behind the camera or outside its picture
 */
GPU_HD static inline int point_project(const struct camera *c, struct vec3 p, uint32_t *pixel,
                                       float *z)
{
    struct vec3 q = rigid_apply(&c->T_cw, p);
    float inv, u, v;
    if (!(q.z > POINT_NEAR_M))
        return 0;
    inv = 1.0f / q.z;
    u = c->K.fx * q.x * inv + c->K.cx +
        0.5f; /* the cast below truncates: this rounds, as the sum is not negative */
    v = c->K.fy * q.y * inv + c->K.cy + 0.5f;
    if (!(u >= 0.0f && u < (float)c->w && v >= 0.0f && v < (float)c->h))
        return 0;
    *pixel = (uint32_t)v * (uint32_t)c->w + (uint32_t)u;
    *z = q.z;
    return 1;
}

GPU_HD static inline uint32_t point_float_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

/* (A2) Non-negative floats order as their bits do: nearest first, then the smaller pixel index. */
GPU_HD static inline uint64_t point_claim(float distance, uint32_t pixel)
{
    return (uint64_t)point_float_bits(distance) << 32 | pixel;
}

/* Does the cell name a living point? */
GPU_HD static inline int point_cell_live(struct map_cell cell, const struct point_place *place)
{
    return cell.tag != 0 && place[cell.slot].tag == cell.tag;
}

/* The id of the first of n new points: ids grow and no tag is 0, so a run of ids never crosses a
 * multiple of 2^32 but begins behind it. */
GPU_HD static inline uint64_t point_first_id(uint64_t next_id, uint32_t n)
{
    uint32_t low = (uint32_t)next_id;
    if (low == 0)
        return next_id + 1;
    if ((uint64_t)low + n > 0x100000000ull)
        return ((next_id >> 32) + 1) << 32 | 1;
    return next_id;
}
