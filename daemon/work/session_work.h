/*
 * session_work.h - what a session has for its way through decoders and a device: session_work()
 *
 * Who touches what
 *   `worker`, `decode`, `budget`   fixed
 *   sizes in `kept`                the decode thread whose turn the session has (turn.h: one at a
 *                                  time), until a frame was used
 *   links, `retiring`, `working`   under the worker's lock
 *   the rest                       the worker's thread; while a job is with a committer, that one;
 *                                  while device state is made, the thread that makes it
 */
#ifndef RECOND_DAEMON_SESSION_WORK_H
#define RECOND_DAEMON_SESSION_WORK_H

#include "daemon/budget.h"
#include "daemon/disk/store.h"
#include "daemon/work/turn.h"
#include "gpu/gpu.h"
#include "proto/types.h"

#include <stddef.h>

struct worker;
struct decode;

/* A frame of the session on its way through the device (job.h); one at a time, for the session's
 * turn lasts until it is done. */
struct job {
    struct session *session;
    struct queue_item *item;
    struct gpu_frame frame;
    struct turn_entry turn; /* commit.h */
};

struct session_work {
    struct session *session;
    struct worker *worker;
    struct decode *decode;
    struct budget *budget; /* of the device, which the session's bytes are from */
    struct turn_entry decode_turn, work_turn; /* turn.h */

    struct session_work *next_retired, *next_made, *next_leaving;
    bool retiring, working; /* working: its turn is not over */

    struct store_work kept; /* jpeg_w is 0 before the first good frame */

    struct gpu_session *device;  /* NULL before the first frame and after it was retired */
    struct gpu_session *leaving; /* what it was, until it is given back: worker_make.c */
    float *depth;                /* [net_h][net_w] if preview */
    struct job job;
};

/* The session's part, before another thread knows the session. It has taken the session's bytes
 * from `budget` and gives them back when it is freed. Returns 0; ERR_MEMORY. */
MUST_CHECK int session_work_new(struct session *s, struct worker *worker, struct decode *decode,
                                struct budget *budget, struct err *err);
void session_work_free(struct session *s);

/* What a checkpoint said. */
void session_work_restore(struct session *s, const struct store_work *kept);

static inline struct session *session_work_of_decode(struct turn_entry *e)
{
    return CONTAINER_OF(e, struct session_work, decode_turn)->session;
}

static inline struct session *session_work_of_device(struct turn_entry *e)
{
    return CONTAINER_OF(e, struct session_work, work_turn)->session;
}

#endif
