#include "daemon/work/depth_result.h"

#include "daemon/session/pipeline.h"
#include "daemon/session/session_frames.h"
#include "daemon/session/session_info.h"
#include "proto/wire/depth.h"

#include <stdlib.h>

float *depth_result_room(struct job *job)
{
    struct session *s = job->session;
    const struct session_setup *setup = session_setup(s);
    struct session_work *k = session_work(s);
    int w, h;

    if (!job->tie && !job->search && !setup->options.preview && !setup->kind->wants_depth &&
        !session_result_wanted(s))
        return NULL;
    session_get_net(s, &w, &h);
    if (!k->depth)
        k->depth = malloc((size_t)w * (size_t)h * sizeof(*k->depth));
    return k->depth;
}

/* Makes the message for clients. Returns false if there is no memory. */
static bool show_depth(struct job *job, const struct rigid *T_wc)
{
    struct session *s = job->session;
    const struct session_options *o = &session_setup(s)->options;
    const struct queue_item *item = job->item;
    struct depth_map map = {.seq = item->frame.seq,
                            .unit = o->depth_unit == SESSION_DEPTH_UNIT_INVERSE ? DEPTH_INVERSE
                                                                                : DEPTH_MILLIMETRES,
                            .has_pose = T_wc != NULL,
                            .T_wc = T_wc ? *T_wc : rigid_identity()};
    struct frame_result *result;

    session_get_net(s, &map.w, &map.h);
    map.K = lens_map_make(&item->frame.lens, item->K, item->width, item->height, map.w, map.h).K;
    result = results_take(session_results(s), depth_message_bytes(map.w, map.h));
    if (!result)
        return false;
    result->seq = map.seq;
    result->len = depth_message_bytes(map.w, map.h);
    depth_encode(result->msg, &map, job->frame.depth_out, o->min_depth_m, o->max_depth_m);
    session_show(s, result);
    return true;
}

bool depth_result_show(struct job *job, const struct rigid *T_wc)
{
    struct session *s = job->session;

    if (!job->frame.depth_out)
        return !session_setup(s)->kind->wants_depth;
    if (session_setup(s)->options.preview)
        session_set_preview(s, job->frame.depth_out, job->item->frame.seq);
    return !session_result_wanted(s) || show_depth(job, T_wc);
}

size_t depth_result_bytes(const struct session_options *o)
{
    return depth_message_bytes(o->net_w, o->net_h);
}
