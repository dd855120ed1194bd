/*
 * placement.h - which device a new session goes to
 */
#ifndef RECOND_DAEMON_PLACEMENT_H
#define RECOND_DAEMON_PLACEMENT_H

#include "daemon/core.h"

/*
 * placement_choose - the device with the least to do that has the memory
 *
 * Load is what sessions ask for, in frames a second (session_load()); differences below
 * PLACEMENT_FPS are none, then the smaller share of the memory budget decides.
 * In:      frames_per_s: what the sessions of a device may be counted with together, by their
 *          options' fps; 0 = no bound. Closed and faulty ones count no more.
 *          setup: memory_bytes and options.fps are read
 * Out:     worker, from whose budget the bytes are taken
 * Returns: 0; ERR_BUSY: no device has room, or there is none
 * Runs:    any thread; two at once may both see the same device idle, which evens out as far as
 *          load goes, and is found out by placement_confirm() where it breaks the bound
 */
#define PLACEMENT_FPS 10
MUST_CHECK int placement_choose(struct core *c, const struct session_setup *setup,
                                double frames_per_s, struct worker **worker, struct err *err);

/* The session is in the registry: is its device still within the bound? Of two that came at once
 * both may be turned away, never too many let in. Returns 0; ERR_BUSY. */
MUST_CHECK int placement_confirm(struct core *c, const struct session *s, double frames_per_s,
                                 struct err *err);

/* Seconds after which it is worth coming back: when the first session's retention ends, if one
 * does within PLACEMENT_RETRY_LIMIT_S; else PLACEMENT_RETRY_S, for others delete theirs. */
#define PLACEMENT_RETRY_S 10
#define PLACEMENT_RETRY_LIMIT_S 600
int placement_retry_s(struct core *c);

/* Out: fps [c->n_workers], what each device's sessions ask for */
void placement_loads(struct core *c, float *fps);

#endif
