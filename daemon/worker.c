#include "daemon/worker.h"

#include "daemon/clock.h"
#include "daemon/decode.h"
#include "daemon/job.h"
#include "daemon/log.h"
#include "daemon/pipeline_mono.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_US 1000000 /* how often the device's state is looked at */

struct worker {
    /* of the thread itself */
    pthread_t thread;
    struct worker_config config;
    char device_name[GPU_NAME_CAP];
    struct gpu *gpu;
    struct shelf shelf;
    struct job jobs[GPU_BATCH_MAX];
    uint64_t busy_us, looked_us;

    bool stopped; /* of whoever starts and stops it */
    struct turn *turns;
    struct budget budget;
    atomic_ullong alive_us, frames, errors;
    atomic_bool lost;

    pthread_mutex_t lock;
    pthread_cond_t opened;
    int state; /* 1: opening, 0: open, else the error */
    struct err open_error;
    struct gpu_info info;
    float busy;
    struct session *retired; /* list through next_retired */
};

/* ------------------------------------------------------------------------- batches */

static void finish_turn(struct worker *w, struct session *s)
{
    bool more = !atomic_load(&s->dead) && queue_has_ready(s->queue);

    if (turn_done(w->turns, &s->work_turn, more))
        session_unref(s);
}

/* A job out of the session's next picture. Returns false if there is none. */
static bool take_job(struct worker *w, struct job *job, struct session *s)
{
    struct queue_item *item;
    enum control_reason reason;

    if (atomic_load(&s->dead))
        return false;
    item = queue_take_ready(s->queue);
    if (!item)
        return false;
    decode_kick(s->setup.decode, s);
    reason = atomic_load(&w->lost) ? CONTROL_FAULT : job_open(job, &w->shelf, s, item);
    if (reason == CONTROL_REASON_NONE)
        return true;
    job_refuse(s, item, reason);
    return false;
}

static enum control_reason reason_of(int rc)
{
    return rc == ERR_MEMORY ? CONTROL_MEMORY : rc == ERR_INPUT ? CONTROL_BAD_FRAME : CONTROL_FAULT;
}

static void batch_failed(struct worker *w, struct job *jobs, int n, int rc, const struct err *err)
{
    atomic_fetch_add(&w->errors, 1);
    LOG_AT(rc == ERR_DEVICE ? LOG_CRIT : LOG_ERR, "device %s: %s%s%s", w->device_name, err->where,
           err->where[0] ? ": " : "", err->text);
    if (rc == ERR_DEVICE)
        atomic_store(&w->lost, true);
    for (int i = 0; i < n; i++)
        job_refuse(jobs[i].session, jobs[i].item, reason_of(rc));
}

/*
 * Through the pipeline, together. One frame that does not fit its session spoils the batch at its
 * very first check, before anything was done; then each goes alone, so that it harms no neighbour.
 */
static void run_jobs(struct worker *w, struct job *jobs, int n)
{
    struct gpu_frame *frames[GPU_BATCH_MAX];
    struct err err = {0};
    uint64_t start_us = clock_us();
    int rc;

    if (atomic_load(&w->lost)) {
        for (int i = 0; i < n; i++)
            job_refuse(jobs[i].session, jobs[i].item, CONTROL_FAULT);
        return;
    }
    for (int i = 0; i < n; i++)
        frames[i] = &jobs[i].frame;
    rc = pipeline_mono(w->gpu, frames, n, &err);
    metrics_observe(w->config.metrics, METRICS_COMPUTE, clock_us() - start_us);
    metrics_add(w->config.metrics, METRICS_BATCHES, 1);
    if (rc == ERR_INPUT && n > 1) {
        for (int i = 0; i < n; i++)
            run_jobs(w, &jobs[i], 1);
        return;
    }
    if (rc)
        batch_failed(w, jobs, n, rc, &err);
    for (int i = 0; i < n && rc == 0; i++)
        job_finish(&jobs[i]);
}

static void note_queue_times(struct worker *w, int n)
{
    uint64_t now_us = clock_us();

    for (int i = 0; i < n; i++) {
        const struct queue_item *item = w->jobs[i].item;
        uint64_t age_us = now_us - item->received_us;
        metrics_observe(w->config.metrics, METRICS_QUEUE,
                        age_us > item->decode_us ? age_us - item->decode_us : 0);
    }
}

static void run_batch(struct worker *w, struct turn_entry **entries, int n)
{
    struct session *sessions[GPU_BATCH_MAX];
    uint64_t start_us = clock_us();
    int jobs = 0;

    for (int i = 0; i < n; i++) {
        sessions[i] =
            (struct session *)(void *)((char *)entries[i] - offsetof(struct session, work_turn));
        jobs += take_job(w, &w->jobs[jobs], sessions[i]);
    }
    note_queue_times(w, jobs);
    if (jobs)
        run_jobs(w, w->jobs, jobs);
    atomic_fetch_add(&w->frames, (unsigned)jobs);
    w->busy_us += clock_us() - start_us;
    for (int i = 0; i < n; i++) {
        decode_kick(sessions[i]->setup.decode, sessions[i]); /* its picture is free again */
        finish_turn(w, sessions[i]);
    }
}

/* ------------------------------------------------------------------------- the thread */

static void free_retired(struct worker *w)
{
    struct session *s;

    for (;;) {
        pthread_mutex_lock(&w->lock);
        s = w->retired;
        if (s) {
            w->retired = s->next_retired;
            s->retiring = false;
        }
        pthread_mutex_unlock(&w->lock);
        if (!s)
            return;
        if (s->work.device)
            gpu_session_free(&s->work.device);
        session_unref(s);
    }
}

/* Memory, temperature and load of the device, for those who ask. */
static void look(struct worker *w)
{
    uint64_t now_us = clock_us();
    struct gpu_info info;

    if (now_us - w->looked_us < LOOK_US)
        return;
    gpu_get_info(w->gpu, &info);
    pthread_mutex_lock(&w->lock);
    w->info = info;
    w->busy = (float)w->busy_us / (float)(now_us - w->looked_us);
    pthread_mutex_unlock(&w->lock);
    w->looked_us = now_us;
    w->busy_us = 0;
}

/* Returns 0, and tells worker_start() either way. */
static int open_device(struct worker *w)
{
    struct gpu_config config = {w->device_name, w->config.threads};
    struct err err = {0};
    struct gpu_info info = {.temperature_c = NAN};
    int rc = (w->config.open ? w->config.open : gpu_open)(&w->gpu, &config, &err);

    if (rc == 0)
        gpu_get_info(w->gpu, &info);
    w->shelf = (struct shelf){.gpu = w->gpu, .models = w->config.models};
    pthread_mutex_lock(&w->lock);
    w->info = info;
    w->open_error = err;
    w->state = rc;
    pthread_cond_broadcast(&w->opened);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    struct turn_entry *entries[GPU_BATCH_MAX];
    int n;

    if (open_device(w))
        return NULL;
    while ((n = turn_take(w->turns, entries, w->config.batch, 500)) >= 0) {
        atomic_store(&w->alive_us, clock_us());
        free_retired(w);
        if (n)
            run_batch(w, entries, n);
        look(w);
    }
    free_retired(w);
    shelf_close(&w->shelf);
    gpu_close(&w->gpu);
    return NULL;
}

/* ------------------------------------------------------------------------- others' side */

void worker_kick(struct worker *w, struct session *s)
{
    session_ref(s);
    if (!turn_kick(w->turns, &s->work_turn))
        session_unref(s);
}

void worker_retire(struct worker *w, struct session *s)
{
    bool listed;

    session_ref(s);
    pthread_mutex_lock(&w->lock);
    listed = s->retiring;
    if (!listed) {
        s->retiring = true;
        s->next_retired = w->retired;
        w->retired = s;
    }
    pthread_mutex_unlock(&w->lock);
    if (listed)
        session_unref(s);
    turn_poke(w->turns);
}

uint64_t worker_alive_us(const struct worker *w)
{
    return atomic_load(&w->alive_us);
}

bool worker_lost(const struct worker *w)
{
    return atomic_load(&w->lost);
}

struct budget *worker_budget(struct worker *w)
{
    return &w->budget;
}

void worker_get_device(struct worker *w, struct api_device *d)
{
    memset(d, 0, sizeof(*d));
    pthread_mutex_lock(&w->lock);
    snprintf(d->name, sizeof(d->name), "%s", w->info.device);
    snprintf(d->backend, sizeof(d->backend), "%s", w->info.backend);
    snprintf(d->model, sizeof(d->model), "%s", w->info.model);
    snprintf(d->why, sizeof(d->why), "%.*s", (int)sizeof(d->why) - 1, w->info.why);
    d->threads = (uint32_t)w->info.threads;
    d->memory_total_bytes = w->info.memory_total_bytes;
    d->memory_used_bytes = w->info.memory_used_bytes;
    d->temperature_c = w->info.temperature_c;
    d->busy = w->busy;
    pthread_mutex_unlock(&w->lock);
    d->memory_budget_bytes = atomic_load(&w->budget.limit);
    d->frames = atomic_load(&w->frames);
    d->errors = atomic_load(&w->errors);
}

int worker_start(struct worker **worker, const struct worker_config *config, struct err *err)
{
    struct worker *w = calloc(1, sizeof(*w));
    int rc;

    *worker = NULL;
    if (!w)
        return err_set(err, ERR_MEMORY, "no memory for a worker");
    w->config = *config;
    snprintf(w->device_name, sizeof(w->device_name), "%s", config->device);
    w->config.device = w->device_name;
    w->state = 1;
    w->looked_us = clock_us();
    atomic_init(&w->alive_us, w->looked_us);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->opened, NULL);
    rc = turn_new(&w->turns, err);
    if (rc == 0 && pthread_create(&w->thread, NULL, run, w))
        rc = err_set(err, ERR_MEMORY, "cannot start a worker thread");
    if (rc) {
        turn_free(&w->turns);
        free(w);
        return rc;
    }
    pthread_mutex_lock(&w->lock);
    while (w->state == 1)
        pthread_cond_wait(&w->opened, &w->lock);
    rc = w->state;
    if (rc && err)
        *err = w->open_error;
    pthread_mutex_unlock(&w->lock);
    *worker = w;
    if (rc)
        worker_free(worker);
    return rc;
}

void worker_stop(struct worker *w)
{
    struct turn_entry *e;

    if (w->stopped)
        return;
    w->stopped = true;
    turn_close(w->turns);
    pthread_join(w->thread, NULL);
    while ((e = turn_drop(w->turns)))
        session_unref((struct session *)(void *)((char *)e - offsetof(struct session, work_turn)));
}

void worker_free(struct worker **worker)
{
    struct worker *w = *worker;

    if (!w)
        return;
    worker_stop(w);
    free_retired(w);
    turn_free(&w->turns);
    pthread_cond_destroy(&w->opened);
    pthread_mutex_destroy(&w->lock);
    free(w);
    *worker = NULL;
}
