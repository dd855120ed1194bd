/*
 * fusion_cuda.h - sessions on a CUDA device without networks: batches of frames with given depth
 * through all stages, and a look inside
 *
 * A test reaches it through a table, which is NULL in a build without CUDA:
 *
 *     const struct fusion_api *fusion_cuda __attribute__((common));
 *
 * is a tentative definition that the linker lets go for the one of fusion_cuda.cu, where that is.
 */
#pragma once

#include "gpu/mono/covisible_point.h"
#include "gpu/gpu.h"
#include "gpu/base/point.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FUSION_CUDA_MAX 8

/* Normalisation of the depth (0) and of the motion (1) network's input. */
#define FUSION_CUDA_MEAN(net, ch) (0.1f + 0.2f * (float)(net) + 0.05f * (float)(ch))
#define FUSION_CUDA_STD(net, ch) (0.5f + 0.1f * (float)(net)-0.02f * (float)(ch))

struct fusion_rig;

/* What a session holds, in host memory. */
struct fusion_state {
    struct point_place *place;
    struct point_stat *stat;
    struct point_normal *normal;
    struct point_out *out;
    uint64_t *id;
    uint32_t *unstable, *free_slots;
    struct keyframe *keyframes;
    uint8_t *overlaps;
    struct map_cell *maps;
    uint64_t *key; /* of cells */
    uint8_t *rgb;
    uint16_t *depth_in, *motion_in; /* halves, [h][w][4] and [h][w][8] */
    struct intrinsics K;
    struct rigid T_wc;
    uint32_t n_slots, n_unstable, n_free, n_points, n_stable, n_keyframes;
    uint64_t next_id;
    uint32_t n_claims_left, n_bins_left, n_guards_hurt; /* all 0 between frames */
};

/* What the passes leave of a frame, in host memory: one value a pixel, but for the keyframes that
 * the frame is tested against. */
struct fusion_frame {
    uint8_t *rgb;
    float *depth, *usable, *distance;
    struct vec3 *world;
    uint32_t *found, *through;
    uint8_t *overlap_now; /* [max_keyframes] */
    struct camera camera;
    struct covisible_grid grid;
    uint32_t covisible_place[GPU_COVISIBLE_MAX];
    int covisible_overlap[GPU_COVISIBLE_MAX];
    int n_covisible, is_keyframe;
    uint32_t place_new, n_keyframes, n_valid, n_associated;
    float median_depth_m;
};

struct fusion_api {
    /* n sessions. Returns: 0; ERR_UNSUPPORTED: no device here, err says why; other failures */
    int (*open)(struct fusion_rig **r, const struct gpu_session_config *c, int n, struct err *err);
    void (*close)(struct fusion_rig **r);
    /* One frame of each session, as a batch; a frame whose rgb is NULL leaves its place empty.
     * Waits. depth[i] is as large as session i's pictures, and of a turned picture what its network
     * says, which lies as the picture is turned; changes stay until its next frame. */
    int (*run)(struct fusion_rig *r, struct gpu_frame *f, const float *const *depth,
               struct err *err);
    /* The same in steps: upload, then passes 0, 1 ... up to the last one that has a name, then
     * take. */
    int (*upload)(struct fusion_rig *r, const struct gpu_frame *f, const float *const *depth,
                  struct err *err);
    const char *(*pass_name)(int pass); /* NULL behind the last */
    int (*pass)(struct fusion_rig *r, int pass, struct err *err);
    int (*take)(struct fusion_rig *r, struct gpu_frame *f, struct err *err);
    int (*frame)(struct fusion_rig *r, int session, struct fusion_frame *f, struct err *err);
    void (*frame_free)(struct fusion_frame *f);
    int (*state)(struct fusion_rig *r, int session, struct fusion_state *st, struct err *err);
    void (*state_free)(struct fusion_state *st);
    /* gpu_session_save() and its kin of one session */
    size_t (*state_bytes)(struct fusion_rig *r, int session);
    int (*save)(struct fusion_rig *r, int session, uint8_t *buf, size_t cap, size_t *len,
                struct err *err);
    int (*load)(struct fusion_rig *r, int session, const uint8_t *buf, size_t len, struct err *err);
};

extern const struct fusion_api *fusion_cuda;

#ifdef __cplusplus
}
#endif
