/* Jobs and flights: what the worker's thread does with frames (worker.h). */
#include "daemon/work/worker_internal.h"

#include "daemon/clock.h"
#include "daemon/work/commit.h"
#include "daemon/work/decode.h"
#include "daemon/work/job.h"
#include "daemon/log.h"
#include "daemon/work/pipeline_mono.h"
#include "daemon/disk/store.h"

#define FRAME_DEADLINE_US 33000 /* a frame older than this waits for no company */
#define DONE_ALREADY_US 50      /* a wait as short as this found the work done */
#define LEARN_US 1000           /* a batch of a size that nothing is known of: believed to take */
#define WAKE_US 100             /* a thread that sleeps until a time may be so late */

/* ------------------------------------------------------------------------- jobs */

static void set_working(struct worker *w, struct session *s)
{
    pthread_mutex_lock(&w->lock);
    session_work(s)->working = true;
    w->n_working++;
    pthread_mutex_unlock(&w->lock);
}

/* Its picture is free again, and it may have its next turn. */
static void finish_turn(struct worker *w, struct session *s)
{
    bool more;

    decode_kick(s);
    more = !session_dead(s) && queue_has_ready(session_queue(s));
    if (turn_done(w->turns, &session_work(s)->work_turn, more))
        session_unref(s);
}

void worker_job_done(struct session *s)
{
    struct session_work *k = session_work(s);
    struct worker *w = k->worker;
    bool retiring;

    pthread_mutex_lock(&w->lock);
    k->working = false;
    retiring = k->retiring;
    w->n_working--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    finish_turn(w, s);
    if (retiring) /* it had to wait for this */
        turn_poke(w->turns);
}

void worker_flight_refuse(struct worker *w, struct session *s, struct queue_item *item,
                          enum control_reason reason)
{
    store_device_refused(s, item);
    if (!session_disk(s) || !atomic_load(&w->lost))
        job_refuse(s, item, reason);
}

static void refuse(struct worker *w, struct job *job, enum control_reason reason)
{
    struct session *s = job->session;

    worker_flight_refuse(w, s, job->item, reason);
    worker_job_done(s);
}

/* It has a picture, and nothing on the device to put it into. */
static bool needs_device(const struct worker *w, struct session *s)
{
    return !session_work(s)->device && !session_dead(s) && !atomic_load(&w->lost) &&
           queue_has_ready(session_queue(s));
}

/* The session's next picture becomes its job. Returns false if there is none. One that came since
 * needs_device() was asked has announced itself: its turn comes again. */
static bool take_job(struct worker *w, struct session *s)
{
    struct session_work *k = session_work(s);
    bool lost = atomic_load(&w->lost);
    struct queue_item *item;

    if (session_dead(s) || (session_disk(s) && lost) || (!k->device && !lost))
        return false;
    store_checkpoint(s, k->device, &k->kept);
    item = queue_take_ready(session_queue(s));
    if (!item)
        return false;
    decode_kick(s);
    if (lost) {
        worker_flight_refuse(w, s, item, CONTROL_FAULT);
        return false;
    }
    job_open(&k->job, s, item);
    return true;
}

static enum control_reason reason_of(int rc)
{
    return rc == ERR_MEMORY ? CONTROL_MEMORY : rc == ERR_INPUT ? CONTROL_BAD_FRAME : CONTROL_FAULT;
}

/* Frames that are in a journal are used after the restart; until then nobody is told anything. */
void worker_flight_lose(struct worker *w)
{
    if (w->config.store)
        store_blame(w->config.store);
    atomic_store(&w->lost, true);
}

static void batch_failed(struct worker *w, struct job *const *jobs, int n, uint64_t began_us,
                         int rc, const struct err *err)
{
    atomic_fetch_add(&w->errors, 1);
    LOG_AT(rc == ERR_DEVICE ? LOG_CRIT : LOG_ERR,
           "device %s: %s%s%s (a batch of %d, begun %.1f ms ago)", w->device_name, err->where,
           err->where[0] ? ": " : "", err->text, n, (double)(clock_us() - began_us) * 1e-3);
    if (rc == ERR_DEVICE)
        worker_flight_lose(w);
    for (int i = 0; i < n; i++)
        refuse(w, jobs[i], reason_of(rc));
}

/* The device is done with these frames, or has failed them. */
static void batch_done(struct worker *w, struct job *const *jobs, int n, uint64_t began_us, int rc,
                       const struct err *err)
{
    metrics_add(w->config.metrics, METRICS_BATCHES, 1);
    atomic_fetch_add(&w->frames, (unsigned)n);
    if (rc)
        batch_failed(w, jobs, n, began_us, rc, err);
    for (int i = 0; i < n && rc == 0; i++) {
        w->busy_us += (double)jobs[i]->frame.item.device_us;
        commit_push(w->config.commit, jobs[i]);
    }
}

/* ------------------------------------------------------------------------- flights */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The place in expect_us of a batch of n frames. */
static int size_of(int n)
{
    int size = 0;

    while (size < WORKER_SIZES - 1 && 1 << size < n)
        size++;
    return size;
}

/*
 * Just before the oldest flight is likely to be done: until then frames may still come for the next
 * one, and nothing is lost, for the device is busy. What is left is the time to enqueue it and an
 * eighth for an error. What batches of a size take is learnt from those that had to be waited for,
 * from one that was held up no more than twice what was known; a guess that was too long shrinks. A
 * back end that has done the work when it was enqueued has nothing to be waited for, so its results
 * go out at once.
 */
uint64_t worker_flight_due_us(const struct worker *w)
{
    const struct flight *f = &w->flights[w->oldest];
    uint64_t expect_us = w->expect_us[size_of(f->n)];
    uint64_t margin_us = expect_us / 8 + 2 * (uint64_t)w->enqueue_us + WAKE_US;

    return max_u64(f->enqueued_us, w->landed_us) +
           (expect_us > margin_us ? expect_us - margin_us : 0);
}

static void learn(struct worker *w, const struct flight *f, uint64_t waited_from_us,
                  uint64_t now_us)
{
    uint64_t took_us = now_us - max_u64(f->enqueued_us, w->landed_us);
    uint32_t *expect_us = &w->expect_us[size_of(f->n)];

    if (now_us - waited_from_us < DONE_ALREADY_US)
        *expect_us -= *expect_us / 4;
    else
        *expect_us = (uint32_t)min_u64(took_us, 2 * (uint64_t)*expect_us + LEARN_US);
}

/* Waits for the oldest flight. */
void worker_flight_land(struct worker *w)
{
    struct flight *f = &w->flights[w->oldest];
    uint64_t from_us = clock_us(), now_us;
    struct err err = {0};
    int rc = gpu_wait(w->gpu, f->items, f->n, &err);

    now_us = clock_us();
    learn(w, f, from_us, now_us);
    w->oldest = (w->oldest + 1) % GPU_BATCHES;
    w->n_flights--;
    from_us = max_u64(f->began_us, w->landed_us);
    metrics_observe(w->config.metrics, METRICS_COMPUTE, now_us - from_us);
    worker_charge(w->turns, f->jobs, f->n, now_us - from_us);
    w->landed_us = now_us;
    batch_done(w, f->jobs, f->n, f->began_us, rc, &err);
}

void worker_flight_land_all(struct worker *w)
{
    while (w->n_flights)
        worker_flight_land(w);
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
            rc = pipeline_mono(w->gpu, &f->items[i], 1, &err);
        if (rc == 0)
            rc = gpu_wait(w->gpu, &f->items[i], 1, &err);
        worker_charge(w->turns, &f->jobs[i], 1, clock_us() - from_us);
        batch_done(w, &f->jobs[i], 1, f->began_us, rc, &err);
    }
}

/* A flight that did not get off. The oldest one comes first, as always: those before it land. */
static void crash(struct worker *w, struct flight *f, int rc, struct err *err)
{
    worker_flight_land_all(w);
    if (rc == ERR_INPUT && f->n > 1)
        fly_alone(w, f);
    else
        batch_done(w, f->jobs, f->n, f->began_us, rc, err);
}

static void launch(struct worker *w, struct flight *f)
{
    struct err err = {0};
    int rc;

    f->began_us = clock_us();
    rc = pipeline_mono(w->gpu, f->items, f->n, &err);
    f->enqueued_us = clock_us();
    if (rc == 0) {
        uint64_t took_us = f->enqueued_us - f->began_us;
        w->enqueue_us = (uint32_t)((7 * (uint64_t)w->enqueue_us + min_u64(took_us, 10000)) / 8);
        w->n_flights++;
    } else {
        crash(w, f, rc, &err);
    }
}

/* ------------------------------------------------------------------------- boarding */

static void note_queue_time(struct worker *w, const struct queue_item *item)
{
    uint64_t age_us = clock_us() - item->received_us;

    metrics_observe(w->config.metrics, METRICS_QUEUE,
                    age_us > item->decode_us ? age_us - item->decode_us : 0);
}

static void seat(struct flight *f, struct job *job)
{
    f->jobs[f->n] = job;
    f->items[f->n++] = &job->frame.item;
}

static void board(struct worker *w, struct flight *f, struct turn_entry *const *entries, int n)
{
    for (int i = 0; i < n; i++) {
        struct session *s = session_work_of_device(entries[i]);
        struct session_work *k = session_work(s);
        if (needs_device(w, s)) {
            set_working(w, s);
            worker_make_session(w, s);
            continue;
        }
        if (!take_job(w, s)) {
            finish_turn(w, s);
            continue;
        }
        set_working(w, s);
        if (queue_has_ready(session_queue(s))) /* it will be back: turn_take_more() */
            turn_kick(w->turns, &k->work_turn);
        note_queue_time(w, k->job.item);
        seat(f, &k->job);
    }
}

/* Until when the flight may wait for frames that are being decoded, and for sessions whose last
 * frame is being committed, while the device has nothing to do: not long, and not if its oldest
 * frame has no time for it. */
static uint64_t boarding_ends_us(const struct worker *w, const struct flight *f)
{
    uint64_t ends_us = clock_us() + (uint64_t)w->config.batch_wait_us;

    for (int i = 0; i < f->n; i++) {
        uint64_t deadline_us = f->jobs[i]->item->received_us + FRAME_DEADLINE_US;
        ends_us = min_u64(ends_us, deadline_us);
    }
    return ends_us;
}

/* Company for those on board. While the device is at work with another flight nothing is lost by
 * waiting for whoever comes, however old a frame is, until that one is nearly done. */
static void fill(struct worker *w, struct flight *f, struct turn_entry **entries)
{
    uint64_t due_us = w->n_flights ? worker_flight_due_us(w) : 0;
    uint64_t known_us = boarding_ends_us(w, f);

    while (f->n && f->n < w->config.batch) {
        uint64_t now_us = clock_us();
        bool anybody = now_us < due_us;
        uint64_t ends_us = anybody ? due_us : known_us;
        int n;
        if (now_us >= ends_us)
            break;
        n = turn_take_more(w->turns, entries, w->config.batch - f->n, ends_us - now_us, anybody);
        if (n == 0 && clock_us() < ends_us)
            break;
        board(w, f, entries, n);
    }
}

/*
 * How many of n frames fly. A few more than a power of two cost what twice as many do: if that many
 * are done sooner in proportion, the rest goes with the next flight, and is not left behind again.
 * A size of which nothing is known is tried.
 * So that one batch that took too long does not rule out its size for ever, what is expected of it
 * shrinks with each time.
 */
static int worth(struct worker *w, int n, int n_left)
{
    uint32_t *all_us = &w->expect_us[size_of(n)], most_us;
    int most = 1;

    while (2 * most <= n)
        most *= 2;
    most_us = w->expect_us[size_of(most)];
    if (most == n || most < n_left ||
        (uint64_t)most_us * (unsigned)n >= (uint64_t)*all_us * (unsigned)most)
        return n;
    *all_us -= *all_us / 256 + 1;
    return most;
}

void worker_flight_begin(struct worker *w, struct turn_entry **entries, int n)
{
    struct flight *f = &w->flights[(w->oldest + w->n_flights) % GPU_BATCHES];
    int n_left = w->n_left, all;

    f->n = 0;
    for (int i = 0; i < n_left; i++)
        seat(f, w->left[i]);
    w->n_left = 0;
    board(w, f, entries, n);
    fill(w, f, entries);
    if (f->n == 0)
        return;
    all = f->n;
    f->n = worth(w, all, n_left);
    for (int i = f->n; i < all; i++)
        w->left[w->n_left++] = f->jobs[i];
    launch(w, f);
}
