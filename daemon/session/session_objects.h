/* session_objects.h - what was recognised in a session */
#ifndef RECOND_DAEMON_SESSION_OBJECTS_H
#define RECOND_DAEMON_SESSION_OBJECTS_H

#include "daemon/session/instances.h"
#include "daemon/session/session.h"

/*
 * session_look_begin / session_look_end - a frame's picture is looked at for objects
 *
 * For sessions with `objects` alone, whose things one thread changes at a time: what
 * session_get_objects() gave it and instances_update() changed. Clients are not told that all is
 * said until the look has ended.
 * In:      now: what is known by the picture, NULL = nothing came of it; news: mask of what clients
 *          are told of
 */
void session_look_begin(struct session *s);
void session_look_end(struct session *s, const struct instances *now, uint64_t news);
/* How often a picture that was due was not looked at, because others were waiting. */
void session_look_skipped(struct session *s);
/* What is known of recognised things, into `out`; and of pictures. False: the session looks for
 * none. */
bool session_get_objects(struct session *s, struct instances *out);
/* Into a session that no other thread knows yet. */
void session_set_objects(struct session *s, const struct instances *in);

#endif
