/*
 * bundling.h - a session that has ended is corrected by the places that it saw twice
 *
 * Its keyframes (loop_closure.h) are bundled (gpu/tie/bundle.h). Their corrections move the frames
 * between them and the points that they see; clients are told blocks, and `poses` if they feed.
 * Runs:    as slices of the pool (later.h) of 0.15 s, a round of the graph 0.7 s; 50 s at most for
 *          a million points and 384 keyframes. The mirror is locked for 2,048 points at a time
 * Memory:  0.8 MB, and 22 MB while the graph is solved, of a session at a time for each thread
 * Disk:    a checkpoint holds all keyframes before the first point moves, and another one the
 *          result. A session that is recovered between the two does it again, with the same result
 * Ends:    a session that is deleted skips it, and so does one without a journal at the process's
 *          end
 * Threads: those of loop_closure.h
 */
#pragma once

#include "daemon/work/session_work.h"
#include "gpu/tie/ties.h"

struct bundling;

/* place [TIES_WORLDS]: as bundle_new(); n keyframes. Returns 0; ERR_MEMORY. */
MUST_CHECK int bundling_new(struct bundling **b, struct session *s, struct ties *t, uint32_t n,
                            const struct ties_place *place, struct err *err);
void bundling_free(struct bundling **b);
/* Returns false when it is over; the session has the result then. */
bool bundling_step(struct bundling *b);
