/*
 * frame_end.h - how a frame ends: its record, its slot, its answer, its session's turn
 *
 * Each frame that session_admit() counted comes here exactly once, in one of these ways:
 *
 *   refused      before it was queued               frame_end_front()
 *   displaced    dropped for a later frame          frame_end_displaced()
 *   undecoded    the decoder refuses it             frame_end_undecoded()
 *   unused       the device refuses it, or is lost  frame_end_unused()
 *   used         its result is in the session       frame_end_used()
 *
 * A frame's end, other than `used`, is in the journal before its client is told: the store calls
 * frame_end_told() then. `used` needs no record (store.h).
 * Threads: any that holds the frame.
 */
#pragma once

#include "daemon/work/session_work.h"

void frame_end_front(struct session *s, uint64_t stream, const struct control_ack *ack);
/* Does nothing if there is no such frame. */
void frame_end_displaced(struct session *s, const struct queue_dropped *d);
void frame_end_undecoded(struct session *s, struct queue_item *item, enum control_reason reason);
/* lost: with its device. Then a journaled frame gets no answer: it is used after the restart. */
void frame_end_unused(struct session *s, struct queue_item *item, enum control_reason reason,
                      bool lost);
/* Also ends the session's turn. */
void frame_end_used(struct job *job, const struct control_ack *ack);

/* A closing round was computed (closing.h): the next one may come, and the session's turn ends. */
void frame_end_round(struct job *job);
/* The session skips the closing rounds that are to come. */
void frame_end_rounds(struct session *s);

/* The end is on the disk, or need not be: frees the slot and tells the client. Fills ack->seq. */
void frame_end_told(struct session *s, struct queue_item *item, const struct control_ack *ack);
/* A frame ended, or the session is closing: frees its device state if nothing is left to do. */
void frame_end_settle(struct session *s);
/* All frames of its journal have ended. Returns false if it is closed and not whole yet: then its
 * rounds and its bundle go on, and this is called again. */
bool frame_end_recovered(struct session *s, bool had_frames);
