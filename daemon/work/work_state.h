/* work_state.h - the sections that this room keeps of a session (state_section.h) */
#ifndef RECOND_DAEMON_WORK_STATE_H
#define RECOND_DAEMON_WORK_STATE_H

#include "daemon/session/state_section.h"

/* Counters of the store and of the session, sizes, how pictures were held, what is still to come of
 * a session that is closed; and behind the last used frame of each source, how its poses went. */
extern const struct state_section work_state_core, work_state_jumps;

#endif
