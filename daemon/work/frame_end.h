/*
 * frame_end.h - how a frame ends: its record, its slot, its answer, its session's turn
 *
 * Each frame that session_admit() let in comes here exactly once, whichever way it takes:
 *
 *   turned away     before the queue had it           frame_end_front()
 *   displaced       it made room for a later frame    frame_end_displaced()
 *   not decoded     the decoder refuses it            frame_end_undecoded()
 *   not computed    the device, or its lack, does     frame_end_unused()
 *   used            its result is in the session      frame_end_used()
 *
 * The end of a frame that is in the journal, other than `used`, is on the disk before it is told;
 * the store calls frame_end_told() then. `used` needs no record (store.h).
 * Threads: any that holds the frame.
 */
#ifndef RECOND_DAEMON_FRAME_END_H
#define RECOND_DAEMON_FRAME_END_H

#include "daemon/work/session_work.h"

void frame_end_front(struct session *s, uint64_t stream, const struct control_ack *ack);
/* Nothing if there is no such frame. */
void frame_end_displaced(struct session *s, const struct queue_dropped *d);
void frame_end_undecoded(struct session *s, struct queue_item *item, enum control_reason reason);
/* lost: with its device. Then a frame of the journal is not told: it is used after the restart. */
void frame_end_unused(struct session *s, struct queue_item *item, enum control_reason reason,
                      bool lost);
/* The session gets its turn back as well. */
void frame_end_used(struct job *job, const struct control_ack *ack);

/* A closing round was computed (closing.h): the next one may come, and the session's turn ends. */
void frame_end_round(struct job *job);
/* The session does without the closing rounds that are to come. */
void frame_end_rounds(struct session *s);

/* The end is on the disk, or need not be: slot free, client told. ack->seq is filled in. */
void frame_end_told(struct session *s, struct queue_item *item, const struct control_ack *ack);
/* A frame ended, or the session is closing: if that was all, its device state goes. */
void frame_end_settle(struct session *s);
/* All frames of its journal have ended. Returns false if it is closed and not whole yet: then what
 * is to come of it goes on, and this is asked again. */
bool frame_end_recovered(struct session *s, bool had_frames);

#endif
