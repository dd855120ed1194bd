/*
 * depth_result.h - the depth of a frame on its way to clients and previews, in sessions of any kind
 *
 * A frame's depth is copied from the device where the session keeps a preview, where its kind gives
 * every frame's to its clients, where one of them has asked for this frame's (`start.depth`), and
 * where the frame becomes a keyframe (loop_closure.h) or is searched (object_search.h). Else it
 * costs nothing.
 * Threads: depth_result_room() the worker's, before the job; depth_result_show() a committer's.
 */
#pragma once

#include "daemon/work/session_work.h"

/* Returns where the device puts the depth of the job's frame, [net_h][net_w]; NULL: it is not
 * wanted, or there is no memory. */
float *depth_result_room(struct job *job);

/* Gives that depth to the preview and to clients that want it. T_wc: the frame's pose, NULL = none.
 * Returns false if there was no memory for it. */
bool depth_result_show(struct job *job, const struct rigid *T_wc);

/* Returns the bytes of a client's message. */
size_t depth_result_bytes(const struct session_options *o);
