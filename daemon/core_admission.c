/* Admission of a session, new or after a restart, and its end. */
#include "daemon/core_internal.h"

#include "daemon/log.h"
#include "daemon/session/options.h"
#include "daemon/session/outbox.h"
#include "daemon/session/pipeline.h"
#include "daemon/session/sources.h"
#include "daemon/session/tenant.h"
#include "daemon/work/loop_closure.h"
#include "daemon/work/object_search.h"
#include "daemon/work/parts.h"
#include "proto/crc32c.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define KIND(WORD, word) [SESSION_##WORD] = &pipeline_##word,
static const struct pipeline *const kinds[SESSION_KINDS_END] = {
    [SESSION_KIND_DEFAULT] = &pipeline_mono, SESSION_KINDS(KIND)};

/* Estimates the load on its device. Where the first picture decides the network's size, it will be
 * about as large whatever its shape. */
static void size_device(struct gpu_session_config *device, const struct session_setup *setup)
{
    const struct session_options *o = &setup->options;
    int camera_w = o->has_camera ? o->camera_w : 1280, camera_h = o->has_camera ? o->camera_h : 720;

    setup->kind->device_config(device, &setup->options, NULL, NULL);
    if (device->net_w == 0 && !setup->depth && !setup->motion) {
        device->net_w = camera_w < GPU_SIDE_MAX ? camera_w : GPU_SIDE_MAX;
        device->net_h = camera_h < GPU_SIDE_MAX ? camera_h : GPU_SIDE_MAX;
    }
    if (device->net_w == 0) {
        device->net_w = 416;
        device->net_h = 128;
    }
    device->max_image_w = camera_w;
    device->max_image_h = camera_h;
}

/* Returns the most bytes of the session, on the device and beside it. */
static uint64_t memory_needed(const struct session_setup *setup)
{
    struct gpu_session_config device;
    const struct cloud_limits limits = {setup->max_blocks, setup->options.max_points};
    struct session_options sized = setup->options;
    uint64_t beside = 0;

    size_device(&device, setup);
    sized.net_w = device.net_w;
    sized.net_h = device.net_h;
    if (setup->kind->line->has_map)
        beside += mirror_bytes(&limits);
    if (setup->kind->result_bytes)
        beside += setup->kind->result_bytes(&sized) * OUTBOX_WINDOWS * (size_t)setup->queue_frames;
    beside += loop_closure_bytes(&sized);
    return gpu_session_bytes(&device) + beside + sources_bytes() +
           queue_bytes(setup->queue_frames, setup->max_payload_bytes) +
           (uint64_t)QUEUE_PICTURES *
               ((uint64_t)device.max_image_w * (uint64_t)device.max_image_h * 3 +
                parts_bytes(&setup->options, device.net_w, device.net_h));
}

/* The session's last reference went: frees it, here or by store_reap(). */
static void session_release(struct session *s)
{
    if (session_disk(s))
        store_reap_later(s);
    else
        core_free_session(s);
}

static int setup_resolve(struct core *c, const struct session_options *options,
                         struct session_setup *setup, struct err *err)
{
    struct config config = core_config(c);
    struct gpu_session_config device;
    int rc;

    *setup = (struct session_setup){.kind = kinds[options->kind],
                                    .options = *options,
                                    .queue_frames = config.session.queue_frames,
                                    .max_viewers = config.limits.viewers,
                                    .max_payload_bytes =
                                        config.limits.max_frame_bytes - FRAME_HEADER_BYTES,
                                    .max_blocks = (uint32_t)config.limits.blocks,
                                    .metrics = &c->metrics,
                                    .edges = &c->edges,
                                    .last = session_release};
    rc = options_resolve(&setup->options, setup->kind->line, &setup->depth, &setup->motion,
                         &setup->multiple, &config, c->models, c->store != NULL, err);
    if (rc)
        return rc;
    setup->memory_bytes = memory_needed(setup);
    if (!setup->kind->line->check_config)
        return 0;
    setup->kind->device_config(&device, &setup->options, NULL, NULL);
    return setup->kind->line->check_config(&device, err);
}

int core_admit_setup(struct core *c, const struct session_options *options, const char *owner,
                     struct session_setup *setup, struct err *err)
{
    int rc = setup_resolve(c, options, setup, err);

    if (rc)
        return rc;
    setup->tenant = tenant_get(c->tenants, owner);
    return setup->tenant ? 0 : err_set(err, ERR_MEMORY, "no memory for a session's owner");
}

int core_admit_objects(struct core *c, struct session_setup *setup, struct err *err)
{
    struct gpu_session_config device;
    uint64_t bytes;
    int rc;

    size_device(&device, setup);
    rc = object_search_admit(c->objects, &setup->options, device.net_w, device.net_h,
                             tenant_name(setup->tenant), &bytes, err);
    setup->memory_bytes += bytes;
    return rc;
}

/* Proposes a smaller session that would fit the memory. */
static void say_what_fits(struct core *c, const struct session_setup *setup, double frames_per_s,
                          struct err *err)
{
    struct session_setup less = *setup;
    char what[API_NAME_CAP];
    struct err ignored;

    while (setup->kind->smaller && setup->kind->smaller(&less.options, what)) {
        less.memory_bytes = memory_needed(&less);
        if (core_place_fits(c, &less, frames_per_s, &ignored) == 0) {
            ignored = *err;
            err_set(err, ERR_BUSY, "%.120s; %s would fit", ignored.text, what);
            return;
        }
    }
}

/* Makes the session on a suitable device, within that device's budgets. Out: *s, one reference; no
 * other thread knows it yet. */
static int make_session(struct core *c, const struct session_setup *setup, struct session **s,
                        struct err *err)
{
    struct worker *worker;
    int rc;

    *s = NULL;
    rc = core_place(c, setup, core_config(c).device.frames_per_s, &worker, err);
    if (rc == ERR_BUSY)
        say_what_fits(c, setup, core_config(c).device.frames_per_s, err);
    if (rc)
        return rc;
    rc = session_new(s, setup, err);
    if (rc == 0 && (rc = worker_adopt(worker, *s, decode_turns(c->decode), err)))
        session_free(*s);
    if (rc) {
        *s = NULL;
        worker_budget_give(worker, setup->memory_bytes);
    }
    return rc;
}

/* Registers it; the registry gets a reference of its own. */
static int put_up(struct core *c, struct session *s, int max, struct err *err)
{
    int rc = registry_add(c->registry, session_ref(s), max, err);

    if (rc)
        session_unref(s);
    return rc;
}

static int too_many(struct core *c, int max, struct err *err)
{
    if (registry_count(c->registry) < max)
        return 0;
    return err_set(err, ERR_BUSY, "%d sessions exist, which is the limit", max);
}

int core_room(struct core *c, struct err *err)
{
    const struct session_options defaults = {0};
    struct config config = core_config(c);
    struct session_setup setup;
    int rc = core_refuses(c, err);

    if (rc == 0)
        rc = too_many(c, config.limits.sessions, err);
    if (rc)
        return rc;
    if (setup_resolve(c, &defaults, &setup, err)) /* this configuration has none */
        return 0;
    return core_place_fits(c, &setup, config.device.frames_per_s, err);
}

static uint32_t overrides_crc(const struct params_overrides *o)
{
    uint32_t crc = 0;

    for (int i = 0; i < o->n; i++) {
        crc = crc32c(crc, o->at[i].row->name, strlen(o->at[i].row->name));
        crc = crc32c(crc, &o->at[i].value, sizeof(o->at[i].value));
    }
    return crc;
}

/* Identifies a network's file and the overrides of its sidecar, so that a change is noticed. */
static size_t add_model(char *buf, size_t cap, const struct gpu_model_info *model)
{
    struct stat st = {0};
    char tuned[16] = "";
    int n;

    if (!model)
        return 0;
    if (stat(model->path, &st))
        st.st_size = 0;
    if (model->overrides.n)
        snprintf(tuned, sizeof(tuned), " %08x", overrides_crc(&model->overrides));
    n = snprintf(buf, cap, "|%s %lld %lld%s", model->name, (long long)st.st_size,
                 (long long)st.st_mtim.tv_sec, tuned);
    return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

/* Describes what computes its points, as text. */
static void tell_origin(const struct session *s, char origin[STORE_ORIGIN_CAP])
{
    struct api_device d;
    size_t n;

    worker_get_device(session_work(s)->worker, &d);
    n = (size_t)snprintf(origin, STORE_ORIGIN_CAP, "%s|%s|%s", RECOND_VERSION, d.backend, d.model);
    n += add_model(origin + n, STORE_ORIGIN_CAP - n, session_setup(s)->depth);
    add_model(origin + n, STORE_ORIGIN_CAP - n, session_setup(s)->motion);
}

int core_admit(struct core *c, struct session_setup *setup, struct session **session,
               struct err *err)
{
    struct config config = core_config(c);
    int max = config.limits.sessions, rc;
    char origin[STORE_ORIGIN_CAP];
    struct session *s;

    *session = NULL;
    rc = too_many(c, max, err); /* refused before anything is made; registry_add() decides */
    if (rc == 0)
        rc = tenant_take(setup->tenant, setup->memory_bytes, err);
    if (rc)
        return rc;
    setup->rank = 1 + atomic_fetch_add(&c->last_rank, 1);
    rc = make_session(c, setup, &s, err);
    if (rc) {
        tenant_give(setup->tenant, setup->memory_bytes);
        return rc;
    }
    tell_origin(s, origin);
    rc = store_session_new(c->store, s, origin, err);
    if (rc == 0)
        rc = put_up(c, s, max, err);
    if (rc) {
        store_session_forget(s);
        session_unref(s);
        tenant_give(setup->tenant, setup->memory_bytes);
        return rc;
    }
    rc = core_place_confirm(c, s, config.device.frames_per_s, err);
    if (rc) {
        core_forget(c, s);
        session_unref(s);
        return rc;
    }
    *session = s;
    return 0;
}

/* ------------------------------------------------------------------------- called by the store */

int core_admit_again(void *core, const struct store_manifest *m, struct session **s,
                     char origin[STORE_ORIGIN_CAP], struct err *err)
{
    struct core *c = core;
    struct session_setup setup;
    struct err gone = {0};
    int rc = core_admit_setup(c, &m->options, m->owner, &setup, err);

    *s = NULL;
    if (rc)
        return rc;
    if (core_admit_objects(c, &setup, &gone)) /* it searches for the others */
        LOG_AT(LOG_WARNING, "session %s comes back, but %s", m->id, gone.text);
    setup.rank = m->rank;
    if (m->rank > atomic_load(&c->last_rank)) /* new sessions stand behind those that come back */
        atomic_store(&c->last_rank, m->rank);
    memcpy(setup.id, m->id, sizeof(setup.id));
    setup.epoch = m->epoch;
    setup.created_s = m->created_s;
    rc = make_session(c, &setup, s, err);
    if (rc == 0)
        tell_origin(*s, origin);
    return rc;
}

int core_register_again(void *core, struct session *s, struct err *err)
{
    struct core *c = core;
    int rc = put_up(c, s, INT_MAX, err);

    if (rc == 0)
        tenant_take_back(session_setup(s)->tenant, session_setup(s)->memory_bytes);
    return rc;
}

void core_free_session(struct session *s)
{
    store_session_free(s);
    worker_disown(s);
    session_free(s);
}
