#include "api/eval/eval_path.h"
#include "api/eval/eval_plot.h"
#include "api/ctl/reconctl_eval.h"
#include "api/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES (256u << 20)
#define JSON_BYTES 8192

struct eval_trajectory_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *file, *plot, *session;
    double max_gap_s, truth_hz, half;
};

#define AT(field) offsetof(struct eval_trajectory_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"report", 0, "FILE", RECONCTL_OUTPUT, AT(file), 0, 0, "Write the measures"},
    {"plot", 0, "FILE", RECONCTL_SVG, AT(plot), 0, 0, "Draw both paths from above, aligned (SVG)"},
    {"session", 0, "ID", RECONCTL_TEXT, AT(session), 0, 0,
     "The estimate is the path of this session"},
    {"max-gap", 0, "SECONDS", RECONCTL_REAL, AT(max_gap_s), 0, 1e6,
     "Poses of one moment are at most so far apart (0.02)"},
    {"truth-fps", 0, "N", RECONCTL_REAL, AT(truth_hz), 0.001, 1e6,
     "TRUTH counts frames at this rate, as poses.txt of a folder does"},
    {"half", 0, "POSES", RECONCTL_REAL, AT(half), 0.1, 1e9,
     "The online scale halves the weight of a motion in so many (30)"},
    {0},
};
/* clang-format on */

struct result {
    const char *estimate, *truth;
    size_t n_estimate, n_truth, n_pairs;
    struct sim3 se3, sim3;
    struct eval_path_stats ate_se3, ate_sim3;
    struct eval_path_rpe frame, metre;
    struct eval_path_stats ate_online;
    struct eval_path_rpe online; /* a frame, after the scale of eval_path_online() */
    double online_scale;         /* the last one */
    struct trivial {
        struct eval_path_stats ate;
        struct eval_path_rpe frame, metre;
    } still, constant; /* of a path that stands still, and of one whose motion never changes */
};

/* ------------------------------------------------------------------------- input */

static int load_file(struct eval_path *path, const char *file, double rate_hz, struct err *err)
{
    struct file_content text = {0};
    int rc = file_load(&text, file, file, FILE_MAX_BYTES, err);

    if (rc == 0)
        rc = eval_path_parse(path, (const char *)text.data, text.len, file, rate_hz, err);
    free(text.data);
    return rc;
}

/* Frames a second of the folder whose poses.txt a file is; 0 where it is none, or does not say. */
static double folder_rate(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    struct file_content text = {0};
    struct json *doc = NULL;
    char path[4096];
    double hz = 0;

    snprintf(path, sizeof path, "%.*ssequence.json", (int)(name - file), file);
    if (strcmp(name, "poses.txt") == 0 && file_load(&text, path, path, 1 << 20, NULL) == 0 &&
        json_parse(&doc, (const char *)text.data, text.len, 16, NULL) == 0)
        hz = json_f64(json_member(doc, "fps"));
    json_free(&doc);
    free(text.data);
    return hz > 0 && hz < 1e6 ? hz : 0;
}

/* A path of which most poses have no partner is measured by chance. */
static int check_pairs(const struct eval_trajectory_options *o, size_t n_pairs, size_t n_estimate,
                       size_t n_truth, struct err *err)
{
    size_t shorter = n_estimate < n_truth ? n_estimate : n_truth;

    if (2 * n_pairs >= shorter)
        return 0;
    return err_set(
        err, ERR_INPUT,
        "only %zu of %zu poses are within %g s of one of the other path: where the truth "
        "counts frames, --truth-fps says how many a second; --max-gap allows more",
        n_pairs, shorter, o->max_gap_s);
}

/* Loads the path of a session. Sets *code to the exit code where the server is the reason. */
static int load_session(struct eval_path *path, const struct eval_trajectory_options *o, int *code,
                        struct err *err)
{
    struct reconctl_link link = {0};
    char target[128], id[CONTROL_ID_CAP], *text = NULL;
    size_t len = 0;
    int rc = reconctl_link_open(&link, &o->common, false, err);

    if (rc)
        return rc;
    rc = reconctl_find_session(id, link.client, o->session, err);
    snprintf(target, sizeof target, "/v1/sessions/%s/trajectory", id);
    if (rc == 0)
        rc = client_request(link.client, "GET", target, NULL, &text, &len, NULL, err);
    if (rc)
        *code = rc == ERR_IO ? RECONCTL_UNREACHABLE : RECONCTL_REFUSED;
    if (rc == 0)
        rc = eval_path_parse(path, text, len, o->session, 0, err);
    free(text);
    reconctl_link_close(&link);
    return rc;
}

/* ------------------------------------------------------------------------- output */

static void put_stats(struct json_writer *w, const char *key, const struct eval_path_stats *s)
{
    if (s->n == 0) {
        json_put_null(w, key);
        return;
    }
    json_open_map(w, key);
    json_put_u64(w, "n", s->n);
    reconctl_eval_put(w, "rmse", s->rmse);
    reconctl_eval_put(w, "mean", s->mean);
    reconctl_eval_put(w, "median", s->median);
    reconctl_eval_put(w, "max", s->max);
    json_close(w);
}

static void put_rpe(struct json_writer *w, const char *key, const struct eval_path_rpe *r)
{
    json_open_map(w, key);
    reconctl_eval_put(w, "scale", r->scale);
    put_stats(w, "translation_m", &r->translation);
    put_stats(w, "translation_scaled_m", &r->scaled);
    put_stats(w, "rotation_deg", &r->rotation_deg);
    json_close(w);
}

static void put_trivial(struct json_writer *w, const char *key, const struct trivial *t)
{
    json_open_map(w, key);
    put_stats(w, "ate_m", &t->ate);
    put_rpe(w, "rpe_frame", &t->frame);
    put_rpe(w, "rpe_metre", &t->metre);
    json_close(w);
}

static void put_alignment(struct json_writer *w, const char *key, const struct sim3 *a)
{
    json_open_map(w, key);
    reconctl_eval_put(w, "scale", a->s);
    json_open_list(w, "rotation");
    for (int i = 0; i < 9; i++)
        reconctl_eval_put(w, NULL, a->r[i]);
    json_close(w);
    json_open_list(w, "translation_m");
    for (int i = 0; i < 3; i++)
        reconctl_eval_put(w, NULL, a->t[i]);
    json_close(w);
    json_close(w);
}

static int to_json(char *buf, size_t cap, const struct result *r, struct err *err)
{
    struct json_writer w = json_writer(buf, cap);

    json_open_map(&w, NULL);
    json_put_text(&w, "type", "eval_trajectory");
    json_put_text(&w, "estimate", r->estimate);
    json_put_text(&w, "truth", r->truth);
    json_put_u64(&w, "poses_estimate", r->n_estimate);
    json_put_u64(&w, "poses_truth", r->n_truth);
    json_put_u64(&w, "pairs", r->n_pairs);
    put_stats(&w, "ate_se3_m", &r->ate_se3);
    put_stats(&w, "ate_sim3_m", &r->ate_sim3);
    put_rpe(&w, "rpe_frame", &r->frame);
    put_rpe(&w, "rpe_metre", &r->metre);
    json_open_map(&w, "online");
    reconctl_eval_put(&w, "last_scale", r->online_scale);
    put_stats(&w, "ate_se3_m", &r->ate_online);
    put_stats(&w, "translation_m", &r->online.translation);
    json_close(&w);
    put_trivial(&w, "still", &r->still);
    put_trivial(&w, "constant", &r->constant);
    put_alignment(&w, "se3", &r->se3);
    put_alignment(&w, "sim3", &r->sim3);
    json_close(&w);
    return json_finish(&w) ? 0 : err_set(err, ERR_LIMIT, "file names are too long for the report");
}

/* A row, and at its end what the two trivial paths have for RMSE there. */
static void print_stats(const char *name, const char *unit, double by,
                        const struct eval_path_stats *s, const struct eval_path_stats *still,
                        const struct eval_path_stats *constant)
{
    if (s->n)
        printf("  %-36s %10.4f %10.4f %10.4f %10.4f", name, by * s->rmse, by * s->mean,
               by * s->median, by * s->max);
    else
        printf("  %-36s %43s", name, "the true way is too short");
    if (still->n && constant->n)
        printf(" %10.4f %10.4f  %s\n", by * still->rmse, by * constant->rmse, unit);
    else
        printf(" %10s %10s  %s\n", "-", "-", unit);
}

static void print_text(const struct result *r)
{
    const struct trivial *s = &r->still, *c = &r->constant;
    char line[64];

    printf("%zu pairs of %zu poses and %zu true ones\n  %-36s %10s %10s %10s %10s %10s %10s\n"
           "  %-36s %10s %10s %10s %10s %10s %10s\n",
           r->n_pairs, r->n_estimate, r->n_truth, "", "", "", "", "", "still:", "constant:", "",
           "RMSE", "mean", "median", "max", "RMSE", "RMSE");
    print_stats("ATE after SE(3)", "m", 1, &r->ate_se3, &s->ate, &c->ate);
    snprintf(line, sizeof line, "ATE after Sim(3), scale %.4f", r->sim3.s);
    print_stats(line, "m", 1, &r->ate_sim3, &s->ate, &c->ate);
    print_stats("ATE after SE(3), online scale", "m", 1, &r->ate_online, &s->ate, &c->ate);
    print_stats("RPE a frame, translation", "mm", 1e3, &r->frame.translation, &s->frame.translation,
                &c->frame.translation);
    snprintf(line, sizeof line, "  after one scale, %.4f", r->frame.scale);
    print_stats(line, "mm", 1e3, &r->frame.scaled, &s->frame.translation, &c->frame.translation);
    snprintf(line, sizeof line, "  after online scale, at last %.4f", r->online_scale);
    print_stats(line, "mm", 1e3, &r->online.translation, &s->frame.translation,
                &c->frame.translation);
    print_stats("RPE a frame, rotation", "degrees", 1, &r->frame.rotation_deg,
                &s->frame.rotation_deg, &c->frame.rotation_deg);
    print_stats("RPE a metre, translation", "mm", 1e3, &r->metre.translation, &s->metre.translation,
                &c->metre.translation);
    snprintf(line, sizeof line, "  after one scale, %.4f", r->metre.scale);
    print_stats(line, "mm", 1e3, &r->metre.scaled, &s->metre.translation, &c->metre.translation);
    print_stats("RPE a metre, rotation", "degrees", 1, &r->metre.rotation_deg,
                &s->metre.rotation_deg, &c->metre.rotation_deg);
    printf("still: a camera that never moves; constant: one that goes on as it came, and for ATE "
           "straight\nfrom the first place to the last\n");
}

/* Finds the two widest axes of the true path, so that the user need not say which way is up. */
static void wide_axes(int axes[2], const struct eval_path_pair *pairs, size_t n)
{
    double span[3] = {0, 0, 0};
    int narrow = 0;

    for (size_t i = 1; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double d = pairs[i].truth->p[k] - pairs[0].truth->p[k];

            span[k] = d * d > span[k] ? d * d : span[k];
        }
    for (int k = 1; k < 3; k++)
        if (span[k] < span[narrow])
            narrow = k;
    axes[0] = narrow == 0 ? 1 : 0;
    axes[1] = narrow == 2 ? 1 : 2;
}

static int draw(const char *file, const struct eval_path_pair *pairs, size_t n,
                const struct sim3 *a, struct err *err)
{
    static const char *const labels[] = {"x from the start, m", "y from the start, m",
                                         "z from the start, m"};
    double *v = malloc(4 * n * sizeof *v);
    struct eval_plot plot = {
        .title = "True path, and estimate after Sim(3)",
        .n_series = 2,
        .equal = true,
        .series = {{"truth", v, v + n, n}, {"estimate", v + 2 * n, v + 3 * n, n}}};
    int axes[2], rc;

    if (!v)
        return err_set(err, ERR_MEMORY, "no memory for a diagram");
    wide_axes(axes, pairs, n);
    plot.x_label = labels[axes[0]];
    plot.y_label = labels[axes[1]];
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            const double *p = pairs[i].estimate->p, *R = a->r + 3 * axes[k];
            double start = pairs[0].truth->p[axes[k]];

            v[(size_t)k * n + i] = pairs[i].truth->p[axes[k]] - start;
            v[(size_t)(2 + k) * n + i] =
                a->s * (R[0] * p[0] + R[1] * p[1] + R[2] * p[2]) + a->t[axes[k]] - start;
        }
    rc = eval_plot_write(file, &plot, err);
    free(v);
    return rc;
}

/* ------------------------------------------------------------------------- command */

/* poses, now [n]: scratch */
static void measure_trivial(struct result *r, struct eval_path_pose *poses,
                            struct eval_path_pair *now, const struct eval_path_pair *pairs,
                            size_t n, double *scratch)
{
    struct sim3 a;

    for (size_t i = 0; i < n; i++)
        now[i] = (struct eval_path_pair){pairs[0].estimate, pairs[i].truth};
    a = eval_path_align(now, n, 0);
    r->still.ate = eval_path_ate(now, n, &a, scratch);
    r->still.frame = eval_path_rpe(now, n, 0, scratch);
    r->still.metre = eval_path_rpe(now, n, 1, scratch);
    r->constant.ate = eval_path_constant_ate(pairs, n, poses, now, scratch);
    r->constant.frame = eval_path_constant_rpe(pairs, n, 0, scratch);
    r->constant.metre = eval_path_constant_rpe(pairs, n, 1, scratch);
}

static int measure_online(struct result *r, const struct eval_path_pair *pairs, size_t n,
                          double half, double *scratch, struct err *err)
{
    struct eval_path_pose *moved = malloc(n * sizeof *moved);
    struct eval_path_pair *now = malloc(n * sizeof *now);
    double *scale = malloc(n * sizeof *scale);
    struct sim3 a;
    int rc = 0;

    if (!moved || !now || !scale) {
        rc = err_set(err, ERR_MEMORY, "no memory for %zu poses", n);
        goto out;
    }
    eval_path_online(moved, scale, pairs, n, half);
    for (size_t i = 0; i < n; i++)
        now[i] = (struct eval_path_pair){&moved[i], pairs[i].truth};
    a = eval_path_align(now, n, 0);
    r->ate_online = eval_path_ate(now, n, &a, scratch);
    r->online = eval_path_rpe(now, n, 0, scratch);
    r->online_scale = scale[n - 2];
    measure_trivial(r, moved, now, pairs, n, scratch);
out:
    free(moved);
    free(now);
    free(scale);
    return rc;
}

static int measure(const struct eval_trajectory_options *o, struct result *r,
                   const struct eval_path *estimate, const struct eval_path *truth, struct err *err)
{
    struct eval_path_pair *pairs = malloc(estimate->n * sizeof *pairs);
    double *scratch = malloc(3 * estimate->n * sizeof *scratch);
    int rc = 0;

    if (!pairs || !scratch)
        rc = err_set(err, ERR_MEMORY, "no memory for %zu poses", estimate->n);
    if (rc == 0)
        rc = eval_path_associate(pairs, &r->n_pairs, estimate, truth, o->max_gap_s, err);
    if (rc == 0)
        rc = check_pairs(o, r->n_pairs, estimate->n, truth->n, err);
    if (rc)
        goto out;
    r->n_estimate = estimate->n;
    r->n_truth = truth->n;
    r->se3 = eval_path_align(pairs, r->n_pairs, 0);
    r->sim3 = eval_path_align(pairs, r->n_pairs, 1);
    r->ate_se3 = eval_path_ate(pairs, r->n_pairs, &r->se3, scratch);
    r->ate_sim3 = eval_path_ate(pairs, r->n_pairs, &r->sim3, scratch);
    r->frame = eval_path_rpe(pairs, r->n_pairs, 0, scratch);
    r->metre = eval_path_rpe(pairs, r->n_pairs, 1, scratch);
    rc = measure_online(r, pairs, r->n_pairs, o->half, scratch, err);
    if (rc == 0 && o->plot)
        rc = draw(o->plot, pairs, r->n_pairs, &r->sim3, err);
out:
    free(pairs);
    free(scratch);
    return rc;
}

static int run_trajectory(void *arguments)
{
    const struct eval_trajectory_options *o = arguments;
    struct eval_path estimate = {0}, truth = {0};
    struct result r = {.estimate = o->session ? o->session : o->common.operands[0],
                       .truth = o->common.operands[o->session ? 0 : 1]};
    char json[JSON_BYTES];
    struct err err = {0};
    int code = 0, rc;

    if (o->common.n_operands != (o->session ? 1 : 2))
        return reconctl_usage(&o->common, o->session ? "with --session TRUTH alone is named"
                                                     : "ESTIMATE and TRUTH are two files");
    rc = o->session ? load_session(&estimate, o, &code, &err)
                    : load_file(&estimate, r.estimate, 0, &err);
    if (rc == 0)
        rc = load_file(&truth, r.truth, o->truth_hz > 0 ? o->truth_hz : folder_rate(r.truth), &err);
    if (rc == 0)
        rc = measure(o, &r, &estimate, &truth, &err);
    if (rc == 0)
        rc = to_json(json, sizeof json, &r, &err);
    if (rc == 0)
        rc = reconctl_eval_write(o->file, json, &err);
    eval_path_free(&estimate);
    eval_path_free(&truth);
    if (rc) {
        rc = reconctl_fail(&o->common, &err);
        return code ? code : rc;
    }
    if (reconctl_json(&o->common))
        printf("%s\n", json);
    else
        print_text(&r);
    return RECONCTL_OK;
}

static void set_defaults(void *arguments)
{
    struct eval_trajectory_options *o = arguments;

    o->max_gap_s = 0.02;
    o->half = 30;
}

const struct reconctl_command reconctl_eval_trajectory_command = {
    .name = "eval trajectory",
    .operands = "[ESTIMATE] TRUTH",
    .summary = "Measure the path of a camera against the true one",
    .options = options,
    .size = sizeof(struct eval_trajectory_options),
    .defaults = set_defaults,
    .run = run_trajectory,
};
