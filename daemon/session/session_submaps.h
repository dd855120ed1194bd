/* session_submaps.h - where the worlds of a session lie */
#ifndef RECOND_DAEMON_SESSION_SUBMAPS_H
#define RECOND_DAEMON_SESSION_SUBMAPS_H

#include "daemon/session/places.h"
#include "daemon/session/session.h"

/* The worlds of a session and where they lie; list [API_SUBMAPS_MAX]. Returns how many there
 * are. */
int session_submaps(struct session *s, struct api_submap *list);
/*
 * session_place_begin / session_place_end - a submap lies elsewhere
 *
 * Between the two the caller writes session_get_next_places() to the disk. Until its end nothing is
 * told: a place that clients have heard of is there after a crash.
 * In:      kept: it was written; else all is as it was
 * Returns: 0; ERR_NOT_FOUND: no frame was taken of such a world, which is not the first one
 */
MUST_CHECK int session_place_begin(struct session *s, uint32_t submap, const float pose[7],
                                   struct err *err);
void session_place_end(struct session *s, uint32_t submap, const float pose[7], bool kept);
void session_get_next_places(struct session *s, struct places *p);
/* What ties say of where submaps lie, `told` where they do: as the disk is to have it, and when it
 * does as clients are told. */
void session_tie_places(struct session *s, const struct places *by_ties);
void session_tell_places(struct session *s, const struct places *by_ties);
void session_get_places(struct session *s, struct places *p);
void session_set_places(struct session *s, const struct places *p);

#endif
