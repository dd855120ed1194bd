/*
 * selftest.c - a wall with a hump, seen from eight places a little apart
 *
 * Counts and changed slots must agree exactly; a published position may differ by one step, as back
 * ends may round exp() and cos() differently in the last bit.
 */
#include "gpu/mono/session_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 96
#define HEIGHT 64
#define FRAMES 8
#define FOCAL_PX 80.0f
#define MAX_POINTS 32768

struct side {
    struct gpu *g;
    struct gpu_session *s;
    struct gpu_frame f;
};

static void selftest_draw(uint8_t *rgb, float *depth, int frame)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            float u = ((float)x - 48.0f) / FOCAL_PX + 0.01f * (float)frame;
            float v = ((float)y - 32.0f) / FOCAL_PX, r2 = u * u + v * v;
            size_t at = (size_t)y * WIDTH + (size_t)x;
            depth[at] = r2 < 0.04f ? 1.6f + 5.0f * r2 : 2.0f + 0.1f * u;
            rgb[3 * at] = (uint8_t)(x * 2);
            rgb[3 * at + 1] = (uint8_t)(y * 3);
            rgb[3 * at + 2] = (uint8_t)(16 * frame);
        }
}

static int open_side(struct side *side, struct gpu *g, struct err *err)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = WIDTH,
                                   .net_h = HEIGHT,
                                   .max_image_w = WIDTH,
                                   .max_image_h = HEIGHT,
                                   .step_m = 0.001f,
                                   .max_points = MAX_POINTS};
    fuse_params_default(&c.fuse);
    side->g = g;
    return gpu_session_make(&side->s, g, &c, err);
}

static int run_side(struct side *side, const uint8_t *rgb, const float *depth, int frame,
                    struct err *err)
{
    struct gpu_frame *f = &side->f;
    struct gpu_item *item = &f->item;
    int rc;

    memset(f, 0, sizeof *f);
    item->session = side->s;
    f->rgb = rgb;
    f->width = WIDTH;
    f->height = HEIGHT;
    f->K = (struct intrinsics){FOCAL_PX, FOCAL_PX, 48.0f, 32.0f};
    f->has_pose = 1;
    f->T_wc = rigid_identity();
    f->T_wc.t[0] = 0.02f * (float)frame;
    rc = side->g->ops->session(&gpu_line_mono)->put_depth(side->s, depth, err);
    if (rc == 0)
        rc = gpu_submit(side->g, &gpu_line_mono, &item, 1, err);
    return rc ? rc : gpu_wait(side->g, &item, 1, err);
}

static int same_change(const struct gpu_change *a, const struct gpu_change *b)
{
    for (int i = 0; i < 3; i++)
        if (labs((long)a->p_q[i] - (long)b->p_q[i]) > 1 || abs(a->rgb[i] - b->rgb[i]) > 1)
            return 0;
    return a->id == b->id && a->slot == b->slot && a->kind == b->kind;
}

static int selftest_compare(const struct gpu_frame *a, const struct gpu_frame *b, int frame,
                            struct err *err)
{
    const struct gpu_result *r = &a->result, *q = &b->result;
    const uint32_t pairs[][2] = {
        {r->n_valid, q->n_valid},         {r->n_associated, q->n_associated},
        {r->n_updated, q->n_updated},     {r->n_inserted, q->n_inserted},
        {r->n_removed, q->n_removed},     {r->n_carved, q->n_carved},
        {r->n_points, q->n_points},       {r->n_stable, q->n_stable},
        {r->n_keyframes, q->n_keyframes}, {r->n_changes, q->n_changes}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][0] != pairs[i][1])
            return err_set(err, ERR_UNSUPPORTED,
                           "self-test: count %zu of frame %d is %u, the CPU's %u", i, frame,
                           pairs[i][0], pairs[i][1]);
    for (uint32_t i = 0; i < r->n_changes; i++)
        if (!same_change(&a->changes[i], &b->changes[i]))
            return err_set(err, ERR_UNSUPPORTED,
                           "self-test: change %u of frame %d differs from the CPU's", i, frame);
    return 0;
}

int selftest_run(struct gpu *g, struct gpu *cpu, struct err *err)
{
    size_t n = (size_t)WIDTH * HEIGHT;
    uint8_t *rgb = malloc(n * 3);
    float *depth = malloc(n * sizeof *depth);
    struct side here = {0}, twin = {0};
    int rc = 0;

    if (!rgb || !depth)
        rc = err_set(err, ERR_MEMORY, "no memory for the self-test");
    if (rc == 0)
        rc = open_side(&twin, cpu, err);
    if (rc == 0)
        rc = open_side(&here, g, err);
    for (int i = 0; i < FRAMES && rc == 0; i++) {
        selftest_draw(rgb, depth, i);
        rc = run_side(&twin, rgb, depth, i, err);
        if (rc == 0)
            rc = run_side(&here, rgb, depth, i, err);
        if (rc == 0)
            rc = selftest_compare(&here.f, &twin.f, i, err);
    }
    gpu_session_free(&here.s);
    gpu_session_free(&twin.s);
    free(rgb);
    free(depth);
    return rc;
}
