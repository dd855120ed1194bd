/*
 * admission.h - a session's way in, newly asked for or back after a restart
 *
 * Threads: any.
 */
#ifndef RECOND_DAEMON_ADMISSION_H
#define RECOND_DAEMON_ADMISSION_H

#include "daemon/core.h"

/* What a session of these options is made from.
 * Returns: 0; ERR_INPUT, ERR_NOT_FOUND, ERR_UNSUPPORTED with where = JSON pointer */
MUST_CHECK int admission_setup(struct core *c, const struct session_options *options,
                               struct session_setup *setup, struct err *err);

/*
 * admission_make - the session, on the device that suits it, within that device's budgets
 *
 * Out:     *s, one reference; nobody knows it yet
 * Returns: 0; ERR_BUSY: no room; ERR_MEMORY; ERR_IO
 */
MUST_CHECK int admission_make(struct core *c, const struct session_setup *setup, struct session **s,
                              struct err *err);

/* A new one: made, with files if it has a journal, and in the registry. Returns the same. */
MUST_CHECK int admission_new(struct core *c, struct session_setup *setup, struct session **s,
                             struct err *err);
/* Into the registry, which gets a reference of its own. Returns 0; ERR_BUSY */
MUST_CHECK int admission_register(struct core *c, struct session *s, int max, struct err *err);

#endif
