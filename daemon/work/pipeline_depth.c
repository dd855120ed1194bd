/*
 * pipeline_depth.c - sessions without a map: each used frame is answered by its depth map, as a
 * message of proto/wire/depth.h
 */
#include "daemon/session/pipeline.h"
#include "daemon/work/depth_result.h"

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
        .lens = item->frame.lens,
        .depth_out = depth_result_room(job),
    };
}

static void finish_job(struct job *job, struct control_ack *ack)
{
    const struct frame *f = &job->item->frame;

    if (!depth_result_show(job, f->flags & FRAME_HAS_POSE ? &f->T_wc : NULL)) {
        ack->status = CONTROL_REFUSED;
        ack->reason = CONTROL_MEMORY;
    }
}

const struct pipeline pipeline_depth = {
    .name = "depth",
    .line = &gpu_line_depth,
    .device_config = device_config,
    .open = open_job,
    .finish = finish_job,
    .wants_depth = true,
    .result_bytes = depth_result_bytes,
};
