/*
 * line.h - a CPU session without networks: one call runs a frame with a given depth through the
 * whole line
 */
#pragma once

#include "gpu/mono/session_cpu.h"
#include "tests/support/scene.h"

#include <stdio.h>
#include <stdlib.h>

struct line {
    struct gpu *g;
    struct gpu_session *s;
    struct session_cpu *cpu; /* the same, to look inside */
    struct gpu_frame f;      /* the last frame, with its result and changes */
    struct intrinsics K;
    float *depth;
    uint8_t *rgb;
    int w, h;
    uint32_t submap; /* of the frames to come */
};

static inline struct gpu_session_config line_config(int w, int h)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = w,
                                   .net_h = h,
                                   .max_image_w = w,
                                   .max_image_h = h,
                                   .step_m = 0.001f,
                                   .max_points = 1u << 18};
    fuse_params_default(&c.fuse);
    return c;
}

/* Returns 0, or the error's code with its text printed. */
static inline int line_open(struct line *l, const struct gpu_session_config *c)
{
    struct gpu_config device = {.device = "cpu", .threads = 1};
    struct err err = {0};
    int rc = gpu_open(&l->g, &device, &err);
    l->submap = 0;
    l->w = c->net_w;
    l->h = c->net_h;
    l->K = scene_intrinsics(l->w, l->h);
    l->depth = (float *)malloc((size_t)l->w * (size_t)l->h * sizeof(float));
    l->rgb = (uint8_t *)malloc((size_t)l->w * (size_t)l->h * 3);
    if (rc == 0)
        rc = session_cpu_new(&l->s, l->g, c, &err);
    if (rc)
        printf("# %s\n", err.text);
    l->cpu = rc ? NULL : session_cpu_of(l->s);
    return rc;
}

static inline void line_close(struct line *l)
{
    gpu_session_free(&l->s);
    gpu_close(&l->g);
    free(l->depth);
    free(l->rgb);
}

/* l->f becomes l->depth and l->rgb as seen from T_wc. */
static inline void line_set_frame(struct line *l, const struct rigid *T_wc)
{
    memset(&l->f, 0, sizeof l->f);
    l->f.item.session = l->s;
    l->f.rgb = l->rgb;
    l->f.width = l->w;
    l->f.height = l->h;
    l->f.K = l->K;
    l->f.has_pose = !l->s->config.tracks;
    l->f.T_wc = *T_wc;
    l->f.submap = l->submap;
}

/* The same, and it goes through all stages. Returns 0 or the code of the first failure. */
static inline int line_frame(struct line *l, const struct rigid *T_wc)
{
    struct gpu_item *item = &l->f.item;
    struct err err = {0};
    int rc;

    line_set_frame(l, T_wc);
    rc = session_cpu_put_depth(l->s, l->depth, &err);
    if (rc == 0)
        rc = gpu_submit(l->g, &gpu_line_mono, &item, 1, &err);
    if (rc == 0)
        rc = gpu_wait(l->g, &item, 1, &err);
    if (rc)
        printf("# %s\n", err.text);
    return rc;
}

/* The same, of a drawn scene. */
static inline int line_scene(struct line *l, const struct scene *scene, const struct rigid *T_wc)
{
    scene_draw(scene, T_wc, l->K, l->w, l->h, l->depth, l->rgb);
    return line_frame(l, T_wc);
}
