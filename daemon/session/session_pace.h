/* session_pace.h - how fast the frames of a session may come, and what clients are told of it */
#ifndef RECOND_DAEMON_SESSION_PACE_H
#define RECOND_DAEMON_SESSION_PACE_H

#include "daemon/session/session_clients.h"

/* What the client is told in its `ready` of rate and quality. */
void session_tell_pace(struct session *s, struct session_client *c, float *rate, uint8_t *jpeg);
/* A frame of the client came in that could be taken. Returns false if it came too soon after the
 * one before it, by their times and the session's `fps`. Lossless sessions take all. */
bool session_in_time(struct session *s, struct session_client *c, uint64_t t_capture_ns);
/* A frame that session_admit() has `counted`, or that is not counted yet, does not fit the window
 * of a lossless session: it counts as never received, its client is answered `later`. */
void session_later(struct session *s, struct session_client *c, uint64_t seq, bool counted);

#endif
