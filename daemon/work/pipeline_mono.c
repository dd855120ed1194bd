#include "daemon/session/pipeline.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/work/session_work.h"

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
    c->views = o->views == SESSION_VIEWS_ON;
    c->fuse.n_covisible = o->keyframes;
    c->fuse.min_depth_m = o->min_depth_m;
    c->fuse.max_depth_m = o->max_depth_m;
    c->net_w = o->net_w;
    c->net_h = o->net_h;
    c->depth = depth;
    c->motion = motion;
    c->step_m = o->step_m;
    c->max_points = o->max_points;
}

static void open_job(struct job *job)
{
    const struct session_work *k = session_work(job->session);
    const struct queue_item *item = job->item;
    const struct frame *f = &item->frame;

    job->frame = (struct gpu_frame){
        .item = {.session = k->device, .turn = session_work_picture_turn(k, item)},
        .rgb = item->rgb,
        .width = item->width,
        .height = item->height,
        .K = item->K,
        .has_pose = session_setup(job->session)->options.pose_source == SESSION_POSE_DEVICE,
        .T_wc = f->T_wc,
        .restart = k->kept.any &&
                   (f->world_epoch != k->kept.world_epoch || item->breaks != k->kept.breaks),
        .depth_out = k->depth,
    };
}

/* Changes into the mirror, the pose into the trajectory, clients told. */
static void finish_job(struct job *job, struct control_ack *ack)
{
    struct session *s = job->session;
    struct metrics *metrics = session_setup(s)->metrics;
    const struct queue_item *item = job->item;
    const struct gpu_result *r = &job->frame.result;
    struct session_pose pose = {item->frame.seq, item->frame.t_capture_ns, r->T_wc};
    struct mirror_commit commit;
    uint64_t start_us = clock_us();

    mirror_commit(session_mirror(s), job->frame.changes, r->n_changes, &commit);
    metrics_observe(metrics, METRICS_COMMIT, clock_us() - start_us);
    metrics_add(metrics, METRICS_POINTS_LEFT_OUT, r->n_left_out + commit.n_left_out);
    if (trajectory_append(session_trajectory(s), &pose, NULL))
        LOG_AT(LOG_WARNING, "session %s: no room for more poses in its trajectory", session_id(s));
    if (job->frame.depth_out)
        session_set_preview(s, job->frame.depth_out, item->frame.seq);
    session_publish(s, r, &commit);
    ack->status = CONTROL_USED;
    ack->keyframe = r->is_keyframe != 0;
}

const struct pipeline pipeline_mono = {
    .name = "mono",
    .line = &gpu_line_mono,
    .device_config = device_config,
    .open = open_job,
    .finish = finish_job,
};
