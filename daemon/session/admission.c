#include "daemon/session/admission.h"

#include "daemon/work/job.h"
#include "daemon/session/options.h"
#include "daemon/work/placement.h"
#include "daemon/disk/store.h"

/* What the session will hold at most, on the device and beside it. */
static uint64_t memory_needed(const struct session_setup *setup, int camera_w, int camera_h)
{
    struct gpu_session_config device;
    const struct cloud_limits limits = {setup->max_blocks, setup->options.max_points};

    job_device_config(&device, &setup->options, NULL, NULL);
    if (device.net_w == 0) { /* decided by the first picture: about as large whatever its shape */
        device.net_w = 416;
        device.net_h = 128;
    }
    device.max_image_w = camera_w;
    device.max_image_h = camera_h;
    return gpu_session_bytes(&device) + mirror_bytes(&limits) +
           queue_bytes(setup->queue_frames, setup->max_payload_bytes) +
           (uint64_t)QUEUE_PICTURES * (uint64_t)camera_w * (uint64_t)camera_h * 3;
}

int admission_setup(struct core *c, const struct session_options *options,
                    struct session_setup *setup, struct err *err)
{
    struct config config = core_config(c);
    const struct session_options *o = &setup->options;
    int rc;

    *setup = (struct session_setup){.options = *options,
                                    .queue_frames = config.session.queue_frames,
                                    .max_payload_bytes =
                                        config.limits.max_frame_bytes - FRAME_HEADER_BYTES,
                                    .max_blocks = (uint32_t)config.limits.blocks,
                                    .metrics = &c->metrics,
                                    .edges = &c->edges,
                                    .last = core_release};
    rc = options_resolve(&setup->options, &setup->depth, &setup->motion, &setup->multiple, &config,
                         c->models, c->store != NULL, err);
    if (rc)
        return rc;
    setup->memory_bytes =
        memory_needed(setup, o->has_camera ? o->camera_w : 1280, o->has_camera ? o->camera_h : 720);
    return 0;
}

int admission_make(struct core *c, const struct session_setup *setup, struct session **s,
                   struct err *err)
{
    struct worker *worker;
    int rc;

    *s = NULL;
    rc = placement_choose(c, setup, core_config(c).device.frames_per_s, &worker, err);
    if (rc)
        return rc;
    rc = session_new(s, setup, err);
    if (rc == 0)
        rc = session_work_new(*s, worker, c->decode, worker_budget(worker), err);
    if (rc) {
        budget_give(worker_budget(worker), setup->memory_bytes);
        if (*s)
            session_free(*s);
        *s = NULL;
    }
    return rc;
}

int admission_register(struct core *c, struct session *s, int max, struct err *err)
{
    int rc = registry_add(c->registry, session_ref(s), max, err);

    if (rc)
        session_unref(s);
    return rc;
}

int admission_new(struct core *c, struct session_setup *setup, struct session **session,
                  struct err *err)
{
    struct config config = core_config(c);
    int max = config.limits.sessions, rc;
    struct session *s;

    *session = NULL;
    if (registry_count(c->registry) >= max) /* before anything is made; decided by registry_add() */
        return err_set(err, ERR_BUSY, "%d sessions exist, which is the limit", max);
    setup->rank = 1 + atomic_fetch_add(&c->next_rank, 1);
    rc = admission_make(c, setup, &s, err);
    if (rc)
        return rc;
    rc = store_session_new(c->store, s, err);
    if (rc == 0)
        rc = admission_register(c, s, max, err);
    if (rc) {
        store_session_forget(s);
        session_unref(s);
        return rc;
    }
    rc = placement_confirm(c, s, config.device.frames_per_s, err);
    if (rc) {
        core_forget(c, s);
        session_unref(s);
        return rc;
    }
    *session = s;
    return 0;
}
