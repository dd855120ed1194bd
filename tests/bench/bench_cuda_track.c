/*
 * bench_cuda_track - what the optimiser of landmarks costs on the device, and how near to its
 * arithmetic
 *
 *     bench_cuda_track [FOLDER]
 *
 * Landmarks that a walking camera saw over 60 frames (tests/support/landmark_case.h), one round of
 * 65,536 places, as in the paper's Figure 2; then our rounds. Timed by events with all data on the
 * device, and by the host's clock with landmarks, observations and cameras going up and the
 * landmarks coming back.
 * Limit:   14 float operations a reprojection at the rate of all float units.
 * FOLDER:  the landmarks go there as files for peer_ceres.
 */
#include "gpu/base/cuda_try.h"
#include "gpu/track/landmark_search_cuda.h"
#include "tests/bench/support_cuda.h"
#include "tests/bench/support_landmarks.h"
#include "tests/support/landmark_case.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define FRAMES LANDMARK_SEARCH_OBSERVATIONS
#define TIMES 41
#define OPERATIONS 14.0

/* A batch, here and on the device. */
struct rig {
    cudaStream_t stream;
    struct landmark_case c;
    struct landmark_search_landmark *start; /* pinned, as all that goes up or comes back */
    struct landmark_search_landmark *back;
    struct landmark_search_batch d;
    struct landmark_search_cuda *m;
    cudaEvent_t begin, end;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int up(struct rig *r, int all, struct err *err)
{
    const struct landmark_search_batch *b = &r->c.b;
    int rc = 0;
    CU_TRY(cudaMemcpyAsync(r->d.landmark, r->start, (size_t)b->n_landmarks * sizeof *r->start,
                           cudaMemcpyHostToDevice, r->stream));
    if (!all)
        goto out;
    CU_TRY(cudaMemcpyAsync((void *)(uintptr_t)r->d.observation, b->observation,
                           (size_t)b->n_observations * sizeof *b->observation,
                           cudaMemcpyHostToDevice, r->stream));
    CU_TRY(cudaMemcpyAsync((void *)(uintptr_t)r->d.camera, b->camera,
                           (size_t)b->n_cameras * sizeof *b->camera, cudaMemcpyHostToDevice,
                           r->stream));
out:
    return rc;
}

static int open_rig(struct rig *r, int n, struct err *err)
{
    struct landmark_search_batch *b = &r->c.b;
    size_t bytes = (size_t)n * sizeof *r->start;
    int rc = 0;
    landmark_case_open(&r->c, n, FRAMES, 0.5f, 0.02f);
    r->d = *b;
    CU_TRY(cudaMallocHost((void **)&r->start, bytes));
    CU_TRY(cudaMallocHost((void **)&r->back, bytes));
    memcpy(r->start, b->landmark, bytes);
    CU_TRY(cudaMalloc((void **)&r->d.landmark, bytes));
    CU_TRY(
        cudaMalloc((void **)&r->d.observation, (size_t)b->n_observations * sizeof *b->observation));
    CU_TRY(cudaMalloc((void **)&r->d.camera, (size_t)b->n_cameras * sizeof *b->camera));
    CU_TRY(cudaEventCreate(&r->begin));
    CU_TRY(cudaEventCreate(&r->end));
    rc = landmark_search_cuda_open(&r->m, NULL, n, r->stream, err);
    if (rc == 0)
        rc = up(r, 1, err);
out:
    return rc;
}

static void close_rig(struct rig *r)
{
    landmark_search_cuda_free(&r->m);
    landmark_case_close(&r->c);
    (void)cudaFreeHost(r->start);
    (void)cudaFreeHost(r->back);
    (void)cudaFree(r->d.landmark);
    (void)cudaFree((void *)(uintptr_t)r->d.observation);
    (void)cudaFree((void *)(uintptr_t)r->d.camera);
    if (r->begin)
        (void)cudaEventDestroy(r->begin);
    if (r->end)
        (void)cudaEventDestroy(r->end);
}

/* Median milliseconds of a run by the device's clock, and by the host's with its copies. */
static int time_runs(struct rig *r, const struct landmark_search_params *p, double *device,
                     double *host, struct err *err)
{
    double d[TIMES], h[TIMES];
    size_t bytes = (size_t)r->c.b.n_landmarks * sizeof *r->back;
    int rc = 0;
    for (int i = 0; i < TIMES; i++) {
        float ms = 0;
        rc = up(r, 0, err);
        if (rc == 0)
            rc = support_cuda_hold(r->stream, 1, err);
        if (rc)
            goto out;
        CU_TRY(cudaEventRecord(r->begin, r->stream));
        rc = landmark_search_cuda_run(r->m, &r->d, p, r->stream, err);
        if (rc)
            goto out;
        CU_TRY(cudaEventRecord(r->end, r->stream));
        CU_TRY(cudaEventSynchronize(r->end));
        CU_TRY(cudaEventElapsedTime(&ms, r->begin, r->end));
        d[i] = (double)ms;
        h[i] = now_ms();
        rc = up(r, 1, err);
        if (rc == 0)
            rc = landmark_search_cuda_run(r->m, &r->d, p, r->stream, err);
        if (rc)
            goto out;
        CU_TRY(cudaMemcpyAsync(r->back, r->d.landmark, bytes, cudaMemcpyDeviceToHost, r->stream));
        CU_TRY(cudaStreamSynchronize(r->stream));
        h[i] = now_ms() - h[i];
    }
    *device = support_cuda_median(d, TIMES);
    *host = support_cuda_median(h, TIMES);
out:
    return rc;
}

static int measure(struct rig *r, const struct support_cuda_card *card, const char *name,
                   const struct landmark_search_params *p, const char *folder, struct err *err)
{
    const struct landmark_search_batch *b = &r->c.b;
    double ms = 0, host = 0, residual = 0, tried, rate;
    double limit = card->multiprocessors * 128.0 * card->clock_ghz * 1e9 / OPERATIONS;
    char path[512];
    int rc = time_runs(r, p, &ms, &host, err);
    if (rc)
        return rc;
    for (int i = 0; i < b->n_landmarks; i++)
        residual += (double)r->back[i].residual_px / b->n_landmarks;
    tried = (double)b->n_observations * p->n_hypotheses * p->n_rounds;
    rate = tried / ms * 1e3;
    printf("%-12s %5d x %d x %6u x %2d %9.4f ms %9.4f ms %8.0f G/s %5.0f%% %10.5f px\n", name,
           b->n_landmarks, FRAMES, p->n_hypotheses, p->n_rounds, ms, host, rate / 1e9,
           100 * rate / limit, residual);
    printf("@ %s %.6g ms\n@ %s.copied %.6g ms\n@ %s.rate %.6g G/s\n@ %s.residual %.6g px\n", name,
           ms, name, host, name, rate / 1e9, name, residual);
    printf("@ %s.limit %.6g ms\n", name, tried / limit * 1e3);
    if (!folder)
        return 0;
    memcpy(b->landmark, r->back, (size_t)b->n_landmarks * sizeof *r->back);
    snprintf(path, sizeof path, "%s/%s.landmarks", folder, name);
    return support_landmarks_write(path, b, r->start, err);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        int n;
        struct landmark_search_params p;
    } rows[] = {{"paper15", 15, landmark_search_params_paper()},
                {"paper1000", 1000, landmark_search_params_paper()},
                {"rounds15", 15, landmark_search_params_default()},
                {"rounds1000", 1000, landmark_search_params_default()}};
    struct support_cuda_card card;
    cudaStream_t stream = NULL;
    struct err err = {0};
    int rc = support_cuda_open(&card, &stream, &err);
    if (rc == ERR_UNSUPPORTED) {
        printf("%s\n", err.text);
        return SUPPORT_CUDA_SKIP;
    }
    printf("%s: a run on the device, with copies, reprojections, of the limit, mean residual\n",
           card.name);
    for (size_t i = 0; rc == 0 && i < sizeof rows / sizeof *rows; i++) {
        struct rig r = {.stream = stream};
        rc = open_rig(&r, rows[i].n, &err);
        if (rc == 0)
            rc = measure(&r, &card, rows[i].name, &rows[i].p, argc > 1 ? argv[1] : NULL, &err);
        close_rig(&r);
    }
    if (rc)
        fprintf(stderr, "bench_cuda_track: %s\n", err.text);
    return rc ? 1 : 0;
}
