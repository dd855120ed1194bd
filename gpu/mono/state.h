/*
 * state.h - a session between two of its frames, as bytes that both back ends write and read
 * (internal to gpu/)
 *
 * A state is a row of sections (proto/section.h); state_part[] has a row for each, and a module
 * adds a row to save more. Twins agree slot by slot, so the model is written as it lies in memory:
 * the heads of sections field by field, arrays as packed little-endian records whose offsets the
 * compiler checks, each array from a multiple of 16 on.
 *
 *   GSES  the session: back end, shape, frame, last pose                       state.c
 *   GMOD  the fusion model: counts, points, lists of slots                     state_model.c
 *   GNOR  the normals of its points                                            state_normals.c
 *   GKEY  keyframes, their overlaps and maps                                   state_keyframes.c
 *   GSUB  the submaps of keyframes                                              state_worlds.c
 *   GCEL  instead of maps: the cube of space that each slot's point lies in    state_cells.c
 *   GVIE  keyframes of many views, with their maps, if the session uses them   state_views.c
 *   GPTH  tracks and their path, if poses come from them           state_path.c
 *   GPRE  the motion network's previous picture, if there is one               state.c
 *
 * Maps:    only the slot of each cell, 4 bytes: a stale cell is written as an empty one, and a live
 *          one gets its point's tag. Slots are differences to the last live cell, zigzag (0, -1, 1,
 *          -2, ...), because points that were inserted together lie in a row; POINT_NONE = empty.
 * Picture: the motion network's previous one is [3][h][w] f32; halves are exact in it.
 * Load:    only state_check() checks a state. After it no frame can read or write out of bounds:
 *          the lists are permutations of their slots, each slot of a map lives, all numbers are
 *          finite.
 */
#pragma once

#include "gpu/base/point.h"
#include "gpu/gpu.h"
#include "gpu/mono/covisible_point.h"
#include "gpu/views/views.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of a state, from the heads of its sections. */
struct state_head {
    char backend[8]; /* the back end that wrote the state */
    int32_t w, h;
    float step_m;
    uint32_t has_last, has_previous;
    uint32_t normals; /* 0: an earlier build wrote the state without normals; the same for: */
    uint32_t worlds;
    uint32_t path;  /* tracks and a path: the version of their section; 0 = there are none */
    uint32_t cells; /* points lie in cubes: the state has keys and no maps */
    uint32_t views; /* version of the section of many views, whose counts follow */
    uint32_t views_frame, views_places, views_v1_kept;
    struct views_strand views_strand[VIEWS_STRANDS];
    struct views_length views_length[VIEWS_STRANDS];
    uint32_t frame, n_slots, n_unstable, n_free, n_points, n_stable, n_keyframes;
    uint64_t next_id;
    struct rigid T_last;
};

/* Where arrays begin in the row. */
struct state_layout {
    size_t place;      /* [n_slots] struct point_place */
    size_t stat;       /* [n_slots] struct point_stat */
    size_t normals;    /* [n_slots] struct point_normal */
    size_t out;        /* [n_slots] struct point_out */
    size_t id;         /* [n_slots] u64 */
    size_t unstable;   /* [n_unstable] u32 */
    size_t free_slots; /* [n_free] u32 */
    size_t keyframes;  /* [n_keyframes] struct keyframe */
    size_t overlaps;   /* [n_keyframes][n_keyframes] u8 */
    size_t worlds;     /* [n_keyframes] u32 */
    size_t maps;       /* [n_keyframes][h][w] u32 */
    size_t keys;       /* [n_slots] u64, of cells */
    /* views_places keyframes of many views: struct views_kept, and their maps */
    size_t views_kept, views_grey, views_rgb, views_single, views_own, views_agree, views_contrast;
    size_t path_record, path_slots, path_pyramid, path_landmarks; /* struct path_record, arrays */
    size_t previous; /* [3][h][w] f32 if has_previous */
    size_t bytes;    /* of the row */
};

/* Sets back end and shape; the caller sets the counts. */
void state_head_make(struct state_head *h, const char *backend, const struct gpu_session_config *c);
void state_layout_make(struct state_layout *l, const struct state_head *h);
/* Writes the sections' heads and zeros between the arrays, which the caller writes next. */
void state_begin(uint8_t *buf, const struct state_head *h, const struct state_layout *l);
/* Sets the unused grid points of n copied keyframes to zero. */
void state_tidy_keyframes(uint8_t *keyframes, size_t n);

/* Copy the counts of many views from and to a session. */
void state_views_of(struct state_head *h, const struct views *v);
void state_views_to(struct views *v, const struct state_head *h);
/* Reads the keyframes of a checked state of any version to [views_places]. */
void state_views_kept(struct views_kept *to, const uint8_t *buf, const struct state_head *h,
                      const struct state_layout *l);
/* The places of their maps in a session and in a state. */
#define STATE_VIEWS_MAPS 6
struct state_views_map {
    void *map;
    size_t at, bytes;
};
void state_views_maps(struct state_views_map to[STATE_VIEWS_MAPS], const struct views *v,
                      const struct state_head *h, const struct state_layout *l);

unsigned state_reads(uint32_t tag); /* gpu_session_reads() */

/*
 * state_check - checks all untrusted bytes, for a session of configuration c
 *
 * In:      buf: from a multiple of 16 on; sections of other owners are skipped
 * Out:     *h, *l
 * Returns: 0; ERR_INPUT; ERR_UNSUPPORTED: another build's state; ERR_MEMORY
 */
MUST_CHECK int state_check(struct state_head *h, struct state_layout *l, const uint8_t *buf,
                           size_t len, const struct gpu_session_config *c, struct err *err);

/*
 * state_pack_cells / state_unpack_cells - n cells of a map
 *
 * In:      place: the first struct point_place, at any address
 * In/out:  *last slot of the last live cell, 0 before a map's first one
 */
void state_pack_cells(uint8_t *to, const struct map_cell *cells, size_t n, const uint8_t *place,
                      uint32_t *last);
void state_unpack_cells(struct map_cell *cells, const uint8_t *from, size_t n, const uint8_t *place,
                        uint32_t *last);

#ifdef __cplusplus
}
#endif
