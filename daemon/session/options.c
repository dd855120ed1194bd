#include "daemon/session/options.h"

#include "daemon/session/mirror.h"

#include <stdio.h>

_Static_assert(SESSION_KEYFRAMES_MAX == GPU_COVISIBLE_MAX && SESSION_NET_SIDE_MAX == GPU_SIDE_MAX,
               "options promise what the device takes");

static int check_numbers(const struct session_options *o, const struct config *c, struct err *err)
{
    int rc = session_options_check(o, err);

    if (rc == 0 && o->max_points > c->limits.max_points)
        return err_at(err, ERR_INPUT, "/max_points", "%u, must be in 1000...%u", o->max_points,
                      c->limits.max_points);
    if (rc == 0 && o->kind == SESSION_PANORAMA && !o->has_volume)
        return err_at(err, ERR_INPUT, "/volume", "a panorama session needs the box that is carved");
    if (rc == 0 && o->kind != SESSION_PANORAMA && o->max_depth_m <= o->min_depth_m)
        return err_at(err, ERR_INPUT, "/max_depth_m", "must be more than min_depth_m");
    return rc;
}

static int check_journal(const struct session_options *o, bool has_journal, struct err *err)
{
    if (o->journal != SESSION_JOURNAL_OFF && !has_journal)
        return err_at(err, ERR_INPUT, "/journal", "this server keeps no journal: only off");
    if (o->record && o->journal == SESSION_JOURNAL_OFF)
        return err_at(err, ERR_INPUT, "/record",
                      "needs a journal, which the session does not have");
    return 0;
}

/* Many views need a map whose points any view finds. Where poses are learned they are there for
 * those that ask: most clouds gain by them, one of a path that drifts loses (docs/TRIED.md).
 */
static int choose_views(struct session_options *o, enum session_views asked, struct err *err)
{
    bool may = o->fusion == SESSION_FUSION_CELLS && o->depth_source == SESSION_DEPTH_SOURCE_NETWORK;

    if ((asked == SESSION_VIEWS_ON || asked == SESSION_VIEWS_REFINED) && !may)
        return err_at(err, ERR_INPUT, "/views", "needs fusion cells and depth of the network");
    if (asked == SESSION_VIEWS_DEFAULT && o->views != SESSION_VIEWS_DEFAULT)
        o->views = may && o->pose_source != SESSION_POSE_LEARNED ? SESSION_VIEWS_REFINED
                                                                 : SESSION_VIEWS_OFF;
    return 0;
}

static int least_common_multiple(int a, int b)
{
    int m = a;

    while (m % b)
        m += a;
    return m;
}

static bool runs(const struct gpu_line *line, enum gpu_model_kind kind)
{
    return (line->needs | line->takes) >> kind & 1;
}

static int find_models(struct session_options *o, const struct gpu_line *line,
                       const struct gpu_model_info **depth, const struct gpu_model_info **motion,
                       const struct models *models, struct err *err)
{
    bool learned = o->pose_source == SESSION_POSE_LEARNED;

    *depth =
        runs(line, GPU_MODEL_DEPTH) ? models_find(models, GPU_MODEL_DEPTH, o->depth_model) : NULL;
    *motion = runs(line, GPU_MODEL_MOTION) && (learned || o->motion_model[0])
                  ? models_find(models, GPU_MODEL_MOTION, o->motion_model)
                  : NULL;
    if (!*depth && runs(line, GPU_MODEL_DEPTH))
        return err_at(err, ERR_NOT_FOUND, "/depth_model", "no depth network named '%s'",
                      o->depth_model);
    if (o->motion_model[0] && !*motion)
        return err_at(err, ERR_NOT_FOUND, "/motion_model", "no motion network named '%s'",
                      o->motion_model);
    if (learned && !*motion)
        return err_at(err, ERR_UNSUPPORTED, "/pose_source",
                      "no motion network is installed, so poses must come "
                      "with the frames");
    if (!learned)
        *motion = NULL;
    if (*depth)
        snprintf(o->depth_model, sizeof(o->depth_model), "%s", (*depth)->name);
    if (*motion)
        snprintf(o->motion_model, sizeof(o->motion_model), "%s", (*motion)->name);
    return 0;
}

static int choose_net(struct session_options *o, int multiple, struct err *err)
{
    if ((o->net_w == 0) != (o->net_h == 0))
        return err_at(err, ERR_INPUT, "/net", "both sides or none must be given");
    if (o->net_w == 0 && o->has_camera)
        models_net_size(o->camera_w, o->camera_h, multiple, &o->net_w, &o->net_h);
    if (o->net_w < 0 || o->net_w % multiple || o->net_w > GPU_SIDE_MAX)
        return err_at(err, ERR_INPUT, "/net/width", "%d, must be a multiple of %d up to %d",
                      o->net_w, multiple, GPU_SIDE_MAX);
    if (o->net_h < 0 || o->net_h % multiple || o->net_h > GPU_SIDE_MAX)
        return err_at(err, ERR_INPUT, "/net/height", "%d, must be a multiple of %d up to %d",
                      o->net_h, multiple, GPU_SIDE_MAX);
    return 0;
}

int options_resolve(struct session_options *o, const struct gpu_line *line,
                    const struct gpu_model_info **depth, const struct gpu_model_info **motion,
                    int *multiple, const struct config *config, const struct models *models,
                    bool has_journal, struct err *err)
{
    enum session_views views = o->views;
    int rc;

    if (o->journal == SESSION_JOURNAL_DEFAULT && !has_journal)
        o->journal = SESSION_JOURNAL_OFF;
    /* The world of learned poses is the first camera's, whose y points down. */
    if (o->pose_source == SESSION_POSE_LEARNED && o->up == SESSION_UP_DEFAULT)
        o->up = SESSION_UP_MINUS_Y;
    /* A client that names the up axis knows where gravity points. */
    if (o->up != SESSION_UP_DEFAULT && o->pose_source != SESSION_POSE_LEARNED &&
        o->upright == SESSION_UPRIGHT_DEFAULT)
        o->upright = SESSION_UPRIGHT_GRAVITY;
    session_options_fill(o, &config->session.options);
    if (o->journal == SESSION_JOURNAL_DEFAULT) /* a kind that keeps nothing has no such option */
        o->journal = SESSION_JOURNAL_OFF;
    if (o->kind == SESSION_PANORAMA) { /* what other kinds have options for */
        o->pose_source = SESSION_POSE_DEVICE;
        o->step_m = o->voxel_m / MIRROR_VOXEL_STEPS;
    }
    rc = check_numbers(o, config, err);
    if (rc == 0)
        rc = check_journal(o, has_journal, err);
    if (rc == 0)
        rc = choose_views(o, views, err);
    if (rc == 0)
        rc = find_models(o, line, depth, motion, models, err);
    if (rc)
        return rc;
    *multiple =
        least_common_multiple(*depth ? (*depth)->multiple : 1, *motion ? (*motion)->multiple : 1);
    return *depth || *motion ? choose_net(o, *multiple, err) : 0;
}

struct vec3 options_up(enum session_up up)
{
    float sign = up == SESSION_UP_MINUS_X || up == SESSION_UP_MINUS_Y || up == SESSION_UP_MINUS_Z
                     ? -1.0f
                     : 1.0f;

    if (up == SESSION_UP_X || up == SESSION_UP_MINUS_X)
        return vec3_make(sign, 0, 0);
    if (up == SESSION_UP_Z || up == SESSION_UP_MINUS_Z)
        return vec3_make(0, 0, sign);
    return vec3_make(0, sign, 0);
}
