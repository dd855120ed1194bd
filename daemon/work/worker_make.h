/* worker_make.h - the thread beside the worker's that makes sessions' device state */
#pragma once

#include "daemon/work/worker_state.h"

/* Starts the thread, when the device is open. */
MUST_CHECK int worker_make_start(struct worker *w, struct err *err);
/* Frees everything and ends it. */
void worker_make_stop(struct worker *w);
/* Frees the device's copies of networks, when no session is left there. */
void worker_make_close_models(struct worker *w);
/* Makes device state of the session, which has its turn and is working, then ends the turn. */
void worker_make_session(struct worker *w, struct session_work *k);
/* Frees its device state, then lets go of its reference. Worker's thread, no turn. */
void worker_make_leave(struct worker *w, struct session_work *k);
