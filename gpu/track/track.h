/*
 * track.h - corners followed from frame to frame: a session's state, and the stages of both back
 * ends
 *
 * A corner is a place with structure in both directions. Each cell of a grid without a track gives
 * one, which is followed until it is lost. Its places in the last TRACK_KEPT frames are the
 * observations of a landmark (landmark_search.h).
 *
 * Stages of a frame, in order:
 *   pyramid   the picture in grey, and smaller ones of it
 *   klt       finds each track's window of the last frame in this one, and back again (L2)-(L4)
 *   corner    of tracks that meet the oldest stays (L5); cells without a track get their best
 *             corner (L6)
 * Order:   sums are of whole numbers, and claims are minima of distinct integers; the rest is a
 *          track's own float arithmetic in a fixed order. Both back ends give the same bits.
 * Memory:  all of it is laid out when the session is made.
 * Maths:   MATH.md (L1)-(L6)
 */
#pragma once

#include "gpu/track/track_params.h"
#include "proto/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRACK_LEVELS 4  /* pictures, each half as large as the previous one */
#define TRACK_KEPT 60   /* observations kept of a track */
#define TRACK_MOST 2048 /* tracks at once */
#define TRACK_CELL 8 /* side of a cell, pixels; larger where there would be more than TRACK_MOST */
#define TRACK_SIDE_LEAST 64
#define TRACK_NONE 0xffffffffu

/* A place for a track. */
struct track_slot {
    uint32_t id;   /* counted from 1 over the session, never used again; 0 = no track */
    uint32_t born; /* frame of its first observation */
    float x, y;    /* place in the last frame, pixels */
};

struct track_level {
    int w, h;
    uint32_t at; /* index of its first byte in a pyramid */
};

struct track_frame {
    const uint8_t *rgb;  /* [h][w][3] */
    const uint8_t *mask; /* [h][w] or NULL; not 0 where an object moves */
    int restart;         /* 1: nothing connects it with the last frame */
};

struct track {
    struct track_params params;
    int w, h, cell, grid_w, grid_h, n_cells, n_slots;
    struct track_level level[TRACK_LEVELS];
    uint32_t pyramid_bytes;
    uint32_t n_frames; /* frames so far; the last has number n_frames - 1 */
    uint32_t next_id;
    uint32_t n_live, n_new;  /* of the last frame */
    uint8_t *pyramid[2];     /* frame f's is [f % 2] */
    float shift_x, shift_y;  /* the picture's approximate motion in the last frame */
    uint32_t shift;          /* the smallest claim of a shift (L2) */
    struct track_slot *slot; /* [n_slots] */
    float *seen;             /* [TRACK_KEPT][n_slots][2]: of frame f at f % TRACK_KEPT */
    float *response;         /* [h][w] */
    int32_t (*column)[3];    /* [w] sums of one column, on the CPU */
    uint64_t *claim;         /* [n_cells][4] which track a quarter of a cell keeps */
    uint64_t *best;          /* [n_cells] its best corner */
};

/* Lays a session out in zeroed memory at `base`; NULL only counts. Returns its bytes. Sides are
 * TRACK_SIDE_LEAST or more. */
size_t track_lay_out(struct track *t, uint8_t *base, int w, int h);

/* How many observations the track in a slot has, TRACK_KEPT at most. */
GPU_HD static inline uint32_t track_length(const struct track *t, const struct track_slot *s)
{
    uint32_t n = t->n_frames - s->born;
    return s->id == 0 ? 0 : n < TRACK_KEPT ? n : TRACK_KEPT;
}

/* Where frame f, one of its last track_length() frames, saw the track in a slot. */
GPU_HD static inline const float *track_seen(const struct track *t, uint32_t slot, uint32_t f)
{
    return t->seen + 2 * ((size_t)(f % TRACK_KEPT) * (size_t)t->n_slots + slot);
}

/* All stages of a frame. */
void track_cpu(struct track *t, const struct track_frame *f);

void pyramid_cpu(struct track *t, const struct track_frame *f);
void klt_cpu(struct track *t, const struct track_frame *f);
void corner_cpu(struct track *t, const struct track_frame *f);

#ifdef __cplusplus
}
#endif
