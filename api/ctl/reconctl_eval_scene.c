/* `eval scene`: the clouds that a folder becomes, against those of its true depth. */
#include "api/ctl/reconctl_eval_scene.h"
#include "api/ctl/reconctl_progress.h"

#include "api/client/client_sequence.h"
#include "api/eval/eval_depth.h"
#include "api/eval/eval_rank.h"
#include "proto/geom/icp.h"
#include "api/eval/eval_scene.h"
#include "api/eval/eval_tsdf.h"
#include "api/ctl/reconctl_eval_cloud.h"
#include "api/ctl/reconctl_eval_feed.h"
#include "api/ctl/reconctl_eval_online.h"
#include "api/ctl/reconctl_eval_picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUSED_MAX_M 5.0    /* a structured-light camera errs by centimetres beyond */
#define FUSES_MAX_M 1000.0 /* the most that a session can be asked for */

struct scene_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *file, *plot, *picture, *poses;
    struct reconctl_size net;
    struct reconctl_list option;
    int frames, every, least, observations;
    struct eval_cloud_options eval;
    double max_m, voxel_m, radius_m, truncation_m;
    bool each, depth;
};

#define AT(field) offsetof(struct scene_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"report", 0, "FILE", RECONCTL_OUTPUT, AT(file), 0, 0, "Write the measures as JSON"},
    {"plot", 'p', "FILE", RECONCTL_SVG, AT(plot), 0, 0, "Draw FNE against the tolerance r (SVG)"},
    {"picture", 0, "FILE", RECONCTL_OUTPUT, AT(picture), 0, 0,
     "Draw a frame, the true cloud and the session's from there, side by side (PNG)"},
    {"each", 0, NULL, RECONCTL_FLAG, AT(each), 0, 0,
     "Each frame's cloud against its own truth, without poses; means over the frames"},
    {"frames", 'n', "N", RECONCTL_INT, AT(frames), 1, 1000000, "Stop after this many frames"},
    {"every", 0, "N", RECONCTL_INT, AT(every), 1, 1000000, "Take every N-th frame (1)"},
    {"max-depth", 0, "METRES", RECONCTL_REAL, AT(max_m), 0, 1e6,
     "Leave out farther depth; 0 = 5, with --each 80 (0)"},
    {"voxel", 0, "METRES", RECONCTL_REAL, AT(voxel_m), 1e-4, 1e6,
     "Cubes in which depth is fused (0.02)"},
    {"least", 0, "N", RECONCTL_INT, AT(least), 1, 1000000,
     "Frames that a cube of the truth was seen in (2)"},
    {"observations", 0, "N", RECONCTL_INT, AT(observations), 1, 65535,
     "Depths in a cube of the plain average, frames of the TSDF (5)"},
    {"truncation", 0, "METRES", RECONCTL_REAL, AT(truncation_m), 1e-4, 1e6, "Of the TSDF (0.08)"},
    {"radius", 'r', "METRES", RECONCTL_REAL, AT(radius_m), 1e-6, 1e6,
     "Of ICP, with --each; 30 iterations (1)"},
    {"threshold", 't', "METRES", RECONCTL_REAL, AT(eval.threshold_m), 1e-6, 1e6,
     "Of completeness and accuracy (0.05)"},
    {"from", 0, "METRES", RECONCTL_REAL, AT(eval.r_first_m), 1e-6, 1e6, "First tolerance r (0.04)"},
    {"to", 0, "METRES", RECONCTL_REAL, AT(eval.r_last_m), 1e-6, 1e6, "Last tolerance r (0.16)"},
    {"step", 0, "METRES", RECONCTL_REAL, AT(eval.r_step_m), 1e-6, 1e6, "Between tolerances (0.02)"},
    {"net", 0, "WxH", RECONCTL_SIZE, AT(net), 32, 2048, "Size of the networks' input"},
    {"poses", 0, "FILE", RECONCTL_TEXT, AT(poses), 0, 0, "As of push"},
    {"sensor-depth", 0, NULL, RECONCTL_FLAG, AT(depth), 0, 0, "As of push"},
    {"option", 'o', "KEY=VALUE", RECONCTL_LIST, AT(option), 0, 0,
     "Any option of POST /v1/sessions (depth_model=NAME)"},
    {0},
};
/* clang-format on */

static void set_defaults(void *arguments)
{
    struct scene_options *o = arguments;

    o->every = 1;
    o->least = 2;
    o->observations = 5;
    o->truncation_m = 0.08;
    o->voxel_m = 0.02;
    o->radius_m = 1;
    o->eval = eval_cloud_defaults;
}

/* Rows from FUSED_RAW on have a grid of their own. */
enum fused_row {
    FUSED_SERVER,
    FUSED_AVERAGE,
    FUSED_TSDF,
    FUSED_RAW,
    FUSED_ONLINE,
    FUSED_SCALED,
    FUSED_MEDIAN,
    FUSED_ROWS
};
enum each_row { EACH_RAW, EACH_SCALED, EACH_ICP, EACH_AT_TRUTH, EACH_MEDIAN, EACH_ROWS };

static const struct reconctl_eval_scene_row
    fused_rows[FUSED_ROWS] = {{.key = "session", .words = "the session's cloud"},
                              {.key = "average", .words = "depth as it is, plain average"},
                              {.key = "tsdf", .words = "depth as it is, TSDF"},
                              {.key = "raw", .words = "depth as it is, cubes"},
                              {.key = "online", .words = "depth, scale from poses, cubes"},
                              {.key = "scaled", .words = "depth, median-scaled, cubes"},
                              {.key = "frame_median", .words = "each frame's median, cubes"}},
    each_rows[EACH_ROWS] = {{.key = "raw", .words = "depth as it is"},
                            {.key = "scaled", .words = "median-scaled"},
                            {.key = "icp", .words = "median-scaled, after icp"},
                            {.key = "at_truth", .words = "median-scaled, true pixels"},
                            {.key = "frame_median", .words = "own median, true pixels"}};

struct work {
    const struct scene_options *o;
    struct reconctl_source *source;
    struct reconctl_source_info info;
    struct client_sequence *truth;
    struct eval_depth_pairs pairs;
    struct reconctl_eval_online *online;
    struct eval_cloud_sum sum[EACH_ROWS];
    struct eval_scene *fused_truth, *fused[FUSED_ROWS];
    struct eval_tsdf *tsdf;
    struct reconctl_eval_picture *picture; /* NULL: none is asked for */
    struct eval_depth_sum depth, scaled;   /* as it is, and median-scaled */
    float *ones;                           /* [h][w] of the network */
    int net_w, net_h, wanted, done;
    struct reconctl_progress progress;
};

/* ------------------------------------------------------------------------- one frame */

/* The depth maps of one frame: the network's and the true one. */
struct maps {
    float *net, *truth;
    int w, h, tw, th;
    struct intrinsics K, truth_K;
    const uint8_t *rgb; /* [rgb_h][rgb_w][3], where a picture is asked for */
    int rgb_w, rgb_h;
    double median_scale, online_scale, median_m;
};

static struct eval_scene_view net_view(const struct work *w, const struct maps *m, double scale)
{
    return (struct eval_scene_view){m->net, m->w, m->h, m->K, scale, w->o->max_m};
}

static struct eval_scene_view flat_view(const struct work *w, const struct maps *m)
{
    return (struct eval_scene_view){w->ones, m->w, m->h, m->K, m->median_m, w->o->max_m};
}

static struct eval_scene_view truth_view(const struct work *w, const struct maps *m)
{
    return (struct eval_scene_view){.depth = m->truth,
                                    .w = m->tw,
                                    .h = m->th,
                                    .K = m->truth_K,
                                    .scale = 1,
                                    .max_m = w->o->max_m,
                                    .rgb = m->rgb,
                                    .rgb_w = m->rgb_w,
                                    .rgb_h = m->rgb_h};
}

static int fuse_frame(struct work *w, const struct maps *m, const struct rigid *T_wc,
                      struct err *err)
{
    const struct eval_scene_view truth = truth_view(w, m);
    const struct eval_scene_view view[FUSED_ROWS] = {
        [FUSED_RAW] = net_view(w, m, 1),
        [FUSED_ONLINE] = net_view(w, m, m->online_scale),
        [FUSED_SCALED] = net_view(w, m, m->median_scale),
        [FUSED_MEDIAN] = flat_view(w, m),
    };
    int rc = eval_scene_add(w->fused_truth, &truth, T_wc, err);

    for (int i = FUSED_RAW; i < FUSED_ROWS && rc == 0; i++)
        rc = eval_scene_add(w->fused[i], &view[i], T_wc, err);
    return rc ? rc : eval_tsdf_add(w->tsdf, &view[FUSED_RAW], T_wc, err);
}

/* Adds the measures of one frame to a row. An empty cloud is no error: that frame does not count
 * for that row. */
static int measure_each(struct work *w, enum each_row row, const float *a, size_t n_a,
                        const float *b, size_t n_b, struct err *err)
{
    struct eval_cloud_report r;
    int rc;

    if (n_a == 0)
        return 0;
    rc = eval_cloud_measure(&r, NULL, a, n_a, b, n_b, &w->o->eval, err);
    if (rc == 0)
        eval_cloud_add(&w->sum[row], &r);
    return rc;
}

static int align(const struct work *w, float *a, size_t n_a, const float *b, size_t n_b,
                 struct err *err)
{
    struct icp_options o = icp_defaults;
    const struct sim3 start = sim3_identity();
    struct icp_result result;
    struct tree *tree = NULL;
    int rc = tree_new(&tree, b, n_b, 3, err);

    if (rc)
        return rc;
    o.radius_m = w->o->radius_m;
    rc = icp_fit(&result, a, n_a, b, tree, &start, &o, err);
    if (rc == 0)
        icp_apply(a, a, n_a, &result.motion);
    tree_free(&tree);
    /* with too few pairs within the radius the cloud stays where it is */
    return rc == ERR_INPUT ? 0 : rc;
}

static int measure_frame(struct work *w, const struct maps *m, struct err *err)
{
    struct eval_scene_view truth = truth_view(w, m), view = net_view(w, m, 1);
    size_t n_b, n, most = (size_t)m->tw * (size_t)m->th, net = (size_t)m->w * (size_t)m->h;
    float *a = malloc((most > net ? most : net) * 3 * sizeof *a);
    float *b = malloc(most * 3 * sizeof *b);
    int rc = 0;

    if (!a || !b) {
        rc = err_set(err, ERR_MEMORY, "no memory for the points of a frame");
        goto out;
    }
    n_b = eval_scene_points(b, &truth); /* above 0, because the frame has a median */
    n = eval_scene_points(a, &view);
    rc = measure_each(w, EACH_RAW, a, n, b, n_b, err);
    view.scale = m->median_scale;
    n = eval_scene_points(a, &view);
    if (rc == 0)
        rc = measure_each(w, EACH_SCALED, a, n, b, n_b, err);
    if (rc == 0 && n > 0)
        rc = align(w, a, n, b, n_b, err);
    if (rc == 0)
        rc = measure_each(w, EACH_ICP, a, n, b, n_b, err);
    n = eval_scene_points_at(a, &view, m->truth, m->tw, m->th, m->truth_K);
    if (rc == 0)
        rc = measure_each(w, EACH_AT_TRUTH, a, n, b, n_b, err);
    view = flat_view(w, m);
    n = eval_scene_points_at(a, &view, m->truth, m->tw, m->th, m->truth_K);
    if (rc == 0)
        rc = measure_each(w, EACH_MEDIAN, a, n, b, n_b, err);
out:
    free(a);
    free(b);
    return rc;
}

/* Makes room at the first frame, whose size all frames must have. */
static int begin(struct work *w, const struct maps *m, struct err *err)
{
    size_t n = (size_t)m->w * (size_t)m->h;
    int rc;

    if (w->ones) {
        if (m->w != w->net_w || m->h != w->net_h || (size_t)m->tw * (size_t)m->th != w->pairs.cap)
            return err_set(err, ERR_INPUT, "maps of unlike sizes");
        return 0;
    }
    rc = eval_depth_pairs_new(&w->pairs, m->tw, m->th, err);
    if (rc)
        return rc;
    w->ones = malloc(n * sizeof *w->ones);
    if (!w->ones)
        return err_set(err, ERR_MEMORY, "no memory for a map");
    for (size_t i = 0; i < n; i++)
        w->ones[i] = 1;
    w->net_w = m->w;
    w->net_h = m->h;
    return 0;
}

/* Finds the scales of a frame and adds its depth's measures; returns whether it has a truth within
 * reach. */
static bool find_scales(struct work *w, struct maps *m)
{
    struct eval_depth_pairs *p = &w->pairs;
    struct eval_depth_measures measures;

    eval_depth_pairs_take(p, m->net, m->w, m->h, m->truth, m->tw, m->th, (float)w->o->max_m);
    if (p->n == 0)
        return false;
    m->median_m = (double)eval_depth_median(p, p->g);
    m->median_scale = m->median_m / (double)eval_depth_median(p, p->d);
    measures = eval_depth_measure(p, 1);
    eval_depth_add(&w->depth, &measures, p->n);
    measures = eval_depth_measure(p, m->median_scale);
    eval_depth_add(&w->scaled, &measures, p->n);
    return true;
}

static int take_maps(struct work *w, struct maps *m, const struct frame *f,
                     struct reconctl_eval_scene_result *r, struct err *err)
{
    struct eval_scale_answer scale = {.scale = 1};
    int rc;

    m->K = intrinsics_scale(f->K, f->width, f->height, m->w, m->h);
    if (w->online) {
        rc = reconctl_eval_online_frame(w->online, &scale, f, m->net, m->w, m->h, err);
        if (rc)
            return rc;
    }
    m->online_scale = scale.scale;
    rc = client_sequence_depth(w->truth, (int)f->seq, &m->truth, &m->tw, &m->th, err);
    if (rc)
        return rc == ERR_NOT_FOUND ? 0 : rc;
    m->truth_K = intrinsics_scale(f->K, f->width, f->height, m->tw, m->th);
    rc = begin(w, m, err);
    if (rc || !find_scales(w, m))
        return rc;
    r->n_frames++;
    if (w->o->each)
        return measure_frame(w, m, err);
    if (!(f->flags & FRAME_HAS_POSE))
        return 0;
    if (w->picture)
        rc = reconctl_eval_picture_frame(w->picture, &m->rgb, &m->rgb_w, &m->rgb_h, f,
                                         w->done <= w->wanted / 2, err);
    return rc ? rc : fuse_frame(w, m, &f->T_wc, err);
}

static void show(struct work *w)
{
    double done = (double)w->done / w->wanted;

    if (w->done == w->wanted)
        reconctl_progress_end(&w->progress, false);
    else
        reconctl_progress_step(&w->progress, "frames", done);
}

static int feed_all(struct work *w, struct reconctl_eval_feed *feed,
                    struct reconctl_eval_scene_result *r, struct err *err)
{
    struct frame f;
    int rc = 0;

    w->progress = reconctl_progress_start();
    while (rc == 0 && w->done < w->wanted) {
        struct maps m = {0};

        rc = reconctl_source_next(w->source, &f, err);
        if (rc || f.seq % (uint64_t)w->o->every)
            continue;
        rc = reconctl_eval_feed_frame(feed, &m.net, &m.w, &m.h, &f, err);
        if (rc == 0)
            rc = take_maps(w, &m, &f, r, err);
        else if (rc == ERR_UNSUPPORTED)
            rc = 0; /* the server does not use this frame */
        free(m.net);
        free(m.truth);
        w->done++;
        show(w);
    }
    if (rc == 0 && r->n_frames == 0)
        rc = err_at(err, ERR_INPUT, r->folder, "no used frame has a true depth within reach");
    return rc;
}

/* ------------------------------------------------------------------------- fused */

static int measure_fused(struct work *w, struct reconctl_eval_scene_result *r, int row,
                         double *to_b, const float *a, size_t n_a, const float *b, size_t n_b,
                         struct err *err)
{
    int rc;

    if (n_a == 0)
        return 0;
    rc = eval_cloud_measure(&r->row[row].report, to_b, a, n_a, b, n_b, &w->o->eval, err);
    if (rc == 0)
        rc = eval_wall_measure(&r->row[row].wall, a, n_a, b, n_b, &eval_wall_defaults, err);
    r->row[row].there = rc == 0;
    return rc;
}

static int measure_session(struct work *w, struct reconctl_eval_scene_result *r,
                           const struct ply_cloud *cloud, const struct ply_cloud *truth,
                           struct err *err)
{
    double *to_truth = malloc((cloud->n ? cloud->n : 1) * sizeof *to_truth);
    int rc;

    if (!to_truth)
        return err_set(err, ERR_MEMORY, "no memory for the distances of %zu points", cloud->n);
    rc = measure_fused(w, r, FUSED_SERVER, to_truth, cloud->xyz, cloud->n, truth->xyz, truth->n,
                       err);
    if (rc == 0 && cloud->confidence)
        rc = eval_rank_correlation(&r->confidence_rank, cloud->confidence, to_truth, cloud->n, err);
    free(to_truth);
    return rc;
}

/* The cloud of a row other than the session's. */
static int row_cloud(const struct work *w, int row, float **xyz, size_t *n, struct err *err)
{
    if (row == FUSED_TSDF)
        return eval_tsdf_cloud(w->tsdf, w->o->observations, xyz, n, err);
    if (row == FUSED_AVERAGE)
        return eval_scene_cloud(w->fused[FUSED_RAW], 1, w->o->observations, xyz, NULL, n, err);
    return eval_scene_cloud(w->fused[row], w->o->least, 1, xyz, NULL, n, err);
}

static int finish_fused(struct work *w, struct reconctl_eval_feed *feed,
                        struct reconctl_eval_scene_result *r, struct err *err)
{
    struct ply_cloud cloud = {0}, truth = {0};
    float *a = NULL;
    size_t n_a = 0;
    int rc = reconctl_eval_feed_finish(feed, &cloud, err);

    if (rc == 0)
        rc =
            eval_scene_cloud(w->fused_truth, w->o->least, 1, &truth.xyz, &truth.rgb, &truth.n, err);
    if (rc == 0 && truth.n == 0)
        rc = err_at(err, ERR_INPUT, r->folder, "no cube of the truth was seen in %d frames",
                    w->o->least);
    if (rc == 0)
        rc = measure_session(w, r, &cloud, &truth, err);
    for (int i = FUSED_AVERAGE; i < FUSED_ROWS && rc == 0; i++) {
        rc = row_cloud(w, i, &a, &n_a, err);
        if (rc == 0)
            rc = measure_fused(w, r, i, NULL, a, n_a, truth.xyz, truth.n, err);
        free(a);
        a = NULL;
    }
    if (rc == 0 && w->picture)
        rc = reconctl_eval_picture_write(w->picture, w->o->picture, &truth, &cloud, err);
    ply_cloud_free(&truth);
    ply_cloud_free(&cloud);
    return rc;
}

static void finish_each(struct work *w, struct reconctl_eval_scene_result *r)
{
    for (int i = 0; i < EACH_ROWS; i++) {
        r->row[i].there = w->sum[i].n_frames > 0;
        r->row[i].report = eval_cloud_mean(&w->sum[i]);
    }
}

/* ------------------------------------------------------------------------- command */

static int open_folder(struct work *w, const char *folder, struct err *err)
{
    const struct reconctl_source_config config = {
        .path = folder, .poses = w->o->poses, .depth = w->o->depth};
    int n, rc = client_sequence_open(&w->truth, folder, "none", err);

    if (rc == 0)
        rc = reconctl_source_open(&w->source, &config, err);
    if (rc)
        return rc;
    reconctl_source_get_info(w->source, &w->info);
    if (w->info.lens.model != LENS_PINHOLE)
        return err_at(err, ERR_UNSUPPORTED, folder,
                      "is of a camera that is %s, and clouds are compared of pinhole cameras alone",
                      lens_names[w->info.lens.model]);
    n = (w->info.n_frames + w->o->every - 1) / w->o->every;
    w->wanted = w->o->frames && w->o->frames < n ? w->o->frames : n;
    if (!w->o->each && !w->info.has_poses)
        return err_at(err, ERR_INPUT, folder, "has no poses to fuse by: --each needs none");
    if (w->o->each)
        return 0;
    rc = reconctl_eval_online_new(&w->online, err);
    if (rc == 0)
        rc = eval_scene_new(&w->fused_truth, w->o->voxel_m, err);
    if (rc == 0 && w->o->picture)
        rc = reconctl_eval_picture_new(&w->picture, err);
    if (rc == 0)
        rc = eval_tsdf_new(&w->tsdf, w->o->voxel_m, w->o->truncation_m, err);
    for (int i = FUSED_RAW; i < FUSED_ROWS && rc == 0; i++)
        rc = eval_scene_new(&w->fused[i], w->o->voxel_m, err);
    return rc;
}

static void close_folder(struct work *w)
{
    eval_scene_free(&w->fused_truth);
    for (int i = 0; i < FUSED_ROWS; i++)
        eval_scene_free(&w->fused[i]);
    eval_tsdf_free(&w->tsdf);
    reconctl_eval_picture_free(&w->picture);
    free(w->ones);
    eval_depth_pairs_free(&w->pairs);
    reconctl_eval_online_free(&w->online);
    reconctl_source_close(&w->source);
    client_sequence_close(&w->truth);
}

/* Measures one folder. Sets *code to the exit code where that fails. */
static int run_folder(const struct scene_options *o, const struct reconctl_link *link,
                      struct reconctl_eval_scene_result *r, int *code, struct err *err)
{
    struct work w = {.o = o};
    struct reconctl_eval_feed_config config = {
        .link = link, .info = &w.info, .net = o->net, .options = &o->option};
    struct reconctl_eval_feed *feed = NULL;
    struct eval_depth_measures pixels;
    double start_s = reconctl_now_s();
    int rc = open_folder(&w, r->folder, err);

    if (rc)
        goto out;
    config.max_depth_m = o->each ? 0 : fmin(o->max_m, FUSES_MAX_M);
    rc = reconctl_eval_feed_open(&feed, &config, err);
    if (rc == 0)
        rc = feed_all(&w, feed, r, err);
    if (rc == 0 && !o->each)
        rc = finish_fused(&w, feed, r, err);
    *code = reconctl_eval_feed_exit(rc, feed);
    reconctl_eval_feed_close(&feed);
    if (rc == 0 && o->each)
        finish_each(&w, r);
    eval_depth_mean(&w.depth, &r->depth, &pixels);
    eval_depth_mean(&w.scaled, &r->scaled, &pixels);
    r->took_s = reconctl_now_s() - start_s;
out:
    close_folder(&w);
    return rc;
}

static int show_result(const struct scene_options *o, const struct reconctl_eval_scene_result *r,
                       struct err *err)
{
    char *text = reconctl_eval_scene_json(r);
    int rc = text ? 0 : err_set(err, ERR_MEMORY, "no memory for the report");

    if (rc == 0)
        rc = reconctl_eval_write(o->file, text, err);
    if (rc == 0 && o->plot)
        rc = reconctl_eval_scene_plot(o->plot, r, err);
    if (rc == 0 && reconctl_json(&o->common))
        printf("%s\n", text);
    else if (rc == 0)
        reconctl_eval_scene_print(r);
    free(text);
    return rc;
}

static int run_scene(void *arguments)
{
    struct scene_options *o = arguments;
    struct reconctl_eval_scene_result r = {
        .folder = o->common.operands[0], .each = o->each, .confidence_rank = (double)NAN};
    struct reconctl_link link = {0};
    struct err err = {0};
    int code = RECONCTL_FAILURE;

    if (o->max_m <= 0)
        o->max_m = o->each ? (double)EVAL_DEPTH_MAX_M : FUSED_MAX_M;
    r.max_m = o->max_m;
    r.voxel_m = o->voxel_m;
    r.radius_m = o->radius_m;
    r.n_rows = o->each ? (int)EACH_ROWS : (int)FUSED_ROWS;
    memcpy(r.row, o->each ? each_rows : fused_rows, (size_t)r.n_rows * sizeof *r.row);
    if (o->each && o->picture)
        return reconctl_usage(&o->common, "--picture is of a fused cloud: without --each");
    if (access(r.folder, R_OK) != 0) {
        err_at(&err, ERR_NOT_FOUND, r.folder, "cannot be read: %m");
        return reconctl_fail(&o->common, &err);
    }
    if (reconctl_link_open(&link, &o->common, true, &err))
        return reconctl_fail_link(&o->common, &err);
    if (run_folder(o, &link, &r, &code, &err)) {
        reconctl_fail(&o->common, &err);
    } else if (show_result(o, &r, &err)) {
        code = reconctl_fail(&o->common, &err);
    } else {
        code = RECONCTL_OK;
    }
    reconctl_link_close(&link);
    return code;
}

const struct reconctl_command reconctl_eval_scene_command = {
    .name = "eval scene",
    .operands = "FOLDER",
    .summary = "Measure the clouds of a folder against its true depth",
    .options = options,
    .size = sizeof(struct scene_options),
    .defaults = set_defaults,
    .run = run_scene,
};
