#include "daemon/session/options.h"

#include "daemon/work/netsize.h"

#include <math.h>
#include <stdio.h>

static void defaults(struct session_options *o, const struct config *c, bool has_journal)
{
    if (o->journal == SESSION_JOURNAL_DEFAULT)
        o->journal = has_journal ? (enum session_journal)(SESSION_JOURNAL_OFF + c->session.journal)
                                 : SESSION_JOURNAL_OFF;
    if (o->mode == SESSION_MODE_DEFAULT)
        o->mode = (enum session_mode)(SESSION_LIVE + c->session.mode);
    if (o->fps == 0)
        o->fps = (float)c->session.fps;
    if (o->step_m == 0)
        o->step_m = (float)c->session.step_m;
    if (o->max_points == 0)
        o->max_points = (uint32_t)c->session.max_points;
    if (o->keyframes == 0)
        o->keyframes = c->session.keyframes;
    if (o->min_depth_m == 0)
        o->min_depth_m = (float)c->session.min_depth_m;
    if (o->max_depth_m == 0)
        o->max_depth_m = (float)c->session.max_depth_m;
    if (o->retention_s == 0)
        o->retention_s = c->session.retention_s;
}

static int check_numbers(const struct session_options *o, const struct config *c, struct err *err)
{
    if (!(o->step_m >= 0.0005f && o->step_m <= 0.1f))
        return err_at(err, ERR_INPUT, "/step_m", "%g m, must be in 0.0005...0.1",
                      (double)o->step_m);
    if (o->max_points < 1000 || o->max_points > c->limits.max_points)
        return err_at(err, ERR_INPUT, "/max_points", "%u, must be in 1000...%llu", o->max_points,
                      (unsigned long long)c->limits.max_points);
    if (o->keyframes < 2 || o->keyframes > GPU_COVISIBLE_MAX)
        return err_at(err, ERR_INPUT, "/keyframes", "%d, must be in 2...%d", o->keyframes,
                      GPU_COVISIBLE_MAX);
    if (!(o->min_depth_m >= 0.01f && o->min_depth_m <= 100))
        return err_at(err, ERR_INPUT, "/min_depth_m", "%g m, must be in 0.01...100",
                      (double)o->min_depth_m);
    if (!(o->max_depth_m > o->min_depth_m && o->max_depth_m <= 1000))
        return err_at(err, ERR_INPUT, "/max_depth_m", "%g m, must be in %g...1000",
                      (double)o->max_depth_m, (double)o->min_depth_m);
    if (o->retention_s < -1)
        return err_at(err, ERR_INPUT, "/retention_s", "%d, must be -1 or more", o->retention_s);
    if (!(o->fps >= 0.1f && o->fps <= 1000))
        return err_at(err, ERR_INPUT, "/fps", "%g frames a second, must be in 0.1...1000",
                      (double)o->fps);
    return 0;
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

static int check_camera(const struct session_options *o, struct err *err)
{
    const struct intrinsics *K = &o->K;
    float limit = 64.0f * FRAME_SIDE_MAX;

    if (!o->has_camera)
        return 0;
    if (o->camera_w < 32 || o->camera_w > FRAME_SIDE_MAX || o->camera_h < 32 ||
        o->camera_h > FRAME_SIDE_MAX)
        return err_at(err, ERR_INPUT, "/camera/width", "%d x %d pixels, sides must be in 32...%d",
                      o->camera_w, o->camera_h, FRAME_SIDE_MAX);
    if (!(K->fx > 0 && K->fx <= limit && K->fy > 0 && K->fy <= limit))
        return err_at(err, ERR_INPUT, "/camera/fx",
                      "focal length %g x %g pixels, must be in (0, %g]", (double)K->fx,
                      (double)K->fy, (double)limit);
    if (!(fabsf(K->cx) <= limit && fabsf(K->cy) <= limit))
        return err_at(err, ERR_INPUT, "/camera/cx", "principal point %g, %g is beyond %g pixels",
                      (double)K->cx, (double)K->cy, (double)limit);
    return 0;
}

static int least_common_multiple(int a, int b)
{
    int m = a;

    while (m % b)
        m += a;
    return m;
}

static int find_models(struct session_options *o, const struct gpu_model_info **depth,
                       const struct gpu_model_info **motion, const struct models *models,
                       struct err *err)
{
    bool learned = o->pose_source == SESSION_POSE_LEARNED;

    *depth = models_find(models, GPU_MODEL_DEPTH, o->depth_model);
    *motion = learned || o->motion_model[0] ? models_find(models, GPU_MODEL_MOTION, o->motion_model)
                                            : NULL;
    if (!*depth)
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
        netsize_choose(o->camera_w, o->camera_h, multiple, &o->net_w, &o->net_h);
    if (o->net_w < 0 || o->net_w % multiple || o->net_w > GPU_SIDE_MAX)
        return err_at(err, ERR_INPUT, "/net/width", "%d, must be a multiple of %d up to %d",
                      o->net_w, multiple, GPU_SIDE_MAX);
    if (o->net_h < 0 || o->net_h % multiple || o->net_h > GPU_SIDE_MAX)
        return err_at(err, ERR_INPUT, "/net/height", "%d, must be a multiple of %d up to %d",
                      o->net_h, multiple, GPU_SIDE_MAX);
    return 0;
}

int options_resolve(struct session_options *o, const struct gpu_model_info **depth,
                    const struct gpu_model_info **motion, int *multiple,
                    const struct config *config, const struct models *models, bool has_journal,
                    struct err *err)
{
    int rc;

    defaults(o, config, has_journal);
    rc = check_numbers(o, config, err);
    if (rc == 0)
        rc = check_journal(o, has_journal, err);
    if (rc == 0)
        rc = check_camera(o, err);
    if (rc == 0)
        rc = find_models(o, depth, motion, models, err);
    if (rc)
        return rc;
    *multiple = least_common_multiple((*depth)->multiple, *motion ? (*motion)->multiple : 1);
    return choose_net(o, *multiple, err);
}
