/*
 * session_cpu.h - the CPU back end's mono session (internal to gpu/ and its tests)
 *
 * Memory:  everything that a session will ever use is one anonymous mapping, cut up by
 *          session_cpu_new(); pages that no point, keyframe or frame has touched cost no memory.
 * Tests:   a session made by session_cpu_new() directly has no networks; its depth is then given by
 *          session_cpu_put_depth() before gpu_submit(). `visit` shuffles the order in which pixels
 *          claim; no result may depend on it.
 */
#pragma once

#include "gpu/mono/covisible_point.h"
#include "gpu/base/network.h"
#include "gpu/base/point.h"
#include "gpu/mono/cell_point.h"
#include "gpu/mono/view_point.h"
#include "gpu/track/path.h"
#include "proto/geom/lens.h"

#define SESSION_CPU_PAIR_MAX 8 /* planes of a motion network: two pictures and two ray maps */

/* A keyframe that the frame is tested against. */
struct covisible_cpu {
    uint32_t place; /* in keyframes, maps and overlaps */
    int overlap;
};

struct session_cpu {
    struct gpu_session base;
    size_t arena_bytes;
    int w, h;
    uint32_t n_pixels;
    const uint32_t *visit; /* [n_pixels] order of the claiming passes; NULL = by rows */

    /* the frame */
    uint32_t frame;      /* number of the current one, from 1 */
    uint32_t submap;     /* its submap */
    uint32_t *row;       /* [3 * longer side] one row of the picture, summed over a box */
    uint8_t *rgb;        /* [h][w][3] */
    uint16_t *level;     /* [h][w] image_level() */
    float *planes;       /* [3][h][w] for the depth network */
    float *pair;         /* [8][h][w] for the motion network: previous, current, rays */
    float *depth;        /* [h][w] metres, 0 = none */
    float *raw;          /* [w][h] or [h][w]: the depth network's answer for a turned picture */
    struct lens_map map; /* from the uploaded picture to rgb */
    struct camera camera;
    struct rigid T_last; /* pose of the previous frame */
    int has_last;        /* T_last holds a pose */
    int has_previous;    /* pair holds the previous picture */
    /* where poses come from tracks, else NULL */
    struct track *track;
    struct path *path;

    /* depth_source other than the network's, else NULL */
    uint64_t *sensor_claims; /* [h][w], all unclaimed between frames */
    uint8_t *trust;          /* [h][w] trust of depth */

    struct views *views; /* depth from many views; NULL: each frame's own is fused */
    struct view view;    /* the view that the frame fuses */

    /* covisible */
    struct covisible_cpu covisible[GPU_COVISIBLE_MAX]; /* best first */
    int n_covisible;
    struct covisible_grid grid; /* of the current frame */
    uint8_t *overlap_now;       /* [max_keyframes] overlap of the frame with each keyframe */

    /* associate: one value a pixel */
    float *usable;      /* depth that is fused, 0 = none */
    struct vec3 *world; /* p_i */
    uint32_t *found;    /* slot of the point that the pixel observes, or POINT_NONE */
    float *distance;    /* to that point */
    uint32_t *through;  /* slot of a point that the pixel sees through, or POINT_NONE */
    uint8_t *won;       /* the pixel has its point's claim */
    uint32_t *bins;     /* [ASSOCIATE_BINS] */
    uint32_t n_valid, n_associated;
    float median_depth_m;

    /* keyframe */
    int is_keyframe;
    uint32_t place_new;         /* where the new keyframe goes */
    struct keyframe *keyframes; /* [max_keyframes] */
    struct map_cell *maps;      /* [max_keyframes][h][w] */
    uint8_t *overlaps;          /* [max_keyframes][max_keyframes] */
    uint32_t *worlds;           /* [max_keyframes] the submap of each */
    uint32_t n_keyframes;

    /* fuse */
    uint64_t *cell_claims; /* [n_covisible][h][w], all unclaimed between frames */
    uint32_t *fresh;       /* slot that the pixel inserted, or POINT_NONE */
    uint16_t *wins;        /* bit k: the pixel has a cell in the map of covisible[k] */

    /* cells: the table of cubes; NULL where points are found through maps */
    struct cell_entry *table;
    uint32_t table_mask, n_entries;
    uint64_t *key;   /* [max_points] the cube of each slot's point */
    uint32_t *entry; /* [n_pixels] where the pixel has its claim, or POINT_NONE */
    int room_short;  /* stale points may be dropped */

    /* the model, by slot */
    struct point_place *place;
    struct point_stat *stat;
    struct point_normal *normal;
    struct point_out *out;
    uint64_t *id;
    uint64_t *claims;     /* all unclaimed between frames */
    uint32_t *unstable;   /* [n_unstable] slots, in order of entry: just the unstable ones */
    uint32_t *free_slots; /* [n_free] a stack */
    uint32_t n_slots;     /* slots ever used: those beyond are untouched */
    uint32_t n_unstable, n_free, n_points, n_stable;
    uint64_t next_id;

    /* remove, change */
    uint32_t *carved; /* [n_carved] slots, in order of the pixels with the last vote */
    uint32_t n_carved, n_removed;
    struct gpu_change *changes; /* [2*n_pixels] */
    uint32_t n_changes;
};

static inline struct session_cpu *session_cpu_of(struct gpu_session *s)
{
    return (struct session_cpu *)s;
}

size_t session_cpu_bytes(const struct gpu_session_config *c);
/* As gpu_session_ops. The arguments are trusted. */
MUST_CHECK int session_cpu_new(struct gpu_session **s, struct gpu *g,
                               const struct gpu_session_config *c, struct err *err);
void session_cpu_free(struct gpu_session *s);
size_t session_cpu_state_bytes(struct gpu_session *s);
MUST_CHECK int session_cpu_save(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len,
                                struct err *err);
MUST_CHECK int session_cpu_load(struct gpu_session *s, const uint8_t *buf, size_t len,
                                struct err *err);
MUST_CHECK int session_cpu_put_depth(struct gpu_session *s, const float *depth, struct err *err);

/* The stages, one frame each: rows of gpu_line_mono. */
typedef int stage_cpu_fn(struct gpu_item *item, struct err *err);
stage_cpu_fn image_cpu_run, depth_cpu_run, sensor_cpu_run, motion_cpu_run, views_cpu_run,
    covisible_cpu_run, associate_cpu_run, keyframe_cpu_run, fuse_cpu_run, remove_cpu_run,
    change_cpu_run;

/* depth_cpu.c: removes depth that is masked or outside the picture. */
void depth_cpu_hide(struct session_cpu *s, const struct gpu_frame *f);

/* cell_cpu.c: finds the points that a pixel observes and sees through; it claims an empty cube. */
void cell_cpu_look_up(struct session_cpu *s, uint32_t pixel);
/* Rebuilds the table from the keys of the living points. */
void cell_cpu_rebuild(struct session_cpu *s);

/*
 * selftest_run - a few frames of a drawn scene through all stages but the networks, on g and on the
 * CPU back end; `auto` asks it before it takes a device
 *
 * Returns: 0: counts and changed points agree; ERR_UNSUPPORTED: they do not, err says where;
 *          ERR_MEMORY, ERR_DEVICE
 */
MUST_CHECK int selftest_run(struct gpu *g, struct gpu *cpu, struct err *err);

/* line_mono.c: the first and last arrays of every line of pictures, and the check of a picture. */
stage_cpu_fn line_mono_upload, line_mono_download;
MUST_CHECK int line_mono_check_picture(const struct gpu_item *item, struct err *err);
