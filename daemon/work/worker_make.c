#include "daemon/work/worker_make.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_restart.h"
#include "daemon/work/frame_end.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define READ_US 1000000 /* between two readings of the device's state */
#define IDLE_US 500000  /* between two signs of life of a waiting thread */

/* ------------------------------------------------------------------------- lists */

static void list_join(struct worker *w, enum worker_waiting which, struct session_work *k)
{
    struct worker_list *l = &w->make.waiting[which];

    k->next_waiting[which] = NULL;
    *(l->last ? &l->last->next_waiting[which] : &l->first) = k;
    l->last = k;
}

static struct session_work *list_pop(struct worker *w, enum worker_waiting which)
{
    struct worker_list *l = &w->make.waiting[which];
    struct session_work *k = l->first;

    if (k && !(l->first = k->next_waiting[which]))
        l->last = NULL;
    return k;
}

/* ------------------------------------------------------------------------- the thread */

/* Makes the device's copy of a network, for the first session that needs it. */
static int get_model(struct worker *w, const struct gpu_model_info *info, struct gpu_model **model,
                     struct err *err)
{
    struct gpu_model **place = &w->make.models[models_index(w->config.models, info)];
    int rc = *place ? 0 : gpu_model_open(place, w->gpu, info, err);

    *model = rc ? NULL : *place;
    return rc;
}

/* A network that is the first of its size on the device may take seconds. */
static int make_state(struct worker *w, struct session_work *k, struct err *err)
{
    const struct session_setup *setup = k->setup;
    struct gpu_model *depth = NULL, *motion = NULL;
    struct gpu_session_config config;
    int rc = setup->depth ? get_model(w, setup->depth, &depth, err) : 0;

    if (rc == 0 && setup->motion)
        rc = get_model(w, setup->motion, &motion, err);
    if (rc)
        return rc;
    setup->kind->device_config(&config, &setup->options, depth, motion);
    session_get_net(k->session, &config.net_w, &config.net_h);
    config.max_image_w = k->kept.w;
    config.max_image_h = k->kept.h;
    rc = gpu_session_new(&k->device, w->gpu, &config, err);
    if (rc == 0 && (rc = store_restore(k->session, k->device, err)))
        gpu_session_free(&k->device);
    return rc;
}

/* A later try may find memory, and a lost device ends the process; any other error stays, so the
 * session takes no more frames. */
static enum control_reason note_failure(struct session *s, int rc, const struct err *err)
{
    char why[API_TEXT_CAP];

    if (rc == ERR_DEVICE) {
        LOG_AT(LOG_CRIT, "session %s: its device fails: %s", session_id(s), err->text);
        return CONTROL_FAULT;
    }
    if (rc == ERR_MEMORY) {
        LOG_AT(LOG_WARNING, "session %s: no memory on the device: %s", session_id(s), err->text);
        return CONTROL_MEMORY;
    }
    snprintf(why, sizeof(why), "%.60s%s%.90s", err->where, err->where[0] ? ": " : "", err->text);
    LOG_AT(LOG_ERR, "session %s cannot run on its device: %s", session_id(s), why);
    session_set_fault(s, why);
    return CONTROL_FAULT;
}

/* Its networks are too large for the device: no other session of this size is made there. */
static void note_limit(struct worker *w, struct session *s)
{
    uint64_t pixels, least = atomic_load(&w->too_many_pixels);
    int width, height;

    session_get_net(s, &width, &height);
    pixels = (uint64_t)width * (uint64_t)height;
    if (!least || pixels < least)
        atomic_store(&w->too_many_pixels, pixels);
}

/* Makes what the next frame waits for: device state, or room for sideways pictures in it. */
static int make_what_lacks(struct worker *w, struct session_work *k, struct err *err)
{
    struct session *s = k->session;

    if (session_dead(s) || atomic_load(&w->lost))
        return 0;
    if (k->next)
        return gpu_session_sideways(k->device, err);
    return queue_has_ready(k->queue) || session_waits_for_rounds(s) ? make_state(w, k, err) : 0;
}

/* If that fails, the frame is refused, or the session skips its closing rounds. */
static void make_session(struct worker *w, struct session_work *k)
{
    struct session *s = k->session;
    struct queue_item *item;
    struct err err = {0};
    int rc = make_what_lacks(w, k, &err);

    if (rc == ERR_LIMIT)
        note_limit(w, s);
    if (rc) {
        enum control_reason reason = note_failure(s, rc, &err);

        if (rc == ERR_DEVICE)
            worker_lose(w);
        item = session_work_take_next(k);
        if (item)
            frame_end_unused(s, item, reason, atomic_load(&w->lost));
        else
            frame_end_rounds(s);
    }
    session_work_turn_over(s);
}

static void give_back(struct worker *w, struct session_work *k)
{
    gpu_session_free(&k->leaving);
    session_unref(k->session);
    lock_take(&w->lock);
    w->make.n_leaving--;
    pthread_cond_broadcast(&w->changed);
    lock_give(&w->lock);
}

/* Reads memory and temperature of the device, for worker_get_device(). */
static void note_device(struct worker *w, uint64_t *read_us)
{
    uint64_t now_us = clock_us();
    struct gpu_info info;

    if (now_us - *read_us < READ_US)
        return;
    *read_us = now_us;
    gpu_get_info(w->gpu, &info);
    lock_take(&w->lock);
    w->info = info;
    lock_give(&w->lock);
}

/* Frees before it makes: the memory may be needed for the next one. Returns false at the end. */
static bool wait_for_work(struct worker *w, struct session_work **leaving,
                          struct session_work **made)
{
    bool ending;

    *made = NULL;
    lock_take(&w->lock);
    if (!w->make.waiting[WORKER_LEAVING].first && !w->make.waiting[WORKER_NEW].first &&
        !w->make.ending)
        (void)clock_wait(&w->make.some, &w->lock, clock_us() + IDLE_US);
    *leaving = list_pop(w, WORKER_LEAVING);
    if (!*leaving)
        *made = list_pop(w, WORKER_NEW);
    ending = w->make.ending;
    lock_give(&w->lock);
    return *leaving || *made || !ending;
}

static void *maker_thread(void *arg)
{
    struct worker *w = arg;
    struct session_work *leaving, *made;
    uint64_t read_us = clock_us();

    pthread_setname_np(pthread_self(), "maker");
    while (wait_for_work(w, &leaving, &made)) {
        atomic_store(&w->make.alive_us, clock_us());
        if (leaving)
            give_back(w, leaving);
        if (made)
            make_session(w, made);
        note_device(w, &read_us);
    }
    return NULL;
}

/* ------------------------------------------------------------------------- called by the worker */

void worker_make_session(struct worker *w, struct session_work *k)
{
    lock_take(&w->lock);
    list_join(w, WORKER_NEW, k);
    pthread_cond_signal(&w->make.some);
    lock_give(&w->lock);
}

void worker_make_leave(struct worker *w, struct session_work *k)
{
    k->leaving = k->device;
    k->device = NULL;
    session_set_suspended(k->session, session_disk(k->session) != NULL);
    lock_take(&w->lock);
    list_join(w, WORKER_LEAVING, k);
    w->make.n_leaving++;
    pthread_cond_signal(&w->make.some);
    lock_give(&w->lock);
}

int worker_make_start(struct worker *w, struct err *err)
{
    pthread_cond_init(&w->make.some, NULL);
    if (pthread_create(&w->make.thread, NULL, maker_thread, w)) {
        pthread_cond_destroy(&w->make.some);
        return err_set(err, ERR_MEMORY, "cannot start the thread that makes sessions");
    }
    w->make.started = true;
    return 0;
}

void worker_make_stop(struct worker *w)
{
    if (!w->make.started)
        return;
    lock_take(&w->lock);
    w->make.ending = true;
    pthread_cond_signal(&w->make.some);
    lock_give(&w->lock);
    pthread_join(w->make.thread, NULL);
    pthread_cond_destroy(&w->make.some);
    w->make.started = false;
}

void worker_make_close_models(struct worker *w)
{
    for (int i = 0; i < MODELS_MAX; i++)
        if (w->make.models[i])
            gpu_model_close(&w->make.models[i]);
}
