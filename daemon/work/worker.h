/*
 * worker.h - the one thread that owns a device, its networks and its sessions' device state
 *
 * It takes decoded frames, at most one of a session and `batch` in all, in the order of turn.h, and
 * sends them to the device together: a batch (worker_batch.c). While one is under way the next is
 * filled; batch_policy.h says when it leaves. A session's next frame goes when its last one has
 * ended. Results go to the committers (commit.h), so that this thread only feeds the device. For
 * the same reason a second thread makes sessions (worker_make.c): it opens networks, makes and
 * frees device state, and reads the device's memory and temperature. No other thread calls gpu_*
 * but for pictures, their memory and decoding: requests come through session_work_kick_device() and
 * session_work_retire().
 */
#pragma once

#include "daemon/models.h"
#include "daemon/work/session_work.h"

struct commit;
struct later;
struct objects;
struct worker;

typedef int worker_open_fn(struct gpu **g, const struct gpu_config *config, struct err *err);

struct worker_config {
    const char *device, *cache_path; /* as in gpu_config */
    int threads, batch, batch_wait_us;
    uint64_t reserve_bytes; /* as in gpu_config */
    const struct models *models;
    struct metrics *metrics;
    struct commit *commit;
    struct later *later;     /* NULL: there is no slow work */
    struct objects *objects; /* enrolled objects that sessions search for */
    struct store *store;     /* NULL: none; told of a lost device */
    worker_open_fn *open;    /* NULL = gpu_open; tests use a back end of their own */
};

/* Opens the device on the new thread and waits for that. Returns the error of opening it. */
MUST_CHECK int worker_start(struct worker **w, const struct worker_config *config, struct err *err);
/* Finishes the device's work, waits for the committers and frees the device state of retired
 * sessions. Later requests of sessions are ignored. */
void worker_stop(struct worker *w);
/* Closes the device, when no session is left that points here and the committers have stopped. */
void worker_free(struct worker **w);

/* Returns the bytes that the device's sessions may hold, counted before they are allocated. */
struct worker_budget {
    atomic_ullong used, limit;
};
struct worker_budget *worker_budget(struct worker *w);
/* Returns 0 with the bytes taken; ERR_BUSY, nothing taken. */
MUST_CHECK int worker_budget_take(struct worker *w, uint64_t bytes, struct err *err);
/* Would they be? Returns 0; ERR_BUSY. */
MUST_CHECK int worker_budget_has(struct worker *w, uint64_t bytes, struct err *err);
void worker_budget_give(struct worker *w, uint64_t bytes);

/* Makes the session's part (session_work.h), before another thread knows the session; its
 * memory_bytes have been taken. Returns 0; ERR_MEMORY. */
MUST_CHECK int worker_adopt(struct worker *w, struct session *s, struct turn *decode_turns,
                            struct err *err);
/* Frees its part and gives its bytes back. */
void worker_disown(struct session *s);

/* gpu_decode() of its device; any thread, until worker_free() */
MUST_CHECK int worker_decode(struct worker *w, const struct gpu_jpeg *jpeg);

/*
 * worker_net_pixels - the largest input of networks that the device is given
 *
 * In:      configured: limits.net_pixels; 0 = twice what the server chooses itself on a processor,
 *          WORKER_NET_PIXELS_CUDA elsewhere
 * Returns: no more than that; no more than takes a second, as measured here, but always what the
 *          server chooses itself; less than the device had no memory for
 */
#define WORKER_NET_PIXELS_CUDA (1024 * 384)
uint64_t worker_net_pixels(struct worker *w, uint64_t configured);

/* clock_us() of the older sign of life of its two threads, which a batch gives only when it is
 * done, and so does a session that is made. */
uint64_t worker_alive_us(const struct worker *w);
/* Is the device context lost? Then the process must end. */
bool worker_lost(const struct worker *w);
/* Fills figures of its device, at most a second old, but for sessions and queued_frames. */
void worker_get_device(struct worker *w, struct api_device *device);
