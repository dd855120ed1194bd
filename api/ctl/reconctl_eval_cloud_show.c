/* JSON, tables and diagrams of a cloud's measures. */
#include "api/eval/eval_plot.h"
#include "api/ctl/reconctl_eval_cloud.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COLUMNS 60 /* of the diagram of distances, a twentieth of the threshold each */

int reconctl_eval_session_cloud(struct ply_cloud *cloud, struct client *client, const char *session,
                                struct err *err)
{
    const char *folder = getenv("TMPDIR");
    char path[96], file[512], id[CONTROL_ID_CAP];
    int rc = reconctl_find_session(id, client, session, err), fd;

    if (rc)
        return rc;
    if (snprintf(file, sizeof file, "%s/reconctl-eval-XXXXXX", folder ? folder : "/tmp") >=
        (int)sizeof file)
        return err_set(err, ERR_INPUT, "TMPDIR is too long");
    snprintf(path, sizeof path, "/v1/sessions/%s/cloud", id);
    fd = mkstemp(file);
    if (fd < 0)
        return err_set(err, ERR_NOT_FOUND, "%.200s: %m", file);
    close(fd);
    rc = client_download(client, path, file, err);
    if (rc == 0)
        rc = ply_read_file(file, cloud, err);
    unlink(file);
    return rc;
}

/* ------------------------------------------------------------------------- JSON */

static void put_side(struct json_writer *w, const char *key, const struct eval_cloud_side *s)
{
    json_open_map(w, key);
    reconctl_eval_put(w, "mean", s->mean);
    reconctl_eval_put(w, "rms", s->rms);
    reconctl_eval_put(w, "median", s->median);
    reconctl_eval_put(w, "p90", s->p90);
    reconctl_eval_put(w, "max", s->max);
    json_close(w);
}

static void put_radii(struct json_writer *w, const struct eval_cloud_report *r)
{
    json_open_list(w, "radii");
    for (int i = 0; i < r->n_radii; i++) {
        const struct eval_cloud_radius *at = &r->at[i];

        json_open_map(w, NULL);
        reconctl_eval_put(w, "r", at->r);
        json_put_u64(w, "found", at->found);
        reconctl_eval_put(w, "l_e_mean", at->l_e_mean);
        reconctl_eval_put(w, "l_e_rms", at->l_e_rms);
        reconctl_eval_put(w, "fne", at->fne);
        reconctl_eval_put(w, "fpe", at->fpe);
        json_close(w);
    }
    json_close(w);
}

void reconctl_eval_cloud_put(struct json_writer *w, const struct eval_cloud_report *r)
{
    json_put_u64(w, "points", r->n_a);
    json_put_u64(w, "truth_points", r->n_b);
    put_side(w, "cloud_to_truth", &r->a_to_b);
    put_side(w, "truth_to_cloud", &r->b_to_a);
    reconctl_eval_put(w, "chamfer_sum", r->chamfer_sum);
    reconctl_eval_put(w, "chamfer_mean", r->chamfer_mean);
    reconctl_eval_put(w, "chamfer_squared", r->chamfer_squared);
    reconctl_eval_put(w, "threshold", r->threshold);
    reconctl_eval_put(w, "completeness", r->completeness);
    reconctl_eval_put(w, "accuracy", r->accuracy);
    reconctl_eval_put(w, "f", r->f);
    put_radii(w, r);
}

/* ------------------------------------------------------------------------- text */

static void print_side(const char *name, const struct eval_cloud_side *s)
{
    printf("%-16s %9.4f %9.4f %9.4f %9.4f %9.4f\n", name, s->mean, s->rms, s->median, s->p90,
           s->max);
}

void reconctl_eval_cloud_print(const struct eval_cloud_report *r)
{
    printf("%-16s %9s %9s %9s %9s %9s\n", "distance, m", "mean", "rms", "median", "90 %", "max");
    print_side("cloud to truth", &r->a_to_b);
    print_side("truth to cloud", &r->b_to_a);
    printf("\nchamfer          %.4f m sum of means, %.4f m mean of means, %.6f m2 sum of squares\n",
           r->chamfer_sum, r->chamfer_mean, r->chamfer_squared);
    printf("at %g m: completeness %.4f, accuracy %.4f, F %.4f\n\n", r->threshold, r->completeness,
           r->accuracy, r->f);
    printf("%8s %10s %10s %8s %8s\n", "r, m", "L_E mean", "L_E rms", "FNE", "FPE");
    for (int i = 0; i < r->n_radii; i++)
        printf("%8.4f %10.4f %10.4f %8.4f %8.4f\n", r->at[i].r, r->at[i].l_e_mean, r->at[i].l_e_rms,
               r->at[i].fne, r->at[i].fpe);
}

/* ------------------------------------------------------------------------- diagrams */

int reconctl_eval_cloud_plot_distances(const char *path, const double *distance, size_t n,
                                       double threshold_m, struct err *err)
{
    double width = threshold_m / 20, x[2 * COLUMNS + 2], y[2 * COLUMNS + 2] = {0};
    double at[2] = {threshold_m, threshold_m}, line[2] = {0, 0};
    struct eval_plot plot = {
        .title = "Points by distance from the truth",
        .x_label = "distance, m; the last column holds all beyond",
        .y_label = "% of the points",
        .n_series = 2,
        .series = {{"cloud", x, y, 2 * COLUMNS + 2}, {"threshold", at, line, 2}}};

    for (size_t i = 0; i < n; i++) {
        double k = distance[i] / width;
        int column = k < COLUMNS ? (int)k : COLUMNS - 1;

        y[2 * column + 1] += 100.0 / (double)n;
    }
    for (int i = 0; i <= COLUMNS; i++) {
        x[2 * i] = x[2 * i + 1] = i * width;
        if (i < COLUMNS)
            y[2 * i + 2] = y[2 * i + 1];
        line[1] = y[2 * i + 1] > line[1] ? y[2 * i + 1] : line[1];
    }
    return eval_plot_write(path, &plot, err);
}

int reconctl_eval_cloud_plot_radii(const char *path, const struct eval_cloud_report *r,
                                   struct err *err)
{
    double x[EVAL_CLOUD_RADII_MAX], y[3][EVAL_CLOUD_RADII_MAX];
    size_t n = (size_t)r->n_radii;
    struct eval_plot plot = {
        .title = "Errors by tolerance",
        .x_label = "tolerance r, m",
        .y_label = "share; L_E in metres",
        .n_series = 3,
        .series = {{"FNE: truth not found", x, y[0], n},
                   {"FPE: points of nothing", x, y[1], n},
                   {"L_E: mean of the found", x, y[2], n}},
    };

    for (int i = 0; i < r->n_radii; i++) {
        x[i] = r->at[i].r;
        y[0][i] = r->at[i].fne;
        y[1][i] = r->at[i].fpe;
        y[2][i] = r->at[i].l_e_mean;
    }
    return eval_plot_write(path, &plot, err);
}
