/* Tables, JSON and diagrams of `eval depth`. */
#include "api/eval/eval_plot.h"
#include "api/ctl/reconctl_eval_depth.h"
#include "proto/geom/robust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 16384
#define FRAME_BYTES 1024
#define RANGE_LEAST 100 /* pixels of a range that is shown */

static const struct {
    const char *key, *words;
} names[RECONCTL_EVAL_DEPTH_ROWS] = {
    {"raw", "network, as it is"},
    {"scaled", "network, median-scaled"},
    {"online", "network, scale from poses"},
    {"frame_median", "each frame's own median"},
    {"constant", "one depth for all frames"},
    {"row", "depth of the row, scaled"},
};

/* Tells whether a row was measured; the row of poses needs poses. */
static bool has(const struct reconctl_eval_depth_result *r, int row)
{
    return row != RECONCTL_EVAL_DEPTH_ONLINE || r->posed > 0;
}

/* Returns the median of the frames' scales, which a few wrong frames do not move. */
static double middle_scale(const struct reconctl_eval_depth_result *r)
{
    double *scale = malloc((size_t)r->n_frames * sizeof *scale), middle;

    if (!scale)
        return NAN;
    for (int i = 0; i < r->n_frames; i++)
        scale[i] = r->frame[i].scale;
    robust_sort(scale, (size_t)r->n_frames);
    middle = scale[r->n_frames / 2];
    free(scale);
    return middle;
}

static void put_measures(struct json_writer *w, const char *key,
                         const struct eval_depth_measures *m)
{
    json_open_map(w, key);
    reconctl_eval_put(w, "abs_rel", m->abs_rel);
    reconctl_eval_put(w, "sq_rel", m->sq_rel);
    reconctl_eval_put(w, "rmse", m->rmse);
    reconctl_eval_put(w, "rmse_log", m->rmse_log);
    reconctl_eval_put(w, "delta1", m->delta1);
    reconctl_eval_put(w, "delta2", m->delta2);
    reconctl_eval_put(w, "delta3", m->delta3);
    json_close(w);
}

static void put_all(struct json_writer *w, const char *key,
                    const struct reconctl_eval_depth_result *r, const struct eval_depth_measures *m)
{
    json_open_map(w, key);
    for (int k = 0; k < RECONCTL_EVAL_DEPTH_ROWS; k++) {
        if (has(r, k))
            put_measures(w, names[k].key, &m[k]);
        else
            json_put_null(w, names[k].key);
    }
    json_close(w);
}

static void put_ranges(struct json_writer *w, const struct reconctl_eval_depth_result *r)
{
    static const int rows[] = {RECONCTL_EVAL_DEPTH_RAW, RECONCTL_EVAL_DEPTH_SCALED,
                               RECONCTL_EVAL_DEPTH_ONLINE, RECONCTL_EVAL_DEPTH_MEDIAN};

    json_open_list(w, "by_depth");
    for (int i = 0; i < EVAL_DEPTH_RANGES; i++) {
        if (r->ranges[RECONCTL_EVAL_DEPTH_RAW].n[i] == 0)
            continue;
        json_open_map(w, NULL);
        reconctl_eval_put(w, "from_m", eval_depth_ranges_from(i));
        reconctl_eval_put(w, "to_m", eval_depth_ranges_from(i + 1));
        json_put_u64(w, "pixels", r->ranges[RECONCTL_EVAL_DEPTH_RAW].n[i]);
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (has(r, rows[k]))
                reconctl_eval_put(w, names[rows[k]].key,
                                  eval_depth_ranges_mean(&r->ranges[rows[k]], i));
        json_close(w);
    }
    json_close(w);
}

static void put_frames(struct json_writer *w, const struct reconctl_eval_depth_result *r)
{
    json_open_list(w, "per_frame");
    for (int i = 0; i < r->n_frames; i++) {
        const struct reconctl_eval_depth_frame *f = &r->frame[i];

        json_open_map(w, NULL);
        json_put_text(w, "frame", f->name);
        json_put_u64(w, "pixels", f->pixels);
        reconctl_eval_put(w, "scale", f->scale);
        reconctl_eval_put(w, "abs_rel", f->raw.abs_rel);
        reconctl_eval_put(w, "abs_rel_scaled", f->scaled.abs_rel);
        reconctl_eval_put(w, "delta1", f->raw.delta1);
        reconctl_eval_put(w, "delta1_scaled", f->scaled.delta1);
        reconctl_eval_put(w, "rmse", f->raw.rmse);
        reconctl_eval_put(w, "rmse_scaled", f->scaled.rmse);
        reconctl_eval_put(w, "abs_rel_median", f->own.abs_rel);
        if (r->posed) {
            reconctl_eval_put(w, "scale_online", f->online_scale);
            json_put_i64(w, "corners", f->corners);
            reconctl_eval_put(w, "abs_rel_online", f->online.abs_rel);
            reconctl_eval_put(w, "delta1_online", f->online.delta1);
        }
        json_close(w);
    }
    json_close(w);
}

static void put_result(struct json_writer *w, const struct reconctl_eval_depth_result *r)
{
    struct eval_depth_measures frames[RECONCTL_EVAL_DEPTH_ROWS], pixels[RECONCTL_EVAL_DEPTH_ROWS];

    for (int k = 0; k < RECONCTL_EVAL_DEPTH_ROWS; k++)
        eval_depth_mean(&r->sums[k], &frames[k], &pixels[k]);
    json_open_map(w, NULL);
    json_put_text(w, "type", "eval_depth");
    json_put_text(w, "folder", r->folder);
    json_put_i64(w, "frames", r->n_frames);
    json_put_i64(w, "refused", r->refused);
    json_put_i64(w, "without_truth", r->without);
    json_put_u64(w, "pixels", r->sums[RECONCTL_EVAL_DEPTH_RAW].n_pixels);
    reconctl_eval_put(w, "max_depth_m", r->max_m);
    json_put_i64(w, "net_width", r->net_w);
    json_put_i64(w, "net_height", r->net_h);
    reconctl_eval_put(w, "abs_rel", frames[RECONCTL_EVAL_DEPTH_RAW].abs_rel);
    reconctl_eval_put(w, "abs_rel_scaled", frames[RECONCTL_EVAL_DEPTH_SCALED].abs_rel);
    reconctl_eval_put(w, "delta1", frames[RECONCTL_EVAL_DEPTH_RAW].delta1);
    reconctl_eval_put(w, "delta1_scaled", frames[RECONCTL_EVAL_DEPTH_SCALED].delta1);
    if (r->posed) {
        reconctl_eval_put(w, "abs_rel_online", frames[RECONCTL_EVAL_DEPTH_ONLINE].abs_rel);
        reconctl_eval_put(w, "delta1_online", frames[RECONCTL_EVAL_DEPTH_ONLINE].delta1);
    }
    reconctl_eval_put(w, "mre", pixels[RECONCTL_EVAL_DEPTH_RAW].abs_rel);
    reconctl_eval_put(w, "mre_scaled", pixels[RECONCTL_EVAL_DEPTH_SCALED].abs_rel);
    reconctl_eval_put(w, "scale_median", middle_scale(r));
    reconctl_eval_put(w, "constant_m", r->constant_m);
    put_all(w, "frame_mean", r, frames);
    put_all(w, "pixel_mean", r, pixels);
    put_ranges(w, r);
    put_frames(w, r);
    json_close(w);
}

int reconctl_eval_depth_json(struct reconctl_eval_text *text,
                             const struct reconctl_eval_depth_result *r, struct err *err)
{
    size_t room = HEAD_BYTES + 6 * strlen(r->folder) + (size_t)r->n_frames * FRAME_BYTES;
    char *bigger = realloc(text->at, text->len + room + 1);
    struct json_writer w;
    size_t n;

    if (!bigger)
        return err_set(err, ERR_MEMORY, "no memory for the measures of %d frames", r->n_frames);
    text->at = bigger;
    if (text->len)
        text->at[text->len++] = '\n';
    w = json_writer(text->at + text->len, room);
    put_result(&w, r);
    n = json_finish(&w);
    if (n == 0)
        return err_set(err, ERR_MEMORY, "the measures of %d frames do not fit", r->n_frames);
    text->len += n;
    return 0;
}

int reconctl_eval_depth_plot(const char *path, const struct reconctl_eval_depth_result *r,
                             struct err *err)
{
    size_t n = (size_t)r->n_frames;
    double *v = malloc(5 * n * sizeof *v);
    struct eval_plot plot = {
        .title = "Depth error of each frame",
        .x_label = "frame",
        .y_label = "AbsRel",
        .n_series = r->posed ? 4 : 3,
        .series = {{.name = "as it is", .n = n},
                   {.name = "median-scaled", .n = n},
                   {.name = "constant: own median", .n = n},
                   {.name = "scale from poses", .n = n}},
    };
    int rc;

    if (!v)
        return err_set(err, ERR_MEMORY, "no memory for a diagram");
    for (size_t i = 0; i < n; i++) {
        v[i] = (double)r->frame[i].seq;
        v[n + i] = r->frame[i].raw.abs_rel;
        v[2 * n + i] = r->frame[i].scaled.abs_rel;
        v[3 * n + i] = r->frame[i].own.abs_rel;
        v[4 * n + i] = r->frame[i].online.abs_rel;
    }
    for (int k = 0; k < plot.n_series; k++) {
        plot.series[k].x = v;
        plot.series[k].y = v + (size_t)(k + 1) * n;
    }
    rc = eval_plot_write(path, &plot, err);
    free(v);
    return rc;
}

int reconctl_eval_depth_plot_ranges(const char *path, const struct reconctl_eval_depth_result *r,
                                    struct err *err)
{
    static const struct {
        int row;
        const char *name;
    } shown[] = {{RECONCTL_EVAL_DEPTH_RAW, "as it is"},
                 {RECONCTL_EVAL_DEPTH_SCALED, "median-scaled"},
                 {RECONCTL_EVAL_DEPTH_MEDIAN, "constant: own median"},
                 {RECONCTL_EVAL_DEPTH_ONLINE, "scale from poses"}};
    double x[EVAL_DEPTH_RANGES], y[4][EVAL_DEPTH_RANGES];
    struct eval_plot plot = {.title = "Depth error by true depth",
                             .x_label = "true depth, m",
                             .y_label = "AbsRel",
                             .n_series = r->posed ? 4 : 3};

    for (int i = 0; i < EVAL_DEPTH_RANGES; i++)
        x[i] = sqrt(eval_depth_ranges_from(i) * eval_depth_ranges_from(i + 1));
    for (int k = 0; k < plot.n_series; k++) {
        const struct eval_depth_ranges *ranges = &r->ranges[shown[k].row];

        for (int i = 0; i < EVAL_DEPTH_RANGES; i++)
            y[k][i] = ranges->n[i] < RANGE_LEAST ? (double)NAN : eval_depth_ranges_mean(ranges, i);
        plot.series[k] = (struct eval_plot_series){
            .name = shown[k].name, .x = x, .y = y[k], .n = EVAL_DEPTH_RANGES};
    }
    return eval_plot_write(path, &plot, err);
}

static void print_row(const char *name, const struct eval_depth_measures *m)
{
    printf("  %-26s %7.3f %8.3f %8.3f %8.3f %7.3f %7.3f %7.3f\n", name, m->abs_rel, m->sq_rel,
           m->rmse, m->rmse_log, m->delta1, m->delta2, m->delta3);
}

void reconctl_eval_depth_print(const struct reconctl_eval_depth_result *r)
{
    struct eval_depth_measures frames, pixels;

    printf("%s: %d frames, input %dx%d, %llu true pixels up to %g m", r->folder, r->n_frames,
           r->net_w, r->net_h, (unsigned long long)r->sums[RECONCTL_EVAL_DEPTH_RAW].n_pixels,
           r->max_m);
    if (r->refused)
        printf(", %d frames refused", r->refused);
    if (r->without)
        printf(", %d without truth", r->without);
    printf("\n  %-26s %7s %8s %8s %8s %7s %7s %7s\n", "mean of the frames", "AbsRel", "SqRel",
           "RMSE m", "RMSElog", "<1.25", "<1.25^2", "<1.25^3");
    for (int k = 0; k < RECONCTL_EVAL_DEPTH_ROWS; k++) {
        eval_depth_mean(&r->sums[k], &frames, &pixels);
        if (has(r, k))
            print_row(names[k].words, &frames);
    }
    printf("  %-26s %7s\n", "mean of the pixels", "(MRE)");
    for (int k = 0; k < RECONCTL_EVAL_DEPTH_ROWS; k++) {
        eval_depth_mean(&r->sums[k], &frames, &pixels);
        if (has(r, k))
            print_row(names[k].words, &pixels);
    }
    printf("  scale of the frames: %.3f (median); best single depth: %.2f m\n", middle_scale(r),
           r->constant_m);
}
