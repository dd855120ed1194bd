#include "daemon/core.h"

#include "daemon/clock.h"
#include "daemon/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Three quarters of what the device has, unless the operator says otherwise. */
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

static int start_worker(struct core *c, const char *device, worker_open_fn *open, struct err *err)
{
    const struct worker_config config = {.device = device,
                                         .threads = c->config.device.threads,
                                         .batch = c->config.device.batch,
                                         .models = c->models,
                                         .metrics = &c->metrics,
                                         .open = open};
    struct api_device info;
    int rc;

    if (c->n_workers == CORE_DEVICES_MAX)
        return err_at(err, ERR_LIMIT, "device.use", "names more than %d devices", CORE_DEVICES_MAX);
    rc = worker_start(&c->workers[c->n_workers], &config, err);
    if (rc)
        return rc;
    set_budget(c->workers[c->n_workers], c->config.device.memory_bytes);
    worker_get_device(c->workers[c->n_workers++], &info);
    LOG_AT(LOG_INFO, "device %s (%s): %s", info.name, info.model, info.why);
    return 0;
}

static int start_workers(struct core *c, worker_open_fn *open, struct err *err)
{
    char devices[CONFIG_TEXT_CAP], *save = NULL;
    int rc = 0;

    memcpy(devices, c->config.device.use, sizeof(devices));
    for (char *d = strtok_r(devices, " ", &save); d && rc == 0; d = strtok_r(NULL, " ", &save))
        rc = start_worker(c, d, open, err);
    return rc;
}

int core_open(struct core **core, const struct config *config, worker_open_fn *open,
              struct err *err)
{
    const struct jpeg_limits jpeg = {
        config->limits.max_width, config->limits.max_height, config->limits.max_scans,
        (uint32_t)config->limits.max_frame_bytes, config->limits.decode_ms};
    struct core *c = calloc(1, sizeof(*c));
    int rc;

    *core = c;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory to start");
    c->config = *config;
    c->started_s = clock_unix_s();
    pthread_mutex_init(&c->lock, NULL);
    rc = models_open(&c->models, config->models.path, config->session.depth_model,
                     config->session.motion_model, err);
    if (rc == 0)
        rc = registry_new(&c->registry, err);
    if (rc == 0)
        rc = start_workers(c, open, err);
    if (rc == 0)
        rc = decode_start(&c->decode, config->decode.threads, &jpeg, err);
    if (rc)
        core_close(core);
    return rc;
}

/* All sessions, a page at a time, whatever becomes of the registry meanwhile. */
static void each_session(struct core *c, void (*call)(struct core *c, struct session *s))
{
    struct session *page[64];
    uint64_t cursor = 0;
    int n;

    while ((n = registry_page(c->registry, page, 64, &cursor)) > 0)
        for (int i = 0; i < n; i++) {
            call(c, page[i]);
            session_unref(page[i]);
        }
}

void core_stop(struct core *c)
{
    atomic_store(&c->draining, true);
    if (c->registry)
        each_session(c, core_forget);
    if (c->decode)
        decode_stop(c->decode);
    for (int i = 0; i < c->n_workers; i++)
        worker_stop(c->workers[i]);
}

void core_close(struct core **core)
{
    struct core *c = *core;

    if (!c)
        return;
    core_stop(c); /* once more: a request may have slipped in between the two */
    decode_free(&c->decode);
    for (int i = 0; i < c->n_workers; i++)
        worker_free(&c->workers[i]);
    registry_free(&c->registry);
    models_close(&c->models);
    pthread_mutex_destroy(&c->lock);
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
}

struct config core_config(struct core *c)
{
    struct config config;

    pthread_mutex_lock(&c->lock);
    config = c->config;
    pthread_mutex_unlock(&c->lock);
    return config;
}

int core_reload(struct core *c, const struct config *fresh, char *later, size_t cap)
{
    uint64_t memory_bytes;
    int n;

    pthread_mutex_lock(&c->lock);
    n = config_reload_apply(&c->config, fresh, later, cap);
    memory_bytes = c->config.device.memory_bytes;
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->n_workers; i++)
        set_budget(c->workers[i], memory_bytes);
    return n;
}

void core_forget(struct core *c, struct session *s)
{
    struct session *removed = registry_remove(c->registry, s);

    if (!removed)
        return;
    session_kill(s);
    worker_retire(s->setup.worker, s);
    if (c->edges.ops)
        c->edges.ops->session_gone(c->edges.edge, s->id);
    session_unref(removed);
}

static void forget_expired(struct core *c, struct session *s)
{
    if (!session_expired(s, clock_unix_s()))
        return;
    LOG_AT(LOG_INFO, "session %.6s: its retention is over", s->id);
    core_forget(c, s);
}

void core_sweep(struct core *c)
{
    each_session(c, forget_expired);
}

static void drain_session(struct core *c, struct session *s)
{
    const struct control_bye bye = {CONTROL_RECONNECT, 2000, "the server is stopping"};

    (void)c;
    session_finalize(s);
    if (session_settle(s))
        worker_retire(s->setup.worker, s);
    session_bye(s, &bye, false);
}

void core_drain(struct core *c)
{
    atomic_store(&c->draining, true);
    each_session(c, drain_session);
}

static void hasten_session(struct core *c, struct session *s)
{
    const struct control_bye bye = {CONTROL_RECONNECT, 2000, "the server is stopping"};

    (void)c;
    session_bye(s, &bye, true);
}

void core_hasten(struct core *c)
{
    atomic_store(&c->draining, true);
    each_session(c, hasten_session);
}

int core_pending(const struct core *c)
{
    return atomic_load(&c->streams);
}

bool core_lost(const struct core *c)
{
    for (int i = 0; i < c->n_workers; i++)
        if (worker_lost(c->workers[i]))
            return true;
    return false;
}

uint64_t core_alive_us(const struct core *c, const char **who)
{
    uint64_t oldest = decode_alive_us(c->decode);

    *who = "decoder";
    for (int i = 0; i < c->n_workers; i++) {
        uint64_t t = worker_alive_us(c->workers[i]);
        if (t < oldest) {
            oldest = t;
            *who = "worker";
        }
    }
    return oldest;
}
