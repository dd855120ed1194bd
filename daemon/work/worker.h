/*
 * worker.h - the one thread that owns a device, its networks and its sessions' device state
 *
 * It takes what is decoded, at most one frame a session and `batch` in all, sessions in turn
 * (turn.h), and sends them through the pipeline together: a flight. While one is under way the next
 * boards, and is enqueued when it is full or the device is about to be idle; which sessions are in
 * it is up to turns, so a session's next frame goes when its last one is done with. Results go to
 * the committers (commit.h), so that the thread that feeds the device has its hands free. For the
 * same reason it makes no sessions: a second thread does (worker_make.c), which opens networks,
 * makes device state for a session's first frame, takes it back, and asks how the device is. Nobody
 * else calls gpu_* but for pictures, their memory and decoding: requests come through worker_kick()
 * and worker_retire().
 */
#ifndef RECOND_DAEMON_WORKER_H
#define RECOND_DAEMON_WORKER_H

#include "daemon/work/models.h"
#include "daemon/session/session.h"
#include "daemon/work/session_work.h"

struct worker;

typedef int worker_open_fn(struct gpu **g, const struct gpu_config *config, struct err *err);

struct worker_config {
    const char *device, *cache_path; /* of gpu_config */
    int threads, batch, batch_wait_us;
    uint64_t reserve_bytes; /* of gpu_config */
    const struct models *models;
    struct metrics *metrics;
    struct commit *commit;
    struct store *store;  /* NULL: none; it hears of a lost device */
    worker_open_fn *open; /* NULL = gpu_open; tests put in a back end of their own */
};

/* Opens the device on the new thread and waits for that. Returns what opening it says. */
MUST_CHECK int worker_start(struct worker **w, const struct worker_config *config, struct err *err);
/* Finishes what is on the device, waits for the committers and frees the device state of retired
 * sessions. worker_kick() and worker_retire() do nothing from now on. */
void worker_stop(struct worker *w);
/* When no session is left that points here, and the committers have stopped: closes the device. */
void worker_free(struct worker **w);

/* The session has a decoded frame. */
void worker_kick(struct session *s);
/* A frame of the session is being decoded, or is no more: others may wait for it a moment. */
void worker_due(struct session *s, bool due);
/* The session's job has ended; its next turn may come. By the thread that ended it. */
void worker_job_done(struct session *s);
/* The session needs its device state no more. Before the last reference goes, each session that ran
 * must have been retired. */
void worker_retire(struct session *s);

/* Charge the sessions of a flight for the time it took, by the sizes of their networks, which is
 * what nearly all of it goes to. Before the jobs are passed on. */
void worker_charge(struct turn *turns, struct job *const *jobs, int n, uint64_t us);

/* struct queue_memory; any thread, until worker_free() */
void *worker_get_memory(void *worker, size_t bytes);
void worker_put_memory(void *worker, void *memory, size_t bytes);
/* gpu_decode() of its device; any thread, until worker_free() */
MUST_CHECK int worker_decode(struct worker *w, const struct gpu_jpeg *jpeg);

/* clock_us() of the last sign of life of its two threads, the older one; a batch counts as none
 * until it is done, nor does a session that is being made. */
uint64_t worker_alive_us(const struct worker *w);
/* The device context is lost: the process must end. */
bool worker_lost(const struct worker *w);
/* What it knows about its device, at most a second old; sessions and queued_frames are the
 * caller's. */
void worker_get_device(struct worker *w, struct api_device *device);
struct budget *worker_budget(struct worker *w);

#endif
