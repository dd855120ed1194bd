/*
 * store_state.h - where a session stands: into its checkpoints, and out of the newest one
 *
 * What a checkpoint holds is the device's state and the sections of struct store_ops. As in
 * store.h a session without a journal may be given.
 */
#ifndef RECOND_DAEMON_STORE_STATE_H
#define RECOND_DAEMON_STORE_STATE_H

#include "daemon/disk/store.h"
#include "proto/bytes.h"

/* Between two frames, on the worker's thread: save the session if that is due. */
void store_checkpoint(struct session *s, struct gpu_session *device);
/*
 * store_save_again - the session as it is now into its newest checkpoint's place, with the device's
 * state of that
 *
 * For a session of which all frames have ended and are saved: nothing else changes it meanwhile.
 * Returns: 0: it is on its way, and store_saved_again() says how it ended; ERR_BUSY: another
 *          session's is; ERR_IO, ERR_MEMORY, ERR_INPUT, ERR_LIMIT: it cannot be
 */
MUST_CHECK int store_save_again(struct session *s, struct err *err);
/* 1: it is on the disk; 0: not yet; -1: it could not be written */
int store_saved_again(const struct session *s);
/* A checkpoint of the session was asked for and is not made yet. */
bool store_wants_checkpoint(const struct session *s);
/* The next store_checkpoint() saves it, due or not; it may rest then (SESSION_SUSPENDED) if `rest`.
 * session_work_save() kicks the device's thread, too. */
void store_want_checkpoint(struct session *s, bool rest);
/* Is all of the session's state on the disk? */
bool store_settled(struct session *s);
/* The worker's question: may device state go now? */
bool store_may_rest(struct session *s);
/* Before its next frame is decoded, by the decoder: read what the device needs, if it lacks it. */
MUST_CHECK int store_fetch(struct session *s, struct err *err);
/* By the worker, into a session's new device state. */
MUST_CHECK int store_restore(struct session *s, struct gpu_session *device, struct err *err);

/* How frames ended up to the last used one, for a section of daemon/work; and back, into a session
 * that no other thread knows yet. Returns false if the numbers contradict each other. */
void store_put_counts(struct session *s, struct bytes_writer *w);
bool store_get_counts(struct session *s, struct bytes_reader *r);

#endif
