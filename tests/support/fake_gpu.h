/*
 * fake_gpu.h - a back end that is small, quick and predictable, for tests of what stands around it
 *
 * Each frame publishes FAKE_POINTS points: number i of frame f goes to slot (f*FAKE_STEP + i) mod
 * FAKE_SLOTS, so later frames replace what earlier ones put, and every FAKE_REMOVE-th frame removes
 * a run of slots. Where a point goes depends on the picture's first byte, its frame number and the
 * pose alone. fake_gpu_plan says what shall fail.
 */
#ifndef RECOND_TESTS_FAKE_GPU_H
#define RECOND_TESTS_FAKE_GPU_H

#include "gpu/ops.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE_POINTS 200
#define FAKE_SLOTS 900
#define FAKE_STEP 150
#define FAKE_REMOVE 5

static struct {
    atomic_int sessions, models; /* that exist */
    atomic_int frames, batches;  /* through the pipeline */
    atomic_int largest_batch;
    atomic_int fail_at; /* frame count at which `fail_with` is answered; 0 = never */
    atomic_int fail_with;
    atomic_int delay_us;      /* of each batch */
    atomic_int session_fails; /* what session_new answers, 0 = it works */
    atomic_int restarts;      /* frames that came with `restart` */
} fake_gpu_plan;

struct fake_session {
    struct gpu_session base;
    uint32_t frame;
    struct gpu_change changes[2 * FAKE_POINTS];
};

static int fake_model_open(struct gpu_model **m, struct gpu *g, const struct gpu_model_info *info,
                           struct err *err)
{
    *m = calloc(1, sizeof(**m));
    if (!*m)
        return err_set(err, ERR_MEMORY, "no memory");
    (*m)->gpu = g;
    (*m)->info = *info;
    fake_gpu_plan.models++;
    return 0;
}

static void fake_model_close(struct gpu_model *m)
{
    fake_gpu_plan.models--;
    free(m);
}

static size_t fake_session_bytes(const struct gpu_session_config *c)
{
    (void)c;
    return 1 << 20;
}

static int fake_session_new(struct gpu_session **s, struct gpu *g,
                            const struct gpu_session_config *c, struct err *err)
{
    struct fake_session *f;

    if (fake_gpu_plan.session_fails)
        return err_set(err, fake_gpu_plan.session_fails, "as planned");
    f = calloc(1, sizeof(*f));
    if (!f)
        return err_set(err, ERR_MEMORY, "no memory");
    f->base.gpu = g;
    f->base.config = *c;
    *s = &f->base;
    fake_gpu_plan.sessions++;
    return 0;
}

static void fake_session_free(struct gpu_session *s)
{
    fake_gpu_plan.sessions--;
    free(s);
}

static int fake_batch(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)frames;
    (void)n;
    (void)err;
    return 0;
}

static int fake_upload(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)frames;
    fake_gpu_plan.batches++;
    if (n > fake_gpu_plan.largest_batch)
        fake_gpu_plan.largest_batch = n;
    if (fake_gpu_plan.delay_us)
        usleep((useconds_t)fake_gpu_plan.delay_us);
    if (fake_gpu_plan.fail_at && fake_gpu_plan.frames + n >= fake_gpu_plan.fail_at) {
        fake_gpu_plan.fail_at = 0;
        return err_set(err, fake_gpu_plan.fail_with, "as planned");
    }
    return 0;
}

static void fake_put(struct gpu_change *c, const struct gpu_frame *f, uint32_t frame, uint32_t i)
{
    uint32_t slot = (frame * FAKE_STEP + i) % FAKE_SLOTS, where = slot * 613u + f->rgb[0];

    *c = (struct gpu_change){
        .id = frame * 1000u + i, .slot = slot, .kind = GPU_CHANGE_PUT, .confidence = 1};
    for (int k = 0; k < 3; k++)
        c->p_q[k] = (int32_t)(where >> (3 * k) & 0xfff) - 2048 + (int32_t)(1000 * f->T_wc.t[k]);
    c->rgb[0] = (uint8_t)((where + frame * 4) & 0xfc);
    c->rgb[1] = (uint8_t)(where >> 4 & 0xfc);
    c->rgb[2] = f->rgb[1] & 0xfc;
}

static void fake_change_one(struct gpu_frame *f)
{
    struct fake_session *s = (struct fake_session *)f->session;
    uint32_t n = 0;

    fake_gpu_plan.frames++;
    fake_gpu_plan.restarts += f->restart;
    s->frame++;
    for (uint32_t i = 0; i < FAKE_POINTS; i++)
        fake_put(&s->changes[n++], f, s->frame, i);
    for (uint32_t i = 0; i < FAKE_POINTS && s->frame % FAKE_REMOVE == 0; i++)
        s->changes[n++] = (struct gpu_change){.slot = (s->frame * FAKE_STEP + 300 + i) % FAKE_SLOTS,
                                              .kind = GPU_CHANGE_REMOVE};
    memset(&f->result, 0, sizeof(f->result));
    f->result.T_wc = f->T_wc;
    f->result.is_keyframe = s->frame % 4 == 1;
    f->result.n_keyframes = (s->frame + 3) / 4;
    f->result.n_changes = n;
    f->result.n_points = f->result.n_stable = FAKE_POINTS;
    f->changes = s->changes;
    if (f->depth_out)
        for (int i = 0; i < f->session->config.net_w * f->session->config.net_h; i++)
            f->depth_out[i] = 1.5f;
}

static int fake_change(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    (void)g;
    (void)err;
    for (int i = 0; i < n; i++)
        fake_change_one(frames[i]);
    return 0;
}

static void fake_close(struct gpu *g)
{
    free(g);
}

static void fake_get_info(const struct gpu *g, struct gpu_info *info)
{
    memset(info, 0, sizeof(*info));
    strcpy(info->backend, "fake");
    strcpy(info->device, "fake");
    strcpy(info->model, "none");
    strcpy(info->why, g->why);
    info->memory_total_bytes = 64ull << 30;
    info->threads = 1;
}

static const struct gpu_ops fake_ops = {
    .name = "fake",
    .close = fake_close,
    .get_info = fake_get_info,
    .model_open = fake_model_open,
    .model_close = fake_model_close,
    .session_bytes = fake_session_bytes,
    .session_new = fake_session_new,
    .session_free = fake_session_free,
    .upload = fake_upload,
    .image = fake_batch,
    .depth = fake_batch,
    .motion = fake_batch,
    .covisible = fake_batch,
    .associate = fake_batch,
    .keyframe = fake_batch,
    .fuse = fake_batch,
    .remove = fake_batch,
    .change = fake_change,
    .download = fake_batch,
    .wait = fake_batch,
};

static inline int fake_open(struct gpu **g, const struct gpu_config *config, struct err *err)
{
    (void)config;
    *g = calloc(1, sizeof(**g));
    if (!*g)
        return err_set(err, ERR_MEMORY, "no memory");
    (*g)->ops = &fake_ops;
    strcpy((*g)->why, "a test asked for it");
    return 0;
}

#endif
