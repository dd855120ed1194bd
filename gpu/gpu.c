/*
 * gpu.c - the front of the device contract: chooses a back end, checks every argument, calls
 * through the table
 */
#include "gpu/base/ops.h"
#include "gpu/base/selftest.h"
#include "gpu/mono/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POSE_MAX_M 1e6f /* beyond, a float's own step is over 6 cm */
#define POINTS_MAX 0x7fffffffu

/* ------------------------------------------------------------------------- devices */

static int device_known(const char *device)
{
    const char *d;
    if (!strcmp(device, "auto") || !strcmp(device, "cpu") || !strcmp(device, "cuda"))
        return 1;
    if (strncmp(device, "cuda:", 5) || strlen(device) > 8 || !device[5])
        return 0;
    for (d = device + 5; *d; d++)
        if (*d < '0' || *d > '9')
            return 0;
    return 1;
}

static int open_auto(struct gpu **g, const struct gpu_config *config, struct err *err)
{
    struct err why = {0};
    int rc;
    if (ops_cuda && ops_cuda->open(g, config, &why) == 0) {
        rc = selftest_run(*g, &why);
        if (rc == 0) {
            snprintf((*g)->why, sizeof(*g)->why,
                     "auto: CUDA opened, and its stages agree with the CPU's");
            return 0;
        }
        gpu_close(g);
    }
    rc = ops_cpu.open(g, config, err);
    if (rc == 0)
        snprintf((*g)->why, sizeof(*g)->why, "auto: the CPU back end, because %.120s",
                 ops_cuda ? why.text : "this build has no CUDA");
    return rc;
}

int gpu_open(struct gpu **g, const struct gpu_config *config, struct err *err)
{
    const char *device;
    int rc;

    *g = NULL;
    device = config->device ? config->device : "auto";
    if (!device_known(device))
        return err_at(err, ERR_INPUT, "/device",
                      "device \"%.40s\": allowed are auto, cpu, cuda, cuda:N", device);
    if (config->threads < 0 || config->threads > 1024)
        return err_at(err, ERR_INPUT, "/threads", "threads %d: allowed are 0 (one a core) to 1024",
                      config->threads);
    if (!strcmp(device, "auto"))
        return open_auto(g, config, err);
    if (strcmp(device, "cpu") && !ops_cuda)
        return err_at(
            err, ERR_UNSUPPORTED, "/device",
            "device \"%s\": this build has no CUDA; build with CUDA=1 where nvcc is installed",
            device);
    rc = strcmp(device, "cpu") ? ops_cuda->open(g, config, err) : ops_cpu.open(g, config, err);
    if (rc == 0)
        snprintf((*g)->why, sizeof(*g)->why, "%s: as configured", device);
    return rc;
}

void gpu_close(struct gpu **g)
{
    if (*g)
        (*g)->ops->close(*g);
    *g = NULL;
}

void gpu_get_info(const struct gpu *g, struct gpu_info *info)
{
    g->ops->get_info(g, info);
}

int gpu_cuda_count(void)
{
    return ops_cuda_count();
}

void *gpu_host_get(struct gpu *g, size_t bytes)
{
    return g->ops->host_get ? g->ops->host_get(g, bytes) : malloc(bytes);
}

void gpu_host_put(struct gpu *g, void *memory, size_t bytes)
{
    if (g->ops->host_put)
        g->ops->host_put(g, memory, bytes);
    else
        free(memory);
}

int gpu_decode(struct gpu *g, const struct gpu_jpeg *jpeg, struct err *err)
{
    if (!g->ops->decode)
        return err_set(err, ERR_UNSUPPORTED, "%s has no JPEG engines", g->ops->name);
    return g->ops->decode(g, jpeg, err);
}

/* ------------------------------------------------------------------------- models */

static int check_depth_info(const struct gpu_model_info *i, struct err *err)
{
    if ((unsigned)i->output > GPU_OUTPUT_LOG)
        return err_at(err, ERR_INPUT, "/output", "unknown depth output convention %d",
                      (int)i->output);
    if (i->output == GPU_OUTPUT_DISPARITY &&
        !(i->disparity_range_m[0] > 0.0f && i->disparity_range_m[1] > i->disparity_range_m[0] &&
          isfinite(i->disparity_range_m[1])))
        return err_at(err, ERR_INPUT, "/disparity_range",
                      "allowed are 0 < min < max, got %g and %g", (double)i->disparity_range_m[0],
                      (double)i->disparity_range_m[1]);
    if (!(i->focal_px >= 0.0f && i->focal_px < 1e5f))
        return err_at(err, ERR_INPUT, "/focal_px", "allowed is 0 (no scaling) to 100000, got %g",
                      (double)i->focal_px);
    if (!(i->min_depth_m > 0.0f && i->max_depth_m > i->min_depth_m && isfinite(i->max_depth_m)))
        return err_at(err, ERR_INPUT, "/min_depth", "allowed are 0 < min < max, got %g and %g",
                      (double)i->min_depth_m, (double)i->max_depth_m);
    return 0;
}

static int check_model_info(const struct gpu_model_info *i, struct err *err)
{
    if (i->kind != GPU_MODEL_DEPTH && i->kind != GPU_MODEL_MOTION)
        return err_at(err, ERR_INPUT, "/kind", "unknown kind of model %d", (int)i->kind);
    for (int c = 0; c < 3; c++)
        if (!isfinite(i->mean[c]) || !(i->std[c] > 0.0f && isfinite(i->std[c])))
            return err_at(err, ERR_INPUT, "/std", "mean must be finite and std above 0");
    if (i->multiple < 1 || i->multiple > 256)
        return err_at(err, ERR_INPUT, "/multiple", "allowed are 1 to 256, got %d", i->multiple);
    return i->kind == GPU_MODEL_DEPTH ? check_depth_info(i, err) : 0;
}

int gpu_model_open(struct gpu_model **m, struct gpu *g, const struct gpu_model_info *info,
                   struct err *err)
{
    int rc = check_model_info(info, err);
    *m = NULL;
    return rc ? rc : g->ops->model_open(m, g, info, err);
}

void gpu_model_close(struct gpu_model **m)
{
    if (*m)
        (*m)->gpu->ops->model_close(*m);
    *m = NULL;
}

/* ------------------------------------------------------------------------- sessions */

static int check_side(const char *where, int side, const struct gpu_model *m, struct err *err)
{
    if (side % m->info.multiple)
        return err_at(err, ERR_INPUT, where, "%d is not a multiple of %d, which model %s needs",
                      side, m->info.multiple, m->info.name);
    return 0;
}

static int check_models(const struct gpu *g, const struct gpu_session_config *c, struct err *err)
{
    const struct gpu_model *models[2] = {c->depth, c->motion};
    int rc = 0;

    if (!c->depth)
        return err_at(err, ERR_INPUT, "/depth_model", "a session needs a depth network");
    if (c->depth->info.kind != GPU_MODEL_DEPTH ||
        (c->motion && c->motion->info.kind != GPU_MODEL_MOTION))
        return err_at(err, ERR_INPUT, "/depth_model", "a network of the wrong kind");
    for (int i = 0; i < 2 && rc == 0; i++) {
        if (!models[i])
            continue;
        if (models[i]->gpu != g)
            return err_at(err, ERR_INPUT, "/depth_model", "model %s is on another device",
                          models[i]->info.name);
        rc = check_side("/net_w", c->net_w, models[i], err);
        if (rc == 0)
            rc = check_side("/net_h", c->net_h, models[i], err);
    }
    return rc;
}

static int check_session(const struct gpu_session_config *c, struct err *err)
{
    if (c->net_w < 16 || c->net_w > GPU_SIDE_MAX || c->net_h < 16 || c->net_h > GPU_SIDE_MAX)
        return err_at(err, ERR_INPUT,
                      c->net_w < 16 || c->net_w > GPU_SIDE_MAX ? "/net_w" : "/net_h",
                      "network input %dx%d: allowed are 16 to %d on each side", c->net_w, c->net_h,
                      GPU_SIDE_MAX);
    if (c->max_image_w < 1 || c->max_image_w > 16384 || c->max_image_h < 1 ||
        c->max_image_h > 16384)
        return err_at(err, ERR_INPUT, "/max_image_w", "pictures of %dx%d: allowed are 1 to 16384",
                      c->max_image_w, c->max_image_h);
    if (!(c->step_m >= 1e-5f && c->step_m <= 1.0f))
        return err_at(err, ERR_INPUT, "/step", "step of %g m: allowed are 0.00001 to 1",
                      (double)c->step_m);
    if (c->max_points < 1 || c->max_points > POINTS_MAX)
        return err_at(err, ERR_INPUT, "/max_points", "%u points: allowed are 1 to %u",
                      c->max_points, POINTS_MAX);
    return fuse_params_check(&c->fuse, err);
}

size_t gpu_session_bytes(const struct gpu_session_config *c)
{
    return (c->depth ? c->depth->gpu->ops : &ops_cpu)->session_bytes(c);
}

int gpu_session_new(struct gpu_session **s, struct gpu *g, const struct gpu_session_config *c,
                    struct err *err)
{
    int rc = check_session(c, err);
    *s = NULL;
    if (rc == 0)
        rc = check_models(g, c, err);
    return rc ? rc : g->ops->session_new(s, g, c, err);
}

void gpu_session_free(struct gpu_session **s)
{
    if (*s)
        (*s)->gpu->ops->session_free(*s);
    *s = NULL;
}

size_t gpu_session_state_bytes(struct gpu_session *s)
{
    return s->gpu->ops->state_bytes(s);
}

unsigned gpu_session_reads(uint32_t tag)
{
    return state_reads(tag);
}

int gpu_session_save(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    *len = 0;
    return s->gpu->ops->save(s, buf, cap, len, err);
}

int gpu_session_load(struct gpu_session *s, const uint8_t *buf, size_t len, struct err *err)
{
    if (!buf)
        return err_set(err, ERR_INPUT, "a session without a state");
    return s->gpu->ops->load(s, buf, len, err);
}

/* ------------------------------------------------------------------------- frames */

const char *gpu_stage_name(enum gpu_stage stage)
{
    static const char *const names[GPU_STAGES] = {"upload",    "image",     "depth",    "motion",
                                                  "covisible", "associate", "keyframe", "fuse",
                                                  "remove",    "change",    "download"};
    return (unsigned)stage < GPU_STAGES ? names[stage] : "unknown";
}

/* Finite, within POSE_MAX_M, rows orthonormal within 1e-3, right-handed. */
static int pose_valid(const struct rigid *T)
{
    const float *r = T->r;
    float det;
    for (int i = 0; i < 3; i++) {
        if (!(fabsf(T->t[i]) <= POSE_MAX_M))
            return 0;
        for (int j = 0; j <= i; j++) {
            float dot =
                r[3 * i] * r[3 * j] + r[3 * i + 1] * r[3 * j + 1] + r[3 * i + 2] * r[3 * j + 2];
            if (!(fabsf(dot - (i == j ? 1.0f : 0.0f)) <= 1e-3f))
                return 0;
        }
    }
    det = r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) +
          r[2] * (r[3] * r[7] - r[4] * r[6]);
    return det > 0.0f;
}

static int intrinsics_valid(const struct intrinsics *K)
{
    return K->fx >= 1.0f && K->fx < 1e6f && K->fy >= 1.0f && K->fy < 1e6f && fabsf(K->cx) < 1e6f &&
           fabsf(K->cy) < 1e6f;
}

static int check_frame(const struct gpu *g, const struct gpu_frame *f, struct err *err)
{
    const struct gpu_session_config *c;
    if (!f || !f->session || f->session->gpu != g)
        return err_set(err, ERR_INPUT, "a frame without a session of this device");
    c = &f->session->config;
    if (!f->rgb || f->width < 1 || f->height < 1 || f->width > c->max_image_w ||
        f->height > c->max_image_h)
        return err_set(err, ERR_INPUT, "a picture of %dx%d in a session made for at most %dx%d",
                       f->width, f->height, c->max_image_w, c->max_image_h);
    if (!intrinsics_valid(&f->K))
        return err_set(err, ERR_INPUT, "intrinsics that are not those of a camera");
    if (!f->has_pose && !c->motion)
        return err_set(err, ERR_INPUT,
                       "a frame without a pose in a session without a motion network");
    if (f->has_pose && !pose_valid(&f->T_wc))
        return err_set(err, ERR_INPUT, "a pose that is not finite, not rigid, or farther than %g m",
                       (double)POSE_MAX_M);
    return 0;
}

static int check_batch(const struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    if (!frames || n < 1 || n > GPU_BATCH_MAX)
        return err_set(err, ERR_INPUT, "a batch of %d frames: allowed are 1 to %d", n,
                       GPU_BATCH_MAX);
    for (int i = 0; i < n; i++) {
        int rc = check_frame(g, frames[i], err);
        if (rc)
            return rc;
        for (int j = 0; j < i; j++)
            if (frames[j]->session == frames[i]->session)
                return err_set(err, ERR_INPUT, "a batch with two frames of one session");
    }
    return 0;
}

int gpu_upload(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->upload(g, frames, n, err);
}

int gpu_image(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->image(g, frames, n, err);
}

int gpu_depth(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->depth(g, frames, n, err);
}

int gpu_motion(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->motion(g, frames, n, err);
}

int gpu_covisible(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->covisible(g, frames, n, err);
}

int gpu_associate(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->associate(g, frames, n, err);
}

int gpu_keyframe(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->keyframe(g, frames, n, err);
}

int gpu_fuse(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->fuse(g, frames, n, err);
}

int gpu_remove(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->remove(g, frames, n, err);
}

int gpu_change(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->change(g, frames, n, err);
}

int gpu_download(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->download(g, frames, n, err);
}

int gpu_wait(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = check_batch(g, frames, n, err);
    return rc ? rc : g->ops->wait(g, frames, n, err);
}
