/* session_state.h - the sections that this room keeps of a session (state_section.h) */
#ifndef RECOND_DAEMON_SESSION_STATE_H
#define RECOND_DAEMON_SESSION_STATE_H

#include "daemon/session/state_section.h"

extern const struct state_section session_state_mirror, session_state_trajectory,
    session_state_sources, session_state_position; /* position: the last that a frame brought */

#endif
