#include "daemon/session/pipeline.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/session/scale_told.h"
#include "daemon/session/session_frames.h"
#include "daemon/session/session_sources.h"
#include "daemon/work/depth_result.h"
#include "daemon/work/object_search.h"
#include "daemon/work/loop_closure.h"
#include "proto/geom/pose.h"

#include <string.h>

static void device_config(struct gpu_session_config *c, const struct session_options *o,
                          struct gpu_model *depth, struct gpu_model *motion)
{
    memset(c, 0, sizeof(*c));
    c->line = &gpu_line_mono;
    if (o->fusion == SESSION_FUSION_CELLS)
        fuse_params_cells(&c->fuse);
    else
        fuse_params_default(&c->fuse);
    c->views = o->views == SESSION_VIEWS_REFINED ? GPU_VIEWS_REFINED
               : o->views == SESSION_VIEWS_ON    ? GPU_VIEWS_GIVEN
                                                 : GPU_VIEWS_NONE;
    c->fuse.n_covisible = o->keyframes;
    c->fuse.min_depth_m = o->min_depth_m;
    c->fuse.max_depth_m = o->max_depth_m;
    c->net_w = o->net_w;
    c->net_h = o->net_h;
    c->depth = depth;
    if (o->depth_source == SESSION_DEPTH_SOURCE_SENSOR)
        c->depth_source = GPU_DEPTH_SENSOR;
    else if (o->depth_source == SESSION_DEPTH_SOURCE_BOTH)
        c->depth_source = GPU_DEPTH_BOTH;
    c->motion = motion;
    c->tracks = motion && o->pose_source == SESSION_POSE_LEARNED &&
                o->net_w >= GPU_TRACKS_SIDE_LEAST && o->net_h >= GPU_TRACKS_SIDE_LEAST;
    c->step_m = o->step_m;
    c->max_points = o->max_points;
}

static void open_round(struct job *job)
{
    const struct queue_item *item = job->item;

    job->frame = (struct gpu_frame){
        .item = {.session = session_work(job->session)->device},
        .rgb = item->rgb,
        .width = item->width,
        .height = item->height,
        .K = item->K,
        .has_pose = true,
        .T_wc = item->frame.T_wc,
        .submap = item->submap,
        .source = (uint32_t)item->source,
        .breaks = item->breaks,
        .mask = item->mask,
    };
}

static void open_job(struct job *job)
{
    const struct session_work *k = session_work(job->session);
    const struct queue_item *item = job->item;
    const struct frame *f = &item->frame;
    bool posed = session_setup(job->session)->options.pose_source == SESSION_POSE_DEVICE;
    /* the picture before came from another camera, so no motion can be learned from it */
    bool reshaped = !posed && !job->closing_round && k->kept.shape &&
                    k->kept.shape != session_work_picture_shape(item);

    /* a submap that was cut off continues the one before */
    bool goes_on = k->kept.any && item->cut && item->submap != k->kept.submap &&
                   session_submap_before(job->session, item->submap) == (int)k->kept.submap;

    if (job->closing_round) {
        open_round(job);
        return;
    }
    job->tie = loop_closure_wants(job);
    job->search = object_search_wants(job);
    job->frame = (struct gpu_frame){
        .item = {.session = k->device, .turn = session_work_picture_turn(k, item)},
        .rgb = item->rgb,
        .width = item->width,
        .height = item->height,
        .K = item->K,
        .lens = item->frame.lens,
        .has_pose = posed,
        .T_wc = f->T_wc,
        .submap = item->submap,
        .source = (uint32_t)item->source,
        .breaks = item->breaks,
        .goes_on = goes_on,
        .restart = k->kept.any && ((item->submap != k->kept.submap && !goes_on) ||
                                   item->breaks != k->kept.breaks || reshaped),
        .sensor = item->sensor,
        .mask = item->mask,
        .depth_out = depth_result_room(job),
    };
    if (!posed)
        session_work_put_inertial(k, item, &job->frame);
}

/* Puts changes into the mirror and the pose into the trajectory, and tells clients. */
static void finish_job(struct job *job, struct control_ack *ack)
{
    struct session *s = job->session;
    struct metrics *metrics = session_setup(s)->metrics;
    const struct queue_item *item = job->item;
    const struct gpu_result *r = &job->frame.result;
    struct session_pose pose = {item->frame.seq, item->frame.t_capture_ns, r->T_wc,
                                (uint32_t)item->source, item->submap};
    struct mirror_commit commit;
    uint64_t start_us = clock_us();

    mirror_commit(session_mirror(s), r->submap, job->frame.changes, r->n_changes, &commit);
    metrics_observe(metrics, METRICS_COMMIT, clock_us() - start_us);
    metrics_add(metrics, METRICS_POINTS_LEFT_OUT, r->n_left_out + commit.n_left_out);
    if (!job->closing_round && trajectory_append(session_trajectory(s), &pose, NULL))
        LOG_AT(LOG_WARNING, "session %s: no room for more poses in its trajectory", session_id(s));
    session_publish(s, item->source, job->closing_round, r, &commit);
    if (job->closing_round) {
        job->unfinished = r->views.n_refined < r->views.n_keyframes;
        return;
    }
    if (job->tie)
        loop_closure_keep(job);
    if (job->search)
        object_search_keep(job, commit.revision);
    if (!depth_result_show(job, &r->T_wc))
        LOG_AT(LOG_WARNING, "session %s: no memory for the depth of a frame", session_id(s));
    ack->status = CONTROL_USED;
    ack->keyframe = r->is_keyframe != 0;
    ack->lost = r->tracks.state == GPU_TRACKS_LOST;
    ack->placed = true;
    ack->submap = job->frame.submap;
    ack->revision = commit.revision;
    ack->quality = r->n_valid ? (float)r->n_associated / (float)r->n_valid : 0;
    (void)scale_told_of(r, &ack->scale, &ack->sigma);
    pose_numbers(ack->pose, &r->T_wc);
}

/* Do keyframes of many views wait? */
static bool has_rounds(const struct session_options *o)
{
    return o->views != SESSION_VIEWS_OFF;
}

const struct pipeline pipeline_mono = {
    .name = "mono",
    .line = &gpu_line_mono,
    .device_config = device_config,
    .open = open_job,
    .finish = finish_job,
    .has_rounds = has_rounds,
    .result_bytes = depth_result_bytes,
};
