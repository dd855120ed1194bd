/* Tables, JSON and diagrams of `eval depth`. */
#include "api/eval_plot.h"
#include "api/reconctl_eval_depth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 8192
#define FRAME_BYTES 768

static const struct {
    const char *key, *words;
} names[RECONCTL_EVAL_DEPTH_ROWS] = {
    {"raw", "network, as it is"},
    {"scaled", "network, median-scaled"},
    {"frame_median", "each frame's own median"},
    {"constant", "one depth for all frames"},
    {"row", "depth of the row, scaled"},
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median of the frames' scales: one frame of nonsense shall not move it. */
static double middle_scale(const struct reconctl_eval_depth_result *r)
{
    double *scale = malloc((size_t)r->n_frames * sizeof *scale), middle;

    if (!scale)
        return NAN;
    for (int i = 0; i < r->n_frames; i++)
        scale[i] = r->frame[i].scale;
    qsort(scale, (size_t)r->n_frames, sizeof *scale, by_value);
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
    reconctl_eval_put(w, "mre", pixels[RECONCTL_EVAL_DEPTH_RAW].abs_rel);
    reconctl_eval_put(w, "mre_scaled", pixels[RECONCTL_EVAL_DEPTH_SCALED].abs_rel);
    reconctl_eval_put(w, "scale_median", middle_scale(r));
    reconctl_eval_put(w, "constant_m", r->constant_m);
    json_open_map(w, "frame_mean");
    for (int k = 0; k < RECONCTL_EVAL_DEPTH_ROWS; k++)
        put_measures(w, names[k].key, &frames[k]);
    json_close(w);
    json_open_map(w, "pixel_mean");
    for (int k = 0; k < RECONCTL_EVAL_DEPTH_ROWS; k++)
        put_measures(w, names[k].key, &pixels[k]);
    json_close(w);
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
    double *v = malloc(4 * n * sizeof *v);
    struct eval_plot plot = {
        .title = "DEPTH ERROR OF EACH FRAME",
        .x_label = "FRAME",
        .y_label = "ABSREL",
        .n_series = 3,
        .series = {{.name = "AS IT IS", .n = n},
                   {.name = "MEDIAN-SCALED", .n = n},
                   {.name = "CONSTANT: OWN MEDIAN", .n = n}},
    };
    int rc;

    if (!v)
        return err_set(err, ERR_MEMORY, "no memory for a diagram");
    for (size_t i = 0; i < n; i++) {
        v[i] = (double)r->frame[i].seq;
        v[n + i] = r->frame[i].raw.abs_rel;
        v[2 * n + i] = r->frame[i].scaled.abs_rel;
        v[3 * n + i] = r->frame[i].own.abs_rel;
    }
    for (int k = 0; k < 3; k++) {
        plot.series[k].x = v;
        plot.series[k].y = v + (size_t)(k + 1) * n;
    }
    rc = eval_plot_write(path, &plot, err);
    free(v);
    return rc;
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
        print_row(names[k].words, &frames);
    }
    printf("  %-26s %7s\n", "mean of the pixels", "(MRE)");
    for (int k = 0; k < RECONCTL_EVAL_DEPTH_ROWS; k++) {
        eval_depth_mean(&r->sums[k], &frames, &pixels);
        print_row(names[k].words, &pixels);
    }
    printf("  scale of the frames: %.3f (median); best single depth: %.2f m\n", middle_scale(r),
           r->constant_m);
}
