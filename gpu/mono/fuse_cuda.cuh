/*
 * fuse_cuda.cuh - claimed points are updated, pixels without a point insert one, and maps record
 * them (internal to update_cuda.cu and insert_cuda.cu)
 *
 * Order:   a claim's only winner resets it while losers may still read it: neither value is a
 *          loser's. Inserted points go to slots that were free before the frame, so none of them is
 *          in the list, voted against or updated.
 */
#pragma once

#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/change_point.h"
#include "gpu/mono/fuse_point.h"
#include "gpu/mono/normal_point.h"

/* (3)-(5) for the pixel that has the point's claim. Returns its marks. */
static __device__ inline uint32_t fuse_claimed(struct session_dev *s, uint32_t pixel, uint32_t slot)
{
    struct point_place place = scan_load(&s->place[slot]);
    struct point_stat stat = scan_load(&s->stat[slot]);
    struct point_out out = scan_load(&s->out[slot]);
    struct point_normal normal = s->normal[slot];
    struct normal_map map = normal_map_make(s->usable, s->world, s->w, s->h, &s->view.camera);
    struct vec3 p_i = s->world[pixel]; /* all loads before the first store */
    float z = s->usable[pixel];
    int was = stat.state, evidence = view_evidence(&s->view, pixel, &s->fuse), kind;
    uint32_t mark = 1u << SCAN_WON;
    uint8_t rgb[3];

    for (int i = 0; i < 3; i++)
        rgb[i] = s->view.rgb[3 * (size_t)pixel + i];
    s->claims[slot] = POINT_UNCLAIMED;
    fuse_settle(&stat, s->view.settles);
    normal_fuse(&normal, normal_at(&map, pixel), stat.w_a, s->fuse.w0 * (float)evidence);
    fuse_update(&place, &stat, p_i, rgb, z, evidence, s->frame, &s->fuse);
    stat.provisional = stat.provisional && view_is_guess(&s->view, pixel);
    kind = change_updated(&place, &stat, &normal, &out, z, s->step_m, &s->fuse);
    scan_store(&s->place[slot], place);
    scan_store(&s->stat[slot], stat);
    s->normal[slot] = normal;
    if (kind)
        scan_store(&s->out[slot], out);
    if (was == POINT_STABLE && stat.state == POINT_UNSTABLE)
        mark |= 1u << SCAN_UNSTABLE;
    if (was != POINT_STABLE && stat.state == POINT_STABLE)
        mark |= 1u << SCAN_UP;
    if (kind)
        mark |= 1u << SCAN_CHANGED;
    if (kind == GPU_CHANGE_REMOVE)
        mark |= 1u << SCAN_TAKEN_BACK;
    return mark;
}

/* Returns the open cells that the pixel has won, in bits, and resets their claims. */
static __device__ inline uint32_t
fuse_win_cells(struct session_dev *s, const struct camera *cameras, uint32_t pixel, uint32_t open)
{
    struct vec3 p = s->world[pixel];
    uint32_t wins = 0;
    for (; open; open &= open - 1) {
        int k = __ffs((int)open) - 1;
        uint32_t cell;
        uint64_t *claim;
        float z_k;
        if (!point_project(&cameras[k], p, &cell, &z_k))
            continue;
        claim = &s->cell_claims[(size_t)k * s->n_pixels + cell];
        if (*claim != point_claim(z_k, pixel))
            continue;
        *claim = POINT_UNCLAIMED;
        wins |= 1u << k;
    }
    return wins;
}

/* The slots and ids that a frame inserts. */
struct fuse_room {
    uint32_t n_inserted, n_recycled;
    uint64_t first_id;
};

/* Reserves slots and ids for n_fresh points; points without room are dropped. */
static __device__ inline struct fuse_room fuse_find_room(const struct session_dev *s,
                                                         uint32_t n_fresh)
{
    uint32_t left = s->was.n_free + (s->max_points - s->was.n_slots);
    struct fuse_room r;
    r.n_inserted = n_fresh < left ? n_fresh : left;
    r.n_recycled = r.n_inserted < s->was.n_free ? r.n_inserted : s->was.n_free;
    r.first_id = point_first_id(s->was.next_id, r.n_inserted);
    return r;
}

/* The r-th slot that this frame uses: freed slots in reverse order of freeing, then new ones. */
static __device__ inline uint32_t fuse_slot_of_rank(const struct session_dev *s, uint32_t r)
{
    return r < s->was.n_free ? s->free_slots[s->was.n_free - 1 - r]
                             : s->was.n_slots + (r - s->was.n_free);
}

static __device__ inline void fuse_insert(struct session_dev *s, uint32_t pixel, uint32_t slot,
                                          uint64_t id)
{
    int x = (int)(pixel % (uint32_t)s->w), y = (int)(pixel / (uint32_t)s->w);
    struct intrinsics K = s->view.camera.K;
    float weight = fuse_first_weight(x, y, K, fuse_radius_max(K, s->w, s->h), s->fuse.sigma);
    struct normal_map map = normal_map_make(s->usable, s->world, s->w, s->h, &s->view.camera);
    struct point_normal normal = {{0, 0, 0}, 0};
    struct point_place place;
    struct point_stat stat;
    uint8_t rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = s->view.rgb[3 * (size_t)pixel + i];
    fuse_create(&place, &stat, id, s->world[pixel], rgb, s->usable[pixel], weight,
                view_evidence(&s->view, pixel, &s->fuse), s->frame, &s->fuse);
    stat.provisional = view_is_guess(&s->view, pixel) != 0;
    scan_store(&s->place[slot], place);
    scan_store(&s->stat[slot], stat);
    normal_fuse(&normal, normal_at(&map, pixel), 0.0f, 1.0f);
    s->normal[slot] = normal;
    s->id[slot] = id;
    s->out[slot].confidence = 0;
}

/* Puts the pixel's point into the cells that it won. */
static __device__ inline void fuse_enter_cells(struct session_dev *s, const struct camera *cameras,
                                               uint32_t pixel, uint32_t slot, uint32_t tag)
{
    struct vec3 p = s->world[pixel];
    struct map_cell entry = {slot, tag};
    for (uint32_t wins = s->wins[pixel]; wins; wins &= wins - 1) {
        int k = __ffs((int)wins) - 1;
        uint32_t cell;
        float z_k;
        if (point_project(&cameras[k], p, &cell, &z_k))
            s->maps[(size_t)s->covisible[k].place * s->n_pixels + cell] = entry;
    }
}
