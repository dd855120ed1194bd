/*
 * core.h - everything behind the edges: sessions, networks, decoders, workers, committers
 *
 * core_open() starts the threads, core_stop() ends them; core_ops (core_ops.c, core_stream.c) is
 * the table that the edges call. Main drives the rest: core_sweep() about once a second,
 * core_drain() and core_pending() when it is time to go.
 */
#pragma once

#include "daemon/work/commit.h"
#include "daemon/work/later.h"
#include "daemon/config.h"
#include "daemon/disk/store_recover.h"
#include "daemon/objects.h"
#include "daemon/work/decode.h"
#include "daemon/work/devices.h"
#include "daemon/session/registry.h"
#include "daemon/session/tenant.h"
#include "daemon/work/worker.h"
#include "proto/lock.h"

#define CORE_DEVICES_MAX DEVICES_MAX

/* Opens devices; tests have their own. */
struct core_backend {
    worker_open_fn *open;
    int (*cuda_count)(void);
};

struct core {
    struct models *models;
    struct registry *registry;
    struct tenants *tenants;
    struct decode *decode;
    struct commit *commit;
    struct later *later;
    struct worker *workers[CORE_DEVICES_MAX];
    int n_workers;
    /* a device that device.use needs and that does not open, and why; "" = none */
    char missing[API_TEXT_CAP];
    struct objects *objects;
    struct store *store;       /* NULL: sessions end with the process */
    struct recovery *recovery; /* NULL without a store */
    struct metrics metrics;
    struct session_edges edges; /* set before the edges start, then only read */
    size_t (*edge_metrics)(void *edge, char *buf, size_t cap);
    double started_s;

    atomic_ullong last_rank, next_serial;
    atomic_int exports, streams;
    atomic_bool ready, draining;

    struct lock lock; /* guards config alone, which SIGHUP changes */
    struct config config;
};

extern const struct core_ops core_ops;
/* The commit that the program was built from; the Makefile writes it. */
extern const char core_commit[];

/*
 * core_open - networks, devices, decoders
 *
 * A CUDA device that does not open is told by core.missing, the others serve; the processor has to
 * open where it is asked for.
 * In:      backend: NULL, or a test's
 * Returns: 0; the errors of models_open(), gpu_open() and thread starts
 */
MUST_CHECK int core_open(struct core **core, const struct config *config,
                         const struct core_backend *backend, struct err *err);
/* Ends all threads and sessions. The edges may still call, and find nothing. */
void core_stop(struct core *c);
/* Call it after core_stop(), when the edges have stopped. */
void core_close(struct core **core);

void core_set_edges(struct core *c, const struct edge_ops *ops, void *edge,
                    size_t (*edge_metrics)(void *edge, char *buf, size_t cap));
/* Health says ready from now on, and sessions are recovered. Call it after core_set_edges(). */
void core_set_ready(struct core *c);

/* Takes over limits and defaults; `later` lists keys that need a restart. Returns their number. */
int core_reload(struct core *c, const struct config *fresh, char *later, size_t cap);
struct config core_config(struct core *c);

/* Deletes sessions whose retention is over. */
void core_sweep(struct core *c);
/* Takes it out of the registry, tells its clients and frees its device state. */
void core_forget(struct core *c, struct session *s);
/* Takes no more sessions, clients or frames; clients are told to reconnect. */
void core_drain(struct core *c);
/* The same, at once. */
void core_hasten(struct core *c);
/* May sessions be created? Returns 0; ERR_BUSY: not now, and why. options_resolve() and
 * core_place() check one session in particular. */
MUST_CHECK int core_refuses(const struct core *c, struct err *err);
/* Counts the clients that are still connected. */
int core_pending(const struct core *c);

/* Counts the journaled sessions that are not saved yet; each is asked again to save itself. */
int core_unsettled(struct core *c);

/* Is a device context lost? */
bool core_lost(const struct core *c);
/* Returns the oldest sign of life of all threads (clock_us()), and its part. */
uint64_t core_alive_us(const struct core *c, const char **thread);
