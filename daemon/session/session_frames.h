/* session_frames.h - a frame of a session from its arrival to its answer; slot.h has its way
 * between the two */
#ifndef RECOND_DAEMON_SESSION_FRAMES_H
#define RECOND_DAEMON_SESSION_FRAMES_H

#include "daemon/session/session_clients.h"

/* Is it a frame that was answered before? Then its client is told so once more, and it is counted
 * as such and nowhere else. */
bool session_again(struct session *s, struct session_client *c, const struct frame *f,
                   size_t bytes);
/* Count a frame that came in, before anything is done with it. Returns CONTROL_REASON_NONE: go on;
 * CONTROL_CLOSED: the caller refuses it. */
enum control_reason session_admit(struct session *s, size_t bytes);

/*
 * session_answer - count the end of a frame and tell its client; frame_end.h alone calls it
 *
 * In:      received_us: 0 if it never entered the queue
 */
void session_answer(struct session *s, uint64_t stream, const struct control_ack *ack,
                    uint64_t received_us);

/* A frame of a source was fused, or a closing round computed, which shows nothing
 * (daemon/work/closing.h): its result, and what its commit changed in the mirror. */
void session_publish(struct session *s, int source, bool is_round, const struct gpu_result *result,
                     const struct mirror_commit *commit);
/* Points lie elsewhere, and no frame was fused. */
void session_publish_moved(struct session *s, const struct mirror_commit *commit);
/* Is a client told the result of the frame that is used next? */
bool session_result_wanted(struct session *s);
/* A frame was used: its result, whose reference this takes. Its sender gets it with
 * session_answer(), clients that view at once. */
void session_show(struct session *s, struct frame_result *result);

#endif
