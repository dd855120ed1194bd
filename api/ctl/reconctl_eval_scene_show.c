/* JSON, table and diagram of `eval scene`. */
#include "api/eval/eval_plot.h"
#include "api/ctl/reconctl_eval_cloud.h"
#include "api/ctl/reconctl_eval_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 2048
#define ROW_BYTES 16384

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
    json_open_map(&w, "rows");
    for (int i = 0; i < r->n_rows; i++) {
        if (!r->row[i].there) {
            json_put_null(&w, r->row[i].key);
            continue;
        }
        json_open_map(&w, r->row[i].key);
        reconctl_eval_cloud_put(&w, &r->row[i].report);
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

void reconctl_eval_scene_print(const struct reconctl_eval_scene_result *r)
{
    const struct eval_cloud_report *any = NULL;

    for (int i = 0; i < r->n_rows; i++)
        any = r->row[i].there ? &r->row[i].report : any;
    printf("%s: %d frames, %s, depth up to %g m, %.0f s\n", r->folder, r->n_frames,
           r->each ? "each against its own truth" : "fused", r->max_m, r->took_s);
    if (!any)
        return;
    printf("  %-32s %9s %9s %12s %12s %9s\n", "", "points", "truth", "completeness", "accuracy",
           "chamfer");
    for (int i = 0; i < r->n_rows; i++) {
        const struct eval_cloud_report *m = &r->row[i].report;

        if (r->row[i].there)
            printf("  %-32s %9zu %9zu %12.4f %12.4f %7.3f m\n", r->row[i].words, m->n_a, m->n_b,
                   m->completeness, m->accuracy, m->chamfer_sum);
    }
    printf("  (completeness and accuracy at %g m; chamfer is the sum of both mean distances)\n",
           any->threshold);
    for (int i = 0; i < r->n_rows; i++) {
        const struct eval_cloud_report *m = &r->row[i].report;

        if (!r->row[i].there)
            continue;
        printf("  %s\n  %8s %10s %10s %8s %8s\n", r->row[i].words, "r, m", "L_E mean", "L_E rms",
               "FNE", "FPE");
        for (int k = 0; k < m->n_radii; k++)
            printf("  %8.4f %10.4f %10.4f %8.4f %8.4f\n", m->at[k].r, m->at[k].l_e_mean,
                   m->at[k].l_e_rms, m->at[k].fne, m->at[k].fpe);
    }
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
