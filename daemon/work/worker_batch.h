/* worker_batch.h - batches: from sessions that have their turn to results for the committers */
#pragma once

#include "daemon/work/worker_state.h"

/* Makes a batch of the frames that were left behind and those of sessions that have a turn, lets
 * others join it, and sends it to the device. */
void worker_batch_begin(struct worker *w, struct turn_entry **entries, int n);
/* Waits for the oldest batch; for all of them. */
void worker_batch_wait(struct worker *w);
void worker_batch_wait_all(struct worker *w);
/* Return batch_policy_due_us() of the oldest batch, and batch_policy_nap_us(). */
uint64_t worker_batch_due_us(const struct worker *w);
uint64_t worker_batch_nap_us(const struct worker *w);
/* Functions of struct session_work_ops. */
void worker_batch_turn_over(struct session *s);
