/*
 * views.h - depth of posed pictures out of many views: what a session keeps, and the stages that
 * both back ends have
 *
 * A *view* is what the map is given to fuse: depth, trust, colours, camera. Each frame makes a view
 * of itself at once: its single-view depth, corrected by what keyframes have measured. It may make
 * a second view, of a keyframe that was taken one to two seconds ago: that keyframe becomes final,
 * now that keyframes before and after it have measured.
 *
 * Life of a keyframe; a frame does each step for at most one keyframe:
 *   taken   its pose differs from the last one's; picture and single-view depth are kept
 *   swept   sweep_keyframes later: matched with its sources plane by plane (V3)-(V6); where
 *           the pictures say that the sources stood elsewhere, their poses are refined and it is
 *           matched once more (V17)-(V20); pixels that match measure depth, and are compared with
 *           what other keyframes measure (V7); where enough of them agree, corrected depth guides a
 *           sweep in fine steps (V23)-(V25)
 *   final   final_keyframes later: its own and the other keyframes' measurements correct its
 *           single-view depth (V8)-(V12)
 * Walks:   a source that opens another submap, or had lost its tracking, begins a new *walk*.
 *          Keyframes of one walk are matched with each other alone. When the walk is over, its
 *          waiting keyframes become swept and final at once, one a frame.
 * Frames:  T_wc takes camera points to the submap's world. Depth is metres along z.
 * Order:   pixels share only counts, minima and sums of whole numbers; the rest is float arithmetic
 *          in a fixed order. So both back ends give the same bits.
 * Sources: each phone that feeds a session has its own *strand* of keyframes, and a frame uses its
 *          own strand alone. Two phones have as many places as one alone; three share them.
 * Memory:  all of it is laid out when the session is made, however many sources come.
 * Maths:   MATH.md (V1)-(V15), (V17)-(V21), (V23)-(V25)
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/views/views_params.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VIEWS_KEPT 64                    /* places for keyframes */
#define VIEWS_STRANDS 3                  /* each share of the places must outlast final_keyframes */
#define VIEWS_OF_STRAND (VIEWS_KEPT / 2) /* keyframes of a strand, at most */
#define VIEWS_SOURCES 5                  /* pictures that a keyframe is matched with, at most */
#define VIEWS_PLANES 64                  /* inverse depths that are tried */
#define VIEWS_RADIUS 3                   /* radius of the matched window: 7x7 */
#define VIEWS_POOL 16    /* keyframes whose measurements are drawn into a view, at most */
#define VIEWS_NODES 1024 /* nodes of the correction field, at most */
#define VIEWS_GRID_W 16  /* samples of a view's depth */
#define VIEWS_GRID_H 12
#define VIEWS_GRID (VIEWS_GRID_W * VIEWS_GRID_H)
#define VIEWS_BINS 256    /* of log ratios */
#define VIEWS_POINTS 3072 /* points that refine a keyframe's sources, at most */
#define VIEWS_LEVELS 3    /* sizes of a picture in that refinement */
#define VIEWS_SCALES 512  /* bins of log ratios of measured depths */

enum views_target_kind { VIEWS_FINAL, VIEWS_FRAME, VIEWS_TARGETS };

struct views_camera {
    struct rigid T_wc, T_cw;
    struct intrinsics K;
};

/* A keyframe; its maps are those of the same place in struct views. */
struct views_kept {
    uint32_t index; /* counts the strand's keyframes from 0 */
    uint32_t frame; /* the strand's frame that became it */
    float near_m, median_m, far_m;
    uint32_t n_measured, n_confirmed; /* pixels with a measurement; with a confirmed one */
    struct views_camera camera;
    int32_t strand;  /* -1: the place is free */
    uint32_t submap; /* whose world T_wc is in */
    uint32_t walk;   /* index of the first keyframe of its walk */
};

/* The keyframes of one source. */
struct views_strand {
    uint32_t used; /* number of its last frame in the session; 0: the strand is free */
    uint32_t source, submap, breaks;    /* of its last frame */
    uint32_t frame;                     /* frames so far */
    uint32_t n_taken, n_swept, n_final; /* keyframes so far */
    uint32_t first;                     /* index of the first keyframe of the present walk */
};

/* How much too long a strand's poses are (V21): the mean of n values (V10), running from 64 on. */
struct views_length {
    float mean;
    uint32_t n;
};

/* A source as the swept keyframe sees it: T takes the keyframe's points to the source's camera. */
struct views_pose {
    struct rigid given, T; /* from the odometry; refined */
    float gain, bias;      /* from its levels to the keyframe's */
};

/* A pixel of the swept keyframe that refines its sources' poses. */
struct views_point {
    float x, y, rx, ry, inv; /* pixel, ray (rx, ry, 1), inverse depth */
};

/* What a frame has to do; places of keyframes, -1 = none. */
struct views_plan {
    struct views_camera camera;    /* of the frame */
    int strand;                    /* its source's; -1: no strand was free */
    float near_m, median_m, far_m; /* quantiles of its depth; 0: it has none */
    int taken, swept, final;
    int source[VIEWS_SOURCES], n_sources;
    struct views_pose pose[VIEWS_SOURCES];
    int again;     /* 1: poses were refined, so the keyframe is swept once more */
    int fine;      /* 1: the keyframe is swept in fine steps, too (V23) */
    float stretch; /* log2 of how much too long poses are (V21); 0 = they are believed */
    int pool[VIEWS_TARGETS][VIEWS_POOL], n_pool[VIEWS_TARGETS];
};

/* What the pixels around a node of the field say: weights, and weights times ratios (V10). */
struct views_load {
    float weight, sum;
};

/* A view in the making, one value a pixel; each back end has the same. */
struct views_target {
    uint32_t *front;         /* float bits of the nearest depth drawn there; all ones = none */
    uint32_t *weight;        /* sum of drawn weights, in VIEWS_WEIGHT_ONE-ths */
    int32_t *sum;            /* sum of weight times log2 depth in 1/VIEWS_LOG_ONE */
    float *ratio;            /* log2 of measured over single-view depth */
    float *share;            /* weight of the ratio, 0 = nothing was measured */
    uint32_t n_share;        /* pixels whose ratio has a weight */
    float sigma;             /* standard error of the ratios' median (V15); 0 = there are none */
    float *nodes;            /* [VIEWS_NODES] the correction field, log2 */
    uint32_t *bins;          /* [VIEWS_BINS] counts of ratios */
    float common;            /* the ratios' common value (V10) */
    float *right, *down;     /* [VIEWS_NODES] ties to the next node of a row, of a column */
    struct views_load *load; /* [VIEWS_NODES] what the pixels around each node say */
    float *depth;            /* out: metres, 0 = none */
    uint8_t *trust;          /* out: 0 = not to be fused ... 255 = many views agree */
};

/* Where the camera stood when its pose last changed, and what it saw (V14). */
struct views_anchor {
    int set;
    struct rigid T_wc;
    uint8_t grey[VIEWS_GRID];
    uint32_t n_frozen; /* frames in a row that saw something else since */
};

struct views {
    struct views_params params;
    int w, h;
    uint32_t n_pixels;
    int step, nodes_w, nodes_h; /* pixels between nodes of the field; numbers of nodes */

    /* between frames */
    uint32_t frame;    /* frames of the session so far */
    uint32_t n_places; /* the first n_places places have had a keyframe */
    struct views_strand strand[VIEWS_STRANDS];
    struct views_length length[VIEWS_STRANDS];
    struct views_kept kept[VIEWS_KEPT];
    uint8_t *grey, *rgb; /* [VIEWS_KEPT][h][w], [VIEWS_KEPT][h][w][3] */
    uint16_t *single;    /* [VIEWS_KEPT][h][w] single-view depth, coded by views_code() */
    uint16_t *own;       /* [VIEWS_KEPT][h][w] what the sweep measured, 0 = nothing */
    uint8_t *contrast;   /* [VIEWS_KEPT][h][w] what fine sweeps match (V25) */
    uint8_t *agree;      /* [VIEWS_KEPT][h][w] keyframes that measured the same surface */
    struct views_anchor anchor[VIEWS_STRANDS]; /* not saved: set anew by the next frame */

    /* of the frame */
    struct views_plan plan;
    uint8_t *grey_now;          /* [h][w] */
    struct sweep_band *band;    /* CPU alone: scratch of the sweep */
    int cell;                   /* side of the cell that gives one point, pixels */
    uint16_t *pyramid;          /* blurred pictures at three sizes: sources, then the keyframe */
    struct views_point *points; /* [VIEWS_POINTS] */
    uint32_t n_points, scales[VIEWS_SCALES];
    float *terms;    /* CUDA alone: the points' terms of sums (refine_cuda.cu), and the sums */
    int is_refining; /* CUDA alone: rounds are to come */
    struct views_target target[VIEWS_TARGETS];
    struct gpu_views told;
};

/* One frame: what earlier stages of the line made. */
struct views_frame {
    const uint8_t *rgb;    /* [h][w][3] */
    const uint16_t *level; /* [h][w] brightness in 1/8 levels, from unrounded colours */
    const float *depth;    /* [h][w] */
    struct rigid T_wc;
    struct intrinsics K;
    /* Its source, its submap, and how often tracking was lost before it. A walk begins where submap
     * or breaks differ from the source's last frame. */
    uint32_t source, submap, breaks;
    uint32_t goes_on; /* 1: its pose continues that frame's though its submap differs: no walk */
    uint32_t begins;  /* 1: its pose does not, though its submap is the same: a walk */
};

/* The pose of a views_frame that only an earlier stage on the device knows. */
struct views_stand {
    struct rigid T_wc;
    uint32_t begins;
};

/* Pixels of a picture at all of its sizes. */
GPU_HD static inline size_t views_pyramid_pixels(int w, int h)
{
    size_t n = 0;
    for (int l = 0; l < VIEWS_LEVELS; l++)
        n += (size_t)(w >> l) * (size_t)(h >> l);
    return n;
}

/* Lays v's maps out in memory at `base`; NULL only counts. Returns the bytes. */
size_t views_lay_out(struct views *v, uint8_t *base, int w, int h);
/* The same for v->band, in memory of the CPU. */
size_t sweep_cpu_lay_out(struct views *v, uint8_t *base);

/* The same for v->terms, in memory of the device. */
size_t refine_cuda_lay_out(struct views *v, uint8_t *base);

/* The stages of a frame, in this order. */
void plan_cpu(struct views *v, const struct views_frame *f);
void sweep_cpu(struct views *v);
void refine_cpu(struct views *v); /* refines poses and, where they changed, sweeps again */
void fine_cpu(struct views *v);   /* sweeps in fine steps, where that is worth it */
void agree_cpu(struct views *v);
void draw_cpu(struct views *v);
void field_cpu(struct views *v, const struct views_frame *f);

/* The parts of fine_cpu(). The guide lies in target[VIEWS_FINAL].depth until that is drawn. */
void agree_own_cpu(struct views *v); /* the swept keyframe's measurements alone */
void field_guide_cpu(struct views *v);
void sweep_fine_cpu(struct views *v);

#ifdef __cplusplus
}
#endif
