/*
 * reconctl_eval_depth.h - what `eval depth` found in one folder, and how it is shown
 */
#ifndef RECOND_API_RECONCTL_EVAL_DEPTH_H
#define RECOND_API_RECONCTL_EVAL_DEPTH_H

#include "api/eval/eval_depth.h"
#include "api/ctl/reconctl_eval.h"

enum reconctl_eval_depth_row {
    RECONCTL_EVAL_DEPTH_RAW,
    RECONCTL_EVAL_DEPTH_SCALED,
    RECONCTL_EVAL_DEPTH_ONLINE,   /* times the scale that poses tell: eval_scale.h */
    RECONCTL_EVAL_DEPTH_MEDIAN,   /* each frame's own median everywhere */
    RECONCTL_EVAL_DEPTH_CONSTANT, /* one depth for the sequence */
    RECONCTL_EVAL_DEPTH_ROW,      /* depth = f(row), times each frame's median */
    RECONCTL_EVAL_DEPTH_ROWS
};

struct reconctl_eval_depth_frame {
    char name[81];
    uint64_t seq;
    size_t pixels;
    double scale, median_m, online_scale;
    int corners; /* that told online_scale */
    struct eval_depth_measures raw, scaled, online,
        own; /* own: the frame's own median everywhere */
};

struct reconctl_eval_depth_result {
    const char *folder;
    double max_m, constant_m;
    int net_w, net_h, n_frames, refused, without; /* without: no true depth */
    int posed;                                    /* frames with a pose; 0 = nothing is online */
    struct reconctl_eval_depth_frame *frame;
    struct eval_depth_sum sums[RECONCTL_EVAL_DEPTH_ROWS];
    struct eval_depth_ranges ranges[RECONCTL_EVAL_DEPTH_ROWS]; /* of the networks and `own` */
};

/* Lines of a file that will be written, with '\n' between them. */
struct reconctl_eval_text {
    char *at; /* free() */
    size_t len;
};

/* Appends one line. Returns 0; ERR_MEMORY. */
MUST_CHECK int reconctl_eval_depth_json(struct reconctl_eval_text *text,
                                        const struct reconctl_eval_depth_result *r,
                                        struct err *err);
/* Returns as eval_plot_write(). */
MUST_CHECK int reconctl_eval_depth_plot(const char *path,
                                        const struct reconctl_eval_depth_result *r,
                                        struct err *err);
/* Draws AbsRel by true depth. */
MUST_CHECK int reconctl_eval_depth_plot_ranges(const char *path,
                                               const struct reconctl_eval_depth_result *r,
                                               struct err *err);
void reconctl_eval_depth_print(const struct reconctl_eval_depth_result *r);

#endif
