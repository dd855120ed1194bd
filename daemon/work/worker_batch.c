#include "daemon/work/worker_batch.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/session/session_ends.h"
#include "daemon/work/closing.h"
#include "daemon/work/commit.h"
#include "daemon/work/frame_end.h"
#include "daemon/work/object_search.h"
#include "daemon/work/worker_make.h"

#include <string.h>

/* ----------------------------------------------------------------- the device turn of a session */

/* What a session's device turn is for. */
enum step {
    STEP_NONE, /* nothing: it is over */
    STEP_MAKE, /* the thread that makes sessions works on its device state (worker_make.c) */
    STEP_JOB   /* its job goes into the batch */
};

static void set_working(struct worker *w, struct session_work *k)
{
    lock_take(&w->lock);
    k->working = true;
    w->n_working++;
    lock_give(&w->lock);
}

/* Does its next frame wait for searches of earlier ones? Not where frames end unused anyway. */
static bool is_held_back(const struct worker *w, struct session *s)
{
    return !session_hurried(s) && !atomic_load(&w->lost) && object_search_holds(s);
}

/* Ends the session's turn; a picture of its queue may be free again. */
static void end_turn(struct worker *w, struct session_work *k)
{
    struct session *s = k->session;
    bool more;

    session_work_kick_decoder(s);
    more = k->next || (!session_dead(s) && queue_has_ready(k->queue) && !is_held_back(w, s)) ||
           (!atomic_load(&w->lost) && session_waits_for_rounds(s));
    if (turn_done(w->turns, &k->device_turn, more))
        session_unref(s);
}

void worker_batch_turn_over(struct session *s)
{
    struct session_work *k = session_work(s);
    struct worker *w = k->worker;
    bool retiring;

    lock_take(&w->lock);
    k->working = false;
    retiring = k->retiring;
    w->n_working--;
    pthread_cond_broadcast(&w->changed);
    lock_give(&w->lock);
    end_turn(w, k);
    if (retiring) /* the retiring waited for this */
        turn_poke(w->turns);
}

/* The session is closed and has rounds to go: the next one becomes its job. */
static enum step open_round(struct session_work *k)
{
    struct queue_item *item = closing_take(k->session);

    if (!item) {
        frame_end_rounds(k->session);
        return STEP_NONE;
    }
    k->job = (struct job){.session = k->session, .item = item, .closing_round = true};
    k->setup->kind->open(&k->job);
    return STEP_JOB;
}

/* Makes the frame the session's job, unless the device does not take it yet: then it is held. */
static enum step open_frame(struct session_work *k, struct queue_item *item, bool continues)
{
    k->job = (struct job){.session = k->session, .item = item, .continues = continues};
    k->setup->kind->open(&k->job);
    if (!(k->job.on_device.turn & 1) || gpu_session_is_sideways(k->device))
        return STEP_JOB;
    frame_state_move(&item->state, FRAME_EVENT_HOLD);
    k->next = item;
    return STEP_MAKE;
}

/* A frame that came meanwhile has announced itself, so the session's turn comes again. */
static enum step take_step(struct worker *w, struct session_work *k)
{
    struct session *s = k->session;
    const bool lost = atomic_load(&w->lost), dead = session_dead(s), hurried = session_hurried(s);
    const bool continues = k->next && k->next->state == FRAME_STATE_UNFINISHED;
    const bool unused = lost || (hurried && !continues); /* its frames end unused from now on */
    struct queue_item *item;

    if (!k->device && !dead && !lost && (queue_has_ready(k->queue) || session_waits_for_rounds(s)))
        return STEP_MAKE;
    if (k->next && (unused || dead)) {
        item = session_work_take_next(k);
        frame_end_unused(s, item, hurried ? CONTROL_SHUTDOWN : CONTROL_FAULT, lost);
        return STEP_NONE;
    }
    if (dead || (session_disk(s) && lost))
        return STEP_NONE;
    if ((hurried || lost) && session_waits_for_rounds(s))
        frame_end_rounds(s);
    if (!k->device && !lost)
        return STEP_NONE;
    if (!continues) /* between two frames */
        store_checkpoint(s, k->device);
    if (!k->next && is_held_back(w, s))
        return STEP_NONE;
    item = session_work_take_next(k);
    if (!item)
        return session_waits_for_rounds(s) ? open_round(k) : STEP_NONE;
    session_work_kick_decoder(s);
    if (!unused)
        return open_frame(k, item, continues);
    frame_end_unused(s, item, lost ? CONTROL_FAULT : CONTROL_SHUTDOWN, lost);
    return STEP_NONE;
}

/* ------------------------------------------------------------------------- jobs */

static enum control_reason reason_of(int rc)
{
    return rc == ERR_MEMORY ? CONTROL_MEMORY : rc == ERR_INPUT ? CONTROL_BAD_FRAME : CONTROL_FAULT;
}

static void batch_failed(struct worker *w, struct job *const *jobs, int n, uint64_t began_us,
                         int rc, const struct err *err)
{
    atomic_fetch_add(&w->errors, 1);
    LOG_AT(rc == ERR_DEVICE ? LOG_CRIT : LOG_ERR,
           "device %s: %s%s%s (a batch of %d, begun %.1f ms ago)", w->device_name, err->where,
           err->where[0] ? ": " : "", err->text, n, (double)(clock_us() - began_us) * 1e-3);
    if (rc == ERR_DEVICE)
        worker_lose(w);
    for (int i = 0; i < n; i++) {
        struct session *s = jobs[i]->session;
        if (jobs[i]->closing_round)
            frame_end_rounds(s);
        else
            frame_end_unused(s, jobs[i]->item, reason_of(rc), atomic_load(&w->lost));
        session_work_turn_over(s);
    }
}

/* The device has computed these frames, or has failed them. */
static void batch_done(struct worker *w, struct job *const *jobs, int n, uint64_t began_us, int rc,
                       const struct err *err)
{
    metrics_add(w->config.metrics, METRICS_BATCHES, 1);
    atomic_fetch_add(&w->frames, (unsigned)n);
    if (rc)
        batch_failed(w, jobs, n, began_us, rc, err);
    for (int i = 0; i < n && rc == 0; i++) {
        w->busy_us += (double)jobs[i]->on_device.device_us;
        commit_push(w->config.commit, jobs[i]);
    }
}

/* ------------------------------------------------------------------------- batches */

/* Charges sessions for the time that their batch took, before its jobs are passed on. */
static void charge_sessions(struct worker *w, struct job *const *jobs, int n, uint64_t us)
{
    uint64_t pixels[GPU_BATCH_MAX] = {0}, share_us[GPU_BATCH_MAX];
    uint64_t all = 0, ps = atomic_load(&w->ps_per_pixel);
    int width, height;

    for (int i = 0; i < n; i++) {
        session_get_net(jobs[i]->session, &width, &height);
        pixels[i] = (uint64_t)width * (uint64_t)height;
        all += pixels[i];
    }
    if (all && session_setup(jobs[0]->session)->depth) /* all jobs of a batch have one line */
        atomic_store(&w->ps_per_pixel, ps ? (7 * ps + us * 1000000 / all) / 8 : us * 1000000 / all);
    batch_policy_share(share_us, pixels, n, us);
    for (int i = 0; i < n; i++) {
        struct session *s = jobs[i]->session;
        float weight = session_setup(s)->kind->line->weight;
        turn_charge(w->turns, &session_work(s)->device_turn,
                    (uint64_t)((double)share_us[i] * (double)weight));
    }
}

static const struct batch *oldest_batch(const struct worker *w)
{
    return &w->batches[w->oldest];
}

uint64_t worker_batch_due_us(const struct worker *w)
{
    return batch_policy_due_us(&w->policy, oldest_batch(w)->n, oldest_batch(w)->enqueued_us);
}

uint64_t worker_batch_nap_us(const struct worker *w)
{
    const struct batch_policy_load load = {.n_left = w->n_left,
                                           .busy = w->n_batches > 0,
                                           .n = oldest_batch(w)->n,
                                           .enqueued_us = oldest_batch(w)->enqueued_us};

    return batch_policy_nap_us(&w->policy, &load, clock_us());
}

void worker_batch_wait(struct worker *w)
{
    const struct batch *b = oldest_batch(w);
    uint64_t from_us = clock_us(), began_us, now_us;
    struct err err = {0};
    int rc = gpu_wait(w->gpu, b->items, b->n, &err);

    now_us = clock_us();
    began_us = b->began_us > w->policy.done_us ? b->began_us : w->policy.done_us;
    batch_policy_done(&w->policy, b->n, b->enqueued_us, from_us, now_us);
    w->oldest = (w->oldest + 1) % GPU_BATCHES;
    w->n_batches--;
    metrics_observe(w->config.metrics, METRICS_COMPUTE, now_us - began_us);
    charge_sessions(w, b->jobs, b->n, now_us - began_us);
    batch_done(w, b->jobs, b->n, b->began_us, rc, &err);
}

void worker_batch_wait_all(struct worker *w)
{
    while (w->n_batches)
        worker_batch_wait(w);
}

/* The device refuses a whole batch, before it begins with it, if one frame does not fit its
 * session. Then each frame is sent alone, so that the others are computed. */
static void submit_each(struct worker *w, struct batch *b)
{
    for (int i = 0; i < b->n; i++) {
        uint64_t from_us = clock_us();
        struct err err = {0};
        int rc = atomic_load(&w->lost) ? ERR_DEVICE : 0;
        if (rc == 0)
            rc = gpu_submit(w->gpu, b->line, &b->items[i], 1, &err);
        if (rc == 0)
            rc = gpu_wait(w->gpu, &b->items[i], 1, &err);
        charge_sessions(w, &b->jobs[i], 1, clock_us() - from_us);
        batch_done(w, &b->jobs[i], 1, b->began_us, rc, &err);
    }
}

/* Handles a batch that the device refused. Batches end in order, so earlier ones are waited for. */
static void batch_refused(struct worker *w, struct batch *b, int rc, struct err *err)
{
    worker_batch_wait_all(w);
    if (rc == ERR_INPUT && b->n > 1)
        submit_each(w, b);
    else
        batch_done(w, b->jobs, b->n, b->began_us, rc, err);
}

static void batch_submit(struct worker *w, struct batch *b)
{
    struct err err = {0};
    int rc;

    for (int i = 0; i < b->n; i++)
        frame_state_move(&b->jobs[i]->item->state, FRAME_EVENT_SUBMIT);
    b->began_us = clock_us();
    rc = gpu_submit(w->gpu, b->line, b->items, b->n, &err);
    b->enqueued_us = clock_us();
    if (rc) {
        batch_refused(w, b, rc, &err);
        return;
    }
    batch_policy_enqueued(&w->policy, b->enqueued_us - b->began_us);
    w->n_batches++;
}

/* ---------------------------------------------------------------------- while a batch is filled */

static void note_queue_time(struct worker *w, const struct queue_item *item)
{
    uint64_t age_us = clock_us() - item->received_us;

    metrics_observe(w->config.metrics, METRICS_QUEUE,
                    age_us > item->decode_us ? age_us - item->decode_us : 0);
}

/* Adds an item to the batch; an item of another line waits for the next batch. A line of lower
 * priority gives the batch up, unless items were left behind for it: these go now. */
static void add_job(struct worker *w, struct batch *b, struct job *job)
{
    const struct gpu_line *line = session_setup(job->session)->kind->line;

    if (b->n && !b->n_left && line->priority < b->line->priority) {
        memcpy(w->left + w->n_left, b->jobs, (size_t)b->n * sizeof(b->jobs[0]));
        w->n_left += b->n;
        b->n = 0;
    }
    if (b->n == 0)
        b->line = line;
    if (b->line != line) {
        w->left[w->n_left++] = job;
        return;
    }
    b->jobs[b->n] = job;
    b->items[b->n++] = &job->on_device;
}

static void add_sessions(struct worker *w, struct batch *b, struct turn_entry *const *entries,
                         int n)
{
    for (int i = 0; i < n; i++) {
        struct session_work *k = session_work(session_work_of_device(entries[i]));
        enum step step = take_step(w, k);

        if (step == STEP_NONE) {
            end_turn(w, k);
            continue;
        }
        set_working(w, k);
        if (step == STEP_MAKE) {
            worker_make_session(w, k);
            continue;
        }
        if (queue_has_ready(k->queue)) /* it comes again: turn_take_more() */
            turn_kick(w->turns, &k->device_turn);
        if (!k->job.continues && !k->job.closing_round)
            note_queue_time(w, k->job.item);
        add_job(w, b, &k->job);
    }
}

static uint64_t idle_until_us(const struct worker *w, const struct batch *b)
{
    uint64_t oldest_us = UINT64_MAX - BATCH_POLICY_DEADLINE_US;

    for (int i = 0; i < b->n; i++)
        if (b->jobs[i]->item->received_us < oldest_us)
            oldest_us = b->jobs[i]->item->received_us;
    return batch_policy_idle_until_us(&w->policy, clock_us(), oldest_us);
}

static void wait_for_more(struct worker *w, struct batch *b, struct turn_entry **entries)
{
    uint64_t due_us = w->n_batches ? worker_batch_due_us(w) : 0;
    uint64_t idle_us = idle_until_us(w, b);
    struct batch_policy_wait wait;
    uint64_t now_us = clock_us();
    int n;

    while ((wait = batch_policy_wait(&w->policy, b->n + w->n_left, now_us, due_us, idle_us))
               .until_us) {
        n = turn_take_more(w->turns, entries, w->policy.most - b->n - w->n_left,
                           wait.until_us - now_us, wait.for_any);
        now_us = clock_us();
        if (n == 0 && now_us < wait.until_us)
            break;
        add_sessions(w, b, entries, n);
    }
}

void worker_batch_begin(struct worker *w, struct turn_entry **entries, int n)
{
    struct batch *b = &w->batches[(w->oldest + w->n_batches) % GPU_BATCHES];
    struct job *left[GPU_BATCH_MAX];
    int n_left = w->n_left, all;

    memcpy(left, w->left, sizeof(left));
    b->n = w->n_left = 0;
    b->n_left = n_left;
    for (int i = 0; i < n_left; i++)
        add_job(w, b, left[i]);
    b->n_left = b->n;
    add_sessions(w, b, entries, n);
    wait_for_more(w, b, entries);
    if (b->n == 0)
        return;
    all = b->n;
    b->n = batch_policy_size(&w->policy, all, b->n_left);
    for (int i = b->n; i < all; i++)
        w->left[w->n_left++] = b->jobs[i];
    batch_submit(w, b);
}
