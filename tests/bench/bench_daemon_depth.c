/*
 * bench_daemon_depth - how right the shipped depth network is, through the same line as a session's
 * frames, which are put upright as a session's are that knows the poses alone
 *
 *     bench_daemon_depth MODELS FOLDER...
 *
 * Every frame of each folder (docs/TESTING.md, "Sequences") goes through upload, image and depth of
 * the back end that `auto` chooses, at the input size that a session of this camera gets. Its
 * depth, bilinear at the pixels that have ground truth, is compared there:
 *
 *     AbsRel = mean |d - g| / g         delta1 = share with max(d/g, g/d) < 1.25
 *
 * each with d as it is (metric) and with d times median(g) / median(d) of the frame (scaled); then
 * the mean over frames. `constant` is the same for a depth map that holds the frame's own median
 * everywhere.
 */
#include "daemon/models.h"
#include "gpu/gpu.h"
#include "tests/bench/support_sequence.h"
#include "tests/support/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRUTH_MAX_M 80.0f /* LiDAR beyond is not counted, as the field does */

struct measure {
    double abs_rel, delta1;
};

struct sums {
    struct measure metric, scaled, constant;
    double network_ms;
    int frames;
};

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float median(float *scratch, const float *values, size_t n)
{
    memcpy(scratch, values, n * sizeof *values);
    qsort(scratch, n, sizeof *scratch, compare);
    return scratch[n / 2];
}

/* Depth at a position of the picture, between the four pixels of the network's map around it. */
static float sample(const float *map, int w, int h, float x, float y)
{
    int x0 = x < 0 ? 0 : (int)x, y0 = y < 0 ? 0 : (int)y;
    int x1 = x0 + 1 < w ? x0 + 1 : w - 1, y1 = y0 + 1 < h ? y0 + 1 : h - 1;
    float fx = x < 0 ? 0 : x - (float)x0, fy = y < 0 ? 0 : y - (float)y0;
    float a = map[y0 * w + x0], b = map[y0 * w + x1], c = map[y1 * w + x0], d = map[y1 * w + x1];
    return (a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy;
}

static void add(struct measure *m, const float *d, const float *g, size_t n, float scale)
{
    double sum = 0;
    size_t good = 0;
    for (size_t i = 0; i < n; i++) {
        float v = d ? d[i] * scale : scale, ratio = v > g[i] ? v / g[i] : g[i] / v;
        sum += fabsf(v - g[i]) / g[i];
        good += ratio < 1.25f;
    }
    m->abs_rel += sum / (double)n;
    m->delta1 += (double)good / (double)n;
}

/* pairs: [2][width*height] of estimate and truth, and as much scratch. */
static void score(struct sums *t, const struct support_frame *f, const float *map, int w, int h,
                  float *pairs)
{
    size_t cap = (size_t)f->width * (size_t)f->height, n = 0;
    float *d = pairs, *g = pairs + cap, *scratch = pairs + 2 * cap;
    float sx = (float)w / (float)f->width, sy = (float)h / (float)f->height, middle;

    for (int y = 0; y < f->height; y++)
        for (int x = 0; x < f->width; x++) {
            float truth = f->depth[(size_t)y * (size_t)f->width + (size_t)x];
            if (!(truth > 0.0f && truth <= TRUTH_MAX_M))
                continue;
            d[n] = sample(map, w, h, ((float)x + 0.5f) * sx - 0.5f, ((float)y + 0.5f) * sy - 0.5f);
            d[n] = d[n] > 1e-3f ? d[n] : 1e-3f;
            g[n++] = truth;
        }
    if (n == 0)
        return;
    middle = median(scratch, g, n);
    add(&t->metric, d, g, n, 1.0f);
    add(&t->scaled, d, g, n, middle / median(scratch, d, n));
    add(&t->constant, NULL, g, n, middle);
    t->frames++;
}

static int open_session(struct gpu_session **s, struct gpu *g, struct gpu_model *model,
                        const struct gpu_model_info *info, const struct support_frame *f,
                        struct gpu_session_config *c, struct err *err)
{
    int rc;

    memset(c, 0, sizeof *c);
    c->line = &gpu_line_mono;
    models_net_size(f->width, f->height, info->multiple, &c->net_w, &c->net_h);
    c->max_image_w = f->width;
    c->max_image_h = f->height;
    c->depth = model;
    c->step_m = 0.001f;
    c->max_points = 1000;
    fuse_params_default(&c->fuse);
    rc = gpu_session_new(s, g, c, err);
    return rc ? rc : gpu_session_sideways(*s, err);
}

static int run_frame(struct gpu *g, struct gpu_session *s, const struct support_frame *in,
                     float *map, struct sums *t, struct err *err)
{
    struct gpu_frame f = {.item = {.session = s, .turn = in->turn},
                          .rgb = in->rgb,
                          .width = in->width,
                          .height = in->height,
                          .K = in->K,
                          .has_pose = 1,
                          .T_wc = in->T_wc,
                          .depth_out = map};
    struct gpu_item *batch = &f.item;
    int rc;
    if ((rc = gpu_submit(g, &gpu_line_mono, &batch, 1, err)) || (rc = gpu_wait(g, &batch, 1, err)))
        return rc;
    t->network_ms += (double)pass_us(batch, "depth") / 1000;
    return 0;
}

static int run_folder(struct gpu *g, struct gpu_model *model, const struct gpu_model_info *info,
                      const char *folder, struct err *err)
{
    struct support_sequence *seq = NULL;
    struct gpu_session *session = NULL;
    struct gpu_session_config c = {0};
    struct support_frame f;
    struct sums t = {0};
    float *map = NULL, *pairs = NULL;
    int rc = support_sequence_open(&seq, folder, 0, 0, err);

    while (rc == 0 && (rc = support_sequence_next(seq, &f, err)) == 0) {
        if (!session) {
            if ((rc = open_session(&session, g, model, info, &f, &c, err)))
                break;
            map = malloc((size_t)c.net_w * (size_t)c.net_h * sizeof *map);
            pairs = malloc(3 * (size_t)f.width * (size_t)f.height * sizeof *pairs);
            if (!map || !pairs) {
                rc = err_set(err, ERR_MEMORY, "no memory");
                break;
            }
        }
        if ((rc = run_frame(g, session, &f, map, &t, err)) == 0)
            score(&t, &f, map, c.net_w, c.net_h, pairs);
    }
    rc = rc == ERR_END && t.frames ? 0 : rc ? rc : err_set(err, ERR_INPUT, "%s: no truth", folder);
    if (rc == 0)
        printf("%-28.28s %4d  %3dx%-3d  %6.3f %6.3f   %6.3f %6.3f   %6.3f %6.3f   %7.1f\n",
               strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder, t.frames, c.net_w, c.net_h,
               t.scaled.abs_rel / t.frames, t.scaled.delta1 / t.frames, t.metric.abs_rel / t.frames,
               t.metric.delta1 / t.frames, t.constant.abs_rel / t.frames,
               t.constant.delta1 / t.frames, t.network_ms / t.frames);
    free(map);
    free(pairs);
    gpu_session_free(&session);
    support_sequence_close(&seq);
    return rc;
}

int main(int argc, char **argv)
{
    struct gpu_config config = {.device = "auto"};
    struct models *models = NULL;
    struct gpu *g = NULL;
    struct gpu_model *model = NULL;
    const struct gpu_model_info *info;
    struct err err = {0};
    int rc;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_daemon_depth MODELS FOLDER...\n");
        return 2;
    }
    rc = models_open(&models, argv[1], "", "", &err);
    if (rc == 0)
        rc = gpu_open(&g, &config, &err);
    info = rc ? NULL : models_find(models, GPU_MODEL_DEPTH, "");
    if (rc == 0)
        rc = gpu_model_open(&model, g, info, &err);
    if (rc == 0)
        printf("%-28s %4s  %7s  %13s   %13s   %13s   %7s\n%-28s %4s  %7s  %6s %6s   %6s %6s   %6s "
               "%6s\n",
               info->name, "", "", "median-scaled", "metric", "constant", "network", "folder", "n",
               "input", "AbsRel", "delta1", "AbsRel", "delta1", "AbsRel", "delta1");
    for (int i = 2; i < argc && rc == 0; i++)
        rc = run_folder(g, model, info, argv[i], &err);
    if (rc)
        fprintf(stderr, "bench_daemon_depth: %s %s\n", err.where, err.text);
    gpu_model_close(&model);
    gpu_close(&g);
    models_close(&models);
    return rc ? 1 : 0;
}
