/* The thread beside the worker's: it makes what a session has on the device, takes it back, and
 * asks the device how it is (worker.h). */
#include "daemon/work/worker_internal.h"

#include "daemon/clock.h"
#include "daemon/work/job.h"

#include <time.h>

#define LOOK_US 1000000 /* how often the device's state is looked at */
#define IDLE_US 500000  /* between two signs of life of a thread that waits */

/* ------------------------------------------------------------------------- lines */

/* Both lists run through a link of their own, for a session may leave and be wanted again before
 * its memory is back: first out, then in. */
static void join_made(struct worker_line *l, struct session_work *k)
{
    k->next_made = NULL;
    *(l->last ? &l->last->next_made : &l->first) = k;
    l->last = k;
}

static struct session_work *pop_made(struct worker_line *l)
{
    struct session_work *k = l->first;

    if (k && !(l->first = k->next_made))
        l->last = NULL;
    return k;
}

static void join_leaving(struct worker_line *l, struct session_work *k)
{
    k->next_leaving = NULL;
    *(l->last ? &l->last->next_leaving : &l->first) = k;
    l->last = k;
}

static struct session_work *pop_leaving(struct worker_line *l)
{
    struct session_work *k = l->first;

    if (k && !(l->first = k->next_leaving))
        l->last = NULL;
    return k;
}

/* ------------------------------------------------------------------------- the thread */

static void make(struct worker *w, struct session *s)
{
    enum control_reason reason = CONTROL_REASON_NONE;
    struct queue_item *item = NULL;
    int rc = 0;

    if (!session_dead(s) && !atomic_load(&w->lost))
        rc = job_make(s, &w->make.shelf, &reason);
    if (rc == ERR_DEVICE)
        worker_flight_lose(w);
    if (rc)
        item = queue_take_ready(session_queue(s));
    if (item)
        worker_flight_refuse(w, s, item, reason);
    worker_job_done(s);
}

static void give_back(struct worker *w, struct session *s)
{
    gpu_session_free(&session_work(s)->leaving);
    session_unref(s);
    pthread_mutex_lock(&w->lock);
    w->make.n_leaving--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* Memory and temperature of the device, for those who ask. */
static void look(struct worker *w, uint64_t *looked_us)
{
    uint64_t now_us = clock_us();
    struct gpu_info info;

    if (now_us - *looked_us < LOOK_US)
        return;
    *looked_us = now_us;
    gpu_get_info(w->gpu, &info);
    pthread_mutex_lock(&w->lock);
    w->info = info;
    pthread_mutex_unlock(&w->lock);
}

/* Under the lock: half a second, or until there is something to do. */
static void rest(struct worker *w)
{
    clock_wait(&w->make.some, &w->lock, clock_us() + IDLE_US);
}

/* What leaves goes first: its memory may be what the next one needs. Returns false at the end. */
static bool next(struct worker *w, struct session_work **leaving, struct session_work **made)
{
    bool ending;

    *made = NULL;
    pthread_mutex_lock(&w->lock);
    if (!w->make.leaving.first && !w->make.made.first && !w->make.ending)
        rest(w);
    *leaving = pop_leaving(&w->make.leaving);
    if (!*leaving)
        *made = pop_made(&w->make.made);
    ending = w->make.ending;
    pthread_mutex_unlock(&w->lock);
    return *leaving || *made || !ending;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    struct session_work *leaving, *made;
    uint64_t looked_us = clock_us();

    pthread_setname_np(pthread_self(), "maker");
    while (next(w, &leaving, &made)) {
        atomic_store(&w->make.alive_us, clock_us());
        if (leaving)
            give_back(w, leaving->session);
        if (made)
            make(w, made->session);
        look(w, &looked_us);
    }
    return NULL;
}

/* ------------------------------------------------------------------------- the worker's side */

void worker_make_session(struct worker *w, struct session *s)
{
    pthread_mutex_lock(&w->lock);
    join_made(&w->make.made, session_work(s));
    pthread_cond_signal(&w->make.some);
    pthread_mutex_unlock(&w->lock);
}

void worker_make_leave(struct worker *w, struct session *s)
{
    struct session_work *k = session_work(s);

    k->leaving = k->device;
    k->device = NULL;
    session_set_resting(s, session_disk(s) != NULL);
    pthread_mutex_lock(&w->lock);
    join_leaving(&w->make.leaving, k);
    w->make.n_leaving++;
    pthread_cond_signal(&w->make.some);
    pthread_mutex_unlock(&w->lock);
}

int worker_make_start(struct worker *w, struct err *err)
{

    w->make.shelf = (struct shelf){.gpu = w->gpu, .models = w->config.models};
    pthread_cond_init(&w->make.some, NULL);
    if (pthread_create(&w->make.thread, NULL, run, w)) {
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
    pthread_mutex_lock(&w->lock);
    w->make.ending = true;
    pthread_cond_signal(&w->make.some);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->make.thread, NULL);
    pthread_cond_destroy(&w->make.some);
    w->make.started = false;
}
