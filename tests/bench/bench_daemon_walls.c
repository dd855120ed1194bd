/*
 * bench_daemon_walls - depth of final keyframes and the cloud of a session against the truth,
 * beside the plain average of the same depth, for folders with poses
 *
 *     bench_daemon_walls FOLDER...
 *     FRAMES=120 MODELS=gpu/models KEEP=/tmp/kept bench_daemon_walls ../shared/data/office
 *
 * One session a folder on the CPU, 256x192, depth up to 5 m, `fusion = cells`, `views = refined`
 * (VIEWS=given, none), and the truth as `reconctl eval scene` has it. No server, so a change of
 * views or fusion is judged on many places in minutes. Sessions are closed before they are
 * measured, as the daemon closes them: all of their keyframes are final. POSES=learned: poses of
 * tracks alone, without the motion network; the cloud is moved by the similarity that fits its path
 * best, centres and directions of its cameras.
 *
 * KEEP:    a folder that keeps what the network says of each frame; a second run reads it there
 * final:   AbsRel of keyframes when they become final, of the network there, of the pixels that
 *          were measured and their share; means over keyframes
 * session: its stable points; F at 3 and 5 cm, and how well what is published as confidence ranks
 *          the points' distances from the truth (Spearman; -1 is best)
 * frames:  AbsRel of the depth that each frame was fused with, its own scale as it is
 * scale:   that of the similarity; frames that were lost
 * average: means of 2 cm cubes with five depths or more of the frames' own views
 */
#include "api/eval/eval_cloud.h"
#include "api/eval/eval_rank.h"
#include "api/eval/eval_scene.h"
#include "gpu/base/ops.h"
#include "gpu/mono/session_cpu.h"
#include "gpu/views/views_point.h"
#include "proto/geom/sim3.h"
#include "tests/bench/support_sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define W 256
#define H 192
#define PIXELS (W * H)
#define MOST_M 5.0f
#define CUBE_M 0.02
#define LEAST_FRAMES 2 /* of a cube of the truth */
#define LEAST_DEPTHS 5 /* of a cube of the average */
#define FRAMES_MAX 1000
#define REACH_M 2.0 /* about as far as a camera sees */

struct mean {
    double sum;
    uint32_t n;
};

struct bench {
    struct gpu *g;
    struct gpu_model *depth;
    struct gpu_session *session;
    struct session_cpu *cpu;
    struct support_sequence *sequence;
    FILE *kept;
    int keeps; /* the folder has it: it is read, not written */
    struct eval_scene *truth, *average;
    float *true_depth[FRAMES_MAX];
    float own[PIXELS];
    struct rigid way[FRAMES_MAX], true_way[FRAMES_MAX];
    int n, n_lost, is_learned;
    struct mean final, single, measured, share, frames;
    double took_s;
};

static void add(struct mean *m, double value)
{
    m->sum += value;
    m->n++;
}

static double mean_of(const struct mean *m)
{
    return m->n ? m->sum / (double)m->n : (double)NAN;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ------------------------------------------------------------------------- a folder's session */

static int open_device(struct bench *b, const char *models, struct err *err)
{
    const struct gpu_config config = {.device = "cpu", .threads = 2};
    struct gpu_model_info depth = {.kind = GPU_MODEL_DEPTH,
                                   .name = "depth",
                                   .mean = {0.45f, 0.45f, 0.45f},
                                   .std = {0.225f, 0.225f, 0.225f},
                                   .output = GPU_OUTPUT_LOG,
                                   .focal_px = 200.0f,
                                   .min_depth_m = 0.1f,
                                   .max_depth_m = 120.0f,
                                   .multiple = 32};
    int rc = gpu_open(&b->g, &config, err);

    snprintf(depth.path, sizeof depth.path, "%s/depth.onnx", models);
    return rc ? rc : gpu_model_open(&b->depth, b->g, &depth, err);
}

static enum gpu_views_kind views_asked(void)
{
    const char *word = getenv("VIEWS");
    return word && !strcmp(word, "none")    ? GPU_VIEWS_NONE
           : word && !strcmp(word, "given") ? GPU_VIEWS_GIVEN
                                            : GPU_VIEWS_REFINED;
}

static int open_session(struct bench *b, const struct support_frame *f, struct err *err)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = W,
                                   .net_h = H,
                                   .max_image_w = f->width,
                                   .max_image_h = f->height,
                                   .depth = b->keeps ? NULL : b->depth,
                                   .step_m = 0.001f,
                                   .max_points = 1u << 20,
                                   .views = views_asked(),
                                   .tracks = b->is_learned};
    int rc;

    fuse_params_cells(&c.fuse);
    c.fuse.max_depth_m = MOST_M;
    rc = b->keeps ? gpu_session_make(&b->session, b->g, &c, err)
                  : gpu_session_new(&b->session, b->g, &c, err);
    if (rc == 0 && !b->keeps)
        rc = gpu_session_sideways(b->session, err);
    if (rc == 0)
        b->cpu = session_cpu_of(b->session);
    return rc;
}

/* The file of what the network says; NULL where nothing is kept. */
static void open_kept(struct bench *b, const char *folder)
{
    const char *keep = getenv("KEEP"), *name = strrchr(folder, '/');
    char path[600];

    b->keeps = 0;
    b->kept = NULL;
    if (!keep)
        return;
    snprintf(path, sizeof path, "%s/%s.f32", keep, name ? name + 1 : folder);
    b->kept = fopen(path, "rb");
    b->keeps = b->kept != NULL;
    if (!b->kept)
        b->kept = fopen(path, "wb");
}

static void close_folder(struct bench *b)
{
    gpu_session_free(&b->session);
    support_sequence_close(&b->sequence);
    eval_scene_free(&b->truth);
    eval_scene_free(&b->average);
    for (int i = 0; i < b->n; i++)
        free(b->true_depth[i]);
    if (b->kept)
        fclose(b->kept);
    b->kept = NULL;
    b->n = 0;
}

/* ------------------------------------------------------------------------- frames */

static int add_truth(struct bench *b, const struct support_frame *f, struct err *err)
{
    const struct eval_scene_view all = {.depth = f->depth,
                                        .w = f->width,
                                        .h = f->height,
                                        .K = f->K,
                                        .scale = 1.0,
                                        .max_m = (double)MOST_M};
    float *small = malloc(PIXELS * sizeof *small);

    if (!small)
        return err_set(err, ERR_MEMORY, "no memory for the depth of a frame");
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            small[y * W + x] =
                f->depth[(size_t)((2 * y + 1) * f->height / (2 * H)) * (size_t)f->width +
                         (size_t)((2 * x + 1) * f->width / (2 * W))];
    b->true_depth[b->n] = small;
    return eval_scene_add(b->truth, &all, &f->T_wc, err);
}

/* AbsRel where both maps have a depth. Returns the share of the picture. */
static double compare(double *abs_rel, const float *depth, const uint8_t *trust, const float *truth)
{
    uint32_t n = 0, n_true = 0;

    *abs_rel = 0;
    for (int i = 0; i < PIXELS; i++) {
        if (!(truth[i] > 0.0f && truth[i] <= MOST_M))
            continue;
        n_true++;
        if (!(depth[i] > 0.0f) || (trust && trust[i] < VIEW_TRUST_MEASURED))
            continue;
        *abs_rel += (double)fabsf(depth[i] - truth[i]) / (double)truth[i];
        n++;
    }
    *abs_rel /= n ? n : 1;
    return n_true ? (double)n / (double)n_true : 0.0;
}

/* What has become final with this frame, against the truth of the frame that it was. */
static void judge_final(struct bench *b)
{
    const struct views *v = b->cpu->views;
    const struct views_target *t;
    const float *truth;
    static float single[PIXELS];
    double abs_rel, share;

    if (!v || v->plan.final < 0)
        return;
    t = &v->target[VIEWS_FINAL];
    truth = b->true_depth[v->kept[v->plan.final].frame - 1];
    if (compare(&abs_rel, t->depth, NULL, truth) == 0.0)
        return;
    add(&b->final, abs_rel);
    for (int i = 0; i < PIXELS; i++)
        single[i] = views_decode(v->single[views_at(v, v->plan.final) + (size_t)i]);
    compare(&abs_rel, single, NULL, truth);
    add(&b->single, abs_rel);
    share = compare(&abs_rel, t->depth, t->trust, truth);
    add(&b->share, share);
    if (share > 0.0)
        add(&b->measured, abs_rel);
}

static int one_frame(struct bench *b, const struct support_frame *f, struct err *err)
{
    struct gpu_frame frame = {
        .item = {.session = b->session, .turn = b->is_learned || b->keeps ? 0 : f->turn},
        .rgb = f->rgb,
        .width = f->width,
        .height = f->height,
        .K = f->K,
        .has_pose = !b->is_learned,
        .T_wc = f->T_wc,
        .depth_out = b->own};
    struct gpu_item *item = &frame.item;
    const struct eval_scene_view own = {.depth = b->own,
                                        .w = W,
                                        .h = H,
                                        .K = intrinsics_scale(f->K, f->width, f->height, W, H),
                                        .scale = 1.0,
                                        .max_m = (double)MOST_M};
    double abs_rel;
    int rc = add_truth(b, f, err);

    b->n++;
    if (rc == 0 && b->keeps) {
        if (fread(b->own, sizeof b->own, 1, b->kept) != 1)
            return err_set(err, ERR_IO, "what is kept of the network ends before the frames do");
        rc = session_cpu_put_depth(b->session, b->own, err);
    }
    if (rc == 0)
        rc = gpu_submit(b->g, &gpu_line_mono, &item, 1, err);
    if (rc == 0)
        rc = gpu_wait(b->g, &item, 1, err);
    if (rc == 0 && b->kept && !b->keeps && fwrite(b->cpu->depth, sizeof b->own, 1, b->kept) != 1)
        rc = err_set(err, ERR_IO, "what the network says cannot be kept");
    if (rc)
        return rc;
    b->n_lost += frame.result.tracks.state == GPU_TRACKS_LOST;
    b->way[b->n - 1] = frame.result.T_wc;
    b->true_way[b->n - 1] = f->T_wc;
    if (compare(&abs_rel, b->own, NULL, b->true_depth[b->n - 1]) > 0.0)
        add(&b->frames, abs_rel);
    judge_final(b);
    return eval_scene_add(b->average, &own, &f->T_wc, err);
}

/* The session's end: rounds that show nothing, until no keyframe waits (daemon/work/closing.h). */
static int close_session(struct bench *b, struct err *err)
{
    static const uint8_t black[3 * PIXELS];
    static const float nothing[PIXELS];
    static uint8_t mask[PIXELS];
    const struct views *v = b->cpu->views;
    int rc = 0;

    memset(mask, 1, sizeof mask);
    while (rc == 0 && v && v->strand[0].n_final < v->strand[0].n_taken) {
        struct gpu_frame frame = {.item = {.session = b->session},
                                  .rgb = black,
                                  .width = W,
                                  .height = H,
                                  .K = v->plan.camera.K,
                                  .has_pose = 1,
                                  .T_wc = v->plan.camera.T_wc,
                                  .breaks = GPU_BREAKS_OVER,
                                  .mask = mask};
        struct gpu_item *item = &frame.item;
        if (b->keeps)
            rc = session_cpu_put_depth(b->session, nothing, err);
        if (rc == 0)
            rc = gpu_submit(b->g, &gpu_line_mono, &item, 1, err);
        if (rc == 0)
            rc = gpu_wait(b->g, &item, 1, err);
        if (rc == 0)
            judge_final(b);
    }
    return rc;
}

static int feed(struct bench *b, const char *folder, struct err *err)
{
    const char *frames = getenv("FRAMES");
    int most = frames ? atoi(frames) : FRAMES_MAX, rc;
    struct support_frame f;

    most = most < FRAMES_MAX ? most : FRAMES_MAX;
    open_kept(b, folder);
    rc = support_sequence_open(&b->sequence, folder, 0, 0, err);
    if (rc == 0)
        rc = eval_scene_new(&b->truth, CUBE_M, err);
    if (rc == 0)
        rc = eval_scene_new(&b->average, CUBE_M, err);
    while (rc == 0 && b->n < most) {
        rc = support_sequence_next(b->sequence, &f, err);
        if (rc == ERR_END) {
            rc = 0;
            break;
        }
        if (rc == 0 && !f.posed)
            rc = err_at(err, ERR_INPUT, folder, "a frame without a pose");
        if (rc == 0 && !b->session)
            rc = open_session(b, &f, err);
        if (rc == 0)
            rc = one_frame(b, &f, err);
    }
    return rc == 0 && b->session ? close_session(b, err) : rc;
}

/* ------------------------------------------------------------------------- clouds */

struct cloud {
    float *xyz;
    uint8_t *level;
    size_t n;
};

static int session_cloud(struct cloud *c, const struct session_cpu *s, struct err *err)
{
    c->xyz = malloc(((size_t)s->n_slots + 1) * 3 * sizeof *c->xyz);
    c->level = malloc((size_t)s->n_slots + 1);
    if (!c->xyz || !c->level)
        return err_set(err, ERR_MEMORY, "no memory for a cloud");
    for (uint32_t i = 0; i < s->n_slots; i++) {
        if (s->stat[i].state != POINT_STABLE || !s->out[i].confidence)
            continue;
        for (int k = 0; k < 3; k++)
            c->xyz[3 * c->n + (size_t)k] = (float)s->out[i].p_q[k] * s->base.config.step_m;
        c->level[c->n++] = s->out[i].confidence;
    }
    return 0;
}

/* Pairs of places of camera i: `reach` metres to either side of it along each of its axes, in the
 * path's own metres `scale` times fewer; its centre, if reach is 0. */
static void add_camera(struct sim3_moments *s, const struct bench *b, int i, double reach,
                       double scale)
{
    const struct rigid *p = &b->way[i], *q = &b->true_way[i];

    for (int k = 0; k < (reach > 0.0 ? 6 : 1); k++) {
        double side = k < 3 ? reach : -reach, from[3], to[3];
        for (int j = 0; j < 3; j++) {
            from[j] = (double)p->t[j] + side / scale * (double)p->r[3 * j + k % 3];
            to[j] = (double)q->t[j] + side * (double)q->r[3 * j + k % 3];
        }
        sim3_moments_add(s, from, to, 1.0);
    }
}

/* How much longer the true path is than the path as r turns it. */
static double scale_of(const struct bench *b, const struct sim3_moments *centres, const double r[9])
{
    struct sim3 turn = sim3_identity();
    double along = 0, all = 0;

    memcpy(turn.r, r, sizeof turn.r);
    for (int i = 0; i < b->n; i++) {
        double p[3];
        for (int k = 0; k < 3; k++)
            p[k] = (double)b->way[i].t[k] - centres->mean_p[k];
        sim3_apply(p, &turn, p);
        for (int k = 0; k < 3; k++) {
            along += p[k] * ((double)b->true_way[i].t[k] - centres->mean_q[k]);
            all += p[k] * p[k];
        }
    }
    return along > 0.0 ? along / all : 1.0;
}

/* A cloud of learned poses, where the similarity puts it that fits its path to the true one best:
 * its scale by the centres of cameras; its turn by what is around them, too, for the centres of a
 * short path say little of it. */
static void align(const struct bench *b, struct cloud *c, struct sim3 *m)
{
    struct sim3_moments centres = {0};

    for (int i = 0; i < b->n; i++)
        add_camera(&centres, b, i, 0, 1);
    if (sim3_solve(m, &centres, true, NULL))
        *m = sim3_identity();
    for (int round = 0; round < 5; round++) {
        struct sim3_moments s = {0};
        double t[3], scale = m->s;
        for (int i = 0; i < b->n; i++)
            add_camera(&s, b, i, REACH_M, scale);
        if (sim3_solve(m, &s, true, NULL))
            *m = sim3_identity();
        m->s = scale_of(b, &centres, m->r);
        memset(m->t, 0, sizeof m->t);
        sim3_apply(t, m, centres.mean_p);
        for (int k = 0; k < 3; k++)
            m->t[k] = centres.mean_q[k] - t[k];
    }
    for (size_t i = 0; i < c->n; i++) {
        float *at = c->xyz + 3 * i;
        double p[3] = {(double)at[0], (double)at[1], (double)at[2]};
        sim3_apply(p, m, p);
        for (int k = 0; k < 3; k++)
            at[k] = (float)p[k];
    }
}

struct score {
    size_t n;
    double f[2], complete, accurate, rank;
};

static int score_cloud(struct score *s, const struct cloud *c, const float *truth, size_t n_truth,
                       struct err *err)
{
    static const double radius[2] = {0.03, 0.05};
    double *far_m = malloc((c->n + 1) * sizeof *far_m);
    int rc = far_m ? 0 : err_set(err, ERR_MEMORY, "no memory for distances");

    s->n = c->n;
    s->rank = (double)NAN;
    for (int i = 0; i < 2 && rc == 0 && c->n; i++) {
        struct eval_cloud_options o = eval_cloud_defaults;
        struct eval_cloud_report r;
        o.threshold_m = radius[i];
        rc = eval_cloud_measure(&r, far_m, c->xyz, c->n, truth, n_truth, &o, err);
        s->f[i] = r.f;
        s->complete = r.completeness;
        s->accurate = r.accuracy;
    }
    if (rc == 0 && c->n && c->level)
        rc = eval_rank_correlation(&s->rank, c->level, far_m, c->n, err);
    free(far_m);
    return rc;
}

static int print_scores(struct bench *b, const char *folder, struct err *err)
{
    struct cloud session = {0}, average = {0};
    struct score own = {0}, plain = {0};
    const char *name = strrchr(folder, '/');
    struct sim3 m = sim3_identity();
    float *truth = NULL;
    size_t n_truth = 0;
    int rc = eval_scene_cloud(b->truth, LEAST_FRAMES, 1, &truth, NULL, &n_truth, err);

    if (rc == 0)
        rc = eval_scene_cloud(b->average, 1, LEAST_DEPTHS, &average.xyz, NULL, &average.n, err);
    if (rc == 0)
        rc = session_cloud(&session, b->cpu, err);
    if (rc == 0 && b->is_learned)
        align(b, &session, &m);
    if (rc == 0)
        rc = score_cloud(&own, &session, truth, n_truth, err);
    if (rc == 0)
        rc = score_cloud(&plain, &average, truth, n_truth, err);
    if (rc == 0)
        printf("| %s | %d | %u: %.3f, %.3f; %.3f of %.2f | %zu | %.2f | %.2f | %.3f | %.3f | %.2f |"
               " %.3f | %.3f | %.3f | %.2f, %d "
               "| %.0f |\n",
               name ? name + 1 : folder, b->n, b->final.n, mean_of(&b->final), mean_of(&b->single),
               mean_of(&b->measured), mean_of(&b->share), own.n, own.complete, own.accurate,
               own.f[0], own.f[1], own.rank, plain.f[0], plain.f[1], mean_of(&b->frames), m.s,
               b->n_lost, b->took_s);
    fflush(stdout);
    free(session.xyz);
    free(session.level);
    free(average.xyz);
    free(truth);
    return rc;
}

static int measure(struct bench *b, const char *folder, struct err *err)
{
    double begin = now_s();
    int rc;

    b->final = b->single = b->measured = b->share = b->frames = (struct mean){0, 0};
    b->n_lost = 0;
    rc = feed(b, folder, err);
    b->took_s = now_s() - begin;
    if (rc == 0 && b->n)
        rc = print_scores(b, folder, err);
    close_folder(b);
    return rc;
}

int main(int argc, char **argv)
{
    const char *models = getenv("MODELS");
    static struct bench b;
    struct err err = {0};
    int rc;

    if (argc < 2) {
        fprintf(stderr, "bench_daemon_walls: needs folders of sequences with poses and depth\n");
        return 77;
    }
    b.is_learned = getenv("POSES") && !strcmp(getenv("POSES"), "learned");
    rc = open_device(&b, models ? models : "gpu/models", &err);
    printf(
        "| sequence | frames | final: AbsRel, network's; measured | points | complete | accurate "
        "| F 3 cm | F 5 cm | rank | average: F 3 cm | F 5 cm | frames: AbsRel | scale, lost "
        "| s |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 1; i < argc && rc == 0; i++)
        rc = measure(&b, argv[i], &err);
    if (rc)
        fprintf(stderr, "bench_daemon_walls: %s\n", err.text);
    if (b.depth)
        gpu_model_close(&b.depth);
    gpu_close(&b.g);
    return rc ? 1 : 0;
}
