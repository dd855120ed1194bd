/*
 * line_mono.c - the line of a camera's frames: each picture becomes a depth map, and that updates
 * the session's map of points
 */
#include "gpu/mono/session_cpu.h"
#include "gpu/mono/state.h"
#include "proto/geom/pose.h"

#include <math.h>

#define TURN_MAX 2.1f /* twice the tangent of an eighth, and rounding */

int line_mono_check_picture(const struct gpu_item *item, struct err *err)
{
    const struct gpu_frame *f = (const struct gpu_frame *)item;
    const struct gpu_session_config *c = &item->session->config;
    int side = c->max_image_w > c->max_image_h ? c->max_image_w : c->max_image_h;

    if (!f->rgb || f->width < 1 || f->height < 1 || f->width > side || f->height > side ||
        (int64_t)f->width * f->height > (int64_t)c->max_image_w * c->max_image_h)
        return err_set(err, ERR_INPUT, "a picture of %dx%d in a session made for %dx%d", f->width,
                       f->height, c->max_image_w, c->max_image_h);
    if (item->turn < 0 || item->turn > 3 || (item->turn & 1 && !item->session->sideways))
        return err_set(err, ERR_INPUT,
                       "a picture turned by %d quarters, which the session does not take",
                       item->turn);
    if (!lens_camera_valid(f->K, &f->lens))
        return err_set(err, ERR_INPUT, "intrinsics that are not those of a camera");
    return 0;
}

static int check_sensor(const struct gpu_frame *f, struct err *err)
{
    const struct gpu_sensor *s = &f->sensor;

    if (!s->values || f->item.session->config.depth_source == GPU_DEPTH_NETWORK)
        return 0;
    if (s->width < 1 || s->height < 1 || s->width > GPU_SENSOR_PIXELS ||
        s->height > GPU_SENSOR_PIXELS / s->width)
        return err_set(err, ERR_INPUT, "a depth sensor's picture of %dx%d, at most %d pixels",
                       s->width, s->height, GPU_SENSOR_PIXELS);
    if (!lens_camera_valid(s->K, &s->lens) || !pose_is_rigid(&s->T_cs))
        return err_set(err, ERR_INPUT, "a depth sensor whose camera is none");
    return 0;
}

static int line_mono_check(const struct gpu_item *item, struct err *err)
{
    const struct gpu_frame *f = (const struct gpu_frame *)item;
    int rc = line_mono_check_picture(item, err);

    if (rc)
        return rc;
    if (!f->has_pose && !item->session->config.motion && !item->session->config.tracks)
        return err_set(err, ERR_INPUT,
                       "a frame without a pose in a session without a motion network");
    if (f->has_pose && item->session->config.tracks && f->breaks != GPU_BREAKS_OVER)
        return err_set(err, ERR_INPUT, "a frame with a pose in a session whose poses are tracked");
    if (f->submap >= GPU_SUBMAPS_MAX)
        return err_set(err, ERR_INPUT, "a frame of world %u, there are at most %d", f->submap,
                       GPU_SUBMAPS_MAX);
    for (int i = 0; i < 3; i++)
        if (!(f->turn_s >= 0.0f && f->turn_s <= 10.0f && fabsf(f->turn[i]) <= TURN_MAX))
            return err_set(err, ERR_INPUT, "a turn between two frames of more than a quarter");
    if ((f->has_pose || f->has_start) && !pose_is_rigid(&f->T_wc))
        return err_set(err, ERR_INPUT, "a pose that is not finite, not rigid, or farther than %g m",
                       (double)POSE_FAR_M);
    return check_sensor(f, err);
}

int line_mono_upload(struct gpu_item *item, struct err *err)
{
    struct gpu_frame *f = gpu_frame_of(item);

    (void)err;
    memset(&f->result, 0, sizeof f->result);
    f->changes = NULL;
    session_cpu_of(item->session)->frame++;
    session_cpu_of(item->session)->submap = f->submap;
    return 0;
}

int line_mono_download(struct gpu_item *item, struct err *err)
{
    const struct session_cpu *s = session_cpu_of(item->session);
    struct gpu_frame *f = gpu_frame_of(item);

    (void)err;
    if (f->depth_out)
        memcpy(f->depth_out,
               s->views && (f->has_pose || s->path) ? s->views->target[VIEWS_FRAME].depth
                                                    : s->depth,
               s->n_pixels * sizeof *s->depth);
    return 0;
}

/* MATH.md has the equations that the names in brackets stand for. */
static const struct gpu_stage stages[] = {
    {"upload", line_mono_upload, "the frame", "an empty result"},
    /* area-averaged to network size (I1)-(I3) */
    {"image", image_cpu_run, "the picture", "colours, the networks' inputs, K"},
    /* its output to metres (D1)-(D4) */
    {"depth", depth_cpu_run, "the depth network's input", "depth"},
    /* the frame's own depth sensor, moved into the network's picture (S1)-(S5) */
    {"sensor", sensor_cpu_run, "the sensor's picture, depth, mask", "depth, its trust"},
    /* as given; or from tracks (P1)-(P11); or the last pose moved by the network's answer (M1)-(M4)
     */
    {"motion", motion_cpu_run, "the given pose, colours, depth, the motion network's input",
     "the pose; from tracks, depth of its scale"},
    /* frames with poses: keyframes correct them and become final with views of both sides
     * (V1)-(V13) */
    {"views", views_cpu_run, "colours, depth, pose", "the view that is fused"},
    /* keyframes with the largest overlap of views (K1) */
    {"covisible", covisible_cpu_run, "pose, depth, keyframes", "keyframes to be tested"},
    /* finds points through the keyframes' maps (1) (2) (A1)-(A3) */
    {"associate", associate_cpu_run, "depth, maps, points", "each pixel's point, claims"},
    {"keyframe", keyframe_cpu_run, "pose, counts of pixels",
     "whether it is one, its place"}, /* (K2) */
    /* claimed points are updated, other pixels insert one (3)-(5) (F1)-(F3) */
    {"fuse", fuse_cpu_run, "colours, depth, claims", "points, maps"},
    /* unconfirmed and seen-through points are removed, their slots reused (R1) (R2) */
    {"remove", remove_cpu_run, "points, votes", "points, free slots"},
    {"change", change_cpu_run, "points, what clients hold", "changes in a fixed order"}, /* (C1) */
    {"download", line_mono_download, "depth", "a copy of it, if wanted"},
};

static const struct gpu_session_ops session = {
    .bytes = session_cpu_bytes,
    .make = session_cpu_new,
    .free = session_cpu_free,
    .reads = state_reads,
    .state_bytes = session_cpu_state_bytes,
    .save = session_cpu_save,
    .load = session_cpu_load,
    .put_depth = session_cpu_put_depth,
};

const struct gpu_line gpu_line_mono = {
    .name = "mono",
    .stages = stages,
    .n_stages = sizeof stages / sizeof *stages,
    .priority = 0,
    .weight = 1.0f,
    .needs = 1u << GPU_MODEL_DEPTH,
    .takes = 1u << GPU_MODEL_MOTION,
    .has_map = 1,
    .check = line_mono_check,
    .cpu = &session,
    .selftest = selftest_run,
};
