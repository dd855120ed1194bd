/*
 * cell_point.h - space cut into cubes that hold one point each, found through a hash table
 *
 * A point's key is its cube and stays for life. The table maps keys to points: open addressing with
 * linear steps, never full. An entry holds a slot and its tag inverted, so that zeros are an empty
 * table and a maximum lets the smallest pixel that wants a new point win. The place of a key
 * depends on the order of keys; the result of a search does not. The tag tells that an entry's
 * point was removed; the entry stays until the table is rebuilt from the living points.
 * Maths:   MATH.md (Q1)-(Q5), (V22), (V26), (V27)
 */
#pragma once

#include "gpu/mono/associate_point.h"
#include "gpu/mono/view_point.h"

#define CELL_LEVELS 8
#define CELL_REACH 131072.0f  /* cubes from the origin, each way, along x and z ... */
#define CELL_REACH_Y 65536.0f /* ... and y */
#define CELL_PATROL 4         /* slots that a pixel checks in a frame */

struct cell_entry {
    uint64_t key;  /* 0 = empty */
    uint64_t held; /* ~(tag << 32 | slot) of a point, ~pixel of a claim, 0 = neither */
};

/* (Q1) Level 0 up to cell_depth_m, and one more for each octave of depth beyond. */
GPU_HD static inline int cell_level(float z, const struct fuse_params *p)
{
    float limit = p->cell_depth_m;
    int level = 0;
    while (level < CELL_LEVELS - 1 && z > limit) {
        limit *= 2.0f;
        level++;
    }
    return level;
}

/* (Q1) The key of q's cube in `submap`; 0: q is too far from the origin. */
GPU_HD static inline uint64_t cell_key(struct vec3 q, int level, uint32_t submap,
                                       const struct fuse_params *p)
{
    float side = p->cell_m * (float)(1 << level);
    float x = floorf(q.x / side), y = floorf(q.y / side), z = floorf(q.z / side);
    if (level >= CELL_LEVELS || !(x > -CELL_REACH && x < CELL_REACH) ||
        !(y >= -CELL_REACH_Y && y < CELL_REACH_Y) || !(z >= -CELL_REACH && z < CELL_REACH))
        return 0;
    return (uint64_t)submap << 56 | (uint64_t)level << 53 | (uint64_t)(x + CELL_REACH) << 35 |
           (uint64_t)(y + CELL_REACH_Y) << 18 | (uint64_t)(z + CELL_REACH);
}

/* The submap of a key. */
GPU_HD static inline uint32_t cell_submap(uint64_t key)
{
    return (uint32_t)(key >> 56);
}

/* Entries of a table: a power of two, at least a third of them free after a rebuild. */
GPU_HD static inline uint32_t cell_table_size(uint32_t max_points, uint32_t n_pixels)
{
    uint64_t want = ((uint64_t)max_points + 2 * (uint64_t)n_pixels) * 3 / 2;
    uint32_t size = 1024;
    while (size < want && size < 1u << 31)
        size *= 2;
    return size;
}

/* A frame adds at most n_pixels keys. */
GPU_HD static inline int cell_table_worn(uint32_t n_entries, uint32_t n_pixels, uint32_t size)
{
    return (uint64_t)n_entries + n_pixels > (uint64_t)size / 4 * 3;
}

GPU_HD static inline uint32_t cell_hash(uint64_t key)
{
    key ^= key >> 33;
    key *= 0xff51afd7ed558ccdull;
    key ^= key >> 33;
    key *= 0xc4ceb9fe1a85ec53ull;
    return (uint32_t)(key >> 32);
}

GPU_HD static inline uint64_t cell_hold(uint32_t slot, uint32_t tag)
{
    return ~((uint64_t)tag << 32 | slot);
}

GPU_HD static inline uint64_t cell_claim(uint32_t pixel)
{
    return ~(uint64_t)pixel;
}

/* The slot of the living point that an entry holds, or POINT_NONE. */
GPU_HD static inline uint32_t cell_slot(uint64_t held, const struct point_place *place)
{
    uint32_t slot = (uint32_t)~held, tag = (uint32_t)(~held >> 32);
    return held != 0 && tag != 0 && place[slot].tag == tag ? slot : POINT_NONE;
}

/* The point of a cube, or POINT_NONE; key 0 has none. */
GPU_HD static inline uint32_t cell_find(const struct cell_entry *table, uint32_t mask, uint64_t key,
                                        const struct point_place *place)
{
    uint32_t i = cell_hash(key) & mask;
    if (key == 0)
        return POINT_NONE;
    while (table[i].key != key) {
        if (table[i].key == 0)
            return POINT_NONE;
        i = (i + 1) & mask;
    }
    return cell_slot(table[i].held, place);
}

/* (Q4) May a full budget drop the point? It was seen rarely and not lately, or not for long. */
GPU_HD static inline int cell_stale(const struct point_stat *s, uint32_t frame)
{
    uint32_t age = frame - s->last_seen;
    return age > (s->n_observations < 16 ? 60u : 900u);
}

/* (Q2) Slot i of CELL_PATROL that a pixel of a frame checks; frames visit all slots in turn. */
GPU_HD static inline uint32_t cell_patrol(uint32_t frame, uint32_t pixel, uint32_t i,
                                          uint32_t n_pixels, uint32_t n_slots)
{
    uint64_t before = (uint64_t)frame * CELL_PATROL * n_pixels;
    return ((uint32_t)(before % n_slots) + i * n_pixels + pixel) % n_slots;
}

/* (V22) Is the point provisional although final views of its time should have seen it? */
GPU_HD static inline int cell_unsettled(const struct point_stat *s, uint32_t frame,
                                        const struct fuse_params *p)
{
    return s->provisional && frame - s->last_seen > p->mono.cell_unsettled;
}

/* (V26) Does a point contradict the pixel's measurement, its own or one drawn in from keyframes, as
 * it lies a little before or behind it? z: the point's depth, D: the pixel's. */
GPU_HD static inline int cell_apart(float z, float D, int trust, const struct fuse_params *p)
{
    int measured = trust >= VIEW_TRUST_MEASURED;
    int drawn = trust >= FIELD_TRUST_FRAME && trust < VIEW_TRUST_FINAL;
    float apart = measured
                      ? fmaxf(p->mono.cell_apart_rel * D, p->mono.cell_apart_cubes * p->cell_m)
                      : fmaxf(p->mono.cell_drawn_rel * D, p->mono.cell_drawn_cubes * p->cell_m);
    return (measured || drawn) && fabsf(z - D) > apart && z < D * (1.0f + p->carve_rel);
}

/* Does the view see another surface instead of a point of its submap? before: least distance of the
 * point before the surface, as a share of the surface's depth. */
GPU_HD static inline int cell_past(const struct camera *c, const float *usable,
                                   const uint8_t *trust, struct vec3 q, float before,
                                   const struct fuse_params *p)
{
    uint32_t pixel;
    float z;
    if (!point_project(c, q, &pixel, &z) || !(usable[pixel] > 0.0f))
        return 0;
    return z < usable[pixel] * (1.0f - before) ||
           (trust && cell_apart(z, usable[pixel], trust[pixel], p));
}

/* (V27) The weight of the view's vote against the point at q: that of an observation if the
 * measured surface lies far from it. */
GPU_HD static inline int cell_vote(const struct view *view, const float *usable, struct vec3 q,
                                   const struct fuse_params *p)
{
    uint32_t pixel;
    float z;
    if (!view->trust || !point_project(&view->camera, q, &pixel, &z) || !(usable[pixel] > 0.0f) ||
        view->trust[pixel] < VIEW_TRUST_MEASURED ||
        fabsf(z - usable[pixel]) <= p->mono.cell_sure_rel * usable[pixel])
        return 1;
    return p->mono.evidence_measured;
}

/* (Q2) Does the frame see through a slot's point in its submap? (V22) If the frame settles: or does
 * it see another surface instead of a provisional point, or is that point old? (V26) Or does it
 * measure another surface there? (Q4) room_short: or is the point stale, in any submap? */
GPU_HD static inline int cell_unwanted(const struct point_place *place,
                                       const struct point_stat *stat, int here,
                                       const struct camera *c, const float *usable,
                                       const struct view *view, uint32_t frame, int room_short,
                                       const struct fuse_params *p)
{
    float before = view->settles && stat->provisional ? -p->mono.cell_behind : p->carve_rel;
    if (place->tag == 0)
        return 0;
    return (room_short && cell_stale(stat, frame)) ||
           (here && view->settles && cell_unsettled(stat, frame, p)) ||
           (here && cell_past(c, usable, view->trust, point_position(place), before, p));
}
