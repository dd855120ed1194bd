/*
 * session_cpu.h - what the CPU back end keeps of a device, a model and a session (internal to gpu/
 * and its tests)
 *
 * Memory:  everything that a session will ever use is one anonymous mapping, cut up by
 *          session_cpu_new(); pages that no point, keyframe or frame has touched cost no memory.
 * Tests:   a session made by session_cpu_new() directly may have no depth network; depth is then
 *          given by session_cpu_put_depth() in place of gpu_depth(). `visit` shuffles the order in
 *          which pixels claim; no result may depend on it.
 */
#ifndef RECOND_GPU_SESSION_CPU_H
#define RECOND_GPU_SESSION_CPU_H

#include "gpu/mono/covisible_point.h"
#include "gpu/net/net.h"
#include "gpu/base/ops.h"
#include "gpu/base/point.h"

#define SESSION_CPU_PAIR_MAX 8 /* planes of a motion network: two pictures and two ray maps */

/* A network laid out for one input size; shared by all sessions of that size. */
struct plan_cpu {
    struct plan_cpu *next;
    struct net_dnnl *exec;
    int w, h, users;
    uint64_t
        /* order of last use: the plan without users that was used longest ago is freed first */
        used;
    size_t bytes;
};

struct gpu_cpu {
    struct gpu base;
    char model[GPU_NAME_CAP];
    int threads;
    uint64_t used_bytes; /* sessions, weights, plans */
    uint64_t clock;      /* orders the use of plans */
};

struct model_cpu {
    struct gpu_model base;
    struct net *net;
    struct plan_cpu *plans;
    size_t bytes; /* weights */
};

/* A keyframe that the frame is tested against. */
struct covisible_cpu {
    uint32_t place; /* in keyframes, maps and overlaps */
    int overlap;
};

struct session_cpu {
    struct gpu_session base;
    struct plan_cpu *depth_plan, *motion_plan;
    size_t arena_bytes;
    int w, h;
    uint32_t n_pixels;
    const uint32_t *visit; /* [n_pixels] order of the claiming passes; NULL = by rows */

    /* the frame */
    uint32_t frame; /* number of the current one, from 1 */
    uint32_t *row;  /* [max_image_w*3] one row of the picture, summed over a box */
    uint8_t *rgb;   /* [h][w][3] */
    float *planes;  /* [3][h][w] for the depth network */
    float *pair;    /* [8][h][w] for the motion network: previous, current, rays */
    float *depth;   /* [h][w] metres, 0 = none */
    struct camera camera;
    struct rigid T_last; /* pose of the previous frame */
    int has_last;        /* T_last holds a pose */
    int has_previous;    /* pair holds the previous picture */

    /* covisible */
    struct covisible_cpu covisible[GPU_COVISIBLE_MAX]; /* best first */
    int n_covisible;
    struct covisible_grid grid; /* of the current frame */
    uint8_t *overlap_now;       /* [max_keyframes] of the current frame with each keyframe */

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
    uint32_t n_keyframes;

    /* fuse */
    uint64_t *cell_claims; /* [n_covisible][h][w], all unclaimed between frames */
    uint32_t *fresh;       /* slot that the pixel inserted, or POINT_NONE */
    uint16_t *wins;        /* bit k: the pixel has a cell in the map of covisible[k] */

    /* the model, by slot */
    struct point_place *place;
    struct point_stat *stat;
    struct point_out *out;
    uint64_t *id;
    uint64_t *claims;     /* all unclaimed between frames */
    uint32_t *unstable;   /* [n_unstable] slots, in order of entry: just the unstable ones */
    uint32_t *free_slots; /* [n_free] a stack */
    uint32_t n_slots;     /* slots ever used: those beyond are untouched */
    uint32_t n_unstable, n_free, n_points, n_stable;
    uint64_t next_id;

    /* remove, change */
    uint32_t *carved; /* [n_carved] slots, in order of the pixels that voted last */
    uint32_t n_carved, n_removed;
    struct gpu_change *changes; /* [2*n_pixels] */
    uint32_t n_changes;
};

static inline struct session_cpu *session_cpu_of(struct gpu_session *s)
{
    return (struct session_cpu *)s;
}

size_t session_cpu_bytes(const struct gpu_session_config *c);
/* As gpu_session_new(), but c->depth may be NULL. The arguments are trusted. */
MUST_CHECK int session_cpu_new(struct gpu_session **s, struct gpu *g,
                               const struct gpu_session_config *c, struct err *err);
void session_cpu_free(struct gpu_session *s);
/* As gpu_session_save() and its kin. */
size_t session_cpu_state_bytes(struct gpu_session *s);
MUST_CHECK int session_cpu_save(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len,
                                struct err *err);
MUST_CHECK int session_cpu_load(struct gpu_session *s, const uint8_t *buf, size_t len,
                                struct err *err);
/* Depth [net_h][net_w] of the current frame, in place of gpu_depth(). */
void session_cpu_put_depth(struct gpu_session *s, const float *depth);

/* A model's network for one input size; made at the first call for it. Pair get with put. */
MUST_CHECK int plan_cpu_get(struct plan_cpu **plan, struct model_cpu *m, int w, int h,
                            struct err *err);
void plan_cpu_put(struct model_cpu *m, struct plan_cpu *plan);
MUST_CHECK int plan_cpu_model_open(struct gpu_model **m, struct gpu *g,
                                   const struct gpu_model_info *info, struct err *err);
void plan_cpu_model_close(struct gpu_model *m);

/* The stages, one frame each. */
void image_cpu_run(struct session_cpu *s, const struct gpu_frame *f);
MUST_CHECK int depth_cpu_run(struct session_cpu *s, struct err *err);
MUST_CHECK int motion_cpu_run(struct session_cpu *s, struct gpu_frame *f, struct err *err);
void covisible_cpu_run(struct session_cpu *s, struct gpu_frame *f);
void associate_cpu_run(struct session_cpu *s, struct gpu_frame *f);
void keyframe_cpu_run(struct session_cpu *s, struct gpu_frame *f);
void fuse_cpu_run(struct session_cpu *s, struct gpu_frame *f);
void remove_cpu_run(struct session_cpu *s, struct gpu_frame *f);
void change_cpu_run(struct session_cpu *s, struct gpu_frame *f);

#endif
