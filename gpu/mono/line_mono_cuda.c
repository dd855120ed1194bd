/*
 * line_mono_cuda.c - the line of a camera's frames on CUDA: its passes, which stages share
 * (session_cuda.h), and the host's work for a frame
 */
#include "gpu/base/cuda_try.h"
#include "gpu/base/graph_cuda.h"
#include "gpu/base/wait_cuda.h"
#include "gpu/mono/session_cuda.h"
#include "gpu/net/net_cuda.h"

#include <string.h>

/* ------------------------------------------------------------------------- passes */

int line_mono_cuda_depth(const struct pass_cuda *p, struct err *err)
{
    int rc = 0;

    if (p->networks[GPU_MODEL_DEPTH])
        rc = net_cuda_run(p->networks[GPU_MODEL_DEPTH], p->n, p->stream, err);
    return rc ? rc : depth_cuda(p, err);
}

/* The passes of a session with a map, which may have a depth sensor. */
static int depth_pass(const struct pass_cuda *p, struct err *err)
{
    int rc = line_mono_cuda_depth(p, err);

    return rc ? rc : sensor_cuda(p, err);
}

/* The network's answer becomes a pose in the next pass; the tracks' pose is found here. */
static int motion_pass(const struct pass_cuda *p, struct err *err)
{
    int rc = 0;

    if (p->networks[GPU_MODEL_MOTION])
        rc = net_cuda_run(p->networks[GPU_MODEL_MOTION], p->n, p->stream, err);
    return rc ? rc : follow_cuda(p, err);
}

static pass_cuda_fn *const passes[SESSION_CUDA_PASSES] = {
    [SESSION_CUDA_IMAGE] = image_cuda,   [SESSION_CUDA_DEPTH] = depth_pass,
    [SESSION_CUDA_MOTION] = motion_pass, [SESSION_CUDA_COVISIBLE] = covisible_cuda,
    [SESSION_CUDA_VIEWS] = views_cuda,   [SESSION_CUDA_ASSOCIATE] = associate_cuda,
    [SESSION_CUDA_UPDATE] = update_cuda, [SESSION_CUDA_INSERT] = insert_cuda,
    [SESSION_CUDA_REMOVE] = remove_cuda,
};

static const char *const names[SESSION_CUDA_PASSES] = {
    [SESSION_CUDA_IMAGE] = "image",   [SESSION_CUDA_DEPTH] = "depth",
    [SESSION_CUDA_MOTION] = "motion", [SESSION_CUDA_COVISIBLE] = "covisible",
    [SESSION_CUDA_VIEWS] = "views",   [SESSION_CUDA_ASSOCIATE] = "associate",
    [SESSION_CUDA_UPDATE] = "update", [SESSION_CUDA_INSERT] = "insert",
    [SESSION_CUDA_REMOVE] = "remove",
};

/* ------------------------------------------------------------------------- sessions */

static int line_mono_make(struct gpu_session **out, struct gpu *base,
                          const struct gpu_session_config *c, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    struct session_cuda *s = NULL;
    int rc;

    *out = NULL;
    CU_TRY(cudaSetDevice(g->device));
    rc = session_cuda_new(&s, base, g->memory, c, g->setup, err);
    if (rc == 0)
        *out = &s->base;
out:
    return rc;
}

static void free_session(struct gpu_session *base)
{
    struct session_cuda *s = (struct session_cuda *)base;

    session_cuda_free(&s);
}

/* This runs on the stream of the pictures and does not wait for other sessions' frames. */
static size_t state_bytes(struct gpu_session *s)
{
    struct gpu_cuda *g = gpu_cuda_of(s->gpu);

    if (wait_cuda_lost(g->wait, NULL))
        return 0;
    return session_cuda_state_bytes((struct session_cuda *)s, g->copy);
}

static int line_mono_save(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len,
                          struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(s->gpu);
    int rc = wait_cuda_lost(g->wait, err);

    return rc ? rc : session_cuda_save((struct session_cuda *)s, buf, cap, len, g->copy, err);
}

static int line_mono_load(struct gpu_session *s, const uint8_t *buf, size_t len, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(s->gpu);
    int rc;

    CU_TRY(cudaSetDevice(g->device));
    rc = session_cuda_load((struct session_cuda *)s, buf, len, g->setup, err);
out:
    return rc;
}

static int put_depth(struct gpu_session *s, const float *depth, struct err *err)
{
    return session_cuda_put_depth((struct session_cuda *)s, depth, gpu_cuda_of(s->gpu)->compute,
                                  err);
}

const struct gpu_session_ops line_mono_cuda_session = {
    .bytes = session_cuda_bytes,
    .make = line_mono_make,
    .free = free_session,
    .state_bytes = state_bytes,
    .save = line_mono_save,
    .load = line_mono_load,
    .put_depth = put_depth,
};

/* ------------------------------------------------------------------------- frames */

static void put_networks(struct frame_cuda *a, const struct graph_cuda *g, int at)
{
    const struct network *depth = g->networks[GPU_MODEL_DEPTH];
    const struct network *motion = g->networks[GPU_MODEL_MOTION];
    size_t n = (size_t)g->w * (size_t)g->h, place = (size_t)at * n;

    if (depth) {
        const struct gpu_model_info *info = &depth->model->base.info;
        a->depth_pitch = net_cuda_input_pitch(depth->exec);
        a->depth_in = net_cuda_input(depth->exec) + place * (size_t)a->depth_pitch;
        a->depth_raw = net_cuda_output(depth->exec) + place;
        memcpy(a->mean[0], info->mean, sizeof info->mean);
        memcpy(a->std[0], info->std, sizeof info->std);
    }
    if (motion) {
        const struct gpu_model_info *info = &motion->model->base.info;
        a->motion_pitch = net_cuda_input_pitch(motion->exec);
        a->motion_in = net_cuda_input(motion->exec) + place * (size_t)a->motion_pitch;
        a->motion_raw = net_cuda_output(motion->exec) + 6 * (size_t)at;
        a->rays = info->rays;
        memcpy(a->mean[1], info->mean, sizeof info->mean);
        memcpy(a->std[1], info->std, sizeof info->std);
    }
}

void line_mono_cuda_describe(void *arg, const struct graph_cuda *graph, int at,
                             const struct gpu_item *item)
{
    const struct gpu_frame *f = (const struct gpu_frame *)item;
    const struct session_cuda *s = (const struct session_cuda *)item->session;
    struct frame_cuda *a = arg;

    a->s = s->dev;
    a->map = lens_map_make(&f->lens, f->K, f->width, f->height, s->host.w, s->host.h);
    a->T_wc = f->T_wc;
    a->has_pose = f->has_pose;
    a->has_start = f->has_start;
    memcpy(a->camera_turn, f->turn, sizeof f->turn);
    a->turn_s = f->turn_s;
    a->restart = f->restart;
    a->submap = f->submap;
    a->source = f->source;
    a->breaks = f->breaks;
    a->goes_on = f->goes_on != 0;
    a->turn = f->item.turn;
    put_networks(a, graph, at);
    session_cuda_put_sensor(a, s, f);
    a->changes = s->changes;
    a->result = s->result;
    a->depth_out = f->depth_out ? s->depth_out : NULL;
    session_cuda_put_views(a, s);
    session_cuda_put_tracks(a, s);
}

int line_mono_cuda_upload(struct gpu_item *item, cudaStream_t stream, struct err *err)
{
    const struct session_cuda *s = (const struct session_cuda *)item->session;
    struct gpu_frame *f = gpu_frame_of(item);

    memset(&f->result, 0, sizeof f->result);
    f->changes = NULL;
    return session_cuda_upload(s, f, stream, err);
}

/* A pass lasts until the next one begins. */
static void take_times(struct gpu_item *item, const struct result_cuda *from)
{
    const uint64_t *began_ns = from->stamp_ns;

    int n = item->session->config.line->has_map ? SESSION_CUDA_PASSES : SESSION_CUDA_MOTION;

    for (int i = 0; i < n; i++) {
        item->passes[i].name = names[i];
        item->passes[i].us = began_ns[i] && began_ns[i + 1] > began_ns[i]
                                 ? (float)(began_ns[i + 1] - began_ns[i]) * 1e-3f
                                 : 0.0f;
    }
    item->n_passes = n;
    item->device_us = began_ns[n] > began_ns[0] ? (float)(began_ns[n] - began_ns[0]) * 1e-3f : 0.0f;
}

void line_mono_cuda_take(struct gpu_item *item)
{
    const struct session_cuda *s = (const struct session_cuda *)item->session;
    struct gpu_frame *f = gpu_frame_of(item);

    take_times(item, s->result);
    f->result = s->result->result;
    f->changes = s->changes;
    if (f->depth_out)
        memcpy(f->depth_out, s->depth_out, s->host.n_pixels * sizeof *f->depth_out);
}

const struct line_cuda line_mono_cuda = {
    .line = &gpu_line_mono,
    .session = &line_mono_cuda_session,
    .arg_bytes = sizeof(struct frame_cuda),
    .passes = passes,
    .n_passes = SESSION_CUDA_PASSES,
    .describe = line_mono_cuda_describe,
    .upload = line_mono_cuda_upload,
    .take = line_mono_cuda_take,
};
