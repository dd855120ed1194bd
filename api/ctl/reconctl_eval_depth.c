#include "api/client/client_sequence.h"
#include "api/eval/eval_depth.h"
#include "api/ctl/reconctl_eval.h"
#include "api/ctl/reconctl_eval_depth.h"
#include "api/ctl/reconctl_progress.h"
#include "api/ctl/reconctl_eval_feed.h"
#include "api/ctl/reconctl_eval_online.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR 30

struct eval_depth_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *file, *plot, *plot_ranges, *poses;
    struct reconctl_size net;
    struct reconctl_list option;
    int frames, every;
    double max_m;
};

#define AT(field) offsetof(struct eval_depth_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"report", 0, "FILE", RECONCTL_OUTPUT, AT(file), 0, 0,
     "Write the measures, those of each frame too"},
    {"plot", 0, "FILE", RECONCTL_SVG, AT(plot), 0, 0,
     "Draw each frame's AbsRel (SVG); one folder"},
    {"plot-depth", 0, "FILE", RECONCTL_SVG, AT(plot_ranges), 0, 0,
     "Draw AbsRel against true depth (SVG); one folder"},
    {"frames", 'n', "N", RECONCTL_INT, AT(frames), 1, 1000000, "Stop after this many frames"},
    {"every", 0, "N", RECONCTL_INT, AT(every), 1, 1000000, "Take every N-th frame (1)"},
    {"max-depth", 0, "METRES", RECONCTL_REAL, AT(max_m), 0.01, 1e6, "Leave out farther truth (80)"},
    {"net", 0, "WxH", RECONCTL_SIZE, AT(net), 32, 2048, "Size of the networks' input"},
    {"poses", 0, "FILE", RECONCTL_TEXT, AT(poses), 0, 0,
     "As of push; they tell the online scale"},
    {"option", 'o', "KEY=VALUE", RECONCTL_LIST, AT(option), 0, 0,
     "Any option of POST /v1/sessions (depth_model=NAME)"},
    {0},
};
/* clang-format on */

/* ------------------------------------------------------------------------- one folder */

struct work {
    const struct eval_depth_options *o;
    const char *folder;
    struct reconctl_source *source;
    struct client_sequence *truth;
    struct eval_depth_pairs pairs;
    struct eval_depth_fit *fit;
    struct reconctl_eval_online *online; /* NULL: the folder has no poses */
    int rows, done, wanted;
    struct reconctl_progress progress;
};

static void show(struct work *w, bool last)
{
    double done = w->wanted ? (double)w->done / w->wanted : 0;

    if (last)
        reconctl_progress_end(&w->progress, false);
    if (last || !reconctl_progress_due(&w->progress))
        return;
    snprintf(w->progress.part[0], sizeof w->progress.part[0], "%d/%d frames", w->done, w->wanted);
    reconctl_progress_left(w->progress.part[1], done, reconctl_now_s() - w->progress.began_s);
    reconctl_progress_show(&w->progress, done);
}

struct truth {
    float *depth; /* [h][w] */
    int w, h;
};

/* Reads the true depth of one frame. Those of a folder have one size, so that room is made once. */
static int read_truth(struct work *w, struct truth *t, int i, struct err *err)
{
    int rc = client_sequence_depth(w->truth, i, &t->depth, &t->w, &t->h, err);

    if (rc)
        return rc;
    if (w->rows == 0) {
        w->rows = t->h;
        rc = eval_depth_pairs_new(&w->pairs, t->w, t->h, err);
        if (rc == 0)
            rc = eval_depth_fit_new(&w->fit, t->h, err);
    }
    if (rc == 0 && (t->h != w->rows || (size_t)t->w * (size_t)t->h != w->pairs.cap))
        rc = err_at(err, ERR_INPUT, w->folder, "its true depths have unlike sizes");
    return rc;
}

static struct eval_depth_measures add(struct work *w, struct reconctl_eval_depth_result *r,
                                      enum reconctl_eval_depth_row row, double scale)
{
    struct eval_depth_measures m = eval_depth_measure(&w->pairs, scale);

    eval_depth_add(&r->sums[row], &m, w->pairs.n);
    eval_depth_ranges_add(&r->ranges[row], &w->pairs, scale);
    return m;
}

static void measure_frame(struct work *w, struct reconctl_eval_depth_result *r,
                          struct reconctl_eval_depth_frame *f)
{
    float middle = eval_depth_median(&w->pairs, w->pairs.g);

    f->pixels = w->pairs.n;
    f->median_m = (double)middle;
    f->scale = (double)(middle / eval_depth_median(&w->pairs, w->pairs.d));
    f->raw = add(w, r, RECONCTL_EVAL_DEPTH_RAW, 1.0);
    f->scaled = add(w, r, RECONCTL_EVAL_DEPTH_SCALED, f->scale);
    if (w->online)
        f->online = add(w, r, RECONCTL_EVAL_DEPTH_ONLINE, f->online_scale);
    eval_depth_fit_add(w->fit, &w->pairs, middle);
}

/* Finds the scale from this frame's depth and the pictures and poses up to it, without truth. */
static int find_scale(struct work *w, struct reconctl_eval_depth_result *r,
                      struct reconctl_eval_depth_frame *frame, const struct frame *f,
                      const float *map, struct err *err)
{
    struct eval_scale_answer a;
    int rc;

    if (!w->online)
        return 0;
    rc = reconctl_eval_online_frame(w->online, &a, f, map, r->net_w, r->net_h, err);
    if (rc)
        return rc;
    frame->online_scale = a.scale;
    frame->corners = a.corners;
    r->posed = reconctl_eval_online_posed(w->online);
    return 0;
}

/* Pushes one frame and compares its depth. Frames without truth, and refused ones, are counted. */
static int take_frame(struct work *w, struct reconctl_eval_feed *feed, const struct frame *f,
                      struct reconctl_eval_depth_result *r, struct err *err)
{
    struct reconctl_eval_depth_frame *frame = &r->frame[r->n_frames];
    struct truth t = {0};
    float *map = NULL;
    int rc = read_truth(w, &t, (int)f->seq, err);

    if (rc == ERR_NOT_FOUND) {
        r->without++;
        rc = 0;
        goto out;
    }
    if (rc == 0)
        rc = reconctl_eval_feed_frame(feed, &map, &r->net_w, &r->net_h, f, err);
    if (rc == ERR_UNSUPPORTED) {
        if (r->refused++ == 0)
            fprintf(stderr, "%sreconctl: frame %llu: %s\n", reconctl_progress_clear(&w->progress),
                    (unsigned long long)f->seq, err->text);
        rc = 0;
        goto out;
    }
    if (rc == 0)
        rc = find_scale(w, r, frame, f, map, err);
    if (rc)
        goto out;
    eval_depth_pairs_take(&w->pairs, map, r->net_w, r->net_h, t.depth, t.w, t.h,
                          (float)w->o->max_m);
    if (w->pairs.n == 0) {
        r->without++;
        goto out;
    }
    client_sequence_name(w->truth, (int)f->seq, frame->name);
    frame->seq = f->seq;
    measure_frame(w, r, frame);
    r->n_frames++;
out:
    free(map);
    free(t.depth);
    return rc;
}

static int feed_all(struct work *w, struct reconctl_eval_feed *feed,
                    struct reconctl_eval_depth_result *r, struct err *err)
{
    struct frame f;
    int rc = 0;

    while (rc == 0 && w->done < w->wanted) {
        rc = reconctl_source_next(w->source, &f, err);
        if (rc || f.seq % (uint64_t)w->o->every)
            continue;
        rc = take_frame(w, feed, &f, r, err);
        w->done++;
        show(w, false);
    }
    show(w, true);
    if (rc == 0 && r->n_frames == 0)
        rc = err_at(err, ERR_INPUT, r->folder,
                    r->refused ? "the server used no frame (%d refused)"
                               : "no frame has a true depth within reach (%d without)",
                    r->refused ? r->refused : r->without);
    return rc == ERR_END && reconctl_stopped() ? ERR_END : rc;
}

static void measure_baselines_of(struct work *w, struct reconctl_eval_depth_result *r,
                                 struct reconctl_eval_depth_frame *f, const float *of_row)
{
    struct eval_depth_measures m;

    for (size_t k = 0; k < w->pairs.n; k++)
        w->pairs.d[k] = 1.0f;
    f->own = add(w, r, RECONCTL_EVAL_DEPTH_MEDIAN, f->median_m);
    m = eval_depth_measure(&w->pairs, r->constant_m);
    eval_depth_add(&r->sums[RECONCTL_EVAL_DEPTH_CONSTANT], &m, w->pairs.n);
    for (size_t k = 0; k < w->pairs.n; k++)
        w->pairs.d[k] = of_row[w->pairs.row[k]] * (float)f->median_m;
    m = eval_depth_measure(&w->pairs, 1.0);
    eval_depth_add(&r->sums[RECONCTL_EVAL_DEPTH_ROW], &m, w->pairs.n);
}

/* Goes through the same truth once more for the baselines that were fitted to all of it. */
static int measure_baselines(struct work *w, struct reconctl_eval_depth_result *r, struct err *err)
{
    float *of_row = malloc((size_t)w->rows * sizeof *of_row);
    int rc = of_row ? 0 : err_set(err, ERR_MEMORY, "no memory for baselines");

    r->constant_m = (double)eval_depth_fit_constant(w->fit);
    for (int y = 0; rc == 0 && y < w->rows; y++)
        of_row[y] = eval_depth_fit_row(w->fit, y);
    for (int i = 0; rc == 0 && i < r->n_frames; i++) {
        struct truth t = {0};

        rc = read_truth(w, &t, (int)r->frame[i].seq, err);
        if (rc == 0) {
            eval_depth_pairs_take(&w->pairs, NULL, 1, 1, t.depth, t.w, t.h, (float)w->o->max_m);
            if (w->pairs.n == r->frame[i].pixels)
                measure_baselines_of(w, r, &r->frame[i], of_row);
            else
                rc = err_at(err, ERR_INPUT, w->folder, "changed while it was read");
        }
        free(t.depth);
    }
    free(of_row);
    return rc;
}

static int open_folder(struct work *w, struct reconctl_eval_depth_result *r,
                       struct reconctl_source_info *info, struct err *err)
{
    struct reconctl_source_config config = {.path = r->folder, .poses = w->o->poses};
    int n, rc = client_sequence_open(&w->truth, r->folder, "none", err);

    if (rc == 0)
        rc = reconctl_source_open(&w->source, &config, err);
    if (rc)
        return rc;
    reconctl_source_get_info(w->source, info);
    n = (info->n_frames + w->o->every - 1) / w->o->every;
    w->wanted = w->o->frames && w->o->frames < n ? w->o->frames : n;
    r->frame = calloc((size_t)w->wanted, sizeof *r->frame);
    if (!r->frame)
        return err_set(err, ERR_MEMORY, "no memory for %d frames", w->wanted);
    if (info->camera_guessed)
        fprintf(stderr, "reconctl: %s: no intrinsics known: guessed fx = fy = %.0f px\n", r->folder,
                (double)info->K.fx);
    return info->has_poses ? reconctl_eval_online_new(&w->online, err) : 0;
}

/* Measures one folder. Sets *code to the exit code where that fails. */
static int run_folder(const struct eval_depth_options *o, const struct reconctl_link *link,
                      struct reconctl_eval_depth_result *r, int *code, struct err *err)
{
    struct work w = {.o = o, .folder = r->folder, .progress = reconctl_progress_start()};
    struct reconctl_eval_feed *feed = NULL;
    struct reconctl_source_info info;
    struct reconctl_eval_feed_config config = {
        .link = link, .info = &info, .net = o->net, .options = &o->option};
    int rc = open_folder(&w, r, &info, err);

    *code = RECONCTL_FAILURE;
    if (rc)
        goto out;
    rc = reconctl_eval_feed_open(&feed, &config, err);
    if (rc == 0)
        rc = feed_all(&w, feed, r, err);
    *code = reconctl_eval_feed_exit(rc, feed);
    reconctl_eval_feed_close(&feed);
    if (rc == 0)
        rc = measure_baselines(&w, r, err);
out:
    eval_depth_fit_free(&w.fit);
    eval_depth_pairs_free(&w.pairs);
    reconctl_eval_online_free(&w.online);
    reconctl_source_close(&w.source);
    client_sequence_close(&w.truth);
    return rc;
}

/* ------------------------------------------------------------------------- all folders */

static int run_all(const struct eval_depth_options *o, const struct reconctl_link *link,
                   struct reconctl_eval_text *text, int *code, struct err *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < o->common.n_operands; i++) {
        struct reconctl_eval_depth_result r = {.folder = o->common.operands[i], .max_m = o->max_m};

        rc = run_folder(o, link, &r, code, err);
        if (rc == 0) {
            *code = RECONCTL_FAILURE;
            rc = reconctl_eval_depth_json(text, &r, err);
        }
        if (rc == 0 && o->plot)
            rc = reconctl_eval_depth_plot(o->plot, &r, err);
        if (rc == 0 && o->plot_ranges)
            rc = reconctl_eval_depth_plot_ranges(o->plot_ranges, &r, err);
        if (rc == 0 && !reconctl_json(&o->common))
            reconctl_eval_depth_print(&r);
        free(r.frame);
    }
    return rc;
}

static int run_depth(void *arguments)
{
    const struct eval_depth_options *o = arguments;
    struct reconctl_eval_text text = {0};
    struct reconctl_link link = {0};
    struct err err = {0};
    int code = RECONCTL_FAILURE;

    if ((o->plot || o->plot_ranges) && o->common.n_operands > 1)
        return reconctl_usage(&o->common, "--plot and --plot-depth show one folder");
    for (int i = 0; i < o->common.n_operands; i++)
        if (access(o->common.operands[i], R_OK) != 0) {
            err_at(&err, ERR_NOT_FOUND, o->common.operands[i], "cannot be read: %m");
            return reconctl_fail(&o->common, &err);
        }
    if (reconctl_link_open(&link, &o->common, true, &err))
        return reconctl_fail_link(&o->common, &err);
    if (run_all(o, &link, &text, &code, &err) ||
        reconctl_eval_write(o->file, text.at ? text.at : "", &err)) {
        reconctl_fail(&o->common, &err);
    } else {
        code = RECONCTL_OK;
        if (reconctl_json(&o->common))
            printf("%s\n", text.at);
    }
    reconctl_link_close(&link);
    free(text.at);
    return code;
}

static void set_defaults(void *arguments)
{
    struct eval_depth_options *o = arguments;

    o->every = 1;
    o->max_m = (double)EVAL_DEPTH_MAX_M;
}

const struct reconctl_command reconctl_eval_depth_command = {
    .name = "eval depth",
    .operands = "FOLDER...",
    .summary = "Measure depth networks on folders with true depth",
    .options = options,
    .size = sizeof(struct eval_depth_options),
    .defaults = set_defaults,
    .run = run_depth,
};
