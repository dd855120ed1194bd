/*
 * store_state.h - a session's state: into its checkpoints, and out of the newest one
 *
 * What a checkpoint holds is the device's state and the sections of struct store_ops. 
 */
#pragma once

#include "daemon/disk/store.h"
#include "proto/bytes.h"

/* Saves the session if that is due; called between two frames, on the worker's thread. */
void store_checkpoint(struct session *s, struct gpu_session *device);
/*
 * store_save_again - replace its newest checkpoint, keeping the device's state of that one
 *
 * For a session of which all frames have ended and are saved: nothing else changes it meanwhile.
 * Returns: 0: it is on its way, and store_saved_again() says how it ended; ERR_BUSY: another
 *          session's is; ERR_IO, ERR_MEMORY, ERR_INPUT, ERR_LIMIT: it cannot be
 */
MUST_CHECK int store_save_again(struct session *s, struct err *err);
/* 1: it is on the disk; 0: not yet; -1: it could not be written */
int store_saved_again(const struct session *s);
/* Was a checkpoint of the session asked for, and is not made yet? */
bool store_wants_checkpoint(const struct session *s);
/* The next store_checkpoint() saves it, due or not; it may be suspended then if `suspend`.
 * session_work_save() also wakes the device's thread. */
void store_want_checkpoint(struct session *s, bool suspend);
/* Is all of the session's state on the disk? */
bool store_settled(struct session *s);
/* The worker asks: may device state be freed now? */
bool store_may_suspend(struct session *s);
/* Reads the device's state, if the device lacks it; called before the next frame is decoded. */
MUST_CHECK int store_fetch(struct session *s, struct err *err);
/* Loads it into a session's new device state; called by the worker. */
MUST_CHECK int store_restore(struct session *s, struct gpu_session *device, struct err *err);

/* Counts of how frames ended, up to the last used one, for a section of daemon/work; and back, into
 * a session that no other thread knows yet. Returns false if the numbers contradict each other. */
void store_put_counts(struct session *s, struct bytes_writer *w);
bool store_get_counts(struct session *s, struct bytes_reader *r);
