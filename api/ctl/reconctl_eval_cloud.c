#include "api/client/client_splat.h"
#include "api/eval/eval_cloud.h"
#include "api/eval/eval_register.h"
#include "api/ctl/reconctl_eval.h"
#include "api/ctl/reconctl_eval_cloud.h"
#include "api/ctl/reconctl_progress.h"
#include "api/ctl/reconctl_render.h"
#include "proto/cloud/ply.h"
#include "proto/image/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_BYTES 32768
#define PICTURE_W 960
#define PICTURE_H 720

struct cloud_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *json_file, *plot, *plot_distances, *plot_radii, *align, *session, *truth_session;
    struct eval_cloud_options eval;
    struct icp_options icp;
    double voxel_m;
    int points;
};

#define AT(field) offsetof(struct cloud_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"report", 0, "FILE", RECONCTL_OUTPUT, AT(json_file), 0, 0, "Write the measures as JSON"},
    {"plot", 'p', "FILE", RECONCTL_OUTPUT, AT(plot), 0, 0,
     "Draw the cloud, each point coloured by its distance from the truth (PNG)"},
    {"plot-distances", 0, "FILE", RECONCTL_SVG, AT(plot_distances), 0, 0,
     "Draw how many points lie how far from the truth (SVG)"},
    {"plot-radii", 0, "FILE", RECONCTL_SVG, AT(plot_radii), 0, 0,
     "Draw FNE, FPE and L_E against the tolerance r (SVG)"},
    {"align", 'a', "HOW", RECONCTL_TEXT, AT(align), 0, 0,
     "Before measuring: none, icp (from where it lies) or global (then icp) (none)"},
    {"radius", 'r', "METRES", RECONCTL_REAL, AT(icp.radius_m), 1e-6, 1e6,
     "Pairs farther apart do not count for registration, fitness and RMSE (0.1)"},
    {"iterations", 0, "N", RECONCTL_INT, AT(icp.max_iterations), 1, 100000, "Of ICP, at most (30)"},
    {"scale", 0, NULL, RECONCTL_FLAG, AT(icp.scale), 0, 0, "Registration finds a scale too"},
    {"points", 0, "N", RECONCTL_INT, AT(points), 0, 1073741824,
     "Of the cloud, that ICP uses; 0 = all (200000)"},
    {"voxel", 0, "METRES", RECONCTL_REAL, AT(voxel_m), 0, 1e6,
     "Cells of global registration; 0 = the truth's diagonal / 128 (0)"},
    {"threshold", 't', "METRES", RECONCTL_REAL, AT(eval.threshold_m), 1e-6, 1e6,
     "Of completeness, accuracy and F (0.05)"},
    {"from", 0, "METRES", RECONCTL_REAL, AT(eval.r_first_m), 1e-6, 1e6, "First tolerance r (0.04)"},
    {"to", 0, "METRES", RECONCTL_REAL, AT(eval.r_last_m), 1e-6, 1e6, "Last tolerance r (0.16)"},
    {"step", 0, "METRES", RECONCTL_REAL, AT(eval.r_step_m), 1e-6, 1e6, "Between tolerances (0.02)"},
    {"session", 's', "ID", RECONCTL_TEXT, AT(session), 0, 0,
     "The export of a server's session takes the place of CLOUD"},
    {"truth-session", 0, "ID", RECONCTL_TEXT, AT(truth_session), 0, 0,
     "The export of a server's session takes the place of TRUTH"},
    {0},
};
/* clang-format on */

static void set_defaults(void *arguments)
{
    struct cloud_options *o = arguments;

    o->align = "none";
    o->icp = icp_defaults;
    o->points = 200000;
    o->eval = eval_cloud_defaults;
}

struct job {
    const struct cloud_options *o;
    const char *name[2]; /* of the cloud and of the truth */
    struct ply_cloud a, b;
    struct eval_register_result global;
    struct icp_result icp;
    struct eval_cloud_report report;
    double *distance; /* of each point of a */
    double took_s;
    bool asked; /* a server was asked, so that an error is its answer */
};

/* ---------------------------------------------------------------------------------------- input */

static int read_session(struct ply_cloud *cloud, const struct reconctl_common *common,
                        const char *id, struct err *err)
{
    struct reconctl_link link;
    int rc = reconctl_link_open(&link, common, false, err);

    if (rc)
        return rc;
    rc = reconctl_eval_session_cloud(cloud, link.client, id, err);
    reconctl_link_close(&link);
    return rc;
}

static int read_clouds(struct job *j, struct err *err)
{
    const struct cloud_options *o = j->o;
    const struct reconctl_common *c = &o->common;
    const char *session[2] = {o->session, o->truth_session};
    struct ply_cloud *cloud[2] = {&j->a, &j->b};
    int operand = 0, rc = 0;

    for (int i = 0; i < 2 && rc == 0; i++) {
        j->name[i] = session[i] ? session[i] : c->operands[operand++];
        j->asked = session[i];
        rc = session[i] ? read_session(cloud[i], c, session[i], err)
                        : ply_read_file(j->name[i], cloud[i], err);
        j->asked = j->asked && rc;
        if (rc == 0)
            rc = eval_cloud_check(j->name[i], cloud[i]->xyz, cloud[i]->n, err);
    }
    return rc;
}

/* --------------------------------------------------------------------------------- arithmetic */

static void on_align(void *ctx, double done)
{
    reconctl_progress_step(ctx, "aligning", done);
}

static void on_measure(void *ctx, double done)
{
    reconctl_progress_step(ctx, "measuring", done);
}

static int align(struct job *j, struct reconctl_progress *p, struct err *err)
{
    const struct cloud_options *o = j->o;
    struct eval_register_global_options global = eval_register_global_defaults;
    struct icp_options icp = o->icp;
    struct sim3 motion = sim3_identity();
    struct tree *tree = NULL;
    int rc = 0;

    if (strcmp(o->align, "global") == 0) {
        global.voxel_m = o->voxel_m;
        global.scale = o->icp.scale;
        rc = eval_register_global(&j->global, j->a.xyz, j->a.n, j->b.xyz, j->b.n, &global, err);
        motion = j->global.fit.motion;
    }
    if (rc == 0)
        rc = tree_new(&tree, j->b.xyz, j->b.n, 3, err);
    if (rc)
        return rc;
    icp.max_points = (size_t)o->points;
    icp.progress = on_align;
    icp.ctx = p;
    if (strcmp(o->align, "none") == 0)
        icp_score(&j->icp, j->a.xyz, j->a.n, tree, &motion, o->icp.radius_m);
    else
        rc = icp_fit(&j->icp, j->a.xyz, j->a.n, j->b.xyz, tree, &motion, &icp, err);
    tree_free(&tree);
    if (rc == 0)
        icp_apply(j->a.xyz, j->a.xyz, j->a.n, &j->icp.motion);
    return rc;
}

static int measure(struct job *j, struct err *err)
{
    double start = reconctl_now_s();
    struct reconctl_progress p = reconctl_progress_start();
    struct eval_cloud_options eval = j->o->eval;
    int rc = align(j, &p, err);

    reconctl_progress_end(&p, false);
    if (rc)
        return rc;
    j->distance = malloc(j->a.n * sizeof *j->distance);
    if (!j->distance)
        return err_set(err, ERR_MEMORY, "no memory for the distances of %zu points", j->a.n);
    p = reconctl_progress_start();
    eval.progress = on_measure;
    eval.ctx = &p;
    rc =
        eval_cloud_measure(&j->report, j->distance, j->a.xyz, j->a.n, j->b.xyz, j->b.n, &eval, err);
    reconctl_progress_end(&p, false);
    j->took_s = reconctl_now_s() - start;
    return rc;
}

/* --------------------------------------------------------------------------------------- output */

/* Puts a registration. The motion is a 4 x 4 matrix, row by row, with the scale in its upper left
 * part. */
static void put_registration(struct json_writer *w, const char *key, const struct icp_result *r,
                             size_t n_truth)
{
    json_open_map(w, key);
    json_open_list(w, "motion");
    for (int i = 0; i < 12; i++)
        reconctl_eval_put(w, NULL,
                          i % 4 == 3 ? r->motion.t[i / 4]
                                     : r->motion.s * r->motion.r[3 * (i / 4) + i % 4]);
    for (int i = 0; i < 4; i++)
        reconctl_eval_put(w, NULL, i == 3);
    json_close(w);
    reconctl_eval_put(w, "scale", r->motion.s);
    json_put_u64(w, "inliers", r->inliers);
    reconctl_eval_put(w, "fitness", r->fitness);
    reconctl_eval_put(w, "inliers_per_truth", (double)r->inliers / (double)n_truth);
    reconctl_eval_put(w, "rmse", r->rmse);
    json_put_u64(w, "iterations", (uint64_t)r->iterations);
    json_put_bool(w, "converged", r->converged);
    json_close(w);
}

static size_t as_json(char *buf, size_t cap, const struct job *j)
{
    const struct eval_cloud_report *r = &j->report;
    struct json_writer w = json_writer(buf, cap);

    json_open_map(&w, NULL);
    json_put_text(&w, "type", "eval_cloud");
    json_put_text(&w, "cloud", j->name[0]);
    json_put_text(&w, "truth", j->name[1]);
    json_put_text(&w, "align", j->o->align);
    reconctl_eval_put(&w, "radius", j->o->icp.radius_m);
    reconctl_eval_cloud_put(&w, r);
    if (strcmp(j->o->align, "global") == 0)
        put_registration(&w, "global", &j->global.fit, r->n_b);
    put_registration(&w, "registration", &j->icp, r->n_b);
    reconctl_eval_put(&w, "seconds", j->took_s);
    json_close(&w);
    return json_finish(&w);
}

static void print_motion(const char *name, const struct icp_result *r)
{
    const struct sim3 *m = &r->motion, none = sim3_identity();

    printf("%-16s %d iterations, %s: %.3f degrees, shift %.4f %.4f %.4f m, scale %.5f\n", name,
           r->iterations, r->converged ? "converged" : "NOT converged", sim3_angle_deg(m, &none),
           m->t[0], m->t[1], m->t[2], m->s);
}

static void print_table(const struct job *j)
{
    const struct eval_cloud_report *r = &j->report;

    printf("%zu points against %zu true ones, %.1f s\n", r->n_a, r->n_b, j->took_s);
    if (strcmp(j->o->align, "global") == 0)
        print_motion("global", &j->global.fit);
    if (strcmp(j->o->align, "none") != 0)
        print_motion("icp", &j->icp);
    printf("fitness          %.4f within %g m, inlier RMSE %.4f m\n", j->icp.fitness,
           j->o->icp.radius_m, j->icp.rmse);
    printf("\n");
    reconctl_eval_cloud_print(r);
}

/* Colours points: blue on the surface, green at the threshold, red from twice the threshold on. */
static void colour(uint8_t *rgb, const double *distance, size_t n, double threshold)
{
    for (size_t i = 0; i < n; i++) {
        double x = fmin(distance[i] / threshold, 2), up = fmin(x, 2 - x);

        rgb[3 * i] = (uint8_t)(40 + 200 * fmax(0, x - 1));
        rgb[3 * i + 1] = (uint8_t)(40 + 180 * up);
        rgb[3 * i + 2] = (uint8_t)(40 + 200 * fmax(0, 1 - x));
    }
}

static int draw(struct job *j, struct err *err)
{
    struct client_splat_cloud cloud = {.n = j->a.n, .xyz = j->a.xyz, .rgb = j->a.rgb};
    struct client_splat_orbit orbit = {.pitch = 0.5f, .w = PICTURE_W, .h = PICTURE_H};
    const float yaw = 0.5f;
    struct client_splat_view view;
    uint8_t *picture;
    int rc;

    if (!j->o->plot)
        return 0;
    picture = malloc((size_t)3 * PICTURE_W * PICTURE_H);
    rc = picture ? reconctl_render_orient(orbit.R_wc, NULL, j->a.up, NULL, err)
                 : err_set(err, ERR_MEMORY, "no memory for a picture");
    if (rc)
        goto out;
    colour(j->a.rgb, j->distance, j->a.n, j->o->eval.threshold_m);
    client_splat_frame(&orbit, &cloud, &yaw, 1);
    view = client_splat_at(&orbit, yaw, 1);
    rc = client_splat_draw(picture, &view, &cloud, err);
    if (rc == 0)
        rc = png_write_file(j->o->plot, picture, PICTURE_W, PICTURE_H, err);
out:
    free(picture);
    return rc;
}

static int show(struct job *j, struct err *err)
{
    char *line = malloc(JSON_BYTES);
    int rc = 0;

    if (!line || !as_json(line, JSON_BYTES, j))
        rc = err_set(err, ERR_MEMORY, "no memory for the report");
    if (rc == 0)
        rc = reconctl_eval_write(j->o->json_file, line, err);
    if (rc == 0)
        rc = draw(j, err);
    if (rc == 0 && j->o->plot_distances)
        rc = reconctl_eval_cloud_plot_distances(j->o->plot_distances, j->distance, j->a.n,
                                                j->o->eval.threshold_m, err);
    if (rc == 0 && j->o->plot_radii)
        rc = reconctl_eval_cloud_plot_radii(j->o->plot_radii, &j->report, err);
    if (rc == 0 && reconctl_json(&j->o->common))
        printf("%s\n", line);
    else if (rc == 0)
        print_table(j);
    free(line);
    return rc;
}

static int run_cloud(void *arguments)
{
    const struct cloud_options *o = arguments;
    struct job j = {.o = o};
    struct err err;
    int rc, code = RECONCTL_OK;

    if (strcmp(o->align, "none") && strcmp(o->align, "icp") && strcmp(o->align, "global"))
        return reconctl_usage(&o->common, "--align takes none, icp or global, not '%.30s'",
                              o->align);
    if (o->common.n_operands + !!o->session + !!o->truth_session != 2)
        return reconctl_usage(
            &o->common, "a cloud and the truth are needed: files, --session or --truth-session");
    rc = read_clouds(&j, &err);
    if (rc == 0)
        rc = measure(&j, &err);
    if (rc == 0)
        rc = show(&j, &err);
    if (rc)
        code = j.asked ? reconctl_fail_server(&o->common, &err) : reconctl_fail(&o->common, &err);
    free(j.distance);
    ply_cloud_free(&j.a);
    ply_cloud_free(&j.b);
    return code;
}

const struct reconctl_command reconctl_eval_cloud_command = {
    .name = "eval cloud",
    .operands = "[CLOUD.ply] [TRUTH.ply]",
    .summary = "Measure a point cloud against the true one",
    .options = options,
    .size = sizeof(struct cloud_options),
    .defaults = set_defaults,
    .run = run_cloud,
};
