/*
 * gpu.h - the device contract: open a back end, give it networks, sessions and frames
 *
 * One back end (`cpu`, `cuda`) runs the whole of a frame's arithmetic behind a dozen stage-sized
 * verbs. Verbs that take frames enqueue work and return at once (the CPU back end has done it by
 * then); gpu_wait() is the only one that waits, and only after it may results and changes be read.
 *
 *     upload -> image -> depth -> motion
 *     -> covisible -> associate -> keyframe -> fuse -> remove -> change -> download
 *     wait
 *
 * All verbs take the whole batch, one frame a session. A back end may hold work back until
 * gpu_download() and launch it as one. Up to GPU_FLIGHTS batches of different sessions may be
 * between upload and wait; they are waited for in the order in which they were uploaded.
 *
 * Threads: two own a device, and one may be both. One runs frames: every verb that takes them, and
 *          gpu_session_save(). The other makes and frees what frames need, which may take long:
 *          gpu_model_*(), gpu_session_new(), _load(), _free(), gpu_get_info(). A session is with
 *          one of them at a time. Opening and closing is for whoever is alone with the device.
 * Frames:  poses T_wc take camera points (OpenCV axes) to the session's world. Depth is metres
 *          along z.
 * Sizes:   every map of a session is [net_h][net_w]; K is scaled to that size by the image stage.
 * Order:   results do not depend on thread order or on what else is in the batch: the same frames
 *          give the same changes, bit for bit, in every run of a back end (MATH.md, "Claims").
 */
#ifndef RECOND_GPU_GPU_H
#define RECOND_GPU_GPU_H

#include "proto/err.h"
#include "proto/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPU_COVISIBLE_MAX 9 /* the paper's study: 2 to 9 */
#define GPU_BATCH_MAX 64
#define GPU_FLIGHTS 2     /* batches under way */
#define GPU_SIDE_MAX 2048 /* of a network input */
#define GPU_PATH_CAP 512
#define GPU_NAME_CAP 64

/* ---------------------------------------------------------------------------------- devices */

struct gpu;

struct gpu_config {
    const char *device; /* "auto", "cpu", "cuda", "cuda:1" */
    int threads;        /* of the CPU back end; 0 = one a core */
    int batch;          /* largest batch that will come; 0 = GPU_BATCH_MAX */
    /* CUDA: folder for what was measured of the networks, NULL or "" = nothing is kept */
    const char *cache_path;
    /* CUDA: device memory for sessions that is taken at once, as far as an eighth of the device's
     * is enough for it; more is taken when it is needed. 0 = none */
    uint64_t reserve_bytes;
    /* CUDA: milliseconds in which a device that has not done its batch must show that it is alive;
     * one that does not is lost (ERR_DEVICE), at the latest after twice that, if it is ours alone.
     * 0, and among others: when the driver tells of a fault */
    int answer_ms;
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
    /* CUDA: no other program is on the device, as far as the driver tells: its silence counts
     * (gpu_config.answer_ms) */
    int alone;
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

/* A JPEG whose headers were read (proto/image/jpeg.h) and say that every decoder reads it alike. */
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
 * What comes out differs from jpeg_decode()'s by rounding, and where a file is damaged in ways that
 * its headers do not show the engines make something of it. MATH.md (I0).
 * Returns: 0; ERR_UNSUPPORTED: no engines, or not for such a file: jpeg_decode() it; ERR_MEMORY;
 *          ERR_DEVICE: the context is lost
 * Threads: any, but no longer than the device
 */
MUST_CHECK int gpu_decode(struct gpu *g, const struct gpu_jpeg *jpeg, struct err *err);

/* ---------------------------------------------------------------------------------- networks */

enum gpu_model_kind { GPU_MODEL_DEPTH, GPU_MODEL_MOTION };

enum gpu_depth_output {
    GPU_OUTPUT_DEPTH,   /* metres at focal_px */
    GPU_OUTPUT_INVERSE, /* 1 / metres at focal_px */
    /* s in 0...1: 1/d = 1/max + s (1/min - 1/max), (min, max) = disparity_range_m */
    GPU_OUTPUT_DISPARITY,
    GPU_OUTPUT_LOG /* ln metres at focal_px */
};

/* What is declared beside an ONNX file (docs/MODELS.md, "Sidecar"). */
struct gpu_model_info {
    enum gpu_model_kind kind;
    char name[GPU_NAME_CAP];
    char path[GPU_PATH_CAP];
    /* tensors of the graph; "" = its only one */
    char input[GPU_NAME_CAP], output_name[GPU_NAME_CAP];
    float mean[3], std[3];        /* picture in 0...1, then (x - mean) / std */
    enum gpu_depth_output output; /* depth models */
    float disparity_range_m[2];
    /* metres = converted value * fx_network / focal_px; 0 = no such scaling */
    float focal_px;
    float min_depth_m, max_depth_m; /* outside: no depth */
    /* motion models: two ray maps (x-cx)/fx, (y-cy)/fy follow the pictures */
    int rays;
    int multiple; /* sides of the input are multiples of this */
    char licence[GPU_NAME_CAP];
};

struct gpu_model; /* weights on a device; shared by all its sessions */

/* Returns: 0; ERR_INPUT, ERR_UNSUPPORTED (err->where names node and op), ERR_LIMIT, ERR_MEMORY,
 * ERR_IO */
MUST_CHECK int gpu_model_open(struct gpu_model **m, struct gpu *g,
                              const struct gpu_model_info *info, struct err *err);
void gpu_model_close(struct gpu_model **m);

/* ---------------------------------------------------------------------------------- sessions */

/* Constants of algorithms "Fusion"; docs/MATH.md gives each its equation. Lengths ending in _rel
 * are a share of the point's depth. fuse_params_default() fills in the tuned values. */
struct fuse_params {
    int n_covisible;        /* n of the paper: keyframes that a frame is tested against, 2...9 */
    int max_keyframes;      /* kept in all; the least useful one is given up beyond */
    float w0, w_max, sigma; /* w0 = 1, W_eps = 100, sigma = 0.6 */
    float gate_rel;         /* association: |p_i - p| <= gate_rel * z */
    float initial_rel;      /* C_c of a new point */
    float stable_rel;       /* stable below, minus/plus the hysteresis */
    float hysteresis_rel;
    int min_observations;
    int grace_frames; /* an unstable point not seen for so long goes */
    int carve_votes;  /* frames that see through a point before it goes */
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
};
void fuse_params_default(struct fuse_params *p);
/* Returns 0, or ERR_INPUT with where = "/fusion/<field>" and what is allowed. */
MUST_CHECK int fuse_params_check(const struct fuse_params *p, struct err *err);

struct gpu_session_config {
    int net_w, net_h;             /* multiples of the models' `multiple` */
    int max_image_w, max_image_h; /* largest decoded picture that will be uploaded */
    struct gpu_model *depth;      /* needed */
    struct gpu_model *motion;     /* NULL: every frame brings its pose */
    float step_m;                 /* quantum of published positions */
    /* slots of the model; beyond it new points are left out and counted */
    uint32_t max_points;
    struct fuse_params fuse;
};

struct gpu_session;

/* Device bytes that a session of this configuration will hold: what admission counts. */
size_t gpu_session_bytes(const struct gpu_session_config *c);
/* Returns: 0; ERR_INPUT; ERR_MEMORY; ERR_UNSUPPORTED. Sets aside all that the session will ever
 * use; the first one of a size makes the networks for it, which may take seconds. */
MUST_CHECK int gpu_session_new(struct gpu_session **s, struct gpu *g,
                               const struct gpu_session_config *c, struct err *err);
void gpu_session_free(struct gpu_session **s);

/*
 * gpu_session_save / gpu_session_load - a session between two of its frames, as bytes
 *
 * A session that was loaded goes on as the saved one would have, bit for bit: same networks, same
 * configuration, same back end. Back ends read each other's bytes; what then differs is what always
 * differs between them.
 * In:      save: buf [cap], gpu_session_state_bytes() of now is enough. load: a session that has
 *          had no frame; the bytes, from a multiple of 16 on, may be a stranger's, and all of them
 *          are checked first; sections of other owners are passed over
 * Returns: 0; ERR_LIMIT: cap; ERR_STATE: not a new session; ERR_INPUT: not such a state, or one of
 *          another shape; ERR_UNSUPPORTED: another build's; ERR_MEMORY; ERR_DEVICE. On errors other
 *          than the last nothing changes.
 * Runs:    between gpu_wait() of the session's last frame and gpu_upload() of its next one; waits
 *          for its own copies
 * Cost:    72 bytes a slot, 4 a cell of each keyframe's map
 */
size_t gpu_session_state_bytes(struct gpu_session *s); /* 0: the device is lost */
/* A state is a row of sections (proto/section.h) whose tags begin with 'G'. Which version of a
 * section load() reads at most; 0: it does not know it. */
unsigned gpu_session_reads(uint32_t tag);
MUST_CHECK int gpu_session_save(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len,
                                struct err *err);
MUST_CHECK int gpu_session_load(struct gpu_session *s, const uint8_t *buf, size_t len,
                                struct err *err);

/* ---------------------------------------------------------------------------------- frames */

enum gpu_stage {
    GPU_STAGE_UPLOAD,
    GPU_STAGE_IMAGE,
    GPU_STAGE_DEPTH,
    GPU_STAGE_MOTION,
    GPU_STAGE_COVISIBLE,
    GPU_STAGE_ASSOCIATE,
    GPU_STAGE_KEYFRAME,
    GPU_STAGE_FUSE,
    GPU_STAGE_REMOVE,
    GPU_STAGE_CHANGE,
    GPU_STAGE_DOWNLOAD,
    GPU_STAGES
};
const char *gpu_stage_name(enum gpu_stage stage);

enum gpu_change_kind { GPU_CHANGE_PUT = 1, GPU_CHANGE_REMOVE = 2 };

/* One published point that changed. A put replaces what the slot held. */
struct gpu_change {
    uint64_t id;    /* never used again in the session */
    uint32_t slot;  /* where the model keeps it; < max_points */
    int32_t p_q[3]; /* round(p / step_m), world */
    uint8_t rgb[3];
    uint8_t confidence; /* 1 stable, 2 seen 16 times or more, 3 seen 64 times or more */
    uint8_t kind;       /* enum gpu_change_kind */
    uint8_t pad[3];
};

struct gpu_result {
    struct rigid T_wc; /* the pose that was used: given, or composed from ego-motion */
    int is_keyframe;
    uint32_t n_keyframes; /* kept, after this frame */
    uint32_t n_covisible; /* keyframes that it was tested against */
    uint32_t n_valid;     /* pixels with usable depth */
    uint32_t n_associated, n_updated, n_inserted, n_removed, n_carved;
    uint32_t n_left_out;         /* no slot: the point budget is used up */
    uint32_t n_points, n_stable; /* of the model, after this frame */
    uint32_t n_changes;
    float median_depth_m;
    float stage_us[GPU_STAGES];
};

/* One frame on its way through the device; owned by the worker. */
struct gpu_frame {
    struct gpu_session *session;
    const uint8_t *rgb;  /* host, packed [height][width][3]; stays valid until gpu_wait() */
    int width, height;   /* of rgb */
    struct intrinsics K; /* of rgb */
    int has_pose;
    struct rigid T_wc; /* if has_pose */
    /* tracking lost or another world: the previous frame says nothing about this one */
    int restart;
    float *depth_out;         /* optional, host [net_h][net_w]: a copy of the depth map, 0 = none */
    struct gpu_result result; /* valid after gpu_wait() */
    /* [result.n_changes], the session's own buffer, until its next frame */
    const struct gpu_change *changes;
    /* the part of the device's time that it took: those of a batch add up. After gpu_wait() */
    float device_us;
    int flight; /* the back end's own */
};

/* The verbs take 1...GPU_BATCH_MAX frames of different sessions on one device, the same ones from
 * gpu_upload() to gpu_wait(). All return 0; ERR_INPUT: a frame does not fit its session; ERR_STATE
 * (gpu_upload): GPU_FLIGHTS batches are under way; ERR_DEVICE: the context is lost. */
MUST_CHECK int gpu_upload(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);

/* Picture to network size (area-averaged), normalised planes, colours for fusion. MATH.md
 * (I1)-(I3). */
MUST_CHECK int gpu_image(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);

/* Depth network, then its output convention to metres. MATH.md (D1)-(D4). */
MUST_CHECK int gpu_depth(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);

/* Pose of each frame: as given, or T_wc(previous) * exp(ego-motion). MATH.md (M1)-(M3). */
MUST_CHECK int gpu_motion(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);

/* The n_covisible keyframes with the largest view overlap, out of all that are kept. MATH.md
 * (K1). */
MUST_CHECK int gpu_covisible(struct gpu *g, struct gpu_frame *const *frames, int n,
                             struct err *err);

/* Each pixel's point of the model, through the keyframes' maps; claims. MATH.md (1) (2)
 * (A1)-(A3). */
MUST_CHECK int gpu_associate(struct gpu *g, struct gpu_frame *const *frames, int n,
                             struct err *err);

/* Does this frame become a keyframe? MATH.md (K2). */
MUST_CHECK int gpu_keyframe(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);

/* Update claimed points, insert the others, enter them in the maps. MATH.md (3)-(5), (F1)-(F3). */
MUST_CHECK int gpu_fuse(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);

/* Kernel 3: unconfirmed and seen-through points go; their slots are used again. MATH.md (R1)
 * (R2). */
MUST_CHECK int gpu_remove(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);

/* The published points that changed, in a fixed order. MATH.md (C1). */
MUST_CHECK int gpu_change(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);

MUST_CHECK int gpu_download(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
/* Waits for these frames, which went through the verbs above together. Also to be called when one
 * of them failed: afterwards nothing of the batch is under way. */
MUST_CHECK int gpu_wait(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
