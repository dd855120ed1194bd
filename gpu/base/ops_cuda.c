/*
 * ops_cuda.c - the CUDA back end: pictures go up on one stream while the other computes; a batch is
 * one graph launch a line and one mark to wait for (wait_cuda.h)
 *
 * upload copies pictures and notes who comes; the stages behind it are held back and launched by
 * download as recorded (line_cuda.c).
 */
#include "gpu/base/cuda_try.h"
#include "gpu/base/fault_cuda.h"
#include "gpu/base/jpeg_cuda.h"
#include "gpu/base/plan_cuda.h"
#include "gpu/base/wait_cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------- device */

int ops_cuda_count(void)
{
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

static int choose_device(struct gpu_cuda *g, const char *device, struct err *err)
{
    struct cudaDeviceProp prop;
    int n = 0, rc;
    cudaError_t e = cudaGetDeviceCount(&n);

    if (e != cudaSuccess || n == 0)
        return err_at(err, ERR_UNSUPPORTED, "/device", "no CUDA device: %s",
                      e == cudaSuccess ? "the driver shows none" : cudaGetErrorString(e));
    g->device = !strncmp(device, "cuda:", 5) ? atoi(device + 5) : 0;
    if (g->device >= n)
        return err_at(err, ERR_UNSUPPORTED, "/device", "device \"%s\": there are %d", device, n);
    CU_TRY(cudaSetDevice(g->device));
    CU_TRY(cudaGetDeviceProperties(&prop, g->device));
    if (prop.major < 8)
        return err_at(err, ERR_UNSUPPORTED, "/device",
                      "%s has compute capability %d.%d, needed is 8.0", prop.name, prop.major,
                      prop.minor);
    snprintf(g->name, sizeof g->name, "%.63s", prop.name);
out:
    return rc;
}

static void cuda_close(struct gpu *base)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    (void)cudaSetDevice(g->device);
    wait_cuda_close(&g->wait);
    line_cuda_forget_all(g);
    jpeg_cuda_close(&g->jpeg);
    for (int i = 0; i < GPU_FLIGHTS; i++)
        if (g->flights[i].uploaded)
            (void)cudaEventDestroy(g->flights[i].uploaded);
    if (g->compute)
        (void)cudaStreamDestroy(g->compute);
    if (g->copy)
        (void)cudaStreamDestroy(g->copy);
    if (g->setup)
        (void)cudaStreamDestroy(g->setup);
    memory_cuda_close(&g->memory);
    nvml_cuda_close(&g->nvml);
    free(g);
}

static int cuda_open(struct gpu **out, const struct gpu_config *config, struct err *err)
{
    struct gpu_cuda *g = (struct gpu_cuda *)calloc(1, sizeof *g);
    int rc,
        batch = config->batch > 0 && config->batch < GPU_BATCH_MAX ? config->batch : GPU_BATCH_MAX;

    *out = NULL;
    if (!g)
        return err_set(err, ERR_MEMORY, "no memory for the CUDA back end");
    g->base.ops = ops_cuda;
    for (g->batch = 1; g->batch < batch;)
        g->batch *= 2;
    snprintf(g->cache_path, sizeof g->cache_path, "%s",
             config->cache_path ? config->cache_path : "");
    rc = choose_device(g, config->device ? config->device : "cuda", err);
    if (rc)
        goto out;
    CU_TRY(cudaStreamCreateWithFlags(&g->compute, cudaStreamNonBlocking));
    CU_TRY(cudaStreamCreateWithFlags(&g->copy, cudaStreamNonBlocking));
    CU_TRY(cudaStreamCreateWithFlags(&g->setup, cudaStreamNonBlocking));
    for (int i = 0; i < GPU_FLIGHTS; i++)
        CU_TRY(cudaEventCreateWithFlags(&g->flights[i].uploaded, cudaEventDisableTiming));
    if ((rc = wait_cuda_open(&g->wait, config->answer_ms, err)))
        goto out;
    rc = memory_cuda_open(&g->memory, g->device, config->reserve_bytes, err);
    if (rc)
        goto out;
    nvml_cuda_open(&g->nvml, g->device);
    jpeg_cuda_open(&g->jpeg, g->device, g->memory);
    g->fault_in = fault_cuda_asked();
    *out = &g->base;
    return 0;
out:
    cuda_close(&g->base);
    return rc;
}

static void cuda_get_info(const struct gpu *base, struct gpu_info *info)
{
    const struct gpu_cuda *g = gpu_cuda_of(base);
    size_t unused = 0, total = 0;

    memset(info, 0, sizeof *info);
    snprintf(info->backend, sizeof info->backend, "cuda");
    snprintf(info->device, sizeof info->device, "cuda:%d", g->device);
    snprintf(info->model, sizeof info->model, "%s", g->name);
    snprintf(info->why, sizeof info->why, "%s", g->base.why);
    if (cudaSetDevice(g->device) == cudaSuccess && cudaMemGetInfo(&unused, &total) == cudaSuccess) {
        info->memory_total_bytes = total;
        info->memory_used_bytes = total - unused;
    }
    info->threads = 1;
    info->temperature_c = nvml_cuda_temperature(g->nvml);
    info->jpeg_engines = jpeg_cuda_engines(g->jpeg);
    info->alone = nvml_cuda_alone(g->nvml);
    wait_cuda_alone(g->wait, info->alone);
}

static void *cuda_host_get(struct gpu *g, size_t bytes)
{
    void *p = NULL;
    int rc = memory_cuda_get(gpu_cuda_of(g)->memory, MEMORY_CUDA_PINNED, &p, bytes, NULL);
    return rc ? NULL : p;
}

static void cuda_host_put(struct gpu *g, void *memory, size_t bytes)
{
    (void)bytes;
    memory_cuda_put(gpu_cuda_of(g)->memory, MEMORY_CUDA_PINNED, memory);
}

static int cuda_decode(struct gpu *g, const struct gpu_jpeg *jpeg, struct err *err)
{
    return jpeg_cuda_decode(gpu_cuda_of(g)->jpeg, jpeg, err);
}

/* ------------------------------------------------------------------------- sessions */

static int make_session(struct session_cuda **s, struct gpu_cuda *g,
                        const struct gpu_session_config *c, struct err *err)
{
    struct line_cuda *line = NULL;
    int rc = line_cuda_get(&line, g, c, err);

    if (rc)
        return rc;
    rc = session_cuda_new(s, &g->base, g->memory, c, g->setup, err);
    if (rc)
        line_cuda_put(g, line);
    else
        (*s)->plan = line;
    return rc;
}

/* Memory that is kept for sessions to come may be what their networks lack. */
static int cuda_session_new(struct gpu_session **out, struct gpu *base,
                            const struct gpu_session_config *c, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    struct session_cuda *s = NULL;
    int rc;

    *out = NULL;
    CU_TRY(cudaSetDevice(g->device));
    rc = make_session(&s, g, c, err);
    if (rc == ERR_MEMORY) {
        memory_cuda_trim(g->memory);
        rc = make_session(&s, g, c, err);
    }
out:
    *out = rc ? NULL : &s->base;
    return rc;
}

static void cuda_session_free(struct gpu_session *base)
{
    struct session_cuda *s = (struct session_cuda *)base;
    struct gpu_cuda *g = gpu_cuda_of(base->gpu);
    struct line_cuda *line = (struct line_cuda *)s->plan;
    (void)cudaSetDevice(g->device);
    session_cuda_free(&s);
    line_cuda_put(g, line);
}

/* On the stream of the pictures: what the others' frames compute meanwhile is not waited for. A
 * copy from a lost device ends when the driver tells of the loss, so it is asked first. */
static size_t cuda_state_bytes(struct gpu_session *s)
{
    struct gpu_cuda *g = gpu_cuda_of(s->gpu);

    if (wait_cuda_alive(g->wait, NULL))
        return 0;
    return session_cuda_state_bytes((struct session_cuda *)s, g->copy);
}

static int cuda_save(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(s->gpu);
    int rc = wait_cuda_lost(g->wait, err);

    return rc ? rc : session_cuda_save((struct session_cuda *)s, buf, cap, len, g->copy, err);
}

static int cuda_load(struct gpu_session *s, const uint8_t *buf, size_t len, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(s->gpu);
    int rc;

    CU_TRY(cudaSetDevice(g->device));
    rc = session_cuda_load((struct session_cuda *)s, buf, len, g->setup, err);
out:
    return rc;
}

static int cuda_put_depth(struct gpu_session *s, const float *depth, struct err *err)
{
    return session_cuda_put_depth((struct session_cuda *)s, depth, gpu_cuda_of(s->gpu)->compute,
                                  err);
}

/* ------------------------------------------------------------------------- batches */

static void join_group(struct gpu_cuda *g, struct flight_cuda *flight, const struct gpu_frame *f)
{
    struct line_cuda *line = (struct line_cuda *)((struct session_cuda *)f->session)->plan;
    int i = 0;
    while (i < flight->n_groups && flight->groups[i].line != line)
        i++;
    if (i == flight->n_groups)
        flight->groups[flight->n_groups++] = (struct group_cuda){line, 0};
    line_cuda_put_frame(line, g->batch, f->flight, flight->groups[i].n++, f);
}

static int cuda_upload(struct gpu *base, struct gpu_frame *const *frames, int n, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    struct flight_cuda *flight = &g->flights[g->next_flight];
    int rc = wait_cuda_lost(g->wait, err);

    if (rc)
        return rc;
    if (flight->busy)
        return err_set(err, ERR_STATE, "%d batches are under way", GPU_FLIGHTS);
    if (n > g->batch)
        return err_set(err, ERR_INPUT, "a batch of %d frames on a device opened for %d", n,
                       g->batch);
    flight->busy = 1;
    flight->launched = 0;
    flight->n_groups = 0;
    for (int i = 0; i < n; i++) {
        struct session_cuda *s = (struct session_cuda *)frames[i]->session;
        frames[i]->flight = g->next_flight;
        frames[i]->changes = NULL;
        frames[i]->device_us = 0.0f;
        memset(&frames[i]->result, 0, sizeof frames[i]->result);
        join_group(g, flight, frames[i]);
        CU_TRY(cudaMemcpyAsync(s->host.picture, frames[i]->rgb,
                               (size_t)frames[i]->width * (size_t)frames[i]->height * 3,
                               cudaMemcpyHostToDevice, g->copy));
    }
    CU_TRY(cudaEventRecord(flight->uploaded, g->copy));
    g->next_flight = (g->next_flight + 1) % GPU_FLIGHTS;
out:
    return rc;
}

/* Held back until download. */
static int cuda_stage(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)frames;
    (void)n;
    (void)err;
    return 0;
}

static int cuda_download(struct gpu *base, struct gpu_frame *const *frames, int n, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    struct flight_cuda *flight = &g->flights[frames[0]->flight];
    int rc;

    (void)n;
    CU_TRY(cudaStreamWaitEvent(g->compute, flight->uploaded, 0));
    for (int i = 0; i < flight->n_groups; i++)
        if ((rc = line_cuda_launch(g, flight->groups[i].line, frames[0]->flight,
                                   flight->groups[i].n, err)))
            goto out;
    if (g->fault_in && --g->fault_in == 0 && (rc = fault_cuda_strike(g->compute, err)))
        goto out;
    rc = wait_cuda_mark(g->wait, frames[0]->flight, g->compute, err);
    flight->launched = rc == 0;
out:
    return rc;
}

/* A stage lasts until the next one that left a stamp began. */
static void stage_times(struct gpu_result *r, const struct result_cuda *from)
{
    uint64_t end = from->stamp_ns[GPU_STAGE_DOWNLOAD];
    for (int i = GPU_STAGE_DOWNLOAD - 1; i >= 0; i--)
        if (from->stamp_ns[i] && end >= from->stamp_ns[i]) {
            r->stage_us[i] = (float)(end - from->stamp_ns[i]) * 1e-3f;
            end = from->stamp_ns[i];
        }
}

/* From the first kernel of the frame's line to its last, which its company shared. */
static float device_time_us(const struct flight_cuda *flight, const struct session_cuda *s)
{
    uint64_t begin = s->result->stamp_ns[GPU_STAGE_IMAGE];
    uint64_t end = s->result->stamp_ns[GPU_STAGE_DOWNLOAD];
    int i = 0;

    while (i < flight->n_groups && flight->groups[i].line != s->plan)
        i++;
    return i < flight->n_groups && end > begin
               ? (float)(end - begin) * 1e-3f / (float)flight->groups[i].n
               : 0.0f;
}

static void take_result(const struct flight_cuda *flight, struct gpu_frame *f)
{
    const struct session_cuda *s = (const struct session_cuda *)f->session;
    f->result = s->result->result;
    stage_times(&f->result, s->result);
    f->device_us = device_time_us(flight, s);
    f->changes = s->changes;
    if (f->depth_out)
        memcpy(f->depth_out, s->depth_out,
               (size_t)s->base.config.net_w * (size_t)s->base.config.net_h * sizeof(float));
}

static int cuda_wait(struct gpu *base, struct gpu_frame *const *frames, int n, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    struct flight_cuda *flight = &g->flights[frames[0]->flight];
    int rc = wait_cuda_lost(g->wait, err);

    if (rc)
        goto out;
    if (flight->launched) {
        if ((rc = wait_cuda_land(g->wait, frames[0]->flight, err)))
            goto out;
        for (int i = 0; i < n; i++)
            take_result(flight, frames[i]);
    } else {
        CU_TRY(cudaStreamSynchronize(g->copy));
        CU_TRY(cudaStreamSynchronize(g->compute));
    }
out:
    flight->busy = 0;
    return rc;
}

static const struct gpu_ops table = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .get_info = cuda_get_info,
    .model_open = plan_cuda_model_open,
    .model_close = plan_cuda_model_close,
    .session_bytes = session_cuda_bytes,
    .session_new = cuda_session_new,
    .session_free = cuda_session_free,
    .state_bytes = cuda_state_bytes,
    .save = cuda_save,
    .load = cuda_load,
    .upload = cuda_upload,
    .image = cuda_stage,
    .depth = cuda_stage,
    .motion = cuda_stage,
    .covisible = cuda_stage,
    .associate = cuda_stage,
    .keyframe = cuda_stage,
    .fuse = cuda_stage,
    .remove = cuda_stage,
    .change = cuda_stage,
    .download = cuda_download,
    .wait = cuda_wait,
    .put_depth = cuda_put_depth,
    .host_get = cuda_host_get,
    .host_put = cuda_host_put,
    .decode = cuda_decode,
};

const struct gpu_ops *const ops_cuda = &table;
