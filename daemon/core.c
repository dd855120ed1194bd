#include "daemon/core_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/session/outbox.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/session_state.h"
#include "daemon/work/frame_end.h"
#include "daemon/work/loop_closure.h"
#include "daemon/work/object_search.h"
#include "daemon/work/work_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Three quarters of the device's memory, unless the operator sets it. */
static void set_budget(struct worker *w, uint64_t bytes)
{
    struct api_device d;

    worker_get_device(w, &d);
    if (bytes == 0)
        bytes = d.memory_total_bytes / 4 * 3;
    if (bytes == 0)
        bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4 * 3;
    atomic_store(&worker_budget(w)->limit, bytes);
}

/* The configured folder, else the service manager's, else none. */
static const char *cache_path(const struct core *c)
{
    const char *given = getenv("CACHE_DIRECTORY");

    return c->config.device.cache_path[0] || !given ? c->config.device.cache_path : given;
}

static int start_worker(struct core *c, const char *device, worker_open_fn *open, struct err *err)
{
    const struct worker_config config = {
        .device = device,
        .cache_path = cache_path(c),
        .threads = c->config.device.threads,
        .batch = c->config.device.batch,
        .batch_wait_us = c->config.device.batch_wait_us,
        .reserve_bytes = c->config.device.memory_bytes ? c->config.device.memory_bytes : UINT64_MAX,
        .models = c->models,
        .metrics = &c->metrics,
        .commit = c->commit,
        .later = c->later,
        .objects = c->objects,
        .store = c->store,
        .open = open};
    struct api_device info;
    int rc = worker_start(&c->workers[c->n_workers], &config, err);

    if (rc)
        return rc;
    set_budget(c->workers[c->n_workers], c->config.device.memory_bytes);
    worker_get_device(c->workers[c->n_workers++], &info);
    LOG_AT(LOG_INFO, "device %s (%s): %s; %u JPEG engines", info.name, info.model, info.why,
           info.jpeg_engines);
    return 0;
}

/* Notes a CUDA device that does not open: the other devices serve without it, and health tells if
 * it was asked for. Any other error ends the start. */
static int device_missed(struct core *c, const char *device, bool needed, int rc,
                         const struct err *err)
{
    if (strncmp(device, "cuda", 4) != 0)
        return rc;
    LOG_EVENT(LOG_ERR, LOG_EVENT_DEVICE_LEFT_OUT, "device %s is left out: %s", device, err->text);
    if (needed && !c->missing[0])
        snprintf(c->missing, sizeof(c->missing), "%s is needed by device.use: %.120s", device,
                 err->text);
    return 0;
}

/* `auto` opened a CUDA device, so all other working ones are opened too. */
static int add_rest(struct core *c, struct devices *d, int n_cuda, struct err *err)
{
    struct api_device first;
    char name[DEVICES_NAME_CAP];
    int rc = 0;

    worker_get_device(c->workers[0], &first);
    if (strcmp(first.backend, "cuda") != 0)
        return 0;
    for (int i = 0; i < n_cuda && d->n < DEVICES_MAX && rc == 0; i++) {
        snprintf(name, sizeof(name), "cuda:%d", i);
        if (strcmp(name, first.name) != 0)
            rc = devices_add(d, name, false, err);
    }
    return rc;
}

static int start_workers(struct core *c, const struct core_backend *backend, struct err *err)
{
    int n_cuda = backend ? backend->cuda_count() : gpu_cuda_count(), rc;
    struct devices d;
    struct err why;

    rc = devices_resolve(&d, c->config.device.use, n_cuda, err);
    for (int i = 0; i < d.n && rc == 0; i++) {
        memset(&why, 0, sizeof(why));
        rc = start_worker(c, d.of[i].name, backend ? backend->open : gpu_open, &why);
        if (rc == 0 && i == 0 && d.others)
            rc = add_rest(c, &d, n_cuda, &why);
        else if (rc)
            rc = device_missed(c, d.of[i].name, d.of[i].needed, rc, &why);
        if (rc && err)
            *err = why;
    }
    if (rc == 0 && d.all_cuda && c->n_workers == 0)
        snprintf(c->missing, sizeof(c->missing), "none of %d CUDA devices opens; see the log",
                 n_cuda);
    if (rc == 0)
        LOG_AT(LOG_INFO, "device.use = %s: %d of %d devices compute%s%s", c->config.device.use,
               c->n_workers, d.n, c->missing[0] ? "; " : "", c->missing);
    return rc;
}

/* Runs after the store is open, which makes the folder of the journals. */
static int open_objects(struct core *c, struct err *err)
{
    const struct objects_limits limits = {c->config.objects.per_owner, c->config.objects.max_bytes};
    char path[OBJECTS_PATH_CAP];
    uint64_t bytes;
    int n, rc;

    (void)objects_choose_path(&c->config, path);
    rc = objects_open(&c->objects, path, &limits, err);
    if (rc)
        return rc;
    objects_count(c->objects, &n, &bytes);
    if (n > 0)
        LOG_AT(LOG_INFO, "%d objects, %.1f MB", n, (double)bytes * 1e-6);
    return 0;
}

/* Sections of a session in its checkpoints beside its device's state, in this order. */
static const struct state_section *const state_sections[] = {
    &work_state_core,          /* DCOR */
    &session_state_mirror,     /* DMIR */
    &session_state_trajectory, /* DTRA */
    &session_state_sources,    /* DSRC */
    &work_state_jumps,         /* DJMP */
    &session_state_position,   /* DPOS */
    &object_search_state,      /* DINS */
    &loop_closure_state,       /* DTIE */
    NULL,
};

int core_open(struct core **core, const struct config *config, const struct core_backend *backend,
              struct err *err)
{
    const struct jpeg_limits jpeg = {
        config->limits.max_width, config->limits.max_height, config->limits.max_scans,
        (uint32_t)config->limits.max_frame_bytes, config->limits.decode_ms};
    struct core *c = calloc(1, sizeof(*c));
    const struct store_ops store_ops = {.sections = state_sections,
                                        .stored = decode_admit,
                                        .displaced = frame_end_displaced,
                                        .ended = frame_end_told,
                                        .leave = session_work_retire,
                                        .back = frame_end_recovered,
                                        .free = core_free_session,
                                        .make = core_admit_again,
                                        .add = core_register_again,
                                        .core = c};
    int rc;

    *core = c;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory to start");
    c->config = *config;
    c->started_s = clock_unix_s();
    lock_init(&c->lock, LOCK_CORE);
    rc = models_open(&c->models, config->models.path, config->session.options.depth_model,
                     config->session.options.motion_model, err);
    if (rc == 0)
        rc = registry_new(&c->registry, err);
    if (rc == 0)
        rc = tenant_table_new(&c->tenants, err);
    if (rc == 0)
        rc = commit_start(&c->commit, 0, err);
    if (rc == 0)
        rc = later_start(&c->later, err);
    if (rc == 0)
        rc = store_open(&c->store, config, &store_ops, backend == NULL, err);
    if (rc == 0)
        rc = open_objects(c, err);
    if (rc == 0)
        rc = start_workers(c, backend, err);
    if (rc == 0)
        rc = decode_start(&c->decode, config->decode.threads, c->n_workers, &jpeg,
                          config->decode.card_pixels, err);
    if (rc == 0 && c->store)
        rc = store_recover(&c->recovery, c->store, err);
    if (rc)
        core_close(core);
    return rc;
}

static void each_session(struct core *c, void (*call)(struct core *c, struct session *s))
{
    struct registry_walk walk = {c->registry};
    struct session *s;

    while ((s = registry_next(&walk)))
        call(c, s);
}

/* Results of a session with a journal are on the disk before its client is told. */
static void say_stopping(struct session *s, enum outbox_haste haste)
{
    const struct control_bye resume = {CONTROL_RESUME, 500, "the server is stopping"};
    const struct control_bye again = {CONTROL_RECONNECT, 2000,
                                      "the server stops; without a journal the session ends"};

    session_bye(s, session_disk(s) ? &resume : &again, haste);
}

/* Drops the frames that wait. Without a journal they are lost. */
static void hasten_session(struct core *c, struct session *s)
{
    (void)c;
    if (!session_disk(s)) {
        session_hurry(s);
        session_work_kick_decoder(s);
    }
    say_stopping(s, session_disk(s) ? OUTBOX_AT_ONCE : OUTBOX_ANSWERED);
}

static void cut_off(struct core *c, struct session *s)
{
    (void)c;
    say_stopping(s, OUTBOX_AT_ONCE);
}

/* Takes the session out of use; its files stay. */
static void let_go(struct core *c, struct session *s)
{
    struct session *removed = registry_remove(c->registry, s);

    if (!removed)
        return;
    session_kill(s);
    session_work_retire(s);
    tenant_give(session_setup(s)->tenant, session_setup(s)->memory_bytes);
    if (c->edges.ops)
        c->edges.ops->session_gone(c->edges.edge, session_id(s));
    session_unref(removed);
}

void core_stop(struct core *c)
{
    atomic_store(&c->draining, true);
    store_recover_stop(c->recovery);
    if (c->registry) {
        each_session(c, cut_off); /* clients reconnect by themselves */
        each_session(c, let_go);
    }
    if (c->decode)
        decode_stop(c->decode);
    for (int i = 0; i < c->n_workers; i++)
        worker_stop(c->workers[i]);
    if (c->commit)
        commit_stop(c->commit);
    if (c->later)
        later_stop(c->later);
    if (c->store)
        store_stop(c->store);
}

void core_close(struct core **core)
{
    struct core *c = *core;

    if (!c)
        return;
    core_stop(c); /* a request may have made a session between the two */
    if (c->store)
        store_reap(c->store);
    decode_free(&c->decode);
    for (int i = 0; i < c->n_workers; i++)
        worker_free(&c->workers[i]);
    commit_free(&c->commit);
    later_close(&c->later);
    store_close(&c->store);
    store_recover_free(&c->recovery);
    registry_free(&c->registry);
    tenant_table_free(&c->tenants);
    objects_close(&c->objects);
    models_close(&c->models);
    lock_destroy(&c->lock);
    free(c);
    *core = NULL;
}

void core_set_edges(struct core *c, const struct edge_ops *ops, void *edge,
                    size_t (*edge_metrics)(void *edge, char *buf, size_t cap))
{
    c->edges = (struct session_edges){ops, edge};
    c->edge_metrics = edge_metrics;
}

void core_set_ready(struct core *c)
{
    atomic_store(&c->ready, true);
    store_replay(c->recovery);
}

struct config core_config(struct core *c)
{
    struct config config;

    lock_take(&c->lock);
    config = c->config;
    lock_give(&c->lock);
    return config;
}

int core_reload(struct core *c, const struct config *fresh, char *later, size_t cap)
{
    uint64_t memory_bytes;
    int n;

    lock_take(&c->lock);
    n = config_reload_apply(&c->config, fresh, later, cap);
    memory_bytes = c->config.device.memory_bytes;
    lock_give(&c->lock);
    for (int i = 0; i < c->n_workers; i++)
        set_budget(c->workers[i], memory_bytes);
    if (c->store)
        store_configure(c->store, fresh);
    return n;
}

void core_forget(struct core *c, struct session *s)
{
    store_session_forget(s);
    let_go(c, s);
}

static void forget_expired(struct core *c, struct session *s)
{
    if (!session_expired(s, clock_unix_s()))
        return;
    LOG_AT(LOG_INFO, "session %s: its retention is over", session_id(s));
    core_forget(c, s);
}

/* A session without a client that sends frames leaves its device. A save that failed is tried
 * again. */
static void session_suspend_idle(struct core *c, struct session *s)
{
    int suspend_s = core_config(c).session.suspend_s;

    if (!session_disk(s))
        return;
    if (session_idle(s, clock_unix_s(), suspend_s))
        session_work_save(s, true);
    else if (store_wants_checkpoint(s))
        session_work_kick_device(s);
}

static void add_disk(struct core *c, struct session *s)
{
    (void)c;
    tenant_add_disk(session_setup(s)->tenant, store_bytes(s));
}

void core_sweep(struct core *c)
{
    each_session(c, forget_expired);
    if (!c->store)
        return;
    tenant_begin_disk(c->tenants);
    each_session(c, add_disk);
    tenant_end_disk(c->tenants);
    each_session(c, session_suspend_idle);
    store_reap(c->store);
}

static void drain_session(struct core *c, struct session *s)
{
    (void)c;
    if (session_disk(s)) { /* clients send frames again that were not taken */
        say_stopping(s, OUTBOX_ANSWERED);
        session_work_save(s, false);
        return;
    }
    loop_closure_give_up(s); /* a session without a journal ends with the process */
    session_close(s);
    frame_end_settle(s);
    say_stopping(s, OUTBOX_COMPLETE);
}

void core_drain(struct core *c)
{
    atomic_store(&c->draining, true);
    each_session(c, drain_session);
}

void core_hasten(struct core *c)
{
    atomic_store(&c->draining, true);
    each_session(c, hasten_session);
}

int core_refuses(const struct core *c, struct err *err)
{
    if (atomic_load(&c->draining))
        return err_set(err, ERR_BUSY, "the server is stopping");
    if (store_full(c->store))
        return err_set(err, ERR_BUSY, "the disk of the journals is full");
    return 0;
}

int core_pending(const struct core *c)
{
    return atomic_load(&c->streams);
}

int core_unsettled(struct core *c)
{
    struct registry_walk walk = {c->registry};
    struct session *s;
    int unsettled = 0;

    while ((s = registry_next(&walk)))
        if (!store_settled(s)) { /* another session's checkpoint may have been under way */
            unsettled++;
            session_work_save(s, false);
        }
    return unsettled;
}

bool core_lost(const struct core *c)
{
    for (int i = 0; i < c->n_workers; i++)
        if (worker_lost(c->workers[i]))
            return true;
    return false;
}

static void alive_note(uint64_t *oldest_us, const char **thread, uint64_t alive_us,
                       const char *name)
{
    if (alive_us >= *oldest_us)
        return;
    *oldest_us = alive_us;
    *thread = name;
}

uint64_t core_alive_us(const struct core *c, const char **thread)
{
    uint64_t oldest_us = UINT64_MAX, alive_us;
    const char *part;

    *thread = "";
    alive_note(&oldest_us, thread, decode_alive_us(c->decode), "decoder");
    alive_note(&oldest_us, thread, commit_alive_us(c->commit), "committer");
    alive_us = later_alive_us(c->later, &part);
    alive_note(&oldest_us, thread, alive_us, part);
    if (c->store) {
        alive_us = store_alive_us(c->store, &part);
        alive_note(&oldest_us, thread, alive_us, part);
    }
    for (int i = 0; i < c->n_workers; i++)
        alive_note(&oldest_us, thread, worker_alive_us(c->workers[i]), "worker");
    return oldest_us;
}
