/* worker_make.h - the thread beside the worker's: it makes what sessions have on the device */
#ifndef RECOND_DAEMON_WORKER_MAKE_H
#define RECOND_DAEMON_WORKER_MAKE_H

#include "daemon/work/worker_state.h"

/* Starts the thread; the device is open. */
MUST_CHECK int worker_make_start(struct worker *w, struct err *err);
/* Gives everything back and ends it. */
void worker_make_stop(struct worker *w);
/* The device's copies of networks; when no session is left there. */
void worker_make_close_models(struct worker *w);
/* The session gets its device state, then its next turn. It has its turn, and is working. */
void worker_make_session(struct worker *w, struct session_work *k);
/* Its device state goes; with a reference that is let go of then. Worker's thread, no turn. */
void worker_make_leave(struct worker *w, struct session_work *k);

#endif
