/* work_state.h - the sections of daemon/work in a checkpoint (state_section.h) */
#pragma once

#include "daemon/session/state_section.h"

/* The first has the store's and the session's counters, sizes, how pictures were held, and the work
 * left in a closing session; the second each source's motion. */
extern const struct state_section work_state_core, work_state_jumps;
