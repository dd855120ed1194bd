#include "daemon/session/frame_state.h"

#include "proto/checked.h"

#include <stdio.h>

/* the state plus one; 0: forbidden */
#define ROW(from, event, to, by) [FRAME_STATE_##from][FRAME_EVENT_##event] = FRAME_STATE_##to + 1,
static const unsigned char table[FRAME_STATES][FRAME_EVENTS] = {FRAME_TRANSITIONS(ROW)};
#undef ROW

#define NAME(name) #name,
static const char *const states[] = {FRAME_STATES_OF(NAME)};
static const char *const events[] = {FRAME_EVENTS_OF(NAME)};
#undef NAME

int frame_state_after(enum frame_state from, enum frame_event event)
{
    return table[from][event] - 1;
}

void frame_state_move(atomic_int *state, enum frame_event event)
{
    int from = atomic_load_explicit(state, memory_order_relaxed);
    int to = frame_state_after((enum frame_state)from, event);
    char what[80];

    if (to >= 0) {
        atomic_store_explicit(state, to, memory_order_release);
        return;
    }
    snprintf(what, sizeof(what), "a frame that is %s meets %s", states[from], events[event]);
    checked_fail(what);
}
