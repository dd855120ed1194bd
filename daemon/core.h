/*
 * core.h - everything behind the edges: sessions, networks, decoders, workers, committers
 *
 * core_open() starts the threads, core_stop() ends them; core_ops (core_ops.c, core_stream.c) is
 * the table that the edges call. Main drives the rest: core_sweep() about once a second,
 * core_drain() and core_pending() when it is time to go.
 */
#ifndef RECOND_DAEMON_CORE_H
#define RECOND_DAEMON_CORE_H

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

/* Where devices come from; tests have their own. */
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
    /* a device that device.use needs and that does not open, and why; "" = all are there */
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

    struct lock lock; /* of config alone: SIGHUP changes it */
    struct config config;
};

extern const struct core_ops core_ops;
/* The commit that the program was made of; the Makefile writes it. */
extern const char core_commit[];

/*
 * core_open - networks, devices, decoders
 *
 * A CUDA device that does not open is told by core.missing, the others work; without the
 * processor, where that is asked for, there is no start.
 * In:      backend: NULL, or a test's
 * Returns: 0; what models_open(), gpu_open() and thread starts say
 */
MUST_CHECK int core_open(struct core **core, const struct config *config,
                         const struct core_backend *backend, struct err *err);
/* End all threads and sessions. The edges may still call, and will find nothing; they are not
 * called any more. */
void core_stop(struct core *c);
/* After core_stop(), and when the edges have stopped. */
void core_close(struct core **core);

void core_set_edges(struct core *c, const struct edge_ops *ops, void *edge,
                    size_t (*edge_metrics)(void *edge, char *buf, size_t cap));
/* From now on health says ready, and sessions come back. After core_set_edges(). */
void core_set_ready(struct core *c);

/* Limits and defaults for new sessions; `later` lists keys that need a restart. Returns their
 * number. */
int core_reload(struct core *c, const struct config *fresh, char *later, size_t cap);
struct config core_config(struct core *c);

/* Delete sessions whose retention is over. */
void core_sweep(struct core *c);
/* The session's last reference went: it is freed, here or by store_reap(). */
void core_release(struct session *s);
/* Out of the registry, its clients told, its device state given back. */
void core_forget(struct core *c, struct session *s);
/* No more sessions, clients or frames; clients are told to come back when they have everything. */
void core_drain(struct core *c);
/* The same, at once. */
void core_hasten(struct core *c);
/* May sessions be created? Returns 0; ERR_BUSY: not now, and why. What stands against one session
 * in particular is said by options_resolve() and core_place(). */
MUST_CHECK int core_refuses(const struct core *c, struct err *err);
/* Clients that are still connected. */
int core_pending(const struct core *c);

/* Sessions with a journal that are not on the disk yet as they are; each is asked once more to save
 * itself. */
int core_unsettled(struct core *c);

/* A device context is lost. */
bool core_lost(const struct core *c);
/* The oldest sign of life among decoders, workers and committers (clock_us()), and whose it is. */
uint64_t core_alive_us(const struct core *c, const char **thread);

#endif
