/*
 * bench_cuda_paper - the paper's three CUDA kernels on this card: its Table 3, Figures 7, 8 and 9
 *
 *     bench_cuda_paper [FRAMES]      default 10
 *
 * The drawn room of support_sequence.h at the paper's 416x128; keyframes are the first frame and
 * those after it, up to five, as in bench_gpu_fuse. Times are medians over the frames that were
 * tested against all five. M grows with every frame, since removed entries are never used again;
 * the table says how long it was.
 */
#include "tests/bench/support_paper.h"
#include "tests/bench/support_paper_cuda.h"
#include "tests/bench/support_sequence.h"
#include "tests/support/scene.h"

#include <stdio.h>
#include <stdlib.h>

#define WIDTH 416
#define HEIGHT 128
#define PIXELS (WIDTH * HEIGHT)
#define KEYFRAMES 5
#define FRAMES 10
#define FRAMES_MAX 64
#define SERIAL_FRAMES KEYFRAMES /* the last of these is tested against all */
#define STUDY_FRAMES 20         /* of Figure 9 */
#define CAPACITY (6u << 20)
#define SKIP 77

/* Frames that every variant gets. */
struct clip {
    float *depth; /* [FRAMES_MAX][PIXELS] */
    struct camera camera[FRAMES_MAX];
    int n;
};

/* Medians over the frames with all keyframes. */
struct times {
    double search_us, update_us, remove_us, transfer_us, project_us, frame_us;
    struct support_paper_cuda_result first, last;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n ? v[n / 2] : 0;
}

static int clip_draw(struct clip *clip, int n, struct err *err)
{
    struct support_sequence *in = NULL;
    struct support_frame f;
    int rc = support_sequence_open(&in, NULL, WIDTH, HEIGHT, err);

    clip->n = 0;
    clip->depth = malloc((size_t)n * PIXELS * sizeof *clip->depth);
    if (rc == 0 && !clip->depth)
        rc = err_set(err, ERR_MEMORY, "no memory for the frames");
    for (int i = 0; i < n && rc == 0; i++) {
        rc = support_sequence_next(in, &f, err);
        if (rc)
            break;
        memcpy(clip->depth + (size_t)i * PIXELS, f.depth, PIXELS * sizeof *f.depth);
        clip->camera[i] = camera_make(
            &f.T_wc, intrinsics_scale(f.K, f.width, f.height, WIDTH, HEIGHT), WIDTH, HEIGHT);
        clip->n++;
    }
    support_sequence_close(&in);
    return rc;
}

static int run(const struct clip *clip, enum support_paper_cuda_mode mode, int threads,
               struct times *t, struct err *err)
{
    double v[6][FRAMES_MAX];
    struct support_paper_cuda *p = NULL;
    struct support_paper_cuda_result *r = &t->last;
    struct fuse_params params;
    int full = 0, rc;

    fuse_params_default(&params);
    rc = support_paper_cuda_new(&p, mode, CAPACITY, WIDTH, HEIGHT, &params, err);
    for (int i = 0; i < clip->n && rc == 0; i++) {
        int n = i + 1 < KEYFRAMES ? i + 1 : KEYFRAMES;
        rc = support_paper_cuda_frame(p, threads, clip->depth + (size_t)i * PIXELS,
                                      &clip->camera[i], clip->camera, n, r, err);
        if (i == 0)
            t->first = *r;
        if (n < KEYFRAMES)
            continue;
        v[0][full] = r->search_us;
        v[1][full] = r->update_us;
        v[2][full] = r->remove_us;
        v[3][full] = r->transfer_us;
        v[4][full] = r->project_us;
        v[5][full++] = r->frame_us;
    }
    t->search_us = median(v[0], full);
    t->update_us = median(v[1], full);
    t->remove_us = median(v[2], full);
    t->transfer_us = median(v[3], full);
    t->project_us = median(v[4], full);
    t->frame_us = median(v[5], full);
    support_paper_cuda_free(&p);
    return rc;
}

/* The serial form: its last frame is the one that is reported. */
static int run_serial(const struct clip *clip, struct support_paper_result *first,
                      struct support_paper_result *last, struct err *err)
{
    struct support_paper *p = NULL;
    struct fuse_params params;
    int rc;
    fuse_params_default(&params);
    rc = support_paper_new(&p, CAPACITY, &params, err);
    for (int i = 0; i < SERIAL_FRAMES && rc == 0; i++) {
        support_paper_frame(p, clip->depth + (size_t)i * PIXELS, &clip->camera[i], clip->camera,
                            i + 1 < KEYFRAMES ? i + 1 : KEYFRAMES, last);
        if (i == 0)
            *first = *last;
    }
    support_paper_free(&p);
    return rc;
}

static void print_row(const char *name, const char *key, const struct times *t)
{
    printf("  %-34s %11.3f %11.3f %9.3f %9.3f %11.3f %9.1f %9u\n", name, t->search_us * 1e-3,
           t->update_us * 1e-3, t->remove_us * 1e-3, t->transfer_us * 1e-3, t->frame_us * 1e-3,
           1e6 / t->frame_us, t->last.length);
    printf("@ paper.%s.search %.1f us\n", key, t->search_us);
    printf("@ paper.%s.update %.1f us\n", key, t->update_us);
    printf("@ paper.%s.remove %.1f us\n", key, t->remove_us);
    printf("@ paper.%s.frame %.1f us\n", key, t->frame_us);
}

/* Against one keyframe, itself, every pixel has a u_k of its own, so that no threads meet: the
 * kernels and the serial form must count the same. */
static int check_first(const struct support_paper_result *a,
                       const struct support_paper_cuda_result *b, struct err *err)
{
    if (a->n_inserted == b->n_inserted && a->n_updated == b->n_updated &&
        a->n_points == b->n_points)
        return 0;
    return err_set(err, ERR_INPUT,
                   "kernels and serial form differ in the first frame: %u and %u inserted, %u and "
                   "%u updated",
                   b->n_inserted, a->n_inserted, b->n_updated, a->n_updated);
}

/* The serial form takes seconds: ask first. */
static int find_device(struct err *err)
{
    struct support_paper_cuda *p = NULL;
    struct fuse_params params;
    int rc;
    fuse_params_default(&params);
    rc = support_paper_cuda_new(&p, SUPPORT_PAPER_CUDA_RESIDENT, 1, 32, 32, &params, err);
    support_paper_cuda_free(&p);
    return rc;
}

static int table_3(const struct clip *clip, struct err *err)
{
    static const struct {
        enum support_paper_cuda_mode mode;
        const char *name, *key;
    } rows[] = {
        {SUPPORT_PAPER_CUDA_SEARCH, "kernel 1, the rest serial", "kernel1"},
        {SUPPORT_PAPER_CUDA_TRANSFER, "kernels 1-3, copies as Algorithm 2", "kernels"},
        {SUPPORT_PAPER_CUDA_RESIDENT, "kernels 1-3, M and P on the device", "resident"},
    };
    struct support_paper_result first = {0}, last = {0};
    struct times t = {0};
    int rc;

    printf("Table 3: %dx%d, %d keyframes, 256 threads a block, drawn room, ms\n", WIDTH, HEIGHT,
           KEYFRAMES);
    printf("  %-34s %11s %11s %9s %9s %11s %9s %9s\n", "", "search", "update", "remove", "copies",
           "frame", "frames/s", "M");
    rc = run_serial(clip, &first, &last, err);
    if (rc)
        return rc;
    t.search_us = last.search_us;
    t.update_us = last.update_us;
    t.remove_us = last.remove_us;
    t.frame_us = last.search_us + last.update_us + last.remove_us;
    t.last.length = last.n_points;
    print_row("serial, frame 5 (C, one core)", "serial", &t);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((rc = run(clip, rows[i].mode, 256, &t, err)) ||
            (rc = check_first(&first, &t.first, err)))
            return rc;
        print_row(rows[i].name, rows[i].key, &t);
    }
    printf("  M: its length; of the serial form, entries that still stand\n");
    printf("  p_i and u_k on the host, not in these: %.3f ms a frame\n", t.project_us * 1e-3);
    printf("  the paper's: serial 30 min; kernel 1 31 s; kernels 1-3 39 ms (Tesla V100), 48 s and "
           "350 ms (M10)\n\n");
    return 0;
}

static int figures_7_8(const struct clip *clip, struct err *err)
{
    printf("Figures 7 and 8: threads a block, ms a frame (frames/s)\n");
    printf("  %7s %26s %26s\n", "threads", "copies as Algorithm 2", "M and P on the device");
    for (int threads = 32; threads <= 1024; threads *= 2) {
        struct times copies = {0}, resident = {0};
        int rc;
        if ((rc = run(clip, SUPPORT_PAPER_CUDA_TRANSFER, threads, &copies, err)) ||
            (rc = run(clip, SUPPORT_PAPER_CUDA_RESIDENT, threads, &resident, err)))
            return rc;
        printf("  %7d %14.3f (%9.1f) %14.3f (%9.1f)\n", threads, copies.frame_us * 1e-3,
               1e6 / copies.frame_us, resident.frame_us * 1e-3, 1e6 / resident.frame_us);
        printf("@ paper.threads_%d.copies %.1f us\n", threads, copies.frame_us);
        printf("@ paper.threads_%d.resident %.1f us\n", threads, resident.frame_us);
    }
    printf("  the paper's best: 256 on a V100, 128 on an M10\n\n");
    return 0;
}

/* Root mean square of the points' distances from the surfaces that were drawn. */
static double rmse_m(const struct vec3 *p, int n)
{
    struct scene scene = scene_make();
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double d = (double)scene_distance(&scene, p[i]);
        sum += d * d;
    }
    return n ? sqrt(sum / n) : 0;
}

/* Keyframes scattered among the frames: of n, those that the clip has come to. */
static int study(const struct clip *clip, int n, struct vec3 *points, struct err *err)
{
    struct camera keyframes[GPU_COVISIBLE_MAX];
    struct support_paper_cuda_result r;
    struct support_paper_cuda *p = NULL;
    struct fuse_params params;
    double total = 0;
    int have = 0, found = 0, rc;

    fuse_params_default(&params);
    rc = support_paper_cuda_new(&p, SUPPORT_PAPER_CUDA_RESIDENT, CAPACITY, WIDTH, HEIGHT, &params,
                                err);
    for (int i = 0; i < clip->n && rc == 0; i++) {
        if (have < n && i == have * clip->n / n)
            keyframes[have++] = clip->camera[i];
        rc = support_paper_cuda_frame(p, 256, clip->depth + (size_t)i * PIXELS, &clip->camera[i],
                                      keyframes, have, &r, err);
        total += r.frame_us;
    }
    if (rc == 0) {
        found = support_paper_cuda_points(p, points, CAPACITY, err);
        rc = found < 0 ? found : 0;
    }
    if (rc == 0) {
        printf("  %9d %12.2f %12.3f %12.3f %10d %9u %9u\n", n, 1e3 * rmse_m(points, found),
               total / clip->n * 1e-3, r.frame_us * 1e-3, found, r.length, r.n_left_out);
        printf("@ paper.keyframes_%d.rmse %.3f mm\n", n, 1e3 * rmse_m(points, found));
        printf("@ paper.keyframes_%d.frame %.1f us\n", n, total / clip->n);
    }
    support_paper_cuda_free(&p);
    return rc;
}

static int figure_9(const struct clip *clip, struct err *err)
{
    struct vec3 *points = malloc(CAPACITY * sizeof *points);
    int rc = points ? 0 : err_set(err, ERR_MEMORY, "no memory for points");
    printf("Figure 9: keyframes scattered among %d frames; RMSE of stable points, time of the "
           "three kernels\n",
           clip->n);
    printf("  %9s %12s %12s %12s %10s %9s %9s\n", "keyframes", "RMSE mm", "mean ms", "last ms",
           "points", "M", "left out");
    for (int n = 2; n <= GPU_COVISIBLE_MAX && rc == 0; n++)
        rc = study(clip, n, points, err);
    printf("  ours on the same frames: bench_cuda_fuse\n");
    free(points);
    return rc;
}

int main(int argc, char **argv)
{
    struct clip clip = {0};
    struct err err = {0};
    int frames = argc > 1 ? atoi(argv[1]) : FRAMES, rc;

    if (frames < KEYFRAMES || frames > STUDY_FRAMES)
        frames = FRAMES;
    rc = find_device(&err);
    if (rc == 0)
        rc = clip_draw(&clip, STUDY_FRAMES, &err);
    clip.n = frames;
    if (rc == 0)
        rc = table_3(&clip, &err);
    if (rc == 0)
        rc = figures_7_8(&clip, &err);
    clip.n = STUDY_FRAMES;
    if (rc == 0)
        rc = figure_9(&clip, &err);
    if (rc)
        fprintf(stderr, "bench_cuda_paper: %s\n", err.text);
    free(clip.depth);
    return rc == ERR_UNSUPPORTED ? SKIP : rc ? 1 : 0;
}
