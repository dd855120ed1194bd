/* The core's functions for the edges: struct core_ops of api.h. */
#include "daemon/core_internal.h"

#include "daemon/clock.h"
#include "daemon/descriptors.h"
#include "daemon/session/export.h"
#include "daemon/log.h"
#include "daemon/session/outbox.h"
#include "daemon/session/pipeline.h"
#include "daemon/session/places.h"
#include "daemon/session/session_clients.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_info.h"
#include "daemon/session/session_objects.h"
#include "daemon/session/session_submaps.h"
#include "daemon/session/tracked_objects.h"
#include "daemon/work/frame_end.h"
#include "daemon/work/loop_closure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct core_export {
    struct core *core;
    struct tenant *reader;
    struct export *export;
};

/* ------------------------------------------------------------------------- sessions */

static void name_device(const struct session *s, struct session_info *info)
{
    struct api_device d;

    worker_get_device(session_work(s)->worker, &d);
    memcpy(info->device, d.name, sizeof(info->device));
}

static int op_session_create(struct core *c, const struct session_options *options,
                             const char *owner, struct session_info *info, int *retry_after_s,
                             struct err *err)
{
    struct session_setup setup;
    struct session *s;
    int rc;

    *retry_after_s = CORE_RETRY_S;
    rc = core_refuses(c, err);
    if (rc == 0)
        rc = core_admit_setup(c, options, owner, &setup, err);
    if (rc == 0)
        rc = tenant_allows(setup.tenant, options, &setup.options, err);
    if (rc == 0)
        rc = core_admit_objects(c, &setup, err);
    if (rc)
        return rc;
    rc = core_admit(c, &setup, &s, err);
    if (rc == ERR_BUSY)
        *retry_after_s = core_retry_s(c);
    if (rc) {
        metrics_add(&c->metrics, METRICS_SESSIONS_REFUSED, 1);
        LOG_AT(LOG_NOTICE, "a session of '%s' was refused: %s", owner, err->text);
        return rc;
    }
    metrics_add(&c->metrics, METRICS_SESSIONS_CREATED, 1);
    session_get_info(s, info);
    name_device(s, info);
    LOG_AT(LOG_INFO, "session %s created for '%s': %s, %s, poses %s, %u points", session_id(s),
           owner, setup.kind->name, info->options.depth_model,
           setup.motion ? setup.motion->name : "with the frames", info->options.max_points);
    session_unref(s);
    return 0;
}

static int find_session(struct core *c, const char *id, struct session **s, struct err *err)
{
    *s = registry_find(c->registry, id);
    return *s ? 0 : err_set(err, ERR_NOT_FOUND, "no such session");
}

int core_find_whole(struct core *c, const char *id, struct session **s, struct err *err)
{
    const struct pipeline *kind;
    int rc = find_session(c, id, s, err);

    if (rc)
        return rc;
    kind = session_setup(*s)->kind;
    rc = session_is_back(*s, err);
    if (rc == 0 && !kind->line->has_map)
        rc = err_set(err, ERR_STATE, "a session of kind %s has no map", kind->name);
    if (rc)
        session_unref(*s);
    return rc;
}

static int op_session_get(struct core *c, const char *id, struct session_info *info,
                          struct err *err)
{
    struct session *s;
    int rc = find_session(c, id, &s, err);

    if (rc)
        return rc;
    session_get_info(s, info);
    name_device(s, info);
    session_unref(s);
    return 0;
}

static int op_session_list(struct core *c, struct session_info *infos, int cap, int *n,
                           uint64_t *cursor, struct err *err)
{
    struct session *page[REGISTRY_PAGE];
    int got;

    (void)err;
    *n = 0;
    while (*n < cap &&
           (got = registry_page(c->registry, page,
                                cap - *n < REGISTRY_PAGE ? cap - *n : REGISTRY_PAGE, cursor)) > 0)
        for (int i = 0; i < got; i++) {
            session_get_info(page[i], &infos[*n]);
            name_device(page[i], &infos[(*n)++]);
            session_unref(page[i]);
        }
    return 0;
}

static int op_session_close(struct core *c, const char *id, struct err *err)
{
    struct session *s;
    int rc = find_session(c, id, &s, err);

    if (rc)
        return rc;
    session_close(s);
    rc = store_session_write(s, err);
    frame_end_settle(s);
    session_unref(s);
    return rc;
}

static int op_session_refine(struct core *c, const char *id, struct err *err)
{
    struct session_info info;
    struct session *s;
    int rc = core_find_whole(c, id, &s, err);

    if (rc)
        return rc;
    session_get_info(s, &info);
    if (info.state != SESSION_CLOSED)
        rc = err_set(err, ERR_STATE, "it is not closed: only a session that has ended is refined");
    else if (!loop_closure_bundle(s))
        rc = err_set(err, ERR_STATE,
                     "it keeps no keyframes: they come with the options bundle and ties");
    session_unref(s);
    return rc;
}

static int op_session_delete(struct core *c, const char *id, struct err *err)
{
    struct session *s;
    int rc = find_session(c, id, &s, err);

    if (rc)
        return rc;
    LOG_AT(LOG_INFO, "session %s deleted", session_id(s));
    core_forget(c, s);
    session_unref(s);
    return 0;
}

static int op_session_kick(struct core *c, const char *id, struct err *err)
{
    const struct control_bye bye = {CONTROL_DISCONNECT, 0, "an operator ended the streams"};
    struct session *s;
    int rc = find_session(c, id, &s, err);

    if (rc)
        return rc;
    session_bye(s, &bye, OUTBOX_AT_ONCE);
    session_unref(s);
    return 0;
}

static int op_tokens_keep(struct core *c, const char *id, const struct api_token *tokens, int n,
                          struct err *err)
{
    struct session *s;
    int rc = find_session(c, id, &s, err);

    if (rc)
        return rc;
    rc = session_keep_tokens(s, tokens, n, err);
    if (rc == 0)
        rc = store_session_write(s, err);
    session_unref(s);
    return rc;
}

static void op_tokens_each(struct core *c, void (*each)(void *ctx, const struct api_token *token),
                           void *ctx)
{
    struct api_token tokens[SESSION_TOKENS_MAX];
    struct registry_walk walk = {c->registry};
    struct session *s;

    while ((s = registry_next(&walk)))
        for (int n = session_get_tokens(s, tokens), i = 0; i < n; i++) {
            memcpy(tokens[i].owner, tenant_name(session_setup(s)->tenant), API_NAME_CAP);
            each(ctx, &tokens[i]);
        }
}

static void op_tenants_set(struct core *c, const struct api_tenant *tenants, int n)
{
    tenant_set_all(c->tenants, tenants, n);
}

/* ------------------------------------------------------------------------- the result */

int core_take_export(struct core *c, struct tenant *reader, struct err *err)
{
    int max = core_config(c).limits.exports, rc;

    rc = reader ? tenant_take_export(reader, err) : err_set(err, ERR_MEMORY, "no memory");
    if (rc == 0 && atomic_fetch_add(&c->exports, 1) >= max) {
        atomic_fetch_sub(&c->exports, 1);
        tenant_give_export(reader);
        rc = err_set(err, ERR_BUSY, "%d exports are being read", max);
    }
    return rc;
}

void core_give_export(struct core *c, struct tenant *reader)
{
    atomic_fetch_sub(&c->exports, 1);
    tenant_give_export(reader);
}

static int op_submaps(struct core *c, const char *id, struct api_submap *list, int *n,
                      struct err *err)
{
    struct session *s;
    int rc = core_find_whole(c, id, &s, err);

    *n = 0;
    if (rc)
        return rc;
    *n = session_submaps(s, list);
    session_unref(s);
    return 0;
}

static int op_task_new(struct core *c, struct later_task **t, const struct later_kind *kind,
                       void *ctx, const char *owner, struct err *err)
{
    return later_new(c->later, t, kind, ctx, owner, err);
}

static int op_recognised(struct core *c, const char *id, struct api_objects *o, struct err *err)
{
    struct tracked_objects *now;
    struct session *s;
    int rc = find_session(c, id, &s, err);

    if (rc)
        return rc;
    now = calloc(1, sizeof(*now));
    rc = now ? session_is_back(s, err) : err_set(err, ERR_MEMORY, "no memory for objects");
    if (rc == 0 && session_get_objects(s, now)) {
        o->looks = now->n_searched;
        o->skipped = now->n_skipped;
        o->n = now->n;
        memcpy(o->list, now->at, sizeof(o->list));
        o->n_history = tracked_objects_history(now, o->history);
    }
    free(now);
    session_unref(s);
    return rc;
}

static int op_submap_place(struct core *c, const char *id, uint32_t submap, const float pose[7],
                           struct err *err)
{
    struct session *s;
    int rc = core_find_whole(c, id, &s, err);

    if (rc)
        return rc;
    rc = session_place_begin(s, submap, pose, err);
    if (rc == 0) {
        rc = store_session_write(s, err);
        session_place_end(s, submap, pose, rc == 0);
    }
    session_unref(s);
    return rc;
}

static int op_export_open(struct core *c, const char *id, const char *reader, bool unplaced,
                          struct core_export **out, uint64_t *total_bytes, uint64_t *hash,
                          struct err *err)
{
    const struct session_options *o;
    struct core_export *e = NULL;
    struct ply_frame frame;
    struct places places;
    struct tenant *tenant;
    struct session *s;
    int rc = core_find_whole(c, id, &s, err);

    *out = NULL;
    if (rc)
        return rc;
    tenant = reader[0] ? tenant_get(c->tenants, reader) : session_setup(s)->tenant;
    rc = core_take_export(c, tenant, err);
    if (rc)
        goto out;
    e = calloc(1, sizeof(*e));
    o = &session_setup(s)->options;
    frame = (struct ply_frame){o->step_m, session_options_up_word(o->up),
                               o->pose_source == SESSION_POSE_LEARNED};
    session_get_places(s, &places);
    rc = e ? export_open(&e->export, session_mirror(s), &frame, &places, unplaced, err)
           : err_set(err, ERR_MEMORY, "no memory for an export");
    if (rc) {
        core_give_export(c, tenant);
        free(e);
        goto out;
    }
    e->core = c;
    e->reader = tenant;
    *total_bytes = export_bytes(e->export);
    *hash = export_tag(e->export);
    *out = e;
out:
    session_unref(s);
    return rc;
}

static size_t op_export_read(struct core_export *e, uint64_t offset, uint8_t *buf, size_t cap)
{
    return export_read(e->export, offset, buf, cap);
}

static void op_export_close(struct core_export *e)
{
    export_close(&e->export);
    core_give_export(e->core, e->reader);
    free(e);
}

static int op_trajectory(struct core *c, const char *id, uint64_t first, struct session_pose *poses,
                         int cap, int *n, struct err *err)
{
    struct session *s;
    int rc = core_find_whole(c, id, &s, err);

    if (rc)
        return rc;
    *n = trajectory_read(session_trajectory(s), first, poses, cap);
    session_unref(s);
    return 0;
}

static int op_depth(struct core *c, const char *id, float *buf, size_t cap, int *w, int *h,
                    uint64_t *seq, struct err *err)
{
    struct session *s;
    int rc = find_session(c, id, &s, err);

    if (rc)
        return rc;
    rc = session_is_back(s, err);
    if (rc == 0)
        rc = session_get_depth(s, buf, cap, w, h, seq, err);
    session_unref(s);
    return rc;
}

/* ------------------------------------------------------------------------- the server itself */

static int op_models(struct core *c, struct api_model *models, int cap, int *n, struct err *err)
{
    (void)err;
    *n = models_list(c->models, models, cap);
    if (*n > cap)
        *n = cap;
    return 0;
}

static int op_devices(struct core *c, struct api_device *devices, int cap, int *n, struct err *err)
{
    struct core_census all;

    (void)err;
    core_take_census(c, &all);
    for (*n = 0; *n < c->n_workers && *n < cap; (*n)++) {
        worker_get_device(c->workers[*n], &devices[*n]);
        devices[*n].sessions = all.devices[*n].sessions;
        devices[*n].queued_frames = all.devices[*n].queued;
        devices[*n].load_fps = all.devices[*n].load_fps;
    }
    return 0;
}

static enum api_health op_health(struct core *c, char why[API_TEXT_CAP])
{
    struct err err;

    why[0] = '\0';
    if (core_lost(c)) {
        snprintf(why, API_TEXT_CAP, "a device failed, the process is about to end");
        return API_FAULT;
    }
    if (atomic_load(&c->draining)) {
        snprintf(why, API_TEXT_CAP, "the server is stopping");
        return API_DRAINING;
    }
    if (c->missing[0]) {
        snprintf(why, API_TEXT_CAP, "%s", c->missing);
        return API_FAULT;
    }
    if (!atomic_load(&c->ready))
        return API_STARTING;
    if (core_room(c, &err)) {
        snprintf(why, API_TEXT_CAP, "%.150s", err.text);
        return API_FULL;
    }
    return API_READY;
}

static void write_sessions(struct metrics_text *t, const struct core_census *all)
{
    metrics_family(t, "recond_sessions", "gauge", "Sessions that exist, by state.");
    for (int i = 0; i < SESSION_STATES; i++)
        metrics_print(t, "recond_sessions{state=\"%s\"} %d\n",
                      api_state_name((enum session_state)i), all->states[i]);
    metrics_family(t, "recond_session_views", "gauge",
                   "Sessions by what their pictures say of their poses.");
    for (int i = 0; i < API_VIEWS_STATES; i++)
        metrics_print(t, "recond_session_views{state=\"%s\"} %d\n",
                      api_views_state_name((enum api_views_state)i), all->views[i]);
    metrics_value(t, "recond_cloud_points", "gauge", "Points in the clouds of all sessions.",
                  all->points);
}

static void write_devices(struct metrics_text *t, struct core *c)
{
    static const struct {
        const char *name, *type, *help;
    } rows[] = {
        {"recond_device_memory_used_bytes", "gauge", "Allocated by this process."},
        {"recond_device_memory_total_bytes", "gauge", "What the device has."},
        {"recond_device_memory_budget_bytes", "gauge", "What sessions may hold."},
        {"recond_device_busy_ratio", "gauge", "Share of the last second spent computing."},
        {"recond_device_lost_batches_total", "counter", "Batches that failed."},
    };
    char label[2 * API_NAME_CAP + 1];
    struct api_device d;

    for (size_t g = 0; g < sizeof(rows) / sizeof(rows[0]); g++) {
        metrics_family(t, rows[g].name, rows[g].type, rows[g].help);
        for (int i = 0; i < c->n_workers; i++) {
            worker_get_device(c->workers[i], &d);
            const double values[] = {(double)d.memory_used_bytes, (double)d.memory_total_bytes,
                                     (double)d.memory_budget_bytes, (double)d.busy,
                                     (double)d.errors};
            metrics_label(label, sizeof(label), d.name);
            metrics_print(t, "%s{device=\"%s\"} %.15g\n", rows[g].name, label, values[g]);
        }
    }
}

static void write_process(struct metrics_text *t, struct core *c)
{
    long pages = 0;
    struct rusage use;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f && fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    getrusage(RUSAGE_SELF, &use);
    metrics_value(t, "process_resident_memory_bytes", "gauge", "Resident memory.",
                  (uint64_t)(pages * sysconf(_SC_PAGESIZE)));
    metrics_family(t, "process_cpu_seconds_total", "counter", "Processor time, user and system.");
    metrics_print(t, "process_cpu_seconds_total %.6f\n",
                  (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                      (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6);
    metrics_value(t, "process_open_fds", "gauge", "File descriptors that are open.",
                  descriptors_open());
    metrics_value(t, "process_max_fds", "gauge", "File descriptors that may be open.",
                  descriptors_raise(0));
    metrics_family(t, "process_start_time_seconds", "gauge", "Unix time of the start.");
    metrics_print(t, "process_start_time_seconds %.3f\n", c->started_s);
}

static size_t op_metrics(struct core *c, char *buf, size_t cap)
{
    struct metrics_text t = {buf, cap, 0};
    struct core_census all;
    char why[API_TEXT_CAP];

    core_take_census(c, &all);
    metrics_family(&t, "recond_build_info", "gauge", "Version of the program.");
    metrics_print(&t, "recond_build_info{version=\"%s\",commit=\"%s\"} 1\n", RECOND_VERSION,
                  core_commit);
    write_process(&t, c);
    metrics_value(&t, "recond_full", "gauge", "Is /readyz 503 because a session has no room?",
                  op_health(c, why) == API_FULL);
    write_sessions(&t, &all);
    metrics_value(&t, "recond_streams", "gauge", "Clients connected to a stream.",
                  (uint64_t)atomic_load(&c->streams));
    tenant_write_metrics(&t, c->tenants);
    write_devices(&t, c);
    metrics_write(&t, &c->metrics);
    store_write_metrics(&t, c->store);
    if (c->edge_metrics) {
        bool room = t.len < cap;
        t.len += c->edge_metrics(c->edges.edge, room ? buf + t.len : NULL, room ? cap - t.len : 0);
    }
    return t.len < cap ? t.len : t.len + 1; /* room for the text's end */
}

const struct core_ops core_ops = {
    .session_create = op_session_create,
    .session_get = op_session_get,
    .session_list = op_session_list,
    .session_close = op_session_close,
    .session_refine = op_session_refine,
    .session_delete = op_session_delete,
    .session_kick = op_session_kick,
    .tokens_keep = op_tokens_keep,
    .tokens_each = op_tokens_each,
    .tenants_set = op_tenants_set,
    .export_open = op_export_open,
    .export_read = op_export_read,
    .export_close = op_export_close,
    .submaps = op_submaps,
    .submap_place = op_submap_place,
    .recognised = op_recognised,
    .task_new = op_task_new,
    .task_kick = later_kick,
    .task_free = later_free,
    .trajectory = op_trajectory,
    .depth = op_depth,
    .object_add = core_objects_add,
    .object_match = core_objects_match,
    .object_get = core_objects_get,
    .object_list = core_objects_list,
    .object_delete = core_objects_delete,
    .models = op_models,
    .devices = op_devices,
    .health = op_health,
    .metrics = op_metrics,
    .stream_expect = core_stream_expect,
    .stream_open = core_stream_open,
    .stream_start = core_stream_start,
    .stream_frame = core_stream_frame,
    .stream_ahead_us = core_stream_ahead_us,
    .stream_control = core_stream_control,
    .stream_next = core_stream_next,
    .stream_close = core_stream_close,
};
