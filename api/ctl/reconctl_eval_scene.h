/*
 * reconctl_eval_scene.h - what `eval scene` found in a folder, and how it is shown
 */
#ifndef RECOND_API_RECONCTL_EVAL_SCENE_H
#define RECOND_API_RECONCTL_EVAL_SCENE_H

#include "api/eval/eval_cloud.h"
#include "api/eval/eval_depth.h"
#include "api/eval/eval_wall.h"
#include "api/ctl/reconctl_eval.h"

#define RECONCTL_EVAL_SCENE_ROWS_MAX 7

struct reconctl_eval_scene_row {
    const char *key, *words;
    bool there; /* measured; else report is not looked at */
    struct eval_cloud_report report;
    struct eval_wall_report wall; /* of fused clouds */
};

struct reconctl_eval_scene_result {
    const char *folder;
    bool each;    /* means over frames, each with its own cloud and truth */
    int n_frames; /* with a true depth */
    double max_m, voxel_m, radius_m, took_s;
    struct eval_depth_measures depth, scaled; /* means over frames: as it is, and median-scaled */
    /* of the confidence of the session's points with their distance to the truth; NAN: not known */
    double confidence_rank;
    struct reconctl_eval_scene_row row[RECONCTL_EVAL_SCENE_ROWS_MAX];
    int n_rows;
};

/* Returns one JSON object as text, free() it; NULL: no memory. */
char *reconctl_eval_scene_json(const struct reconctl_eval_scene_result *r);
void reconctl_eval_scene_print(const struct reconctl_eval_scene_result *r);
/* Draws FNE of each row against r. Returns as eval_plot_write(). */
MUST_CHECK int reconctl_eval_scene_plot(const char *path,
                                        const struct reconctl_eval_scene_result *r,
                                        struct err *err);

#endif
