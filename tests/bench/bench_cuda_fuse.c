/*
 * bench_cuda_fuse - what our fusion costs on the device, stage by stage, and how near to its memory
 *
 *     bench_cuda_fuse
 *
 * Depth is given (the drawn room of support_sequence.h), 416x128, 5 keyframes a frame. All frames
 * lie on the device before the clock starts; a frame is a graph of the image, then one of all from
 * the pose to the result, and that one is timed, by events, the queue filled ahead. Medians are
 * over the frames that were tested against all keyframes.
 * Bytes:   what a stage has to read and write, counted from each frame's own result; over the rate
 *          of a copy within the device, measured in this run, that is the limit a table row names.
 * Rules:   the paper's (figures `fuse`) and points in cubes of space (`cells`) get the same frames.
 */
#include "gpu/base/cuda_try.h"
#include "gpu/mono/session_cuda.h"
#include "tests/bench/support_cuda.h"
#include "tests/bench/support_model_cuda.h"
#include "tests/bench/support_sequence.h"
#include "tests/support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 416
#define HEIGHT 128
#define PIXELS (WIDTH * HEIGHT)
#define FRAMES 240
#define STUDY_FRAMES 20
#define BATCH_MAX 32
#define ROOM (1u << 20) /* free slots of a filled model */
#define STEP_M 0.001f

#define STAGES 6
static const struct {
    const char *name;
    pass_cuda_fn *enqueue;
} passes[STAGES] = {{"image", image_cuda},         {"covisible", covisible_cuda},
                    {"associate", associate_cuda}, {"update", update_cuda},
                    {"insert", insert_cuda},       {"remove", remove_cuda}};
#define FIRST_TIMED 1 /* covisible, which makes the pose, too */

/* The frames of a clip, on the device. */
struct clip {
    float *depth;     /* [FRAMES][PIXELS] */
    uint8_t *picture; /* [FRAMES][PIXELS][3] */
    struct rigid T_wc[FRAMES];
    struct intrinsics K;
    int n;
};

/* Sessions that get the same frames, and the graphs that run them. */
struct rig {
    cudaStream_t stream;
    int batch;
    struct session_cuda *s[BATCH_MAX];
    struct frame_cuda *args;     /* pinned, [FRAMES][batch] */
    struct frame_cuda *args_dev; /* [batch] the current frame's */
    struct result_cuda *results; /* pinned, [FRAMES][batch] */
    struct result_cuda *results_dev;
    cudaGraphExec_t head, tail, staged;
    cudaEvent_t between[STAGES + 1]; /* in the graph `staged` */
    cudaEvent_t begin[FRAMES], end[FRAMES];
};

/* ---------------------------------------------------------------------------------- frames */

static void clip_free(struct clip *clip)
{
    (void)cudaFree(clip->depth);
    (void)cudaFree(clip->picture);
    memset(clip, 0, sizeof *clip);
}

static int clip_draw(struct clip *clip, struct err *err)
{
    struct support_sequence *in = NULL;
    struct support_frame f;
    int rc = support_sequence_open(&in, NULL, WIDTH, HEIGHT, err);
    if (rc)
        goto out;
    CU_TRY(cudaMalloc((void **)&clip->depth, (size_t)FRAMES * PIXELS * sizeof(float)));
    CU_TRY(cudaMalloc((void **)&clip->picture, (size_t)FRAMES * PIXELS * 3));
    for (clip->n = 0; clip->n < FRAMES; clip->n++) {
        size_t at = (size_t)clip->n * PIXELS;
        rc = support_sequence_next(in, &f, err);
        if (rc)
            goto out;
        CU_TRY(
            cudaMemcpy(clip->depth + at, f.depth, PIXELS * sizeof(float), cudaMemcpyHostToDevice));
        CU_TRY(
            cudaMemcpy(clip->picture + 3 * at, f.rgb, (size_t)PIXELS * 3, cudaMemcpyHostToDevice));
        clip->T_wc[clip->n] = f.T_wc;
        clip->K = f.K;
    }
out:
    support_sequence_close(&in);
    return rc;
}

/* ---------------------------------------------------------------------------------- the rig */

static void rig_free(struct rig *r)
{
    for (int i = 0; i < r->batch; i++)
        session_cuda_free(&r->s[i]);
    (void)cudaFreeHost(r->args);
    (void)cudaFree(r->args_dev);
    (void)cudaFreeHost(r->results);
    if (r->head)
        (void)cudaGraphExecDestroy(r->head);
    if (r->tail)
        (void)cudaGraphExecDestroy(r->tail);
    if (r->staged)
        (void)cudaGraphExecDestroy(r->staged);
    for (int i = 0; i <= STAGES; i++)
        if (r->between[i])
            (void)cudaEventDestroy(r->between[i]);
    for (int i = 0; i < FRAMES; i++) {
        if (r->begin[i])
            (void)cudaEventDestroy(r->begin[i]);
        if (r->end[i])
            (void)cudaEventDestroy(r->end[i]);
    }
    memset(r, 0, sizeof *r);
}

/* Stages first ... last-1, with an event before each and behind the last if `events`. */
static int record(struct rig *r, int first, int last, int events, cudaGraphExec_t *exec,
                  struct err *err)
{
    const struct pass_cuda pass = {
        .args = r->args_dev, .n = r->batch, .pixels_max = PIXELS, .stream = r->stream};
    cudaGraph_t graph = NULL;
    int rc = 0, ended;
    CU_TRY(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));
    for (int i = first; i < last && rc == 0; i++) {
        if (events)
            rc = cuda_try_check(
                cudaEventRecordWithFlags(r->between[i], r->stream, cudaEventRecordExternal),
                "cudaEventRecordWithFlags", err);
        if (rc == 0)
            rc = passes[i].enqueue(&pass, err);
    }
    if (events && rc == 0)
        rc = cuda_try_check(
            cudaEventRecordWithFlags(r->between[last], r->stream, cudaEventRecordExternal),
            "cudaEventRecordWithFlags", err);
    ended = cuda_try_check(cudaStreamEndCapture(r->stream, &graph), "cudaStreamEndCapture",
                           rc ? NULL : err);
    rc = rc ? rc : ended;
    if (rc)
        goto out;
    CU_TRY(cudaGraphInstantiate(exec, graph, 0));
    CU_TRY(cudaGraphUpload(*exec, r->stream));
out:
    if (graph)
        (void)cudaGraphDestroy(graph);
    return rc;
}

static void fill_args(struct rig *r, const struct clip *clip)
{
    const struct lens none = {0};
    memset(r->args, 0, (size_t)FRAMES * (size_t)r->batch * sizeof *r->args);
    for (int f = 0; f < clip->n; f++)
        for (int i = 0; i < r->batch; i++) {
            struct frame_cuda *a = &r->args[f * r->batch + i];
            a->s = r->s[i]->dev;
            a->map = lens_map_make(&none, clip->K, WIDTH, HEIGHT, WIDTH, HEIGHT);
            a->T_wc = clip->T_wc[f];
            a->has_pose = 1;
            a->changes = r->s[i]->changes;
            a->result = &r->results_dev[f * r->batch + i];
        }
}

static int rig_new(struct rig *r, const struct clip *clip, int batch, uint32_t max_points,
                   const struct fuse_params *params, cudaStream_t stream, struct err *err)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = WIDTH,
                                   .net_h = HEIGHT,
                                   .max_image_w = WIDTH,
                                   .max_image_h = HEIGHT,
                                   .step_m = STEP_M,
                                   .max_points = max_points,
                                   .fuse = *params};
    size_t n = (size_t)FRAMES * (size_t)batch;
    int rc = 0;

    memset(r, 0, sizeof *r);
    r->stream = stream;
    r->batch = batch;
    for (int i = 0; i < batch; i++)
        if ((rc = session_cuda_new(&r->s[i], NULL, NULL, &c, stream, err)))
            goto out;
    CU_TRY(cudaMallocHost((void **)&r->args, n * sizeof *r->args));
    CU_TRY(cudaMalloc((void **)&r->args_dev, (size_t)batch * sizeof *r->args_dev));
    CU_TRY(cudaHostAlloc((void **)&r->results, n * sizeof *r->results, cudaHostAllocMapped));
    CU_TRY(cudaHostGetDevicePointer((void **)&r->results_dev, r->results, 0));
    for (int i = 0; i <= STAGES; i++)
        CU_TRY(cudaEventCreate(&r->between[i]));
    for (int i = 0; i < FRAMES; i++) {
        CU_TRY(cudaEventCreate(&r->begin[i]));
        CU_TRY(cudaEventCreate(&r->end[i]));
    }
    fill_args(r, clip);
    if ((rc = record(r, 0, FIRST_TIMED, 0, &r->head, err)) ||
        (rc = record(r, FIRST_TIMED, STAGES, 0, &r->tail, err)) ||
        (rc = record(r, 0, STAGES, 1, &r->staged, err)))
        goto out;
out:
    return rc;
}

/* Depth, picture and arguments of frame f to where the stages look for them. */
static int feed(struct rig *r, const struct clip *clip, int f, struct err *err)
{
    size_t at = (size_t)f * PIXELS;
    int rc = 0;
    for (int i = 0; i < r->batch; i++) {
        CU_TRY(cudaMemcpyAsync(r->s[i]->host.depth, clip->depth + at, PIXELS * sizeof(float),
                               cudaMemcpyDeviceToDevice, r->stream));
        CU_TRY(cudaMemcpyAsync(r->s[i]->host.picture, clip->picture + 3 * at, (size_t)PIXELS * 3,
                               cudaMemcpyDeviceToDevice, r->stream));
    }
    CU_TRY(cudaMemcpyAsync(r->args_dev, r->args + (size_t)f * (size_t)r->batch,
                           (size_t)r->batch * sizeof *r->args, cudaMemcpyHostToDevice, r->stream));
out:
    return rc;
}

/* us of covisible ... remove, median; us a frame where batch > 1. */
static int run_whole(struct rig *r, const struct clip *clip, int frames, double *us,
                     struct err *err)
{
    double each[FRAMES];
    int n = 0, rc = support_cuda_hold(r->stream, 50, err);
    if (rc)
        goto out;
    for (int f = 0; f < frames; f++) {
        if ((rc = feed(r, clip, f, err)))
            goto out;
        CU_TRY(cudaGraphLaunch(r->head, r->stream));
        CU_TRY(cudaEventRecord(r->begin[f], r->stream));
        CU_TRY(cudaGraphLaunch(r->tail, r->stream));
        CU_TRY(cudaEventRecord(r->end[f], r->stream));
    }
    CU_TRY(cudaStreamSynchronize(r->stream));
    for (int f = 0; f < frames; f++) {
        float ms;
        CU_TRY(cudaEventElapsedTime(&ms, r->begin[f], r->end[f]));
        if (r->results[f * r->batch].result.n_covisible ==
            (uint32_t)r->s[0]->base.config.fuse.n_covisible)
            each[n++] = 1e3 * (double)ms / r->batch;
    }
    *us = support_cuda_median(each, n);
out:
    return rc;
}

/* us of each stage for the whole batch, medians. */
static int run_staged(struct rig *r, const struct clip *clip, double us[STAGES], struct err *err)
{
    static double each[STAGES][FRAMES];
    int n = 0, rc = 0;
    for (int f = 0; f < clip->n; f++) {
        if ((rc = feed(r, clip, f, err)))
            goto out;
        CU_TRY(cudaGraphLaunch(r->staged, r->stream));
        CU_TRY(cudaStreamSynchronize(r->stream));
        if (r->results[f * r->batch].result.n_covisible !=
            (uint32_t)r->s[0]->base.config.fuse.n_covisible)
            continue;
        for (int i = 0; i < STAGES; i++) {
            float ms;
            CU_TRY(cudaEventElapsedTime(&ms, r->between[i], r->between[i + 1]));
            each[i][n] = 1e3 * (double)ms;
        }
        n++;
    }
    for (int i = 0; i < STAGES; i++)
        us[i] = support_cuda_median(each[i], n);
out:
    return rc;
}

/* ---------------------------------------------------------------------------------- bytes */

/* What each stage cannot do without, of one frame: every array read or written once. */
static void stage_bytes(const struct gpu_result *r, double bytes[STAGES])
{
    const double n = PIXELS, k = r->n_covisible, valid = r->n_valid, fresh = r->n_inserted;
    const double updated = r->n_updated, cell = sizeof(struct map_cell), u = sizeof(uint32_t);
    const double point = sizeof(struct point_place) + sizeof(struct point_stat);
    const double unstable = (double)(r->n_points - r->n_stable) + r->n_removed;
    bytes[0] = n * (3 + 3);
    /* keyframes; depth, usable */
    bytes[1] = r->n_keyframes * sizeof(struct keyframe) + n * 8;
    /* usable; world, found, through, distance, wins; a cell and its point a keyframe; claims of
     * points and cells */
    bytes[2] = n * 4 + n * (sizeof(struct vec3) + 3 * u + 2) +
               valid * k * (cell + sizeof(struct point_place)) + r->n_associated * 16.0 +
               (valid - r->n_associated) * k * cell;
    /* found, through, wins, distance, usable, mark; claims, observation and point of an update,
     * what was published; cells' claims (read, taken back) */
    bytes[3] = n * (4 * u + 4) +
               updated * (16.0 + sizeof(struct vec3) + 3 + 2 * point + sizeof(struct point_out)) +
               fresh * k * (2 * cell);
    /* mark, found, through; the point of an insertion and its cells; changes; the list; a new
     * keyframe's map */
    bytes[4] = n * (2 * u + 2) +
               fresh * (point + sizeof(struct point_out) + sizeof(uint64_t) + 2 * u + k * cell) +
               r->n_changes * (sizeof(struct gpu_change) + sizeof(struct point_out)) +
               unstable * (u + sizeof(struct point_stat)) + (r->is_keyframe ? n * (cell + u) : 0);
    /* the list again, written, too; what is appended to it; slots that are free */
    bytes[5] = unstable * (2 * u + sizeof(struct point_stat)) + fresh * 2 * u +
               (r->n_carved + r->n_removed) * 2 * u + r->n_removed * point;
}

/* Means over the frames with all keyframes, of the whole batch. */
static void mean_bytes(const struct rig *r, int frames, double mean[STAGES])
{
    int n = 0;
    memset(mean, 0, STAGES * sizeof *mean);
    for (int f = 0; f < frames; f++) {
        const struct gpu_result *result = &r->results[f * r->batch].result;
        double bytes[STAGES];
        if (result->n_covisible != (uint32_t)r->s[0]->base.config.fuse.n_covisible)
            continue;
        stage_bytes(result, bytes);
        for (int i = 0; i < STAGES; i++)
            mean[i] += bytes[i] * r->batch;
        n++;
    }
    for (int i = 0; i < STAGES && n; i++)
        mean[i] /= n;
}

/* `fuse` by the paper's rules, `cells` with points in cubes of space. */
static const char *rules_of(const struct fuse_params *p)
{
    return p->cells ? "cells" : "fuse";
}

/* Times alone: the bytes of stage_bytes() are those of maps. */
static void print_cells(const struct rig *r, const double us[STAGES])
{
    printf("  cells, batch %d:", r->batch);
    for (int i = 0; i < STAGES; i++) {
        printf(" %s %.2f", passes[i].name, us[i]);
        printf("%s", i + 1 < STAGES ? "," : " us\n");
    }
    for (int i = 0; i < STAGES; i++)
        printf("@ cells.b%d.%s %.2f us\n", r->batch, passes[i].name, us[i]);
}

static void print_stages(const struct rig *r, int frames, const double us[STAGES], double copy_rate)
{
    double bytes[STAGES], sum_us = 0, sum_bytes = 0;
    mean_bytes(r, frames, bytes);
    printf("  batch %d: %12s %10s %10s %10s\n", r->batch, "us", "MB", "limit us", "of it");
    for (int i = 0; i < STAGES; i++) {
        double limit = 1e6 * bytes[i] / copy_rate;
        const char *name = passes[i].name;
        printf("    %-12s %8.2f %10.3f %10.3f %9.1f%%\n", name, us[i], 1e-6 * bytes[i], limit,
               us[i] > 0 ? 100 * limit / us[i] : 0);
        printf("@ fuse.b%d.%s %.2f us\n", r->batch, name, us[i]);
        printf("@ fuse.b%d.%s_share %.4f of_copy_rate\n", r->batch, name,
               us[i] > 0 ? limit / us[i] : 0);
        if (i >= FIRST_TIMED) {
            sum_us += us[i];
            sum_bytes += bytes[i];
        }
    }
    printf("    %-12s %8.2f %10.3f %10.3f %9.1f%%   with events between\n", "fusion", sum_us,
           1e-6 * sum_bytes, 1e6 * sum_bytes / copy_rate, 100e6 * sum_bytes / copy_rate / sum_us);
    printf("@ fuse.b%d.limit %.3f us\n", r->batch, 1e6 * sum_bytes / copy_rate / r->batch);
}

/* ---------------------------------------------------------------------------------- tables */

static int measure_model(const struct clip *clip, const struct fuse_params *params, uint32_t n,
                         const char *key, double *us, cudaStream_t stream, struct err *err)
{
    const struct gpu_result *last;
    struct rig r;
    int rc = rig_new(&r, clip, 1, n + ROOM, params, stream, err);
    if (rc == 0)
        rc = support_model_fill(r.s[0], n, ROOM, stream, err);
    if (rc == 0)
        rc = run_whole(&r, clip, clip->n, us, err);
    if (rc == 0) {
        last = &r.results[clip->n - 1].result;
        printf("  %9u points, then %9u (%u stable, %u keyframes, %u left out): %8.2f us a frame\n",
               n, last->n_points, last->n_stable, last->n_keyframes, last->n_left_out, *us);
        printf("@ %s.points_%s %.2f us\n", rules_of(params), key, *us);
    }
    rig_free(&r);
    return rc;
}

static int measure_batch(const struct clip *clip, const struct fuse_params *params, int batch,
                         double copy_rate, cudaStream_t stream, struct err *err)
{
    const char *rules = rules_of(params);
    double us = 0, staged[STAGES];
    struct rig r;
    int rc = rig_new(&r, clip, batch, ROOM, params, stream, err);
    if (rc == 0)
        rc = run_whole(&r, clip, clip->n, &us, err);
    if (rc == 0) {
        printf("  %s, batch %d: %.2f us a frame, pose to result in one graph\n", rules, batch, us);
        printf("@ %s.b%d.frame %.2f us\n", rules, batch, us);
    }
    rig_free(&r);
    if (rc)
        return rc;
    rc = rig_new(&r, clip, batch, ROOM, params, stream, err);
    if (rc == 0)
        rc = run_staged(&r, clip, staged, err);
    if (rc == 0 && params->cells)
        print_cells(&r, staged);
    else if (rc == 0)
        print_stages(&r, clip->n, staged, copy_rate);
    rig_free(&r);
    return rc;
}

static double rmse_m(const struct point_place *place, const struct point_stat *stat, uint32_t n,
                     uint32_t *n_stable)
{
    struct scene scene = scene_make();
    double sum = 0;
    *n_stable = 0;
    for (uint32_t i = 0; i < n; i++)
        if (stat[i].state == POINT_STABLE) {
            double d = (double)scene_distance(&scene, point_position(&place[i]));
            sum += d * d;
            ++*n_stable;
        }
    return *n_stable ? sqrt(sum / *n_stable) : 0;
}

/* Figure 9 of the paper for ours. Keyframes come after a sixth of the usual way, so that 20
 * frames have nine. */
static int measure_keyframes(const struct clip *clip, int n, cudaStream_t stream, struct err *err)
{
    struct point_place *place = malloc(ROOM * sizeof *place);
    struct point_stat *stat = malloc(ROOM * sizeof *stat);
    struct fuse_params params;
    uint32_t n_stable;
    double us = 0, rmse;
    struct rig r;
    int rc;
    fuse_params_default(&params);
    params.n_covisible = n;
    params.kf_translation_rel /= 6;
    rc = rig_new(&r, clip, 1, ROOM, &params, stream, err);
    if (rc == 0)
        rc = run_whole(&r, clip, STUDY_FRAMES, &us, err);
    if (rc)
        goto out;
    if (!place || !stat) {
        rc = err_set(err, ERR_MEMORY, "no memory for points");
        goto out;
    }
    CU_TRY(cudaMemcpy(place, r.s[0]->host.place, ROOM * sizeof *place, cudaMemcpyDeviceToHost));
    CU_TRY(cudaMemcpy(stat, r.s[0]->host.stat, ROOM * sizeof *stat, cudaMemcpyDeviceToHost));
    rmse = rmse_m(place, stat, ROOM, &n_stable);
    printf("  %9d %12.2f %12.2f %10u %10u\n", n, 1e3 * rmse, us, n_stable,
           r.results[STUDY_FRAMES - 1].result.n_keyframes);
    printf("@ fuse.keyframes_%d.rmse %.3f mm\n", n, 1e3 * rmse);
    if (us > 0)
        printf("@ fuse.keyframes_%d.frame %.2f us\n", n, us);
out:
    rig_free(&r);
    free(place);
    free(stat);
    return rc;
}

/* Batches, and models of two sizes, by one set of rules. */
static int measure_rules(const struct clip *clip, const struct fuse_params *params,
                         double copy_rate, cudaStream_t stream, struct err *err)
{
    static const int batches[] = {1, 8, BATCH_MAX};
    double small = 0, large = 0;
    int rc = 0;

    for (size_t i = 0; i < sizeof batches / sizeof batches[0] && rc == 0; i++)
        rc = measure_batch(clip, params, batches[i], copy_rate, stream, err);
    printf("%s, points in the model\n", rules_of(params));
    if (rc == 0)
        rc = measure_model(clip, params, 100000, "100k", &small, stream, err);
    if (rc == 0)
        rc = measure_model(clip, params, 10000000, "10m", &large, stream, err);
    if (rc == 0) {
        printf("  10 M against 0.1 M: %.3f times the time\n", large / small);
        printf("@ %s.points_ratio %.4f times\n", rules_of(params), large / small);
    }
    return rc;
}

static int measure(const struct clip *clip, double copy_rate, cudaStream_t stream, struct err *err)
{
    struct fuse_params paper, cells;
    int rc;

    fuse_params_default(&paper);
    fuse_params_cells(&cells);
    printf("our fusion, %dx%d, 5 keyframes, drawn room, %d frames\n", WIDTH, HEIGHT, clip->n);
    rc = measure_rules(clip, &paper, copy_rate, stream, err);
    if (rc == 0)
        rc = measure_rules(clip, &cells, copy_rate, stream, err);
    printf("keyframes 2 to 9, %d frames (us: those tested against all)\n", STUDY_FRAMES);
    printf("  %9s %12s %12s %10s %10s\n", "keyframes", "RMSE mm", "us", "stable", "kept");
    for (int n = 2; n <= GPU_COVISIBLE_MAX && rc == 0; n++)
        rc = measure_keyframes(clip, n, stream, err);
    return rc;
}

int main(void)
{
    struct support_cuda_card card;
    struct clip clip = {0};
    cudaStream_t stream = NULL;
    struct err err = {0};
    double copy_rate = 0;
    int rc = support_cuda_open(&card, &stream, &err);

    if (rc == 0)
        rc = support_cuda_copy_rate(&copy_rate, stream, &err);
    if (rc == 0) {
        printf("%s, %d multiprocessors at %.2f GHz, L2 %.0f MiB; a copy within it moves %.0f "
               "GB/s, read and written\n",
               card.name, card.multiprocessors, card.clock_ghz, card.l2_mib, 1e-9 * copy_rate);
        printf("@ card.copy_rate %.1f GB/s\n", 1e-9 * copy_rate);
        rc = clip_draw(&clip, &err);
    }
    if (rc == 0)
        rc = measure(&clip, copy_rate, stream, &err);
    if (rc)
        fprintf(stderr, "bench_cuda_fuse: %s\n", err.text);
    clip_free(&clip);
    if (stream)
        (void)cudaStreamDestroy(stream);
    return rc == ERR_UNSUPPORTED ? SUPPORT_CUDA_SKIP : rc ? 1 : 0;
}
