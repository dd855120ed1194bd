/* session_state.h - the sections of daemon/session in a checkpoint (state_section.h) */
#pragma once

#include "daemon/session/state_section.h"

extern const struct state_section session_state_mirror, session_state_trajectory,
    session_state_sources, session_state_position; /* the last position of a frame */
