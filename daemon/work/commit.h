/*
 * commit.h - a few threads that carry results from the devices into the sessions
 *
 * They take computed jobs, let the session's kind finish them (pipeline.h), and end their frames
 * (frame_end.h), so that the thread that feeds a device never computes. A session has one job at a
 * time, so its frames stay in order although any of the threads may take them.
 */
#pragma once

#include "daemon/work/session_work.h"

struct commit;

/* threads: 0 = as many as suit this machine */
MUST_CHECK int commit_start(struct commit **c, int threads, struct err *err);
/* Call it when the workers have stopped: then no job is left. */
void commit_stop(struct commit *c);
void commit_free(struct commit **c);

/* Takes over a job that its device has finished. */
void commit_push(struct commit *c, struct job *job);

/* turn_pool_alive_us() of them */
uint64_t commit_alive_us(const struct commit *c);
