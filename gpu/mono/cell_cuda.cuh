/*
 * cell_cuda.cuh - which points pixels observe and see through where points lie in cubes of space,
 * and the table of cubes (internal to the fusion kernels)
 *
 * Order:   the first thread enters a key, once; its place in the table does not affect results.
 *          Claims of an entry are maxima. A pass that finds points changes no entry with a living
 *          point. The table is cleared by the last pass of a frame and filled by the first pass of
 *          the next, when no other thread reads it.
 */
#pragma once

#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/cell_point.h"

struct cell_sight {
    uint32_t found, through, entry;
    float distance;
};

static __device__ inline unsigned long long *cell_word(uint64_t *word)
{
    return (unsigned long long *)word;
}

/* Returns the entry of a key and makes a missing one; POINT_NONE for key 0. */
static __device__ inline uint32_t cell_entry_of(struct session_dev *s, uint64_t key, int *is_new)
{
    uint32_t i = cell_hash(key) & s->table_mask;
    *is_new = 0;
    if (key == 0)
        return POINT_NONE;
    for (;; i = (i + 1) & s->table_mask) {
        uint64_t was = s->table[i].key;
        if (was == 0) {
            was = atomicCAS(cell_word(&s->table[i].key), 0ull, (unsigned long long)key);
            *is_new = was == 0;
        }
        if (was == 0 || was == key)
            return i;
    }
}

static __device__ inline uint32_t cell_at(const struct session_dev *s, struct vec3 q, int level)
{
    return cell_find(s->table, s->table_mask, cell_key(q, level, s->view.submap, &s->fuse),
                     s->place);
}

/* (Q2) The first of the pixel's slots whose point the frame sees through. */
static __device__ inline uint32_t cell_on_patrol(const struct session_dev *s,
                                                 const struct camera *own, uint32_t pixel)
{
    for (uint32_t i = 0; i < CELL_PATROL && s->was.n_slots > 0; i++) {
        uint32_t slot = cell_patrol(s->frame, pixel, i, s->n_pixels, s->was.n_slots);
        int here = cell_submap(s->key[slot]) == s->view.submap;
        if (cell_unwanted(&s->place[slot], &s->stat[slot], here, own, s->usable, &s->view, s->frame,
                          s->room_short, &s->fuse))
            return slot;
    }
    return POINT_NONE;
}

/* (Q5) The pixel's claim of the cube of p_i, which has no point. Returns its entry. */
static __device__ inline uint32_t cell_want(struct session_dev *s, uint64_t key, uint32_t pixel)
{
    int is_new;
    uint32_t i = cell_entry_of(s, key, &is_new);
    if (i != POINT_NONE)
        atomicMax(cell_word(&s->table[i].held), (unsigned long long)cell_claim(pixel));
    if (is_new)
        atomicAdd(&s->n_entries, 1u);
    return i;
}

/* As cell_cpu_look_up() of cell_cpu.c. */
static __device__ inline struct cell_sight cell_look_up(struct session_dev *s,
                                                        const struct camera *own, struct vec3 p_i,
                                                        float z, uint32_t pixel)
{
    int level = cell_level(z, &s->fuse);
    struct cell_sight r = {POINT_NONE, POINT_NONE, POINT_NONE, 0.0f};
    if (level > 0)
        r.found = cell_at(s, p_i, level - 1);
    if (r.found == POINT_NONE)
        r.found = cell_at(s, p_i, level);
    r.through = cell_on_patrol(s, own, pixel);
    if (r.through == POINT_NONE)
        r.through = cell_at(s, p_i, level + 1);
    if (r.through == r.found)
        r.through = POINT_NONE;
    if (r.found == POINT_NONE)
        r.entry = cell_want(s, cell_key(p_i, level, s->view.submap, &s->fuse), pixel);
    else
        r.distance = sqrtf(vec3_norm2(vec3_sub(p_i, point_position(&s->place[r.found]))));
    return r;
}

/* Puts the pixel's point into the cube that it won. */
static __device__ inline void cell_enter(struct session_dev *s, uint32_t pixel, uint32_t slot,
                                         uint32_t tag)
{
    struct cell_entry *e = &s->table[s->entry[pixel]];
    e->held = cell_hold(slot, tag);
    s->key[slot] = e->key;
}

/* Called by threads 0 ... n-1: enters all living points into the empty table. */
static __device__ inline void cell_fill(struct session_dev *s, uint32_t thread, uint32_t n)
{
    for (uint32_t slot = thread; slot < s->n_slots; slot += n) {
        uint32_t tag = s->place[slot].tag;
        int is_new;
        if (tag)
            atomicMax(cell_word(&s->table[cell_entry_of(s, s->key[slot], &is_new)].held),
                      (unsigned long long)cell_hold(slot, tag));
    }
}

static __device__ inline void cell_clear(struct session_dev *s, uint32_t thread, uint32_t n)
{
    const struct cell_entry empty = {0, 0};
    for (uint32_t i = thread; i <= s->table_mask; i += n)
        scan_store(&s->table[i], empty);
}
