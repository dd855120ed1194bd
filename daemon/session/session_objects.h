/* session_objects.h - the objects that a session tracks */
#pragma once

#include "daemon/session/tracked_objects.h"
#include "daemon/session/session.h"

/*
 * session_search_begin / session_search_end - a frame's picture is searched for objects
 *
 * For sessions with `objects` alone, whose tracked objects one thread changes at a time: it gets
 * them by session_get_objects() and changes them by tracked_objects_update(). Clients get no
 * `ended` or `closed` until the search has ended.
 * In:      now: all tracked objects, NULL = unchanged; news: mask of those that clients are told of
 */
void session_search_begin(struct session *s);
void session_search_end(struct session *s, const struct tracked_objects *now, uint64_t news);
/* Counts a picture that was due and was not searched, because others were waiting. */
void session_search_skipped(struct session *s);
/* Copies the tracked objects and the number of pictures. False: it searches for none. */
bool session_get_objects(struct session *s, struct tracked_objects *out);
/* Sets them in a session that no other thread knows yet. */
void session_set_objects(struct session *s, const struct tracked_objects *in);
