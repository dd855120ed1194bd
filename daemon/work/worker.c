#include "daemon/work/worker.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/disk/store.h"
#include "daemon/session/session_ends.h"
#include "daemon/work/closing.h"
#include "daemon/work/frame_end.h"
#include "daemon/work/loop_closure.h"
#include "daemon/work/object_search.h"
#include "daemon/work/worker_batch.h"
#include "daemon/work/worker_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_US 1000000 /* between two notes of the device's share of time */

/* Frames of a batch by default: a device takes them together; a processor computes one after the
 * other, so the first would wait for the last. */
#define BATCH_DEVICE 32
#define BATCH_PROCESSOR 4

/* ------------------------------------------------------------------------- the thread */

/* Takes the next session whose job is done out of the list; NULL if there is none. */
static struct session_work *pop_retired(struct worker *w)
{
    struct session_work **at = &w->retired, *k;

    lock_take(&w->lock);
    while (*at && (*at)->working)
        at = &(*at)->next_retired;
    k = *at;
    if (k) {
        *at = k->next_retired;
        k->retiring = false;
    }
    lock_give(&w->lock);
    return k;
}

static void free_retired(struct worker *w)
{
    struct session_work *k;

    while ((k = pop_retired(w)))
        if (k->device && store_may_suspend(k->session) && !session_waits_for_rounds(k->session))
            worker_make_leave(w, k);
        else
            session_unref(k->session);
}

/* The device's share of the time gone by, for worker_get_device(). */
static void note_busy(struct worker *w)
{
    uint64_t now_us = clock_us();
    double busy;

    if (now_us - w->noted_us < NOTE_US)
        return;
    busy = w->busy_us / (double)(now_us - w->noted_us);
    lock_take(&w->lock);
    w->busy = busy < 1.0 ? (float)busy : 1.0f;
    lock_give(&w->lock);
    w->noted_us = now_us;
    w->busy_us = 0;
}

/* Returns 0; worker_start() gets the result either way. */
static int open_device(struct worker *w)
{
    struct gpu_config config = {.device = w->device_name,
                                .threads = w->config.threads,
                                .batch = w->config.batch ? w->config.batch : BATCH_DEVICE,
                                .cache_path = w->cache_path,
                                .reserve_bytes = w->config.reserve_bytes};
    struct err err = {0};
    struct gpu_info info = {.temperature_c = NAN};
    int rc = (w->config.open ? w->config.open : gpu_open)(&w->gpu, &config, &err);

    if (rc == 0)
        gpu_get_info(w->gpu, &info);
    if (rc == 0 && (rc = worker_make_start(w, &err)))
        gpu_close(&w->gpu);
    w->policy.most = w->config.batch;
    if (w->policy.most == 0)
        w->policy.most = strcmp(info.backend, "cpu") ? BATCH_DEVICE : BATCH_PROCESSOR;
    w->policy.wait_us = (uint32_t)w->config.batch_wait_us;
    turn_set_apart(w->turns, strcmp(info.backend, "cpu") == 0);
    lock_take(&w->lock);
    w->info = info;
    w->open_error = err;
    w->state = rc;
    pthread_cond_broadcast(&w->changed);
    lock_give(&w->lock);
    return rc;
}

static void serve_turns(struct worker *w)
{
    struct turn_entry *entries[GPU_BATCH_MAX];
    int n;

    while ((n = turn_take(w->turns, entries, w->policy.most - w->n_left, worker_batch_nap_us(w))) >=
           0) {
        atomic_store(&w->alive_us, clock_us());
        free_retired(w);
        if (n || w->n_left)
            worker_batch_begin(w, entries, n);
        while (w->n_batches == GPU_BATCHES ||
               (w->n_batches && worker_batch_due_us(w) <= clock_us()))
            worker_batch_wait(w);
        note_busy(w);
    }
    while (w->n_left) {
        worker_batch_begin(w, entries, 0);
        worker_batch_wait_all(w);
    }
    worker_batch_wait_all(w);
}

/* Waits until all taken frames are done, and frees device state. Pictures of sessions lie on the
 * device, too, so it is closed only when worker_free() asks for it. */
static void wind_up(struct worker *w)
{
    lock_take(&w->lock);
    while (w->n_working)
        lock_wait(&w->lock, &w->changed);
    lock_give(&w->lock);
    free_retired(w);
    lock_take(&w->lock);
    while (w->make.n_leaving)
        lock_wait(&w->lock, &w->changed);
    w->served = true;
    pthread_cond_broadcast(&w->changed);
    while (!w->ending)
        lock_wait(&w->lock, &w->changed);
    lock_give(&w->lock);
    free_retired(w);
    worker_make_stop(w);
    if (w->config.store)
        store_reap(w->config.store);
    worker_make_close_models(w);
    gpu_close(&w->gpu);
}

static void *worker_thread(void *arg)
{
    struct worker *w = arg;

    pthread_setname_np(pthread_self(), "worker");
    if (open_device(w))
        return NULL;
    serve_turns(w);
    wind_up(w);
    return NULL;
}

/* ------------------------------------------------------------------------- for other threads */

static void retire_session(struct session *s)
{
    struct session_work *k = session_work(s);
    struct worker *w = k->worker;
    bool listed;

    session_ref(s);
    lock_take(&w->lock);
    listed = k->retiring;
    if (!listed) {
        k->retiring = true;
        k->next_retired = w->retired;
        w->retired = k;
    }
    lock_give(&w->lock);
    if (listed)
        session_unref(s);
    turn_poke(w->turns);
}

static void *host_get(void *worker, size_t bytes)
{
    return gpu_host_get(((struct worker *)worker)->gpu, bytes);
}

static void host_put(void *worker, void *memory, size_t bytes)
{
    gpu_host_put(((struct worker *)worker)->gpu, memory, bytes);
}

int worker_adopt(struct worker *w, struct session *s, struct turn *decode_turns, struct err *err)
{
    static const struct session_work_ops ops = {worker_batch_turn_over, retire_session,
                                                frame_end_settle};
    /* pictures lie where the session's device reads them fast */
    const struct queue_memory memory = {host_get, host_put, w};
    struct session_work *k = calloc(1, sizeof(*k));
    int rc;

    if (!k)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    k->session = s;
    k->setup = session_setup(s);
    k->queue = session_queue(s);
    k->worker = w;
    k->ops = &ops;
    k->decode_turns = decode_turns;
    k->device_turns = w->turns;
    queue_set_memory(k->queue, &memory);
    session_set_work(s, k);
    rc = loop_closure_adopt(w->config.later, s, &k->loops, err);
    if (rc == 0)
        rc = object_search_adopt(w->config.later, w->config.objects, s, w->info.device, &k->search,
                                 err);
    if (rc == 0)
        return 0;
    loop_closure_disown(&k->loops);
    session_set_work(s, NULL);
    free(k);
    return rc;
}

void worker_disown(struct session *s)
{
    struct session_work *k = session_work(s);

    worker_budget_give(k->worker, session_setup(s)->memory_bytes);
    loop_closure_disown(&k->loops);
    object_search_disown(&k->search);
    closing_disown(k);
    free(k->depth);
    free(k);
    session_set_work(s, NULL);
}

static int budget_fits(unsigned long long bytes, unsigned long long used, unsigned long long limit,
                       struct err *err)
{
    if (bytes <= limit && used <= limit - bytes)
        return 0;
    return err_set(err, ERR_BUSY, "%llu MiB are needed, %llu of %llu MiB are taken", bytes >> 20,
                   used >> 20, limit >> 20);
}

int worker_budget_has(struct worker *w, uint64_t bytes, struct err *err)
{
    return budget_fits(bytes, atomic_load(&w->budget.used), atomic_load(&w->budget.limit), err);
}

int worker_budget_take(struct worker *w, uint64_t bytes, struct err *err)
{
    struct worker_budget *b = &w->budget;
    unsigned long long used = atomic_load(&b->used);
    int rc;

    do {
        rc = budget_fits(bytes, used, atomic_load(&b->limit), err);
        if (rc)
            return rc;
    } while (!atomic_compare_exchange_weak(&b->used, &used, used + bytes));
    return 0;
}

void worker_budget_give(struct worker *w, uint64_t bytes)
{
    atomic_fetch_sub(&w->budget.used, bytes);
}

struct worker_budget *worker_budget(struct worker *w)
{
    return &w->budget;
}

int worker_decode(struct worker *w, const struct gpu_jpeg *jpeg)
{
    return gpu_decode(w->gpu, jpeg, NULL);
}

uint64_t worker_alive_us(const struct worker *w)
{
    uint64_t runs = atomic_load(&w->alive_us), makes = atomic_load(&w->make.alive_us);

    return makes < runs ? makes : runs;
}

bool worker_lost(const struct worker *w)
{
    return atomic_load(&w->lost);
}

uint64_t worker_net_pixels(struct worker *w, uint64_t configured)
{
    uint64_t pixels = configured, timely, too_many = atomic_load(&w->too_many_pixels);
    uint64_t ps = atomic_load(&w->ps_per_pixel);
    struct api_device d;

    worker_get_device(w, &d);
    if (!pixels)
        pixels = strcmp(d.backend, "cuda") == 0 ? WORKER_NET_PIXELS_CUDA : 2 * MODELS_NET_AREA;
    if (ps) {
        timely = UINT64_C(1000000000000) / ps;
        timely = timely < MODELS_NET_AREA ? MODELS_NET_AREA : timely;
        pixels = pixels < timely ? pixels : timely;
    }
    return too_many && pixels >= too_many ? too_many - 1 : pixels;
}

void worker_get_device(struct worker *w, struct api_device *d)
{
    memset(d, 0, sizeof(*d));
    lock_take(&w->lock);
    snprintf(d->name, sizeof(d->name), "%s", w->info.device);
    snprintf(d->backend, sizeof(d->backend), "%s", w->info.backend);
    snprintf(d->model, sizeof(d->model), "%s", w->info.model);
    snprintf(d->why, sizeof(d->why), "%.*s", (int)sizeof(d->why) - 1, w->info.why);
    d->threads = (uint32_t)w->info.threads;
    d->memory_total_bytes = w->info.memory_total_bytes;
    d->memory_used_bytes = w->info.memory_used_bytes;
    d->temperature_c = w->info.temperature_c;
    d->jpeg_engines = (uint32_t)w->info.jpeg_engines;
    d->busy = w->busy;
    lock_give(&w->lock);
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
    w->noted_us = clock_us();
    atomic_init(&w->alive_us, w->noted_us);
    atomic_init(&w->make.alive_us, w->noted_us);
    lock_init(&w->lock, LOCK_WORKER);
    pthread_cond_init(&w->changed, NULL);
    rc = turn_new(&w->turns, err);
    if (rc == 0 && pthread_create(&w->thread, NULL, worker_thread, w))
        rc = err_set(err, ERR_MEMORY, "cannot start a worker thread");
    if (rc) {
        turn_free(&w->turns);
        free(w);
        return rc;
    }
    lock_take(&w->lock);
    while (w->state == 1)
        lock_wait(&w->lock, &w->changed);
    rc = w->state;
    if (rc && err)
        *err = w->open_error;
    lock_give(&w->lock);
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
    lock_take(&w->lock);
    while (w->state == 0 && !w->served)
        lock_wait(&w->lock, &w->changed);
    lock_give(&w->lock);
    while ((e = turn_drop(w->turns)))
        session_unref(session_work_of_device(e));
}

void worker_free(struct worker **worker)
{
    struct worker *w = *worker;

    if (!w)
        return;
    worker_stop(w);
    lock_take(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->changed);
    lock_give(&w->lock);
    pthread_join(w->thread, NULL);
    free_retired(w);
    turn_free(&w->turns);
    pthread_cond_destroy(&w->changed);
    lock_destroy(&w->lock);
    free(w);
    *worker = NULL;
}
