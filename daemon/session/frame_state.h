/*
 * frame_state.h - where a frame is on its way from its client to its end, and what moves it on
 *
 * FRAME_TRANSITIONS is the whole way; docs/ARCHITECTURE.md has the same table with its drawing. The
 * thread that holds a frame moves it. A transition that is not in the table is reported and not
 * made (proto/checked.h).
 */
#pragma once

#include <stdatomic.h>

/* from, event, to, by */
#define FRAME_TRANSITIONS(X)                                         \
    X(FREE, COME, FILLING, "edge, recovery")                         \
    X(FILLING, COPIED, STORING, "edge, recovery")                    \
    X(STORING, STORED, WAITING, "journal; edge where there is none") \
    X(WAITING, DECODE, DECODING, "decoder")                          \
    X(DECODING, DECODED, READY, "decoder")                           \
    X(READY, TAKE, TAKEN, "worker, maker")                           \
    X(TAKEN, SUBMIT, COMPUTING, "worker")                            \
    X(COMPUTING, COMPUTED, COMMITTING, "worker")                     \
    X(COMMITTING, END, FREE, "committer")                            \
    X(TAKEN, HOLD, HELD, "worker")                                   \
    X(HELD, TAKE, TAKEN, "worker, maker")                            \
    X(COMMITTING, CONTINUE, UNFINISHED, "committer")                 \
    X(UNFINISHED, TAKE, TAKEN, "worker, maker")                      \
    X(FREE, ROUND, TAKEN, "worker")                                  \
    X(WAITING, DISPLACE, FILLING, "edge")                            \
    X(READY, DISPLACE, FILLING, "edge")                              \
    X(STORING, REFUSE, ENDING, "recovery")                           \
    X(DECODING, REFUSE, ENDING, "decoder")                           \
    X(TAKEN, REFUSE, ENDING, "worker, maker")                        \
    X(COMPUTING, REFUSE, ENDING, "worker")                           \
    X(ENDING, END, FREE, "journal")                                  \
    X(STORING, END, FREE, "journal")                                 \
    X(DECODING, END, FREE, "decoder")                                \
    X(TAKEN, END, FREE, "worker, maker")                             \
    X(COMPUTING, END, FREE, "worker")

#define FRAME_STATES_OF(X)                                                               \
    X(FREE)       /* the slot is empty */                                                \
    X(FILLING)    /* its bytes are copied into the slot */                               \
    X(STORING)    /* its record is on its way to the disk */                             \
    X(WAITING)    /* it is to be decoded */                                              \
    X(DECODING)   /* a decoder has it */                                                 \
    X(READY)      /* it is decoded */                                                    \
    X(TAKEN)      /* the device's worker has it, for a batch that has not left yet */    \
    X(HELD)       /* it waits until the device takes sideways pictures of its session */ \
    X(COMPUTING)  /* on the device */                                                    \
    X(COMMITTING) /* its result goes into the session */                                 \
    X(UNFINISHED) /* its result had no room for all: it goes to the device again */      \
    X(ENDING)     /* it was not used, and its end is being stored */

#define FRAME_EVENTS_OF(X)                                                              \
    X(COME) /* a client or the journal brings it */                                     \
    X(COPIED)                                                                           \
    X(STORED)                                                                           \
    X(DECODE)                                                                           \
    X(DECODED)                                                                          \
    X(TAKE)                                                                             \
    X(HOLD)                                                                             \
    X(SUBMIT)                                                                           \
    X(COMPUTED)                                                                         \
    X(CONTINUE)                                                                         \
    X(ROUND)    /* a closing round begins (daemon/work/closing.h), which is no frame */ \
    X(DISPLACE) /* the frame is dropped for another one */                              \
    X(REFUSE)   /* its end has to be stored */                                          \
    X(END)

#define FRAME_STATE(name) FRAME_STATE_##name,
#define FRAME_EVENT(name) FRAME_EVENT_##name,
enum frame_state { FRAME_STATES_OF(FRAME_STATE) FRAME_STATES };
enum frame_event { FRAME_EVENTS_OF(FRAME_EVENT) FRAME_EVENTS };
#undef FRAME_STATE
#undef FRAME_EVENT

/* Returns the state behind the event; -1: the event is forbidden there. */
int frame_state_after(enum frame_state from, enum frame_event event);

/* Moves a frame on. Other threads may read the state meanwhile. */
void frame_state_move(atomic_int *state, enum frame_event event);
