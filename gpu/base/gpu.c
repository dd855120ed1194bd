/*
 * gpu.c - the front of the device contract: chooses a back end, checks every argument, calls the
 * back end's table
 */
#include "gpu/base/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Does the back end compute the same as the CPU on this machine, in every line? */
static int selftest(struct gpu *g, struct err *err)
{
    const struct gpu_config config = {.device = "cpu", .threads = 1};
    const struct gpu_line *line;
    struct gpu *cpu = NULL;
    int rc = backend_cpu.open(&cpu, &config, err);

    for (int i = 0; rc == 0 && (line = gpu_line_at(i)); i++)
        if (line->selftest && g->ops->session(line))
            rc = line->selftest(g, cpu, err);
    gpu_close(&cpu);
    return rc;
}

static int open_auto(struct gpu **g, const struct gpu_config *config, struct err *err)
{
    struct err why = {0};
    int rc;
    if (backend_cuda && backend_cuda->open(g, config, &why) == 0) {
        rc = selftest(*g, &why);
        if (rc == 0) {
            snprintf((*g)->why, sizeof(*g)->why,
                     "auto: CUDA opened, and its stages agree with the CPU's");
            return 0;
        }
        gpu_close(g);
    }
    rc = backend_cpu.open(g, config, err);
    if (rc == 0)
        snprintf((*g)->why, sizeof(*g)->why, "auto: the CPU back end, because %.120s",
                 backend_cuda ? why.text : "this build has no CUDA");
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
    if (strcmp(device, "cpu") && !backend_cuda)
        return err_at(
            err, ERR_UNSUPPORTED, "/device",
            "device \"%s\": this build has no CUDA; build with CUDA=1 where nvcc is installed",
            device);
    rc = strcmp(device, "cpu") ? backend_cuda->open(g, config, err)
                               : backend_cpu.open(g, config, err);
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
    return backend_cuda_count();
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

void gpu_session_params(void *params, const struct params_stage *stage,
                        const struct gpu_session_config *c)
{
    params_fill(params, stage, c->depth ? &c->depth->info.overrides : NULL,
                c->motion ? &c->motion->info.overrides : NULL);
}

static int check_side(const char *where, int side, const struct gpu_model *m, struct err *err)
{
    if (side % m->info.multiple)
        return err_at(err, ERR_INPUT, where, "%d is not a multiple of %d, which model %s needs",
                      side, m->info.multiple, m->info.name);
    return 0;
}

static int check_models(const struct gpu *g, const struct gpu_session_config *c, struct err *err)
{
    static const char *const names[GPU_MODEL_KINDS] = {"depth", "motion"};
    const struct gpu_model *models[GPU_MODEL_KINDS] = {c->depth, c->motion};
    int rc = 0;

    for (int kind = 0; kind < GPU_MODEL_KINDS && rc == 0; kind++) {
        const struct gpu_model *m = models[kind];

        if (!m && c->line->needs >> kind & 1)
            return err_at(err, ERR_INPUT, "/depth_model", "a session needs a %s network",
                          names[kind]);
        if (!m)
            continue;
        if (m->info.kind != (enum gpu_model_kind)kind ||
            !((c->line->needs | c->line->takes) >> kind & 1))
            return err_at(err, ERR_INPUT, "/depth_model", "a network of the wrong kind");
        if (m->gpu != g)
            return err_at(err, ERR_INPUT, "/depth_model", "model %s is on another device",
                          m->info.name);
        rc = check_side("/net_w", c->net_w, m, err);
        if (rc == 0)
            rc = check_side("/net_h", c->net_h, m, err);
    }
    return rc;
}

static int check_map(const struct gpu_session_config *c, struct err *err)
{
    if ((unsigned)c->depth_source > GPU_DEPTH_BOTH ||
        (c->views && c->depth_source != GPU_DEPTH_NETWORK))
        return err_at(err, ERR_INPUT, "/views", "depth of many views is the network's alone");
    if (c->tracks &&
        (!c->motion || c->net_w < GPU_TRACKS_SIDE_LEAST || c->net_h < GPU_TRACKS_SIDE_LEAST))
        return err_at(err, ERR_INPUT, "/pose_source",
                      "poses from tracks need a motion network and sides of %d pixels",
                      GPU_TRACKS_SIDE_LEAST);
    if (!(c->step_m >= 1e-5f && c->step_m <= 1.0f))
        return err_at(err, ERR_INPUT, "/step", "step of %g m: allowed are 0.00001 to 1",
                      (double)c->step_m);
    if (c->max_points < 1 || c->max_points > POINTS_MAX)
        return err_at(err, ERR_INPUT, "/max_points", "%u points: allowed are 1 to %u",
                      c->max_points, POINTS_MAX);
    return fuse_params_check(&c->fuse, err);
}

static int check_session(const struct gpu *g, const struct gpu_session_config *c, struct err *err)
{
    if (!c->line || !g->ops->session(c->line))
        return err_at(err, ERR_UNSUPPORTED, "/line", "%s does not run a line of this name",
                      g->ops->name);
    if (c->net_w < 16 || c->net_w > GPU_SIDE_MAX || c->net_h < 16 || c->net_h > GPU_SIDE_MAX)
        return err_at(err, ERR_INPUT,
                      c->net_w < 16 || c->net_w > GPU_SIDE_MAX ? "/net_w" : "/net_h",
                      "network input %dx%d: allowed are 16 to %d on each side", c->net_w, c->net_h,
                      GPU_SIDE_MAX);
    if (c->max_image_w < 1 || c->max_image_w > 16384 || c->max_image_h < 1 ||
        c->max_image_h > 16384)
        return err_at(err, ERR_INPUT, "/max_image_w", "pictures of %dx%d: allowed are 1 to 16384",
                      c->max_image_w, c->max_image_h);
    if (c->line->check_config)
        return c->line->check_config(c, err);
    return c->line->has_map ? check_map(c, err) : 0;
}

static const struct gpu_session_ops *ops_of(const struct gpu_session *s)
{
    return s->gpu->ops->session(s->config.line);
}

size_t gpu_session_bytes(const struct gpu_session_config *c)
{
    return (c->depth ? c->depth->gpu->ops : &backend_cpu)->session(c->line)->bytes(c);
}

static int gpu_make(struct gpu_session **s, struct gpu *g, const struct gpu_session_config *c,
                    struct err *err)
{
    struct gpu_session_config own = *c;
    int rc;

    gpu_session_params(&own.fuse.mono, &mono_params_stage, c);
    rc = g->ops->session(c->line)->make(s, g, &own, err);

    if (rc == 0 && g->ops->attach && (rc = g->ops->attach(*s, err)))
        gpu_session_free(s);
    return rc;
}

int gpu_session_make(struct gpu_session **s, struct gpu *g, const struct gpu_session_config *c,
                     struct err *err)
{
    int rc = gpu_make(s, g, c, err);

    if (rc == ERR_MEMORY && g->ops->trim) {
        g->ops->trim(g);
        rc = gpu_make(s, g, c, err);
    }
    return rc;
}

int gpu_session_new(struct gpu_session **s, struct gpu *g, const struct gpu_session_config *c,
                    struct err *err)
{
    int rc = check_session(g, c, err);
    *s = NULL;
    if (rc == 0)
        rc = check_models(g, c, err);
    return rc ? rc : gpu_session_make(s, g, c, err);
}

void gpu_session_free(struct gpu_session **session)
{
    struct gpu_session *s = *session;

    *session = NULL;
    if (!s)
        return;
    if (s->gpu->ops->detach)
        s->gpu->ops->detach(s);
    ops_of(s)->free(s);
}

int gpu_session_sideways(struct gpu_session *s, struct err *err)
{
    const struct gpu_ops *ops = s->gpu->ops;
    int rc = 0;

    if (!s->sideways && ops->attach_sideways)
        rc = ops->attach_sideways(s, err);
    if (rc == 0)
        s->sideways = 1;
    return rc;
}

int gpu_session_is_sideways(const struct gpu_session *s)
{
    return s->sideways;
}

size_t gpu_session_state_bytes(struct gpu_session *s)
{
    return ops_of(s)->state_bytes ? ops_of(s)->state_bytes(s) : 0;
}

unsigned gpu_session_reads(uint32_t tag)
{
    const struct gpu_line *line;
    unsigned version = 0;

    for (int i = 0; version == 0 && (line = gpu_line_at(i)); i++)
        version = line->cpu->reads ? line->cpu->reads(tag) : 0;
    return version;
}

int gpu_session_save(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    *len = 0;
    return ops_of(s)->save ? ops_of(s)->save(s, buf, cap, len, err) : 0;
}

int gpu_session_load(struct gpu_session *s, const uint8_t *buf, size_t len, struct err *err)
{
    if (!buf)
        return err_set(err, ERR_INPUT, "a session without a state");
    if (!ops_of(s)->load)
        return len ? err_set(err, ERR_INPUT, "a session of this line keeps nothing") : 0;
    return ops_of(s)->load(s, buf, len, err);
}

/* ------------------------------------------------------------------------- items */

static int check_item(const struct gpu *g, const struct gpu_line *line, const struct gpu_item *item,
                      struct err *err)
{
    if (!item || !item->session || item->session->gpu != g)
        return err_set(err, ERR_INPUT, "an item without a session of this device");
    if (item->session->config.line != line)
        return err_set(err, ERR_INPUT, "an item of a session that is not of the line %s",
                       line->name);
    if (item->session->batch == g->n_batches)
        return err_set(err, ERR_INPUT, "a batch with two items of one session");
    return line->check(item, err);
}

int gpu_submit(struct gpu *g, const struct gpu_line *line, struct gpu_item *const *items, int n,
               struct err *err)
{
    if (!items || n < 1 || n > GPU_BATCH_MAX)
        return err_set(err, ERR_INPUT, "a batch of %d items: allowed are 1 to %d", n,
                       GPU_BATCH_MAX);
    g->n_batches++;
    for (int i = 0; i < n; i++) {
        int rc = check_item(g, line, items[i], err);
        if (rc)
            return rc;
        items[i]->session->batch = g->n_batches;
        items[i]->n_passes = 0;
        items[i]->device_us = 0.0f;
    }
    return g->ops->submit(g, line, items, n, err);
}

int gpu_wait(struct gpu *g, struct gpu_item *const *items, int n, struct err *err)
{
    if (!items || n < 1 || n > GPU_BATCH_MAX || !items[0]->session || items[0]->session->gpu != g)
        return err_set(err, ERR_INPUT, "not a batch of this device");
    return g->ops->wait ? g->ops->wait(g, items, n, err) : 0;
}
