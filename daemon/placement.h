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
 * In/out:  setup: memory_bytes is read; worker and budget are set, the bytes are taken
 * Returns: 0; ERR_BUSY: no device has room, or there is none
 * Runs:    any thread; two at once may both see the same device idle, which evens out
 */
#define PLACEMENT_FPS 10
MUST_CHECK int placement_choose(struct core *c, struct session_setup *setup, struct err *err);

/* Out: fps [c->n_workers], what each device's sessions ask for */
void placement_loads(struct core *c, float *fps);

#endif
