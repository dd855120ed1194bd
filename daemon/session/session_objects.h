/* session_objects.h - the objects that a session tracks */
#ifndef RECOND_DAEMON_SESSION_OBJECTS_H
#define RECOND_DAEMON_SESSION_OBJECTS_H

#include "daemon/session/tracked_objects.h"
#include "daemon/session/session.h"

/*
 * session_search_begin / session_search_end - a frame's picture is searched for objects
 *
 * For sessions with `objects` alone, whose tracked objects one thread changes at a time: what
 * session_get_objects() gave it and tracked_objects_update() changed. Clients are not told that all
 * is said until the search has ended.
 * In:      now: what is known by the picture, NULL = nothing came of it; news: mask of what clients
 *          are told of
 */
void session_search_begin(struct session *s);
void session_search_end(struct session *s, const struct tracked_objects *now, uint64_t news);
/* How often a picture that was due was not searched, because others were waiting. */
void session_search_skipped(struct session *s);
/* What is known of tracked objects, into `out`; and of pictures. False: the session looks for
 * none. */
bool session_get_objects(struct session *s, struct tracked_objects *out);
/* Into a session that no other thread knows yet. */
void session_set_objects(struct session *s, const struct tracked_objects *in);

#endif
