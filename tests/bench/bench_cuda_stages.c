/*
 * bench_cuda_stages - where the time of many views and of tracks and path goes, stage by stage
 *
 *     bench_cuda_stages
 *
 * One session alone: a camera walks to and fro in the painted room of tests/support/views_case.h at
 * 256x192, as in bench_gpu_views. Timed by events behind each stage, whose kernels were enqueued
 * ahead of the device; a session's graph has the same kernels, and shorter gaps between them.
 * Shows:   means in microseconds, of frames that sweep a keyframe and of the others; of frames that
 *          become keyframes of the path and of the others.
 */
#include "gpu/base/cuda_try.h"
#include "gpu/track/path_cuda.h"
#include "gpu/track/track_cuda.h"
#include "gpu/views/views_cuda.h"
#include "tests/bench/support_cuda.h"
#include "tests/support/views_case.h"

#include <stdio.h>
#include <string.h>

#define W 256
#define H 192
#define PIXELS (W * H)
#define DRAWN 40
#define FRAMES 80
#define WARM 16 /* frames before the first ones that count */
#define STAGES_MAX 9

/* All that a frame's kernels read on the device. */
struct jobs {
    struct views_job views;
    struct track_job track;
    struct path_job path;
};

struct rig {
    cudaStream_t stream;
    cudaEvent_t events[STAGES_MAX + 1];
    uint8_t *views_maps, *terms, *track_maps, *path_maps, *rgb;
    float *depth;
    uint16_t *level;
    struct rigid *T_wc;
    struct views v, *views; /* here, and on the device */
    struct track t, *track;
    struct path p, *path;
    struct jobs *jobs;
    struct views_case drawn;
};

typedef int stage_fn(const struct rig *r, struct err *err);

/* Stages, and their times of frames of two kinds. */
struct table {
    const char *title, *keys[2], *kinds[2];
    const char *names[STAGES_MAX];
    stage_fn *stages[STAGES_MAX];
    int n;
    double us[2][STAGES_MAX];
    int count[2];
};

#define VIEWS_STAGE(name, call)                                                             \
    static int name(const struct rig *r, struct err *err)                                   \
    {                                                                                       \
        const struct views_batch b = {&r->jobs->views, sizeof *r->jobs, 1, PIXELS, W, H, 1, \
                                      r->stream};                                           \
        return call(&b, err);                                                               \
    }
#define TRACK_STAGE(name, call)                                                              \
    static int name(const struct rig *r, struct err *err)                                    \
    {                                                                                        \
        const struct track_batch b = {&r->jobs->track, sizeof *r->jobs, 1, W, H, r->stream}; \
        return call(&b, err);                                                                \
    }

VIEWS_STAGE(plan, plan_cuda)
VIEWS_STAGE(sweep, sweep_cuda)
VIEWS_STAGE(refine, refine_cuda)
VIEWS_STAGE(own, agree_cuda_own)
VIEWS_STAGE(guide, field_cuda_guide)
VIEWS_STAGE(fine, sweep_cuda_fine)
VIEWS_STAGE(agree, agree_cuda)
VIEWS_STAGE(draw, draw_cuda)
VIEWS_STAGE(field, field_cuda)
TRACK_STAGE(pyramid, pyramid_cuda)
TRACK_STAGE(klt, klt_cuda)
TRACK_STAGE(corner, corner_cuda)

static int path(const struct rig *r, struct err *err)
{
    return path_cuda_run(&r->jobs->path, sizeof *r->jobs, 1, r->stream, err);
}

static struct table views_table = {
    .title = "views",
    .keys = {"swept", "views_others"},
    .kinds = {"a keyframe is swept", "others"},
    .names = {"plan", "sweep", "refine, and sweep again", "agree, own", "guide", "fine sweep",
              "agree", "draw", "field"},
    .stages = {plan, sweep, refine, own, guide, fine, agree, draw, field},
    .n = 9,
};

static struct table path_table = {
    .title = "tracks and path",
    .keys = {"path_keyframes", "path_others"},
    .kinds = {"keyframes of the path", "others"},
    .names = {"pyramid", "klt", "corner", "path"},
    .stages = {pyramid, klt, corner, path},
    .n = 4,
};

/* Memory of the device, all zero. */
static int take(void **out, size_t bytes, const struct rig *r, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaMalloc(out, bytes));
    CU_TRY(cudaMemsetAsync(*out, 0, bytes, r->stream));
out:
    return rc;
}

static int copy_up(void *to, const void *from, size_t bytes, const struct rig *r, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, r->stream));
out:
    return rc;
}

static int open_sessions(struct rig *r, struct err *err)
{
    int rc = take((void **)&r->views_maps, views_lay_out(&r->v, NULL, W, H), r, err);

    (void)views_lay_out(&r->v, r->views_maps, W, H);
    if (rc == 0)
        rc = take((void **)&r->terms, refine_cuda_lay_out(&r->v, NULL), r, err);
    (void)refine_cuda_lay_out(&r->v, r->terms);
    if (rc == 0)
        rc = take((void **)&r->track_maps, track_lay_out(&r->t, NULL, W, H), r, err);
    (void)track_lay_out(&r->t, r->track_maps, W, H);
    if (rc == 0)
        rc = take((void **)&r->path_maps, path_lay_out(&r->p, NULL, r->t.n_slots), r, err);
    (void)path_lay_out(&r->p, r->path_maps, r->t.n_slots);
    if (rc == 0)
        rc = take((void **)&r->views, sizeof r->v, r, err);
    if (rc == 0)
        rc = take((void **)&r->track, sizeof r->t, r, err);
    if (rc == 0)
        rc = take((void **)&r->path, sizeof r->p, r, err);
    if (rc == 0)
        rc = copy_up(r->views, &r->v, sizeof r->v, r, err);
    if (rc == 0)
        rc = copy_up(r->track, &r->t, sizeof r->t, r, err);
    return rc ? rc : copy_up(r->path, &r->p, sizeof r->p, r, err);
}

static int open_rig(struct rig *r, struct err *err)
{
    int rc = open_sessions(r, err);

    if (rc == 0)
        rc = take((void **)&r->rgb, 3 * PIXELS, r, err);
    if (rc == 0)
        rc = take((void **)&r->depth, PIXELS * sizeof *r->depth, r, err);
    if (rc == 0)
        rc = take((void **)&r->level, PIXELS * sizeof *r->level, r, err);
    if (rc == 0)
        rc = take((void **)&r->T_wc, sizeof *r->T_wc, r, err);
    if (rc == 0)
        rc = take((void **)&r->jobs, sizeof *r->jobs, r, err);
    views_case_open(&r->drawn, W, H);
    if (rc)
        goto out;
    for (int i = 0; i <= STAGES_MAX; i++)
        CU_TRY(cudaEventCreate(&r->events[i]));
out:
    return rc;
}

static void close_rig(struct rig *r)
{
    void *const memory[] = {r->views_maps, r->terms, r->track_maps, r->path_maps,
                            r->views,      r->track, r->path,       r->rgb,
                            r->depth,      r->level, r->T_wc,       r->jobs};

    views_case_close(&r->drawn);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        (void)cudaFree(memory[i]);
    for (int i = 0; i <= STAGES_MAX; i++)
        if (r->events[i])
            (void)cudaEventDestroy(r->events[i]);
}

/* Frame i goes up: the camera walks to and fro. */
static int put_frame(struct rig *r, int i, struct err *err)
{
    struct views_frame *f = &r->drawn.frame;
    int at = i % (2 * DRAWN - 2), rc;
    struct jobs j;

    memset(&j, 0, sizeof j);
    views_case_draw(&r->drawn, at < DRAWN ? at : 2 * DRAWN - 2 - at, 1.2f);
    j.views.v = r->views;
    j.views.frame = *f;
    j.views.frame.rgb = r->rgb;
    j.views.frame.level = r->level;
    j.views.frame.depth = r->depth;
    j.track.t = r->track;
    j.track.frame.rgb = r->rgb;
    j.path.p = r->path;
    j.path.t = r->track;
    j.path.frame.depth = r->depth;
    j.path.frame.T_wc = r->T_wc;
    j.path.frame.K = f->K;
    rc = copy_up(r->rgb, r->drawn.rgb, 3 * PIXELS, r, err);
    if (rc == 0)
        rc = copy_up(r->depth, r->drawn.depth, PIXELS * sizeof *r->depth, r, err);
    if (rc == 0)
        rc = copy_up(r->level, r->drawn.level, PIXELS * sizeof *r->level, r, err);
    if (rc == 0)
        rc = copy_up(r->T_wc, &f->T_wc, sizeof f->T_wc, r, err);
    if (rc == 0)
        rc = copy_up(r->jobs, &j, sizeof j, r, err);
    if (rc == 0)
        CU_TRY(cudaStreamSynchronize(r->stream));
out:
    return rc;
}

static int run(struct rig *r, const struct table *t, double us[STAGES_MAX], struct err *err)
{
    int rc = support_cuda_hold(r->stream, 3, err);

    if (rc)
        goto out;
    CU_TRY(cudaEventRecord(r->events[0], r->stream));
    for (int k = 0; k < t->n; k++) {
        rc = t->stages[k](r, err);
        if (rc)
            goto out;
        CU_TRY(cudaEventRecord(r->events[k + 1], r->stream));
    }
    CU_TRY(cudaStreamSynchronize(r->stream));
    for (int k = 0; k < t->n; k++) {
        float ms = 0;
        CU_TRY(cudaEventElapsedTime(&ms, r->events[k], r->events[k + 1]));
        us[k] = (double)ms * 1e3;
    }
out:
    return rc;
}

static void count(struct table *t, int kind, const double us[STAGES_MAX])
{
    t->count[kind]++;
    for (int k = 0; k < t->n; k++)
        t->us[kind][k] += us[k];
}

static int run_frame(struct rig *r, int i, struct err *err)
{
    double views_us[STAGES_MAX], path_us[STAGES_MAX];
    int rc = put_frame(r, i, err);

    if (rc == 0)
        rc = run(r, &views_table, views_us, err);
    if (rc == 0)
        rc = run(r, &path_table, path_us, err);
    if (rc)
        goto out;
    CU_TRY(cudaMemcpyAsync(&r->v, r->views, sizeof r->v, cudaMemcpyDeviceToHost, r->stream));
    CU_TRY(cudaMemcpyAsync(&r->p, r->path, sizeof r->p, cudaMemcpyDeviceToHost, r->stream));
    CU_TRY(cudaStreamSynchronize(r->stream));
    if (i < WARM)
        goto out;
    count(&views_table, r->v.plan.swept < 0, views_us);
    count(&path_table, !r->p.told.is_keyframe, path_us);
out:
    return rc;
}

static void print(const struct table *t)
{
    printf("%s, us          %4d x %-24s %4d x %s\n", t->title, t->count[0], t->kinds[0],
           t->count[1], t->kinds[1]);
    for (int k = 0; k <= t->n; k++) {
        double all[2] = {0, 0};
        for (int kind = 0; kind < 2; kind++)
            for (int s = 0; s < t->n && t->count[kind]; s++)
                all[kind] += k == t->n || s == k ? t->us[kind][s] / t->count[kind] : 0;
        printf("    %-24s %9.1f %9.1f\n", k < t->n ? t->names[k] : "in all", all[0], all[1]);
        if (k == t->n)
            printf("@ %s %.2f us\n@ %s %.2f us\n", t->keys[0], all[0], t->keys[1], all[1]);
    }
}

int main(void)
{
    struct support_cuda_card card;
    static struct rig r;
    struct err err = {0};
    int rc = support_cuda_open(&card, &r.stream, &err);

    if (rc == 0)
        rc = open_rig(&r, &err);
    for (int i = 0; i < FRAMES && rc == 0; i++)
        rc = run_frame(&r, i, &err);
    if (rc == 0) {
        printf("%s, %d frames of %dx%d, one session\n", card.name, FRAMES - WARM, W, H);
        print(&views_table);
        print(&path_table);
        printf("    landmarks of the last frame %u, inliers %u; points of the system %u; points of "
               "the last refinement %u\n",
               r.p.told.n_landmarks, r.p.told.n_inliers, r.p.n_points, r.v.n_points);
    } else {
        fprintf(stderr, "bench_cuda_stages: %s\n", err.text);
    }
    close_rig(&r);
    return rc == 0 ? 0 : rc == ERR_UNSUPPORTED ? SUPPORT_CUDA_SKIP : 1;
}
