#include "daemon/work/job.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/disk/store.h"
#include "daemon/work/worker.h"

#include <stdlib.h>
#include <string.h>

void job_device_config(struct gpu_session_config *c, const struct session_options *o,
                       struct gpu_model *depth, struct gpu_model *motion)
{
    memset(c, 0, sizeof(*c));
    c->line = &gpu_line_mono;
    fuse_params_default(&c->fuse);
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

/* Lack of memory may pass, and a lost device ends the process; anything else stays, so the session
 * says that it takes no more frames. */
static enum control_reason device_failed(struct session *s, int rc, const struct err *err)
{
    char why[API_TEXT_CAP];

    if (rc == ERR_DEVICE) {
        LOG_AT(LOG_CRIT, "session %.6s: its device fails: %s", session_id(s), err->text);
        return CONTROL_FAULT;
    }
    if (rc == ERR_MEMORY) {
        LOG_AT(LOG_WARNING, "session %.6s: no memory on the device: %s", session_id(s), err->text);
        return CONTROL_MEMORY;
    }
    snprintf(why, sizeof(why), "%.60s%s%.90s", err->where, err->where[0] ? ": " : "", err->text);
    LOG_AT(LOG_ERR, "session %.6s cannot run on its device: %s", session_id(s), why);
    session_set_fault(s, why);
    return CONTROL_FAULT;
}

static int make_device(struct session *s, struct shelf *shelf, int image_w, int image_h,
                       struct err *err)
{
    const struct session_setup *setup = session_setup(s);
    struct session_work *k = session_work(s);
    struct gpu_model *depth = NULL, *motion = NULL;
    struct gpu_session_config config;
    int rc = shelf_get(shelf, setup->depth, &depth, err);

    if (rc == 0 && setup->motion)
        rc = shelf_get(shelf, setup->motion, &motion, err);
    if (rc)
        return rc;
    job_device_config(&config, &setup->options, depth, motion);
    session_get_net(s, &config.net_w, &config.net_h);
    config.max_image_w = image_w;
    config.max_image_h = image_h;
    if (setup->options.preview && !k->depth) {
        k->depth = malloc((size_t)config.net_w * (size_t)config.net_h * sizeof(float));
        if (!k->depth)
            return err_set(err, ERR_MEMORY, "no memory for a depth map");
    }
    rc = gpu_session_new(&k->device, shelf->gpu, &config, err);
    if (rc == 0 && (rc = store_restore(s, k->device, err)))
        gpu_session_free(&k->device);
    return rc;
}

int job_make(struct session *s, struct shelf *shelf, enum control_reason *reason)
{
    struct err err = {0};
    int rc = 0, w, h;

    *reason = CONTROL_REASON_NONE;
    if (queue_ready_size(session_queue(s), &w, &h))
        rc = make_device(s, shelf, w, h, &err);
    if (rc)
        *reason = device_failed(s, rc, &err);
    return rc;
}

void job_open(struct job *job, struct session *s, struct queue_item *item)
{
    const struct session_work *k = session_work(s);
    const struct frame *f = &item->frame;

    memset(job, 0, sizeof(*job));
    job->session = s;
    job->item = item;
    job->frame = (struct gpu_frame){
        .item.session = k->device,
        .rgb = item->rgb,
        .width = item->width,
        .height = item->height,
        .K = item->K,
        .has_pose = session_setup(s)->options.pose_source == SESSION_POSE_DEVICE,
        .T_wc = f->T_wc,
        .restart = k->kept.any &&
                   (f->world_epoch != k->kept.world_epoch || item->breaks != k->kept.breaks),
        .depth_out = k->depth,
    };
}

void job_end(struct session *s, struct queue_item *item, const struct control_ack *end)
{
    uint64_t stream, received_us = item->received_us;
    bool replayed = item->store.replayed;
    struct control_ack ack = *end;

    ack.seq = item->frame.seq;
    stream = queue_release(session_queue(s), item);
    session_answer(s, stream, &ack, received_us);
    if (session_settle(s))
        store_want_checkpoint(s, true);
    if (replayed)
        store_replayed(s);
}

void job_refuse(struct session *s, struct queue_item *item, enum control_reason reason)
{
    const struct control_ack ack = {.status = CONTROL_REFUSED, .reason = reason};

    store_outcome(s, item, &ack);
}

void job_finish(struct job *job)
{
    struct session *s = job->session;
    struct session_work *k = session_work(s);
    struct metrics *metrics = session_setup(s)->metrics;
    struct queue_item *item = job->item;
    const struct gpu_result *r = &job->frame.result;
    const struct control_ack ack = {.status = CONTROL_USED, .keyframe = r->is_keyframe != 0};
    struct session_pose pose = {item->frame.seq, item->frame.t_capture_ns, r->T_wc};
    struct mirror_commit commit;
    uint64_t start_us = clock_us();

    mirror_commit(session_mirror(s), job->frame.changes, r->n_changes, &commit);
    metrics_observe(metrics, METRICS_COMMIT, clock_us() - start_us);
    for (int i = 0; i < job->frame.item.n_passes; i++)
        metrics_stage(metrics, job->frame.item.passes[i].name, job->frame.item.passes[i].us);
    metrics_add(metrics, METRICS_POINTS_LEFT_OUT, r->n_left_out + commit.n_left_out);
    if (trajectory_append(session_trajectory(s), &pose, NULL))
        LOG_AT(LOG_WARNING, "session %.6s: no room for more poses in its trajectory",
               session_id(s));
    if (k->depth)
        session_set_preview(s, k->depth, item->frame.seq);
    session_publish(s, r, &commit);
    k->kept.any = true;
    k->kept.world_epoch = item->frame.world_epoch;
    k->kept.breaks = item->breaks;
    store_used(s, item);
    job_end(s, item, &ack);
}
