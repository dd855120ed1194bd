/* JSON, table and diagram of `eval scene`. */
#include "api/eval/eval_plot.h"
#include "api/ctl/reconctl_eval_cloud.h"
#include "api/ctl/reconctl_eval_scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 2048
#define ROW_BYTES 16384

static void put_depth(struct json_writer *w, const char *key, const struct eval_depth_measures *m)
{
    json_open_map(w, key);
    reconctl_eval_put(w, "abs_rel", m->abs_rel);
    reconctl_eval_put(w, "rmse", m->rmse);
    reconctl_eval_put(w, "delta1", m->delta1);
    json_close(w);
}

static void put_wall(struct json_writer *w, const struct eval_wall_report *m)
{
    json_open_map(w, "walls");
    json_put_u64(w, "patches", m->patches);
    reconctl_eval_put(w, "median", m->median_m);
    reconctl_eval_put(w, "p90", m->p90_m);
    json_close(w);
}

static size_t put(char *buf, size_t cap, const struct reconctl_eval_scene_result *r)
{
    struct json_writer w = json_writer(buf, cap);

    json_open_map(&w, NULL);
    json_put_text(&w, "type", "eval_scene");
    json_put_text(&w, "folder", r->folder);
    json_put_text(&w, "clouds", r->each ? "each frame" : "fused");
    json_put_i64(&w, "frames", r->n_frames);
    reconctl_eval_put(&w, "max_depth_m", r->max_m);
    if (r->each)
        reconctl_eval_put(&w, "radius", r->radius_m);
    else
        reconctl_eval_put(&w, "voxel", r->voxel_m);
    put_depth(&w, "depth", &r->depth);
    put_depth(&w, "depth_scaled", &r->scaled);
    if (!r->each)
        reconctl_eval_put(&w, "confidence_rank", r->confidence_rank);
    json_open_map(&w, "rows");
    for (int i = 0; i < r->n_rows; i++) {
        if (!r->row[i].there) {
            json_put_null(&w, r->row[i].key);
            continue;
        }
        json_open_map(&w, r->row[i].key);
        reconctl_eval_cloud_put(&w, &r->row[i].report);
        if (!r->each)
            put_wall(&w, &r->row[i].wall);
        json_close(&w);
    }
    json_close(&w);
    reconctl_eval_put(&w, "seconds", r->took_s);
    json_close(&w);
    return json_finish(&w);
}

char *reconctl_eval_scene_json(const struct reconctl_eval_scene_result *r)
{
    size_t cap = HEAD_BYTES + 6 * strlen(r->folder) + (size_t)r->n_rows * ROW_BYTES;
    char *text = malloc(cap);

    if (text && put(text, cap, r))
        return text;
    free(text);
    return NULL;
}

static void print_row(const struct reconctl_eval_scene_row *row, bool each)
{
    const struct eval_cloud_report *m = &row->report;

    printf("  %-32s %9zu %9zu %8.4f %8.4f %8.4f %9.3f", row->words, m->n_a, m->n_b, m->completeness,
           m->accuracy, m->f, m->chamfer_sum);
    if (!each && row->wall.patches)
        printf(" %9.3f %9.3f", row->wall.median_m, row->wall.p90_m);
    printf("\n");
}

static void print_radii(const struct reconctl_eval_scene_row *row)
{
    const struct eval_cloud_report *m = &row->report;

    printf("  %s\n  %8s %10s %10s %8s %8s\n", row->words, "r, m", "L_E mean", "L_E rms", "FNE",
           "FPE");
    for (int k = 0; k < m->n_radii; k++)
        printf("  %8.4f %10.4f %10.4f %8.4f %8.4f\n", m->at[k].r, m->at[k].l_e_mean,
               m->at[k].l_e_rms, m->at[k].fne, m->at[k].fpe);
}

void reconctl_eval_scene_print(const struct reconctl_eval_scene_result *r)
{
    const struct eval_cloud_report *any = NULL;

    for (int i = 0; i < r->n_rows; i++)
        any = r->row[i].there ? &r->row[i].report : any;
    printf("%s: %d frames, %s, depth up to %g m, %.0f s\n", r->folder, r->n_frames,
           r->each ? "each against its own truth" : "fused", r->max_m, r->took_s);
    printf("  depth: AbsRel %.3f as it is, %.3f median-scaled\n", r->depth.abs_rel,
           r->scaled.abs_rel);
    if (!any)
        return;
    printf("  %-32s %9s %9s %8s %8s %8s %9s%s\n", "", "points", "truth", "complete", "accurate",
           "F", "chamfer", r->each ? "" : "     walls      90 %");
    for (int i = 0; i < r->n_rows; i++)
        if (r->row[i].there)
            print_row(&r->row[i], r->each);
    printf(
        "  (completeness, accuracy and F at %g m; chamfer is the sum of both mean distances%s)\n",
        any->threshold, r->each ? "" : "; walls: thickness of flat parts, median and nine of ten");
    if (isfinite(r->confidence_rank))
        printf("  rank correlation of the session's confidence with the distance to the truth: "
               "%.2f (-1 is best)\n",
               r->confidence_rank);
    for (int i = 0; i < r->n_rows; i++)
        if (r->row[i].there)
            print_radii(&r->row[i]);
}

int reconctl_eval_scene_plot(const char *path, const struct reconctl_eval_scene_result *r,
                             struct err *err)
{
    double x[EVAL_CLOUD_RADII_MAX], y[RECONCTL_EVAL_SCENE_ROWS_MAX][EVAL_CLOUD_RADII_MAX];
    struct eval_plot plot = {
        .title = "Truth that is not found, by tolerance", .x_label = "r, m", .y_label = "FNE"};

    for (int i = 0; i < r->n_rows; i++) {
        const struct eval_cloud_report *m = &r->row[i].report;

        if (!r->row[i].there)
            continue;
        for (int k = 0; k < m->n_radii; k++) {
            x[k] = m->at[k].r;
            y[i][k] = m->at[k].fne;
        }
        plot.series[plot.n_series++] = (struct eval_plot_series){
            .name = r->row[i].key, .x = x, .y = y[i], .n = (size_t)m->n_radii};
    }
    return eval_plot_write(path, &plot, err);
}
