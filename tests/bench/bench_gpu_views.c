/*
 * bench_gpu_views - what depth out of many views costs: frames that sweep a keyframe, frames that
 * make one final, the others; one session alone, and as many as a batch holds
 *
 *     DEVICE=cuda SESSIONS=32 bench_gpu_views
 *
 * A camera walks to and fro in the painted room of tests/support/views_case.h at 256x192, in each
 * session from another place on; its depth is given, so no network runs. What is shown is the pass
 * "views" alone, by the device's own clock, and with it the whole line.
 */
#include "gpu/base/ops.h"
#include "tests/support/views_case.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define W 256
#define H 192
#define DRAWN 40
#define FRAMES 80
#define WARM 16 /* frames before the first ones that count */
#define SESSIONS_MAX 64

enum { SWEEPS, FINALS, OTHERS, KINDS };
static const char *const kinds[KINDS] = {"sweeps", "final", "others"};

struct bench {
    struct gpu *g;
    int n;
    struct gpu_session *s[SESSIONS_MAX];
    struct gpu_frame f[SESSIONS_MAX];
    uint32_t n_refined[SESSIONS_MAX], n_keyframes[SESSIONS_MAX];
    struct views_case drawn[DRAWN];
    double views_us[KINDS], views_most[KINDS], line_us, wall_us;
    int count[KINDS];
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int open_bench(struct bench *b, const char *device, struct err *err)
{
    const struct gpu_config config = {.device = device, .threads = 1};
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = W,
                                   .net_h = H,
                                   .max_image_w = W,
                                   .max_image_h = H,
                                   .step_m = 0.001f,
                                   .max_points = 1u << 18,
                                   .views = GPU_VIEWS_REFINED};
    int rc = gpu_open(&b->g, &config, err);

    fuse_params_cells(&c.fuse);
    for (int i = 0; i < b->n && rc == 0; i++)
        rc = gpu_session_make(&b->s[i], b->g, &c, err);
    for (int i = 0; i < DRAWN && rc == 0; i++) {
        views_case_open(&b->drawn[i], W, H);
        views_case_draw(&b->drawn[i], i, 1.2f);
    }
    return rc;
}

static void close_bench(struct bench *b)
{
    for (int i = 0; i < b->n; i++)
        gpu_session_free(&b->s[i]);
    for (int i = 0; i < DRAWN; i++)
        views_case_close(&b->drawn[i]);
    gpu_close(&b->g);
}

/* Frame i of session k, which walks to and fro. */
static const struct views_case *drawn(const struct bench *b, int k, int i)
{
    int at = (i + 5 * k) % (2 * DRAWN - 2);
    return &b->drawn[at < DRAWN ? at : 2 * DRAWN - 2 - at];
}

static int prepare(struct bench *b, int k, int i, struct err *err)
{
    const struct views_case *c = drawn(b, k, i);
    struct gpu_frame *f = &b->f[k];

    memset(f, 0, sizeof *f);
    f->item.session = b->s[k];
    f->rgb = c->rgb;
    f->width = W;
    f->height = H;
    f->K = c->frame.K;
    f->has_pose = 1;
    f->T_wc = c->frame.T_wc;
    return b->g->ops->session(&gpu_line_mono)->put_depth(b->s[k], c->depth, err);
}

/* A keyframe is swept when the one behind it by VIEWS_SWEEP_KEYFRAMES is taken. */
static void count(struct bench *b, int k, int i)
{
    const struct gpu_frame *f = &b->f[k];
    const struct gpu_views *v = &f->result.views;
    int kind = v->n_keyframes > b->n_keyframes[k] ? SWEEPS
               : v->n_refined > b->n_refined[k]   ? FINALS
                                                  : OTHERS;

    b->n_keyframes[k] = v->n_keyframes;
    b->n_refined[k] = v->n_refined;
    if (i < WARM)
        return;
    b->count[kind]++;
    b->line_us += (double)f->item.device_us;
    for (int p = 0; p < f->item.n_passes; p++)
        if (!strcmp(f->item.passes[p].name, "views")) {
            double us = (double)f->item.passes[p].us;
            b->views_us[kind] += us;
            b->views_most[kind] = us > b->views_most[kind] ? us : b->views_most[kind];
        }
}

static int run(struct bench *b, struct err *err)
{
    struct gpu_item *batch[SESSIONS_MAX];
    int rc = 0;

    for (int i = 0; i < FRAMES && rc == 0; i++) {
        double begin;
        for (int k = 0; k < b->n && rc == 0; k++) {
            rc = prepare(b, k, i, err);
            batch[k] = &b->f[k].item;
        }
        begin = now_us();
        if (rc == 0)
            rc = gpu_submit(b->g, &gpu_line_mono, batch, b->n, err);
        if (rc == 0)
            rc = gpu_wait(b->g, batch, b->n, err);
        if (i >= WARM)
            b->wall_us += now_us() - begin;
        for (int k = 0; k < b->n && rc == 0; k++)
            count(b, k, i);
    }
    return rc;
}

static void print(const struct bench *b)
{
    double all = 0;
    int n = (FRAMES - WARM) * b->n;

    printf("%d session%s, %d frames each, %dx%d, on %s\n", b->n, b->n > 1 ? "s" : "", FRAMES - WARM,
           W, H, b->g->ops->name);
    for (int i = 0; i < KINDS; i++) {
        all += b->views_us[i];
        if (b->count[i])
            printf("    %-8s %5d frames: views %9.1f us in the mean, %9.1f at most\n", kinds[i],
                   b->count[i], b->views_us[i] / b->count[i], b->views_most[i]);
    }
    if (b->count[SWEEPS])
        printf("@ swept_%d %.2f us\n", b->n, b->views_us[SWEEPS] / b->count[SWEEPS]);
    printf("    a frame: views %.1f us as told, line %.1f us of the device, %.1f us by the clock\n",
           all / n, b->line_us / n, b->wall_us / n);
    printf("@ frame_%d %.2f us\n@ clock_frame_%d %.2f us\n", b->n, all / n, b->n, b->wall_us / n);
}

int main(void)
{
    const char *device = getenv("DEVICE"), *sessions = getenv("SESSIONS");
    static struct bench b;
    struct err err = {0};
    int rc;

    b.n = sessions ? atoi(sessions) : 1;
    if (b.n < 1 || b.n > SESSIONS_MAX) {
        fprintf(stderr, "bench_gpu_views: 1 to %d sessions\n", SESSIONS_MAX);
        return 2;
    }
    rc = open_bench(&b, device ? device : "cpu", &err);
    if (rc == 0)
        rc = run(&b, &err);
    if (rc == 0)
        print(&b);
    else
        fprintf(stderr, "bench_gpu_views: %s\n", err.text);
    close_bench(&b);
    return rc == 0 ? 0 : rc == ERR_UNSUPPORTED ? 77 : 1;
}
