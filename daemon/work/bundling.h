/*
 * bundling.h - a session that has ended is corrected by the places that it saw twice
 *
 * Its keyframes (loop_closure.h) are bundled (gpu/tie/bundle.h). Their corrections move the frames
 * between them and the points that they see, and clients are told: blocks as after any commit,
 * `poses` to those that feed.
 * Runs:    as slices of the pool (later.h), among keyframes of other sessions: 0.15 s each, a round
 *          of the graph 0.7 s. A session's lock is held only to tell it results, the mirror's for
 *          2,048 points. 6 us a point; see bundle.h for the rest. On a million points and 384
 *          keyframes all of it takes 50 s at most
 * Memory:  0.8 MB, and 22 MB while the graph is solved, of a session at a time for each thread
 * Disk:    a checkpoint holds all keyframes before the first point moves, and another one the
 *          result. A session that is recovered between the two does it again, with the same result
 * Ends:    a session that is deleted skips it, and so does one without a journal when the process
 *          ends
 * Threads: that of loop_closure.h
 */
#ifndef RECOND_DAEMON_BUNDLING_H
#define RECOND_DAEMON_BUNDLING_H

#include "daemon/work/session_work.h"
#include "gpu/tie/ties.h"

struct bundling;

/* place [TIES_WORLDS]: as bundle_new(); n keyframes. Returns 0; ERR_MEMORY. */
MUST_CHECK int bundling_new(struct bundling **b, struct session *s, struct ties *t, uint32_t n,
                            const struct ties_place *place, struct err *err);
void bundling_free(struct bundling **b);
/* Returns false when it is over; the session has the result then. */
bool bundling_step(struct bundling *b);

#endif
