/*
 * ops_cpu.c - the CPU back end: every stage runs when it is called, frames of a batch one after
 * another
 */
#include "gpu/mono/session_cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Of the OpenMP run-time that oneDNN computes with (its header is the compiler's own): how many
 * threads the calling thread's next parallel region may use. */
void omp_set_num_threads(int n);

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void stage_done(struct gpu_frame *f, enum gpu_stage stage, double since)
{
    f->result.stage_us[stage] = (float)(now_us() - since);
}

/* ------------------------------------------------------------------------- device */

static void processor_name(char name[GPU_NAME_CAP])
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(name, GPU_NAME_CAP, "unknown");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %63[^\n]", name) == 1)
            break;
    if (f)
        fclose(f);
}

static int cpu_open(struct gpu **out, const struct gpu_config *config, struct err *err)
{
    struct gpu_cpu *g = calloc(1, sizeof *g);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *out = NULL;
    if (!g)
        return err_set(err, ERR_MEMORY, "no memory for the CPU back end");
    g->base.ops = &ops_cpu;
    g->threads = config->threads > 0 ? config->threads : cores > 0 ? (int)cores : 1;
    processor_name(g->model);
    *out = &g->base;
    return 0;
}

static void cpu_close(struct gpu *g)
{
    free(g);
}

static void cpu_get_info(const struct gpu *base, struct gpu_info *info)
{
    const struct gpu_cpu *g = (const struct gpu_cpu *)base;
    memset(info, 0, sizeof *info);
    snprintf(info->backend, sizeof info->backend, "cpu");
    snprintf(info->device, sizeof info->device, "cpu");
    snprintf(info->model, sizeof info->model, "%s", g->model);
    snprintf(info->why, sizeof info->why, "%s", g->base.why);
    info->memory_total_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    info->memory_used_bytes = g->used_bytes;
    info->threads = g->threads;
    info->temperature_c = NAN;
}

/* A network is laid out for as many threads as it will run with; who makes sessions need not be who
 * runs them. */
static int cpu_session_new(struct gpu_session **s, struct gpu *g,
                           const struct gpu_session_config *c, struct err *err)
{
    omp_set_num_threads(((struct gpu_cpu *)g)->threads);
    return session_cpu_new(s, g, c, err);
}

/* ------------------------------------------------------------------------- batch verbs */

static int cpu_upload(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    for (int i = 0; i < n; i++) {
        double t = now_us();
        struct session_cpu *s = session_cpu_of(frames[i]->session);
        memset(&frames[i]->result, 0, sizeof frames[i]->result);
        frames[i]->changes = NULL;
        s->frame++;
        stage_done(frames[i], GPU_STAGE_UPLOAD, t);
    }
    return 0;
}

static int cpu_image(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    for (int i = 0; i < n; i++) {
        double t = now_us();
        image_cpu_run(session_cpu_of(frames[i]->session), frames[i]);
        stage_done(frames[i], GPU_STAGE_IMAGE, t);
    }
    return 0;
}

static int cpu_depth(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = 0;
    omp_set_num_threads(((struct gpu_cpu *)g)->threads);
    for (int i = 0; i < n && rc == 0; i++) {
        double t = now_us();
        rc = depth_cpu_run(session_cpu_of(frames[i]->session), err);
        stage_done(frames[i], GPU_STAGE_DEPTH, t);
    }
    return rc;
}

static int cpu_motion(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = 0;
    omp_set_num_threads(((struct gpu_cpu *)g)->threads);
    for (int i = 0; i < n && rc == 0; i++) {
        double t = now_us();
        rc = motion_cpu_run(session_cpu_of(frames[i]->session), frames[i], err);
        stage_done(frames[i], GPU_STAGE_MOTION, t);
    }
    return rc;
}

static int cpu_download(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    for (int i = 0; i < n; i++) {
        double t = now_us();
        struct session_cpu *s = session_cpu_of(frames[i]->session);
        if (frames[i]->depth_out)
            memcpy(frames[i]->depth_out, s->depth, s->n_pixels * sizeof *s->depth);
        stage_done(frames[i], GPU_STAGE_DOWNLOAD, t);
    }
    return 0;
}

static int cpu_put_depth(struct gpu_session *s, const float *depth, struct err *err)
{
    (void)err;
    session_cpu_put_depth(s, depth);
    return 0;
}

static int cpu_wait(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    for (int i = 0; i < n; i++) {
        frames[i]->device_us = 0.0f;
        for (int k = 0; k < GPU_STAGES; k++)
            frames[i]->device_us += frames[i]->result.stage_us[k];
    }
    return 0;
}

/* ------------------------------------------------------------------------- frame verbs */

static int run_stage(void (*stage)(struct session_cpu *, struct gpu_frame *), enum gpu_stage which,
                     struct gpu_frame *const *frames, int n)
{
    for (int i = 0; i < n; i++) {
        double t = now_us();
        stage(session_cpu_of(frames[i]->session), frames[i]);
        stage_done(frames[i], which, t);
    }
    return 0;
}

static int cpu_covisible(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    return run_stage(covisible_cpu_run, GPU_STAGE_COVISIBLE, frames, n);
}

static int cpu_associate(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    return run_stage(associate_cpu_run, GPU_STAGE_ASSOCIATE, frames, n);
}

static int cpu_keyframe(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    return run_stage(keyframe_cpu_run, GPU_STAGE_KEYFRAME, frames, n);
}

static int cpu_fuse(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    return run_stage(fuse_cpu_run, GPU_STAGE_FUSE, frames, n);
}

static int cpu_remove(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    return run_stage(remove_cpu_run, GPU_STAGE_REMOVE, frames, n);
}

static int cpu_change(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    return run_stage(change_cpu_run, GPU_STAGE_CHANGE, frames, n);
}

const struct gpu_ops ops_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .get_info = cpu_get_info,
    .model_open = plan_cpu_model_open,
    .model_close = plan_cpu_model_close,
    .session_bytes = session_cpu_bytes,
    .session_new = cpu_session_new,
    .session_free = session_cpu_free,
    .state_bytes = session_cpu_state_bytes,
    .save = session_cpu_save,
    .load = session_cpu_load,
    .upload = cpu_upload,
    .image = cpu_image,
    .depth = cpu_depth,
    .motion = cpu_motion,
    .covisible = cpu_covisible,
    .associate = cpu_associate,
    .keyframe = cpu_keyframe,
    .fuse = cpu_fuse,
    .remove = cpu_remove,
    .change = cpu_change,
    .download = cpu_download,
    .wait = cpu_wait,
    .put_depth = cpu_put_depth,
};
