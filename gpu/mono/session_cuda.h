/*
 * session_cuda.h - the CUDA back end's mono session, on the device and on the host (internal
 * to gpu/ and its tests)
 *
 * A batch of frames runs as one launch a pass: blockIdx.y is the frame, and every kernel gets the
 * batch's frame_cuda array, from which it reaches its session's session_dev. Nothing that a frame
 * needs comes from the host in between: pose, co-visible keyframes, counters and the keyframe
 * decision live in session_dev.
 *
 * Passes:  a frame's time is set by the number of passes that wait for each other, so stages share
 *          passes. Behind image and depth there are five; | separates work that blocks do side by
 *          side.
 *
 *          covisible_cuda()  pose, keyframes to be tested  | usable depth and its histogram
 *          associate_cuda()  find points, claim points, votes and open cells
 *          update_cuda()     update, vote, mark won cells, count lists | decide on keyframe
 *          insert_cuda()     insert, fill maps, tell changes | count the list of unstable points
 *          remove_cuda()     write that list, free slots, write the host's result
 *
 *          A pass ends where the next one needs a result of all pixels: depth, claims, places in a
 *          list, its length.
 * Order:   lists (unstable, free, carved, changes) have the order of the CPU twin: a block adds up
 *          the counts of earlier blocks from the previous pass. Claims are 64-bit minima; a pixel
 *          that observes a point comes before all that see through it, so one claim decides both.
 *          fusion .cu files are compiled with --fmad=false, so that the twins round alike, except
 *          in exp, sin and cos.
 */
#pragma once

#include "gpu/mono/cell_point.h"
#include "gpu/mono/covisible_point.h"
#include "gpu/mono/depth_point.h"
#include "gpu/mono/view_point.h"
#include "gpu/track/path_cuda.h"
#include "gpu/track/track_cuda.h"
#include "gpu/views/views_cuda.h"
#include "gpu/base/line_cuda.h"
#include "gpu/base/point.h"
#include "proto/geom/lens.h"

#include "gpu/base/half_cuda.h"
#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A keyframe that the frame is tested against. */
struct covisible_cuda {
    uint32_t place;
    int overlap;
};

/* The counts of the model. */
struct tally_cuda {
    uint32_t n_slots, n_unstable, n_free, n_points, n_stable;
    int unstable_now;
    uint64_t next_id;
};

/* The counts of a block of pixels (scan_cuda.cuh), and of a group of blocks. */
#define SCAN_BLOCK 256
#define SCAN_GROUP 64   /* blocks of pixels whose counts are added up */
#define SCAN_CHUNKS 128 /* blocks that share a list whose length only the device knows */
#define SCAN_WIDTH 16
#define SCAN_GROUP_WIDTH 12
struct scan_counts {
    uint16_t n[SCAN_WIDTH];
};
struct scan_group {
    uint32_t n[SCAN_GROUP_WIDTH];
};

GPU_HD static inline uint32_t scan_blocks(uint32_t n)
{
    return (n + SCAN_BLOCK - 1) / SCAN_BLOCK;
}

GPU_HD static inline uint32_t scan_groups(uint32_t n)
{
    return (scan_blocks(n) + SCAN_GROUP - 1) / SCAN_GROUP;
}

/* Passes, each with its own time. */
enum session_cuda_pass {
    SESSION_CUDA_IMAGE,
    SESSION_CUDA_DEPTH,  /* the network, then metres */
    SESSION_CUDA_MOTION, /* the network */
    SESSION_CUDA_VIEWS,  /* takes no time in sessions without */
    SESSION_CUDA_COVISIBLE,
    SESSION_CUDA_ASSOCIATE,
    SESSION_CUDA_UPDATE,
    SESSION_CUDA_INSERT,
    SESSION_CUDA_REMOVE,
    SESSION_CUDA_PASSES
};

/* In device memory: the model and the state of the line between frames. Written by kernels alone
 * after session_cuda_new(). */
struct session_dev {
    struct fuse_params fuse;
    struct depth_scale depth_scale; /* focal is filled in by the first pass of each frame */
    float focal_px;                 /* of the depth network; 0 = no scaling */
    float step_m;
    int w, h;
    uint32_t n_pixels, max_points;

    /* the frame */
    uint32_t frame;
    uint32_t submap;  /* its submap: known behind SESSION_CUDA_COVISIBLE */
    uint8_t *picture; /* [max_image_h*max_image_w*3] as uploaded */
    uint8_t *rgb;     /* [h][w][3] */
    uint16_t *level;  /* [h][w] image_level() */
    /* [h][w][4] the previous picture for the motion network; NULL without one */
    __half *previous;
    float *depth;            /* [h][w] metres, 0 = none */
    uint8_t *mask;           /* [h][w] as uploaded */
    uint16_t *sensor_values; /* [GPU_SENSOR_PIXELS] as uploaded; from here on NULL or 0 without */
    uint8_t *sensor_sure;    /* the same */
    uint64_t *sensor_claims; /* [h][w], all unclaimed between frames */
    uint32_t *sensor_bins;   /* [SENSOR_BINS] */
    uint8_t *trust;          /* [h][w] trust of depth */
    int sensor_fill;         /* the network's depth fills pixels without a sensor's */
    struct camera camera;
    struct rigid T_last;
    int has_last, has_previous;
    /* where poses come from tracks, else NULL */
    struct track *track;
    struct path *path;
    struct rigid T_guess;     /* the motion network's pose */
    struct gpu_tracks tracks; /* the tracks' answer ... */
    struct views_stand stand; /* ... and the camera's pose from it */
    struct views *views;      /* depth from many views; NULL: each frame's own is fused */
    struct view view;         /* the frame's input to fusion: known behind SESSION_CUDA_COVISIBLE */

    /* covisible */
    struct covisible_cuda covisible[GPU_COVISIBLE_MAX];
    struct camera covisible_camera[GPU_COVISIBLE_MAX];
    int n_covisible;
    struct covisible_grid grid;
    uint8_t *overlap_now; /* [max_keyframes] */

    /* associate, one value a pixel */
    float *usable;
    struct vec3 *world;
    uint32_t *found, *through;
    float *distance;
    uint32_t *bins; /* [ASSOCIATE_BINS] zero between frames */
    uint32_t n_valid, n_associated;
    float median_depth_m;

    /* keyframe */
    int is_keyframe;
    uint32_t place_new, n_keyframes;
    struct keyframe *keyframes;
    uint32_t *worlds;      /* [max_keyframes] the submap of each */
    struct map_cell *maps; /* [max_keyframes][h][w] */
    uint8_t *overlaps;

    /* fuse */
    uint64_t *cell_claims; /* [n_covisible][h][w], all unclaimed between frames */
    /* bit k: an open cell in the map of covisible[k]; from update on: one that the pixel won */
    uint16_t *wins;
    uint16_t *mark;             /* [n_pixels] bits of enum scan_mark */
    struct scan_counts *counts; /* of each block of pixels */
    struct scan_group *groups;  /* of each SCAN_GROUP blocks; cleared by the first pass */
    uint64_t *chunk_counts;     /* [SCAN_CHUNKS] entries of the list that stay | that expired */
    struct tally_cuda was; /* counts before this frame: passes read them, the last ones set them */

    /* cells: the table of cubes; NULL where points are found through maps */
    struct cell_entry *table;
    uint32_t table_mask, n_entries;
    int table_worn;  /* it is empty, and the first pass refills it from the living points */
    uint64_t *key;   /* [max_points] the cube of each slot's point */
    uint32_t *entry; /* [n_pixels] where the pixel has its claim, or POINT_NONE */
    int room_short;  /* stale points may be dropped */

    /* the model, by slot */
    struct point_place *place;
    struct point_stat *stat;
    struct point_normal *normal;
    struct point_out *out;
    uint64_t *id;
    uint64_t *claims; /* all unclaimed between frames */
    /* Compaction goes from one to the other. Insertion appends to the source of the compaction:
     * points that are unstable again, then new ones. */
    uint32_t *unstable[2];
    int unstable_now;
    uint32_t *free_slots;
    uint32_t n_slots, n_unstable, n_free, n_points, n_stable;
    uint64_t next_id;

    /* remove, change */
    uint32_t *carved; /* slots, in the order of the pixels with the last vote */
    uint32_t n_carved, n_removed, n_updated, n_inserted, n_left_out;
    uint32_t n_changed, n_withdrawn; /* numbers of changes: of updated points, of carved ones */
    uint32_t n_recycled;             /* inserted points in a slot that was freed */
    uint32_t n_appended;             /* to the list of unstable points */

    unsigned long long stamp_ns[SESSION_CUDA_PASSES + 1]; /* as in result_cuda */
};

/* A frame's result for the host; in pinned memory, written by the last pass. */
struct result_cuda {
    struct gpu_result result;
    uint64_t stamp_ns[SESSION_CUDA_PASSES + 1]; /* %globaltimer when a pass began; then the end */
};

/* One frame of a batch, as kernels see it; the array is copied to the device with each batch. */
struct frame_cuda {
    struct session_dev *s; /* NULL: this place in the batch is empty */
    struct lens_map map;   /* from the uploaded picture to the network's */
    struct rigid T_wc;     /* if has_pose or has_start */
    int has_pose, has_start, restart;
    float camera_turn[3], turn_s; /* as gpu_frame.turn */
    uint32_t submap, source, breaks, goes_on;
    int turn; /* quarter turns of the depth network's picture and answer (I4) */
    int mask; /* there is one */
    int sensor_w, sensor_h, sensor_inverse, sensor_sure; /* 0 x 0: no sensor's picture */
    struct intrinsics sensor_K;
    struct lens sensor_lens;
    struct rigid sensor_T;        /* to the colour camera */
    float mean[2][3], std[2][3];  /* of the depth and of the motion network */
    __half *depth_in, *motion_in; /* this frame's place in the networks' inputs; may be NULL */
    int depth_pitch, motion_pitch;
    int rays;
    const float *depth_raw;     /* [h][w] the depth network's answer; NULL: depth is in s->depth */
    const float *motion_raw;    /* [6]; NULL without a motion network */
    struct gpu_change *changes; /* pinned host memory as the device sees it, [2*n_pixels] */
    struct result_cuda *result; /* the same */
    float *depth_out;           /* pinned [h][w] for gpu_frame.depth_out; NULL = not wanted */
    struct views_job views;     /* v NULL: the frame's own depth is fused as it is */
    struct track_job track;     /* t NULL, p NULL: the pose does not come from tracks */
    struct path_job path;
};

#define SESSION_CUDA_GUARD 256 /* unused bytes before each piece of the arena: tests watch them */

struct memory_cuda;

/* Host side. */
struct session_cuda {
    struct gpu_session base;
    struct session_dev *dev;    /* on the device */
    struct session_dev host;    /* the same when it was made: pointers and constants */
    struct views views;         /* the same of *host.views */
    struct track track;         /* of *host.track */
    struct path path;           /* of *host.path */
    struct memory_cuda *memory; /* source of arena and pinned; NULL: the driver */
    void *arena;                /* one piece of device memory */
    size_t arena_bytes;
    void *pinned; /* one piece, which the device has at the same address: */
    struct result_cuda *result;
    struct gpu_change *changes; /* [2*n_pixels] */
    float *depth_out;           /* [h][w] */
};

/* The request of the frame that `a` describes to many views. */
static inline void session_cuda_put_views(struct frame_cuda *a, const struct session_cuda *s)
{
    const struct session_dev *d = &s->host;
    if (!d->views || !(a->has_pose || d->path))
        return;
    a->views.v = d->views;
    a->views.stand = a->has_pose ? NULL : &s->dev->stand;
    a->views.frame.rgb = d->rgb;
    a->views.frame.level = d->level;
    a->views.frame.depth = d->depth;
    a->views.frame.T_wc = a->T_wc;
    a->views.frame.K = a->map.K;
    a->views.frame.source = a->source;
    a->views.frame.submap = a->submap;
    a->views.frame.breaks = a->breaks;
    a->views.frame.goes_on = a->goes_on;
    a->views.frame.begins = 0;
}

/* Its request to tracks; called after session_cuda_put_sensor(). */
static inline void session_cuda_put_tracks(struct frame_cuda *a, const struct session_cuda *s)
{
    const struct session_dev *d = &s->host;
    if (!d->path || a->has_pose)
        return;
    a->track.t = d->track;
    a->track.frame.rgb = d->rgb;
    a->track.frame.mask = a->mask ? d->mask : NULL;
    a->track.frame.restart = a->restart;
    a->path.p = d->path;
    a->path.t = d->track;
    a->path.frame.depth = d->depth;
    a->path.frame.T_wc = &s->dev->T_guess;
    a->path.frame.K = a->map.K;
    a->path.frame.restart = a->restart;
    memcpy(a->path.frame.turn, a->camera_turn, sizeof a->camera_turn);
    a->path.frame.turn_s = a->turn_s;
}

/* The depth sensor and the mask of the frame that `a` describes. Without a sensor's picture the
 * sensor has no pixels. */
static inline void session_cuda_put_sensor(struct frame_cuda *a, const struct session_cuda *s,
                                           const struct gpu_frame *f)
{
    a->mask = f->mask != NULL && s->host.mask != NULL;
    if (!f->sensor.values || !s->host.sensor_values)
        return;
    a->sensor_w = f->sensor.width;
    a->sensor_h = f->sensor.height;
    a->sensor_inverse = f->sensor.inverse;
    a->sensor_sure = f->sensor.sure != NULL;
    a->sensor_K = f->sensor.K;
    a->sensor_lens = f->sensor.lens;
    a->sensor_T = f->sensor.T_cs;
}

size_t session_cuda_bytes(const struct gpu_session_config *c);
/* c->depth may be NULL (tests): depth is then given by session_cuda_put_depth(). Arguments are
 * trusted. memory: memory_cuda_get(). Waits for `stream`. */
MUST_CHECK int session_cuda_new(struct session_cuda **s, struct gpu *g, struct memory_cuda *memory,
                                const struct gpu_session_config *c, cudaStream_t stream,
                                struct err *err);
/* Enqueues the copies of the frame's input. */
MUST_CHECK int session_cuda_upload(const struct session_cuda *s, const struct gpu_frame *f,
                                   cudaStream_t stream, struct err *err);
/* Requires that its last frame is over. */
void session_cuda_free(struct session_cuda **s);
MUST_CHECK int session_cuda_put_depth(struct session_cuda *s, const float *depth,
                                      cudaStream_t stream, struct err *err);

/* As gpu_session_save() and gpu_session_load(); on `stream`, which they wait for. The session's
 * last frame must be over and its next one not yet enqueued. */
size_t session_cuda_state_bytes(const struct session_cuda *s, cudaStream_t stream);
MUST_CHECK int session_cuda_save(const struct session_cuda *s, uint8_t *buf, size_t cap,
                                 size_t *len, cudaStream_t stream, struct err *err);
MUST_CHECK int session_cuda_load(struct session_cuda *s, const uint8_t *buf, size_t len,
                                 cudaStream_t stream, struct err *err);

/* Passes: kernels for a batch of struct frame_cuda. */
pass_cuda_fn image_cuda, depth_cuda, depth_end_cuda, sensor_cuda, covisible_cuda, associate_cuda,
    update_cuda, insert_cuda, remove_cuda, views_cuda, follow_cuda;

/* line_mono_cuda.c: the host's work for every line of pictures. Its arguments are frame_cuda. A
 * line without a map ends with the depth pass (its network, then metres) and depth_end_cuda(). */
pass_cuda_fn line_mono_cuda_depth;
extern const struct gpu_session_ops line_mono_cuda_session;
void line_mono_cuda_describe(void *arg, const struct graph_cuda *graph, int at,
                             const struct gpu_item *item);
MUST_CHECK int line_mono_cuda_upload(struct gpu_item *item, cudaStream_t stream, struct err *err);
void line_mono_cuda_take(struct gpu_item *item);

#ifdef __cplusplus
}
#endif
