/*
 * pipeline_depth.c - sessions without a map: each used frame is answered by its depth map, as a
 * message of proto/wire/depth.h
 */
#include "daemon/session/pipeline.h"
#include "daemon/work/session_work.h"
#include "proto/wire/depth.h"

#include <string.h>

static void device_config(struct gpu_session_config *c, const struct session_options *o,
                          struct gpu_model *depth, struct gpu_model *motion)
{
    (void)motion;
    memset(c, 0, sizeof(*c));
    c->line = &gpu_line_depth;
    c->net_w = o->net_w;
    c->net_h = o->net_h;
    c->depth = depth;
}

static void open_job(struct job *job)
{
    const struct session_work *k = session_work(job->session);
    const struct queue_item *item = job->item;

    job->frame = (struct gpu_frame){
        .item = {.session = k->device, .turn = session_work_picture_turn(k, item)},
        .rgb = item->rgb,
        .width = item->width,
        .height = item->height,
        .K = item->K,
        .depth_out = k->depth,
    };
}

static void finish_job(struct job *job, struct control_ack *ack)
{
    struct session *s = job->session;
    const struct session_options *o = &session_setup(s)->options;
    const struct queue_item *item = job->item;
    struct depth_map map = {.seq = item->frame.seq,
                            .unit = o->depth_unit == SESSION_DEPTH_UNIT_INVERSE ? DEPTH_INVERSE
                                                                                : DEPTH_MILLIMETRES,
                            .has_pose = (item->frame.flags & FRAME_HAS_POSE) != 0,
                            .T_wc = item->frame.T_wc};
    struct frame_result *result;

    session_get_net(s, &map.w, &map.h);
    map.K = intrinsics_scale(item->K, item->width, item->height, map.w, map.h);
    result = results_take(session_results(s), depth_message_bytes(map.w, map.h));
    if (!result) {
        ack->status = CONTROL_REFUSED;
        ack->reason = CONTROL_MEMORY;
        return;
    }
    result->seq = map.seq;
    result->len = depth_message_bytes(map.w, map.h);
    depth_encode(result->msg, &map, job->frame.depth_out, o->min_depth_m, o->max_depth_m);
    if (o->preview)
        session_set_preview(s, job->frame.depth_out, map.seq);
    session_show(s, result);
}

static size_t result_bytes(const struct session_options *o)
{
    return depth_message_bytes(o->net_w, o->net_h);
}

const struct pipeline pipeline_depth = {
    .name = "depth",
    .line = &gpu_line_depth,
    .device_config = device_config,
    .open = open_job,
    .finish = finish_job,
    .wants_depth = true,
    .result_bytes = result_bytes,
};
