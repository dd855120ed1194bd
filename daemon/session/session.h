/*
 * session.h - one scan, its parts and its lifetime
 *
 * A session is reference-counted: the registry, each client, each turn queue that it is in and each
 * thread that works on it hold a reference. session_kill() takes it out of use at any moment. With
 * the last reference the session goes to its owner (session_setup.last), which frees it.
 *
 * Each purpose has its own header:
 *
 *   session_clients.h   the clients that watch it and those that feed it
 *   session_pace.h      how fast its frames may come
 *   session_frames.h    a frame from its arrival to its answer
 *   session_sources.h   the phones that feed it: numbers, submaps, poses
 *   session_submaps.h   its submaps and their places
 *   session_objects.h   its tracked objects
 *   session_ends.h      closing, deleting, expiry
 *   session_restart.h   suspending and recovering it
 *   session_info.h      its figures and its preview
 *
 * Two other rooms keep a part of their own with each session: daemon/work for its device
 * (session_work()), daemon/disk for its journal (session_disk()).
 *
 * Threads: any. What session_setup() returns never changes; the rest is under a lock inside. Queue,
 *          mirror and trajectory have locks of their own. Clients' outboxes are locked under the
 *          session's lock; edge_ops are called with no lock held.
 */
#pragma once

#include "api/api.h"
#include "daemon/metrics.h"
#include "daemon/session/mirror.h"
#include "daemon/session/queue.h"
#include "daemon/session/results.h"
#include "daemon/session/trajectory.h"
#include "gpu/gpu.h"

#define SESSION_VIEWERS_MAX 250
/* one of each source that sends, and replaced ones that are closing */
#define SESSION_FEEDERS_MAX (2 * API_SOURCES_MAX)
#define SESSION_TOKENS_MAX API_SESSION_TOKENS

struct session;
struct pipeline;     /* pipeline.h */
struct tenant;       /* tenant.h */
struct session_work; /* daemon/work */
struct session_disk; /* daemon/disk */

/* The edges, as the core knows them; empty before core_set_edges(). */
struct session_edges {
    const struct edge_ops *ops;
    void *edge;
};

/* The arguments of session_new(); everything they point to outlives the session. */
struct session_setup {
    const struct pipeline *kind;
    struct tenant *tenant;          /* its owner */
    struct session_options options; /* resolved: only net_w, net_h may be at their default */
    /* depth: NULL if the kind has none; motion: NULL if poses come with the frames */
    const struct gpu_model_info *depth, *motion;
    int queue_frames, multiple; /* multiple: for the networks' sides */
    int max_viewers;            /* at most SESSION_VIEWERS_MAX */
    size_t max_payload_bytes;
    uint32_t max_blocks;
    uint64_t rank;         /* order of creation */
    uint64_t memory_bytes; /* bytes of the session at most, on its device and beside it */
    struct metrics *metrics;
    const struct session_edges *edges;
    void (*last)(struct session *s); /* called without references; ends in session_free() */
    /* Of a recovered session; "" and 0: session_new() chooses them. */
    char id[API_ID_CAP];
    uint32_t epoch;
    double created_s;
};

MUST_CHECK int session_new(struct session **s, const struct session_setup *setup, struct err *err);
struct session *session_ref(struct session *s);
void session_unref(struct session *s);
/* Called by the owner when the parts of the other rooms are freed. */
void session_free(struct session *s);

const char *session_id(const struct session *s);
uint32_t session_epoch(const struct session *s);
const struct session_setup *session_setup(const struct session *s);
struct queue *session_queue(const struct session *s);
struct mirror *session_mirror(const struct session *s);
struct trajectory *session_trajectory(const struct session *s);
struct results *session_results(const struct session *s);
/* The parts of the other rooms, NULL = none; set before any other thread knows the session. */
struct session_work *session_work(const struct session *s);
struct session_disk *session_disk(const struct session *s);
void session_set_work(struct session *s, struct session_work *work);
void session_set_disk(struct session *s, struct session_disk *disk);

/* Was session_kill() called? */
bool session_dead(const struct session *s);
void session_set_net(struct session *s, int w, int h);
void session_get_net(struct session *s, int *w, int *h);
/* Its poses are not as they should be: clients are shown `what` (static). */
void session_set_bad_pose(struct session *s, const char *what);
/* The session takes no more frames; clients are shown `why`. */
void session_set_fault(struct session *s, const char *why);
