/* session_pace.h - how fast the frames of a session may come, and the rate that clients are told */
#pragma once

#include "daemon/session/session_clients.h"

/* Fills the rate and the quality of a client's `ready`. */
void session_tell_pace(struct session *s, struct session_client *c, float *rate, uint8_t *jpeg);
/* A frame of the client came in. Returns false if it came too soon after the one before it, by
 * their times and the session's `fps`. Lossless sessions take all. */
bool session_in_time(struct session *s, struct session_client *c, uint64_t t_capture_ns);
/* A frame, `counted` by session_admit() or not, does not fit the window of a lossless session: it
 * counts as never received, and its client is answered `later`. */
void session_later(struct session *s, struct session_client *c, uint64_t seq, bool counted);
