/*
 * object_search.h - enrolled objects are searched for in the depth of a session's frames
 *
 * In a session with the option `objects`, `recognise_hz` times a second of capture time, the fused
 * depth is copied, and a slice of the pool (later.h) searches it (gpu/recognise/recogniser.h), so
 * no frame waits. Detections become tracked objects (daemon/session/tracked_objects.h).
 * Order:   pictures of a session are searched in turn, and capture times alone choose them, so the
 *          same frames give the same objects. While OBJECT_SEARCH_WAITING wait, a session in mode
 *          `live` skips and counts the next picture; in mode `lossless`, or while its journal is
 *          replayed, it holds its next frame back
 * State:   a checkpoint waits for all pictures (object_search_state), so it keeps the detections of
 *          all its frames
 * Threads: wants, keep as session_work.h has it for jobs; holds, save the worker's; others any.
 *          No lock inside
 */
#pragma once

#include "daemon/objects.h"
#include "daemon/work/later.h"
#include "daemon/work/session_work.h"

#define OBJECT_SEARCH_WAITING 4

struct object_search; /* a session's part, in its session_work; NULL where it has none */

/*
 * object_search_admit - may a session of this owner have these objects?
 *
 * In:      w, h: of its network, or an estimate while it is not known
 * Out:     *bytes: that it holds for them at most, 0 = it asks for none
 * Returns: 0; ERR_NOT_FOUND: an object is not enrolled; ERR_INPUT: objects that do not fit one
 *          library
 */
MUST_CHECK int object_search_admit(struct objects *store, const struct session_options *o, int w,
                                   int h, const char *owner, uint64_t *bytes, struct err *err);

/* Makes a session's part on a device of that name, before another thread knows it; NULL where its
 * options ask for none, or `later` is NULL. Objects that are no longer enrolled, or of another unit
 * than the first, are left out. Returns 0; ERR_MEMORY; ERR_BUSY: the pool was stopped. */
MUST_CHECK int object_search_adopt(struct later *later, struct objects *store, struct session *s,
                                   const char *device, struct object_search **part,
                                   struct err *err);
void object_search_disown(struct object_search **part);

/* Is the frame's picture due? Then its depth is wanted. */
bool object_search_wants(struct job *job);
/* A wanted frame has its result. revision: of the cloud with its points. */
void object_search_keep(struct job *job, uint64_t revision);
/* Must the session's next frame wait? Its device turn is woken when it need not any more. */
bool object_search_holds(struct session *s);
/* Section of tracked objects. A session that lacks it begins without any. */
extern const struct state_section object_search_state;
