/*
 * gpu.h - the device contract: open a back end, give it networks, sessions and their items
 *
 * A session belongs to a line (struct gpu_line): a table of stages that each item of the session,
 * such as a frame of a video, runs through. gpu_submit() starts a batch of items of one line, at
 * most one item a session, and returns at once (on the CPU the work is then done). Results may be
 * read after gpu_wait(). Up to GPU_BATCHES batches of different sessions may be under way; the
 * caller waits for them in the order of submission.
 *
 * Threads: two threads, or one in both roles, own a device. One runs items: gpu_submit(),
 *          gpu_wait() and gpu_session_save(). The other makes and frees what items need, which may
 *          be slow: gpu_model_*(), gpu_session_new(), _load(), _free(), gpu_get_info(). Only one of
 *          them uses a session at a time. While a device is opened or closed no other thread may
 *          use it.
 * Frames:  poses T_wc take camera points (OpenCV axes) to the session's world. Depth is metres
 *          along z.
 * Sizes:   every map of a session is [net_h][net_w]; K is scaled to that size by the image stage.
 * Order:   results do not depend on thread order or on what else is in the batch: the same items
 *          give the same changes, bit for bit, in every run of a back end (MATH.md, "Claims").
 */
#pragma once

#include "gpu/mono/mono_params.h"
#include "proto/err.h"
#include "proto/geom/lens.h"
#include "proto/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPU_COVISIBLE_MAX 9 /* the paper studies 2 to 9 */
#define GPU_BATCH_MAX 64
#define GPU_SUBMAPS_MAX 256 /* submaps of a session */
#define GPU_BATCHES 2       /* under way at once */
#define GPU_PASSES_MAX 16   /* of a line */
#define GPU_SIDE_MAX 2048   /* of a network input */
#define GPU_PATH_CAP 512
#define GPU_NAME_CAP 64
#define GPU_BREAKS_OVER UINT32_MAX /* gpu_frame.breaks of an item without a picture */
#define GPU_TRACKS_SIDE_LEAST 64 /* least side of a picture in pixels, if poses come from tracks */
#define GPU_SENSOR_PIXELS (640 * 512) /* of a depth sensor's picture, at most */
#define GPU_VOXELS_SIDE_MAX 2048      /* voxels along an axis of a volume, at most */
#define GPU_VOXELS_MAX 1073741824u    /* in all of it */
#define GPU_VOXELS_ITERATIONS 8       /* of a view, at most (MATH.md (O8)) */

/* ---------------------------------------------------------------------------------- devices */

struct gpu;

struct gpu_config {
    const char *device; /* "auto", "cpu", "cuda", "cuda:1" */
    int threads;        /* of the CPU back end; 0 = one a core */
    int batch;          /* largest batch that will come; 0 = GPU_BATCH_MAX */
    /* CUDA: folder for measurements of the networks, NULL or "" = none are kept */
    const char *cache_path;
    /* CUDA: bytes of device memory taken at once for sessions, at most an eighth of the device's;
     * more is taken when needed */
    uint64_t reserve_bytes;
};

struct gpu_info {
    char backend[8];                                /* "cpu", "cuda" */
    char device[GPU_NAME_CAP];                      /* "cpu", "cuda:0" */
    char model[GPU_NAME_CAP];                       /* the processor's own name */
    char why[160];                                  /* what `auto` chose and why: one log line */
    uint64_t memory_total_bytes, memory_used_bytes; /* used = allocated by this process */
    int threads;
    float temperature_c; /* NAN = not known */
    int jpeg_engines;    /* of the card, for gpu_decode() */
};

MUST_CHECK int gpu_open(struct gpu **g, const struct gpu_config *config, struct err *err);
void gpu_close(struct gpu **g);
void gpu_get_info(const struct gpu *g, struct gpu_info *info);
/* CUDA devices that this build and machine have; 0 without. Any thread. */
int gpu_cuda_count(void);

/* Memory for pictures that uploads fast (pinned). Any thread, but no longer than the device. NULL:
 * there is none. */
void *gpu_host_get(struct gpu *g, size_t bytes);
void gpu_host_put(struct gpu *g, void *memory, size_t bytes);

/* A JPEG whose headers (proto/image/jpeg.h) say that every decoder reads it alike. */
struct gpu_jpeg {
    const uint8_t *data;
    size_t len;
    int width, height; /* of the picture */
    uint8_t *rgb;      /* out: [h][w][3], of gpu_host_get() */
    int w, h;          /* of jpeg_scaled_size(): 1, 1/2, 1/4 or 1/8 of the picture */
};

/*
 * gpu_decode - decode on the device's own JPEG engines; waits for one, then for the picture
 *
 * The picture differs from jpeg_decode()'s by rounding (MATH.md (I0)). The engines decode a file
 * without error even if it has damage that its headers do not show.
 * Returns: 0; ERR_UNSUPPORTED: no engine takes the file, so the caller uses jpeg_decode();
 *          ERR_MEMORY; ERR_DEVICE: the context is lost
 * Threads: any, but no longer than the device
 */
MUST_CHECK int gpu_decode(struct gpu *g, const struct gpu_jpeg *jpeg, struct err *err);

/* ---------------------------------------------------------------------------------- networks */

enum gpu_model_kind { GPU_MODEL_DEPTH, GPU_MODEL_MOTION, GPU_MODEL_KINDS };

enum gpu_depth_output {
    GPU_OUTPUT_DEPTH,   /* metres at focal_px */
    GPU_OUTPUT_INVERSE, /* 1 / metres at focal_px */
    /* s in 0...1: 1/d = 1/max + s (1/min - 1/max), (min, max) = disparity_range_m */
    GPU_OUTPUT_DISPARITY,
    GPU_OUTPUT_LOG /* ln metres at focal_px */
};

/* What a sidecar declares about an ONNX file (docs/MODELS.md, "Sidecar"). */
struct gpu_model_info {
    enum gpu_model_kind kind;
    char name[GPU_NAME_CAP];
    char path[GPU_PATH_CAP];
    /* tensors of the graph; "" = its only one */
    char input[GPU_NAME_CAP], output_name[GPU_NAME_CAP];
    float mean[3], std[3];        /* picture in 0...1, then (x - mean) / std */
    enum gpu_depth_output output; /* depth models */
    float disparity_range_m[2];
    /* metres = converted value * sqrt(fx fy) of the network's picture / focal_px; 0 = no such
     * scaling */
    float focal_px;
    float min_depth_m, max_depth_m; /* outside: no depth */
    /* motion models: two ray maps (x-cx)/fx, (y-cy)/fy follow the pictures */
    int rays;
    int multiple; /* sides of the input are multiples of this */
    char licence[GPU_NAME_CAP];
    struct params_overrides overrides; /* of what stages were tuned with */
};

struct gpu_model; /* weights on a device; shared by all its sessions */

/* Returns: 0; ERR_INPUT, ERR_UNSUPPORTED (err->where names node and op), ERR_LIMIT, ERR_MEMORY,
 * ERR_IO */
MUST_CHECK int gpu_model_open(struct gpu_model **m, struct gpu *g,
                              const struct gpu_model_info *info, struct err *err);
void gpu_model_close(struct gpu_model **m);

/* ---------------------------------------------------------------------------------- lines */

struct gpu_item;
struct gpu_session;
struct gpu_session_config;
struct gpu_session_ops;

/* One stage of a line: what it does to an item on the CPU is its specification. */
struct gpu_stage {
    const char *name;
    int (*run)(struct gpu_item *item, struct err *err);
    const char *reads, *leaves;
};

/*
 * struct gpu_line - what the items of a session run through, as data
 *
 * Each line is one constant, in gpu/<name>/line_<name>.c. The CPU back end walks its stages; the
 * CUDA back end has a table of passes for it (gpu/base/line_cuda.h), which share stages where that
 * saves time.
 */
struct gpu_line {
    const char *name;
    const struct gpu_stage *stages;
    int n_stages;
    /* of two lines with new items the one with the lower number gets the next batch, the other line
     * the batch after that */
    int priority;
    float weight; /* charge for a microsecond of device time; mono's is 1 */
    /* Networks, as bits 1 << enum gpu_model_kind: those that a session needs, and those that it may
     * have. */
    unsigned needs, takes;
    /* a session keeps keyframes and points between items, else nothing */
    int has_map;
    /* Can a session have this configuration? NULL: has_map decides. Returns 0; ERR_INPUT */
    int (*check_config)(const struct gpu_session_config *c, struct err *err);
    /* Does the item fit its session? Returns 0; ERR_INPUT */
    int (*check)(const struct gpu_item *item, struct err *err);
    const struct gpu_session_ops *cpu; /* of its sessions (gpu/base/ops.h) */
    /* Does the back end compute the same as the CPU on this machine? Returns 0; ERR_UNSUPPORTED: it
     * does not; other failures. NULL: there is nothing to ask */
    int (*selftest)(struct gpu *g, struct gpu *cpu, struct err *err);
};

/*
 * The lines of this build, and all that names them: X(name) is gpu_line_<name> and, for CUDA,
 * line_<name>_cuda (gpu/base/line_cuda.h).
 *   mono    a camera's frames become a map of points
 *   depth   each frame becomes a depth map, and nothing is kept
 *   panorama  pairs of pictures that see all around carve a volume of voxels
 */
#define GPU_LINES(X) X(mono) X(depth) X(panorama)

#define GPU_LINE_DECLARE(name) extern const struct gpu_line gpu_line_##name;
GPU_LINES(GPU_LINE_DECLARE)
#undef GPU_LINE_DECLARE

/* Line i of this build in a fixed order, NULL behind the last one; the line of this name, or NULL.
 */
const struct gpu_line *gpu_line_at(int i);
const struct gpu_line *gpu_line_find(const char *name);

/* ---------------------------------------------------------------------------------- sessions */

/* Constants of algorithms "Fusion"; docs/MATH.md gives each its equation. Lengths ending in _rel
 * are a share of the point's depth. fuse_params_default() fills in the tuned values. */
struct fuse_params {
    int n_covisible;        /* n of the paper: keyframes that a frame is tested against, 2...9 */
    int max_keyframes;      /* kept in all; beyond that the least useful one is dropped */
    float w0, w_max, sigma; /* w0 = 1, W_eps = 100, sigma = 0.6 */
    float gate_rel;         /* association: |p_i - p| <= gate_rel * z */
    float initial_rel;      /* C_c of a new point */
    float stable_rel;       /* stable below, minus/plus the hysteresis */
    float hysteresis_rel;
    int min_observations;
    int grace_frames; /* an unstable point that is not seen for so long is removed */
    int carve_votes;  /* frames that see through a point before it is removed */
    float carve_rel;  /* how far in front of the measured surface counts as seen through */
    /* a pixel beside a depth step larger than this is not fused; 0 = all are */
    float edge_rel;
    float min_depth_m, max_depth_m;
    /* new keyframe: moved farther than this share of the median depth ... */
    float kf_translation_rel;
    float kf_rotation_rad; /* ... or turned more than this ... */
    float kf_new_share;    /* ... or more than this share of the pixels found no point */
    /* a stable point is sent again when it moved by this share of its depth ... */
    float publish_rel;
    int publish_colour; /* ... or a colour channel by this much, of 255 */
    /* 1: a pixel finds points by the cube of space that they lie in; 0: by the keyframes' maps */
    int cells;
    /* cells only: side of a cube up to the depth cell_depth_m; each octave beyond doubles it */
    float cell_m, cell_depth_m;
    struct mono_params mono; /* a session's values, with its networks' overrides */
};
void fuse_params_default(struct fuse_params *p); /* the paper's rules */
void fuse_params_cells(struct fuse_params *p);   /* points in cubes of space */
/* Returns 0, or ERR_INPUT with where = "/fusion/<field>" and what is allowed. */
MUST_CHECK int fuse_params_check(const struct fuse_params *p, struct err *err);

/* Where the depth of a session with a map comes from. */
enum gpu_depth_source {
    GPU_DEPTH_NETWORK,
    GPU_DEPTH_SENSOR, /* the frames' own depth sensor; no network runs */
    GPU_DEPTH_BOTH    /* the sensor; where it sees nothing, the network */
};

/* Depth from many views: a keyframe is matched with views whose poses are taken as given, or are
 * first refined by the pictures (MATH.md (V17)-(V20)). */
enum gpu_views_kind { GPU_VIEWS_NONE, GPU_VIEWS_GIVEN, GPU_VIEWS_REFINED };

/* What makes a voxel opaque: similar colours in both pictures, as in the paper, or distances
 * measured in pairs (MATH.md (Y1)-(Y7)). */
enum gpu_consistency { GPU_CONSISTENCY_PAPER, GPU_CONSISTENCY_PATCH };

/* A box of voxels, its faces across the world's axes (gpu/panorama/voxel_point.h). */
struct gpu_volume {
    float min_m[3]; /* world: its lowest corner */
    float voxel_m;
    int up;   /* the world's vertical axis, 0 ... 2; which way is up does not matter */
    int n[3]; /* voxels along axes up + 1, up + 2 and up */
};

struct gpu_session_config {
    const struct gpu_line *line;
    int net_w, net_h; /* multiples of the models' `multiple` */
    /* largest picture: this many pixels, and no side longer than the longer of these */
    int max_image_w, max_image_h;
    struct gpu_model *depth;
    struct gpu_model *motion; /* mono: NULL = every frame has its pose */
    /* of a line with a map */
    float step_m; /* quantum of published positions */
    /* slots of the model; points beyond that are counted and dropped */
    uint32_t max_points;
    struct fuse_params fuse;
    /* frames with poses get depth from many views: requires fuse.cells and the network's depth */
    enum gpu_views_kind views;
    enum gpu_depth_source depth_source;
    /* panorama: the volume; the distance of two colours from which on they differ, in levels; the
     * largest angle to a camera's axis at which its picture is used; max_points bounds what a view
     * publishes */
    struct gpu_volume volume;
    enum gpu_consistency consistency;
    float colour_levels, field_rad;
    /* the same: panorama: 0 = an item has both pictures of a pair; else items come from one camera,
     * and a picture pairs with an earlier one taken 1 to 4 times this distance away */
    float baseline_m;
    /* 1: a frame without a pose gets it from tracks, or from the motion network while tracks are
     * lost; requires a motion network and sides of at least 64 */
    int tracks;
};

/* Device bytes that a session of this configuration will hold: what admission counts. */
size_t gpu_session_bytes(const struct gpu_session_config *c);
/* Returns: 0; ERR_INPUT; ERR_MEMORY; ERR_UNSUPPORTED. Allocates all that the session will ever use;
 * the first session of a size makes the networks for it, which may take seconds. */
MUST_CHECK int gpu_session_new(struct gpu_session **s, struct gpu *g,
                               const struct gpu_session_config *c, struct err *err);
void gpu_session_free(struct gpu_session **s);

/*
 * gpu_session_sideways - make the depth network for pictures turned by one or three quarters, whose
 * input is net_h x net_w; called between two items of the session
 *
 * Returns: 0, also if it was made before; else as gpu_session_new()
 */
MUST_CHECK int gpu_session_sideways(struct gpu_session *s, struct err *err);
int gpu_session_is_sideways(const struct gpu_session *s);

/*
 * gpu_session_save / gpu_session_load - a session between two of its frames, as bytes
 *
 * A session that was loaded goes on as the saved one would have, bit for bit: same networks, same
 * configuration, same back end. Back ends read each other's bytes, then differ as always.
 * In:      save: buf [cap], gpu_session_state_bytes() of now is enough. load: a session that has
 *          had no item; the bytes, at a multiple of 16, are untrusted, and all of them are checked
 *          first; sections of other owners are skipped
 * Returns: 0; ERR_LIMIT: cap; ERR_STATE: not a new session; ERR_INPUT: not such a state, or one of
 *          another shape; ERR_UNSUPPORTED: another build's; ERR_MEMORY; ERR_DEVICE. On errors other
 *          than the last nothing changes.
 * Runs:    between gpu_wait() of the session's last item and gpu_submit() of its next one; waits
 *          for its own copies
 * Cost:    80 bytes a slot, 4 a cell of each keyframe's map
 */
/* 0: the device is lost, or the line keeps no state between items */
size_t gpu_session_state_bytes(struct gpu_session *s);
/* A state is a row of sections (proto/section.h) whose tags begin with 'G'. Returns the highest
 * version of a section that load() reads; 0: unknown section. */
unsigned gpu_session_reads(uint32_t tag);
MUST_CHECK int gpu_session_save(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len,
                                struct err *err);
MUST_CHECK int gpu_session_load(struct gpu_session *s, const uint8_t *buf, size_t len,
                                struct err *err);

/* ---------------------------------------------------------------------------------- items */

/* How long a pass took. A back end names its passes after what they do; the CPU's passes are the
 * line's stages. */
struct gpu_pass_time {
    const char *name;
    float us;
};

/* The beginning of every line's item. */
struct gpu_item {
    struct gpu_session *session;
    /* Quarter turns, clockwise, that put its picture upright for the depth network, 0...3; odd ones
     * need gpu_session_sideways() */
    int turn;
    /* after gpu_wait() */
    struct gpu_pass_time passes[GPU_PASSES_MAX];
    int n_passes;
    float device_us; /* its share of the batch's device time */
    int batch;       /* the back end's own */
};

/*
 * gpu_submit / gpu_wait - a batch of items of one line
 *
 * In/out:  items [n] of different sessions, 1 ... GPU_BATCH_MAX; what an item points to stays valid
 *          until gpu_wait(), which takes the same items
 * Returns: 0; ERR_INPUT: an item does not fit its session; ERR_STATE: GPU_BATCHES batches are under
 *          way; ERR_DEVICE: the context is lost; what a stage says. When gpu_submit() fails nothing
 *          of the batch is under way
 * Runs:    gpu_submit() enqueues and does not wait
 */
MUST_CHECK int gpu_submit(struct gpu *g, const struct gpu_line *line, struct gpu_item *const *items,
                          int n, struct err *err);
MUST_CHECK int gpu_wait(struct gpu *g, struct gpu_item *const *items, int n, struct err *err);

/* --------------------------------------------------------------------------------- mono's items */

enum gpu_change_kind { GPU_CHANGE_PUT = 1, GPU_CHANGE_REMOVE = 2 };

/* One published point that changed. A put replaces what the slot held. */
struct gpu_change {
    uint64_t id;    /* never used again in the session */
    uint32_t slot;  /* where the model keeps it; < max_points */
    int32_t p_q[3]; /* round(p / step_m), world */
    uint8_t rgb[3];
    uint8_t confidence; /* 1...15: seen at least 2^(confidence + 1) times; 1 has no minimum */
    uint8_t kind;       /* enum gpu_change_kind */
    uint8_t pad;
    uint16_t normal; /* surface direction: a code of proto/geom/octa.h, 0 = not known */
};

/* What many views tell about the poses (MATH.md (V14), (V15)); zeros in sessions without them. */
struct gpu_views {
    uint32_t n_keyframes, n_refined; /* keyframes taken so far; those of them that are final */
    /* kept keyframes of this submap with measurements; those of them whose measurements confirm
     * each other; pixels of the latter */
    uint32_t n_judged, n_sound, n_measured, n_confirmed;
    uint32_t n_frozen; /* frames in a row whose pose stood still while pictures changed */
    /* median log2 of measured depth / network's depth; 0: nothing was measured */
    float log_scale;
    float log_sigma; /* its standard error; 0: nothing was measured */
};

/* What tracks tell about a frame's pose (MATH.md (P9)). */
enum gpu_tracks_state {
    GPU_TRACKS_NONE,  /* the session or the frame has no tracks */
    GPU_TRACKS_BEGUN, /* first frame, or first one after a restart */
    GPU_TRACKS_FOUND, /* the pose comes from tracks */
    GPU_TRACKS_LOST   /* the pose comes from the motion network */
};
struct gpu_tracks {
    enum gpu_tracks_state state;
    uint32_t n_landmarks, n_inliers; /* tracks; those of them that agree with the pose */
    float error_px;                  /* root mean square of the inliers */
    float log_scale;                 /* ln of the network's depth over the landmarks' ... */
    float log_sigma;                 /* ... its standard error; 0: tracks did not say it */
};

struct gpu_result {
    struct rigid T_wc; /* the pose that was used: given, or from tracks or ego-motion */
    /* The submap of the changed points: the frame's, or that of an earlier frame now final. */
    uint32_t submap;
    int is_keyframe;
    uint32_t n_keyframes; /* kept, after this frame */
    uint32_t n_covisible; /* keyframes that it was tested against */
    uint32_t n_valid;     /* pixels with usable depth */
    uint32_t n_associated, n_updated, n_inserted, n_removed, n_carved;
    uint32_t n_left_out;         /* no slot: the point budget is used up */
    uint32_t n_points, n_stable; /* of the model, after this frame */
    uint32_t n_changes;
    float median_depth_m;
    struct gpu_views views;
    struct gpu_tracks tracks;
};

/* What a depth sensor beside the colour camera saw. */
struct gpu_sensor {
    /* host [height][width], 0 = no depth; NULL: no depth picture */
    const uint16_t *values;
    const uint8_t *sure; /* host [height][width] 255 sure ... 0 not at all; NULL = sure */
    int width, height;   /* GPU_SENSOR_PIXELS at most */
    int inverse;         /* metres are 6553.5 / value; else value / 1000 */
    struct intrinsics K; /* of its picture */
    struct lens lens;
    struct rigid T_cs; /* sensor to colour camera */
};

/* One frame on its way through the device; owned by the worker. */
struct gpu_frame {
    struct gpu_item item;
    const uint8_t *rgb;  /* host, packed [height][width][3] */
    int width, height;   /* of rgb */
    struct intrinsics K; /* of rgb */
    struct lens lens;    /* results refer to the camera that lens_map_make() returns */
    int has_pose;
    /* the pose if has_pose; if has_start, the pose of a session's first frame, else the identity */
    struct rigid T_wc;
    int has_start;
    /* How the camera of a frame without a pose turned since the session's last frame, turn_s
     * seconds ago: the quaternion (1, turn/2), normalised, takes its directions to those of the
     * earlier camera. turn_s 0: the turn is not known. */
    float turn[3], turn_s;
    /* tracking was lost or a submap begins: the previous frame tells nothing about this one */
    int restart;
    /* The submap that T_wc is in, 0 ... GPU_SUBMAPS_MAX - 1 within the session. Submaps may change
     * between frames and never share a point. */
    uint32_t submap;
    /* the first frame of its submap, whose T_wc continues the path of its source's last frame */
    int goes_on;
    /* The frame's source, and how many breaks the source had before: tracking was lost, or its pose
     * jumped without a new submap. Many views keep sources apart and use no keyframe from before a
     * break. GPU_BREAKS_OVER: the item has no picture and ends the source's walk; it has a pose if
     * the frames have one. */
    uint32_t source, breaks;
    struct gpu_sensor sensor; /* not for depth_source = network */
    const uint8_t *mask;      /* host [net_h][net_w], not 0 = not fused; NULL = all are fused */
    float *depth_out;         /* optional, host [net_h][net_w]: a copy of the depth map, 0 = none */
    struct gpu_result result; /* valid after gpu_wait() */
    /* [result.n_changes], the session's own buffer, until its next frame */
    const struct gpu_change *changes;
};

/* ----------------------------------------------------------------------------- panorama's items */

/* One published voxel that changed: it became opaque or transparent, or has another colour. */
struct gpu_voxel_change {
    uint32_t voxel; /* its number in the volume */
    uint8_t rgb[3];
    uint8_t kind; /* enum gpu_change_kind */
};

/* What the session did with an item's pictures. */
enum gpu_paired {
    /* nothing: no picture, or the camera has not moved by baseline_m */
    GPU_PAIRED_NONE,
    /* baseline_m: the picture is kept for a pair with a later one */
    GPU_PAIRED_KEPT,
    GPU_PAIRED_LAID /* a pair was applied to the volume; baseline_m: its first picture is kept */
};

struct gpu_pair_result {
    uint32_t paired;     /* enum gpu_paired */
    uint32_t iterations; /* GPU_VOXELS_ITERATIONS at most */
    uint32_t settled;    /* the last iteration changed no visibility */
    uint32_t n_opaque;   /* voxels of the volume, after this view */
    uint32_t n_changes;
    uint32_t n_waiting; /* changes without room here; they come first in the next item */
};

/* A picture, and the camera that took it. */
struct gpu_pair_eye {
    const uint8_t *rgb; /* host, packed [height][width][3] */
    int width, height;
    struct intrinsics K;
    struct lens lens;
    struct rigid T_wc;
};

/* Two pictures, taken at the same moment one above the other. If baseline_m is set, eye[0] is the
 * only one here and the session has kept the other. */
struct gpu_pair {
    struct gpu_item item;
    int rest; /* no view: the item only fetches waiting changes, eye[] is not used */
    struct gpu_pair_eye eye[2];
    struct gpu_pair_result result; /* valid after gpu_wait() */
    /* [result.n_changes], the session's own buffer, until its next item; in the order of voxels */
    const struct gpu_voxel_change *changes;
};

#ifdef __cplusplus
}
#endif
