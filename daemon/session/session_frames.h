/* session_frames.h - a frame of a session from its arrival to its answer */
#pragma once

#include "daemon/session/session_clients.h"

/* Was the frame answered before? Then its client is told so again, and it counts as that alone. */
bool session_again(struct session *s, struct session_client *c, const struct frame *f,
                   size_t bytes);
/* Counts a frame that came in, before anything is done with it. Returns CONTROL_REASON_NONE: go on;
 * CONTROL_CLOSED: the caller refuses it. */
enum control_reason session_admit(struct session *s, size_t bytes);

/*
 * session_answer - count the end of a frame and tell its client; frame_end.h alone calls it
 *
 * In:      received_us: 0 if it never entered the queue
 */
void session_answer(struct session *s, uint64_t stream, const struct control_ack *ack,
                    uint64_t received_us);

/* A frame was fused, or a closing round computed, which has no result (daemon/work/closing.h): its
 * result, and the changes of its commit in the mirror. */
void session_publish(struct session *s, int source, bool is_round, const struct gpu_result *result,
                     const struct mirror_commit *commit);
/* Points moved without a fused frame. */
void session_publish_moved(struct session *s, const struct mirror_commit *commit);
/* Does a client get the result of the next used frame? */
bool session_result_wanted(struct session *s);
/* Gives a used frame's result to clients, and takes over its reference. The sender gets it with
 * session_answer(), viewers at once. */
void session_show(struct session *s, struct frame_result *result);
