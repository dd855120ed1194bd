#include "daemon/worker.h"

#include "daemon/clock.h"
#include "daemon/commit.h"
#include "daemon/decode.h"
#include "daemon/job.h"
#include "daemon/log.h"
#include "daemon/pipeline_mono.h"
#include "daemon/store.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_US 1000000         /* how often the device's state is looked at */
#define FRAME_DEADLINE_US 33000 /* a frame older than this waits for no company */
#define DONE_ALREADY_US 50      /* a wait as short as this found the work done */

/* Frames of a batch where the operator does not say: a device takes them together, a processor one
 * after the other, and the first waits for the last. */
#define BATCH_DEVICE 32
#define BATCH_PROCESSOR 4

/* A batch on its way through the device. */
struct flight {
    struct gpu_frame *frames[GPU_BATCH_MAX];
    struct job *jobs[GPU_BATCH_MAX];
    int n;
    uint64_t began_us, enqueued_us;
};

struct worker {
    /* of the thread itself */
    pthread_t thread;
    struct worker_config config;
    char device_name[GPU_NAME_CAP], cache_path[CONFIG_TEXT_CAP];
    struct gpu *gpu;
    struct shelf shelf;
    struct flight flights[GPU_FLIGHTS]; /* under way: n_flights of them, the oldest at `oldest` */
    int oldest, n_flights;
    uint32_t expect_us[GPU_BATCH_MAX + 1]; /* what the device needs for so many frames */
    uint64_t busy_us, busy_from_us, landed_us, looked_us;

    bool stopped; /* of whoever starts and stops it */
    struct turn *turns;
    struct budget budget;
    atomic_ullong alive_us, frames, errors;
    atomic_bool lost;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* state, n_working, served, ending */
    int state;              /* 1: opening, 0: open, else the error */
    struct err open_error;
    struct gpu_info info;
    float busy;
    struct session *retired; /* list through next_retired */
    int n_working;           /* sessions whose job is not done */
    bool served;             /* the thread takes no more frames */
    bool ending;             /* it shall close the device */
};

/* ------------------------------------------------------------------------- jobs */

static void set_working(struct worker *w, struct session *s)
{
    pthread_mutex_lock(&w->lock);
    s->working = true;
    w->n_working++;
    pthread_mutex_unlock(&w->lock);
}

/* Its picture is free again, and it may have its next turn. */
static void finish_turn(struct worker *w, struct session *s)
{
    bool more;

    decode_kick(s->setup.decode, s);
    more = !atomic_load(&s->dead) && queue_has_ready(s->queue);
    if (turn_done(w->turns, &s->work_turn, more))
        session_unref(s);
}

void worker_job_done(struct worker *w, struct session *s)
{
    bool retiring;

    pthread_mutex_lock(&w->lock);
    s->working = false;
    retiring = s->retiring;
    w->n_working--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    finish_turn(w, s);
    if (retiring) /* it had to wait for this */
        turn_poke(w->turns);
}

static void refuse(struct worker *w, struct job *job, enum control_reason reason)
{
    struct session *s = job->session;

    s->work.refused += job->item->store.number != 0;
    if (!s->log || !atomic_load(&w->lost))
        job_refuse(s, job->item, reason);
    worker_job_done(w, s);
}

/* The session's next picture becomes its job. Returns false if there is none. */
static bool take_job(struct worker *w, struct session *s)
{
    struct queue_item *item;
    enum control_reason reason;

    if (atomic_load(&s->dead) || (s->log && atomic_load(&w->lost)))
        return false;
    store_checkpoint(s);
    item = queue_take_ready(s->queue);
    if (!item)
        return false;
    decode_kick(s->setup.decode, s);
    reason = atomic_load(&w->lost) ? CONTROL_FAULT : job_open(&s->work.job, &w->shelf, s, item);
    if (reason == CONTROL_REASON_NONE)
        return true;
    s->work.refused += item->store.number != 0;
    job_refuse(s, item, reason);
    return false;
}

static enum control_reason reason_of(int rc)
{
    return rc == ERR_MEMORY ? CONTROL_MEMORY : rc == ERR_INPUT ? CONTROL_BAD_FRAME : CONTROL_FAULT;
}

/* Frames that are in a journal are used after the restart; until then nobody is told anything. */
static void lose_device(struct worker *w)
{
    if (w->config.store)
        store_blame(w->config.store);
    atomic_store(&w->lost, true);
}

static void batch_failed(struct worker *w, struct job *const *jobs, int n, int rc,
                         const struct err *err)
{
    atomic_fetch_add(&w->errors, 1);
    LOG_AT(rc == ERR_DEVICE ? LOG_CRIT : LOG_ERR, "device %s: %s%s%s", w->device_name, err->where,
           err->where[0] ? ": " : "", err->text);
    if (rc == ERR_DEVICE)
        lose_device(w);
    for (int i = 0; i < n; i++)
        refuse(w, jobs[i], reason_of(rc));
}

/* The device is done with these frames, or has failed them. */
static void batch_done(struct worker *w, struct job *const *jobs, int n, int rc,
                       const struct err *err)
{
    metrics_add(w->config.metrics, METRICS_BATCHES, 1);
    atomic_fetch_add(&w->frames, (unsigned)n);
    if (rc)
        batch_failed(w, jobs, n, rc, err);
    for (int i = 0; i < n && rc == 0; i++)
        commit_push(w->config.commit, jobs[i]);
}

/* ------------------------------------------------------------------------- flights */

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * When the oldest flight is likely to be three quarters through: until then frames may still come
 * for the next one. What batches of a size take is learnt from those that had to be waited for; a
 * guess that was too long shrinks. A back end that has done the work when it was enqueued has
 * nothing to be waited for, so its results go out at once.
 */
static uint64_t due_us(const struct worker *w)
{
    const struct flight *f = &w->flights[w->oldest];

    return max_u64(f->enqueued_us, w->landed_us) + w->expect_us[f->n] / 4 * 3;
}

static void learn(struct worker *w, const struct flight *f, uint64_t waited_from_us,
                  uint64_t now_us)
{
    uint64_t took_us = now_us - max_u64(f->enqueued_us, w->landed_us);

    if (now_us - waited_from_us < DONE_ALREADY_US)
        w->expect_us[f->n] -= w->expect_us[f->n] / 4;
    else
        w->expect_us[f->n] = took_us < 1000000 ? (uint32_t)took_us : 1000000;
}

/* Waits for the oldest flight. */
static void land(struct worker *w)
{
    struct flight *f = &w->flights[w->oldest];
    uint64_t from_us = clock_us(), now_us;
    struct err err = {0};
    int rc = gpu_wait(w->gpu, f->frames, f->n, &err);

    now_us = clock_us();
    learn(w, f, from_us, now_us);
    w->oldest = (w->oldest + 1) % GPU_FLIGHTS;
    if (--w->n_flights == 0)
        w->busy_us += now_us - w->busy_from_us;
    from_us = max_u64(f->began_us, w->landed_us);
    metrics_observe(w->config.metrics, METRICS_COMPUTE, now_us - from_us);
    worker_charge(w->turns, f->jobs, f->n, now_us - from_us);
    w->landed_us = now_us;
    batch_done(w, f->jobs, f->n, rc, &err);
}

static void land_all(struct worker *w)
{
    while (w->n_flights)
        land(w);
}

/*
 * One frame that does not fit its session spoils the batch at its very first check, before anything
 * was done; then each goes alone, so that it harms no neighbour.
 */
static void fly_alone(struct worker *w, struct flight *f)
{
    for (int i = 0; i < f->n; i++) {
        uint64_t from_us = clock_us();
        struct err err = {0};
        int rc = atomic_load(&w->lost) ? ERR_DEVICE : 0;
        if (rc == 0)
            rc = pipeline_mono(w->gpu, &f->frames[i], 1, &err);
        if (rc == 0)
            rc = gpu_wait(w->gpu, &f->frames[i], 1, &err);
        worker_charge(w->turns, &f->jobs[i], 1, clock_us() - from_us);
        batch_done(w, &f->jobs[i], 1, rc, &err);
    }
}

/* A flight that did not get off. Pictures are about to be used again, so nothing may be under way;
 * the first error is the one told. */
static void crash(struct worker *w, struct flight *f, int rc, struct err *err)
{
    land_all(w);
    if (rc != ERR_DEVICE && gpu_wait(w->gpu, f->frames, f->n, NULL) == ERR_DEVICE)
        rc = ERR_DEVICE;
    if (rc == ERR_INPUT && f->n > 1)
        fly_alone(w, f);
    else
        batch_done(w, f->jobs, f->n, rc, err);
}

static void launch(struct worker *w, struct flight *f)
{
    struct err err = {0};
    int rc;

    f->began_us = clock_us();
    if (w->n_flights == 0)
        w->busy_from_us = f->began_us;
    rc = pipeline_mono(w->gpu, f->frames, f->n, &err);
    f->enqueued_us = clock_us();
    if (rc == 0)
        w->n_flights++;
    else
        crash(w, f, rc, &err);
}

/* ------------------------------------------------------------------------- boarding */

static void note_queue_time(struct worker *w, const struct queue_item *item)
{
    uint64_t age_us = clock_us() - item->received_us;

    metrics_observe(w->config.metrics, METRICS_QUEUE,
                    age_us > item->decode_us ? age_us - item->decode_us : 0);
}

static void board(struct worker *w, struct flight *f, struct turn_entry *const *entries, int n)
{
    for (int i = 0; i < n; i++) {
        struct session *s =
            (struct session *)(void *)((char *)entries[i] - offsetof(struct session, work_turn));
        if (!take_job(w, s)) {
            finish_turn(w, s);
            continue;
        }
        set_working(w, s);
        note_queue_time(w, s->work.job.item);
        f->jobs[f->n] = &s->work.job;
        f->frames[f->n++] = &s->work.job.frame;
    }
}

/* Until when the flight may wait for frames that are being decoded: not long, and not if its oldest
 * frame has no time for it. */
static uint64_t boarding_ends_us(const struct worker *w, const struct flight *f)
{
    uint64_t ends_us = clock_us() + (uint64_t)w->config.batch_wait_us;

    for (int i = 0; i < f->n; i++) {
        uint64_t deadline_us = f->jobs[i]->item->received_us + FRAME_DEADLINE_US;
        ends_us = deadline_us < ends_us ? deadline_us : ends_us;
    }
    return ends_us;
}

static void begin(struct worker *w, struct turn_entry **entries, int n)
{
    struct flight *f = &w->flights[(w->oldest + w->n_flights) % GPU_FLIGHTS];
    uint64_t ends_us, now_us;

    f->n = 0;
    board(w, f, entries, n);
    ends_us = boarding_ends_us(w, f);
    while (f->n && f->n < w->config.batch && (now_us = clock_us()) < ends_us) {
        n = turn_take_more(w->turns, entries, w->config.batch - f->n, ends_us - now_us);
        if (n == 0)
            break;
        board(w, f, entries, n);
    }
    if (f->n)
        launch(w, f);
}

/* ------------------------------------------------------------------------- the thread */

/* The next one whose job is done, out of the list; NULL if there is none. */
static struct session *pop_retired(struct worker *w)
{
    struct session **at = &w->retired, *s;

    pthread_mutex_lock(&w->lock);
    while (*at && (*at)->working)
        at = &(*at)->next_retired;
    s = *at;
    if (s) {
        *at = s->next_retired;
        s->retiring = false;
    }
    pthread_mutex_unlock(&w->lock);
    return s;
}

static void free_retired(struct worker *w)
{
    struct session *s;

    while ((s = pop_retired(w))) {
        if (s->work.device && store_may_rest(s)) {
            gpu_session_free(&s->work.device);
            session_set_resting(s, s->log != NULL);
        }
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
    if (w->n_flights) {
        w->busy_us += now_us - w->busy_from_us;
        w->busy_from_us = now_us;
    }
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
    struct gpu_config config = {.device = w->device_name,
                                .threads = w->config.threads,
                                .batch = w->config.batch ? w->config.batch : BATCH_DEVICE,
                                .cache_path = w->cache_path};
    struct err err = {0};
    struct gpu_info info = {.temperature_c = NAN};
    int rc = (w->config.open ? w->config.open : gpu_open)(&w->gpu, &config, &err);

    if (rc == 0)
        gpu_get_info(w->gpu, &info);
    if (w->config.batch == 0)
        w->config.batch = strcmp(info.backend, "cpu") ? BATCH_DEVICE : BATCH_PROCESSOR;
    w->shelf = (struct shelf){.gpu = w->gpu, .models = w->config.models};
    pthread_mutex_lock(&w->lock);
    w->info = info;
    w->open_error = err;
    w->state = rc;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* How long to wait for frames. */
static uint64_t patience_us(const struct worker *w)
{
    uint64_t now_us = clock_us(), due;

    if (w->n_flights == 0)
        return 500000;
    due = due_us(w);
    return due > now_us ? due - now_us : 0;
}

static void serve(struct worker *w)
{
    struct turn_entry *entries[GPU_BATCH_MAX];
    int n;

    while ((n = turn_take(w->turns, entries, w->config.batch, patience_us(w))) >= 0) {
        atomic_store(&w->alive_us, clock_us());
        free_retired(w);
        if (n)
            begin(w, entries, n);
        while (w->n_flights == GPU_FLIGHTS || (w->n_flights && due_us(w) <= clock_us()))
            land(w);
        look(w);
    }
    land_all(w);
}

/* Everything that was taken is done; device state goes while the device is there. Pictures live on
 * it as well, as long as sessions do, so it is closed only when worker_free() says so. */
static void wind_up(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    while (w->n_working)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    free_retired(w);
    pthread_mutex_lock(&w->lock);
    w->served = true;
    pthread_cond_broadcast(&w->changed);
    while (!w->ending)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    free_retired(w);
    if (w->config.store)
        store_bury(w->config.store);
    shelf_close(&w->shelf);
    gpu_close(&w->gpu);
}

static void *run(void *arg)
{
    struct worker *w = arg;

    if (open_device(w))
        return NULL;
    serve(w);
    wind_up(w);
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

void worker_due(struct worker *w, struct session *s, bool due)
{
    turn_due(w->turns, &s->work_turn, due);
}

void *worker_get_memory(void *worker, size_t bytes)
{
    return gpu_host_get(((struct worker *)worker)->gpu, bytes);
}

void worker_put_memory(void *worker, void *memory, size_t bytes)
{
    gpu_host_put(((struct worker *)worker)->gpu, memory, bytes);
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
    snprintf(w->cache_path, sizeof(w->cache_path), "%s", config->cache_path);
    w->config.cache_path = w->cache_path;
    w->state = 1;
    w->looked_us = clock_us();
    atomic_init(&w->alive_us, w->looked_us);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
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
        pthread_cond_wait(&w->changed, &w->lock);
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
    pthread_mutex_lock(&w->lock);
    while (w->state == 0 && !w->served)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    while ((e = turn_drop(w->turns)))
        session_unref((struct session *)(void *)((char *)e - offsetof(struct session, work_turn)));
}

void worker_free(struct worker **worker)
{
    struct worker *w = *worker;

    if (!w)
        return;
    worker_stop(w);
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    free_retired(w);
    turn_free(&w->turns);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
    *worker = NULL;
}
