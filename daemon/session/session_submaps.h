/* session_submaps.h - the submaps of a session and their places */
#pragma once

#include "daemon/session/places.h"
#include "daemon/session/session.h"

/* Fills list [API_SUBMAPS_MAX] with the submaps and their places. Returns how many there are. */
int session_submaps(struct session *s, struct api_submap *list);
/*
 * session_place_begin / session_place_end - place a submap
 *
 * Between the two the caller writes session_get_next_places() to the disk. Clients are told at the
 * end, so a place that they know survives a crash.
 * In:      kept: it was written; else nothing changes
 * Returns: 0; ERR_NOT_FOUND: no frame was taken of this submap, and it is not the first one
 */
MUST_CHECK int session_place_begin(struct session *s, uint32_t submap, const float pose[7],
                                   struct err *err);
void session_place_end(struct session *s, uint32_t submap, const float pose[7], bool kept);
void session_get_next_places(struct session *s, struct places *p);
/* Takes over places by ties: session_tie_places() for the disk, and session_tell_places(), when
 * they are on the disk, for clients. */
void session_tie_places(struct session *s, const struct places *by_ties);
void session_tell_places(struct session *s, const struct places *by_ties);
void session_get_places(struct session *s, struct places *p);
void session_set_places(struct session *s, const struct places *p);
