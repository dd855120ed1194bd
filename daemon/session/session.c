#include "daemon/session/session.h"

#include "daemon/clock.h"
#include "daemon/disk/store.h"
#include "daemon/work/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Clients to wake, collected under the lock and called after it. */
struct wakes {
    void *cookies[SESSION_STREAMS_MAX];
    int n;
};

static void wake_all(struct session *s, const struct wakes *w)
{
    const struct session_edges *e = s->setup.edges;

    for (int i = 0; e->ops && i < w->n; i++)
        e->ops->wake(e->edge, w->cookies[i]);
}

/* 26 characters of base32: 130 random bits, so that an id cannot be guessed; and an epoch. */
static int make_id(char id[API_ID_CAP], uint32_t *epoch, struct err *err)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint8_t random[30];

    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return err_set(err, ERR_IO, "no random numbers from the system");
    for (int i = 0; i < 26; i++)
        id[i] = digits[random[i] & 31];
    id[26] = '\0';
    memcpy(epoch, random + 26, sizeof(*epoch));
    *epoch |= 1; /* never 0 */
    return 0;
}

static int name(struct session *s, const struct session_setup *setup, struct err *err)
{
    if (!setup->id[0])
        return make_id(s->id, &s->epoch, err);
    memcpy(s->id, setup->id, sizeof(s->id));
    s->epoch = setup->epoch;
    return 0;
}

/* Pictures lie where the session's device reads them fast. */
static void use_device_memory(struct session *s)
{
    const struct queue_memory memory = {worker_get_memory, worker_put_memory, s->setup.worker};

    if (s->setup.worker)
        queue_set_memory(s->queue, &memory);
}

int session_new(struct session **session, const struct session_setup *setup, struct err *err)
{
    struct cloud_limits limits = {setup->max_blocks, setup->options.max_points};
    struct session *s = calloc(1, sizeof(*s));
    int rc;

    *session = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    s->setup = *setup;
    pthread_mutex_init(&s->storing, NULL);
    s->setup.budget = NULL; /* the caller's until this has succeeded */
    atomic_init(&s->refs, 1);
    pthread_mutex_init(&s->lock, NULL);
    s->changed_s = clock_unix_s();
    s->created_s = setup->created_s > 0 ? setup->created_s : s->changed_s;
    s->net_w = setup->options.net_w;
    s->net_h = setup->options.net_h;
    rc = name(s, setup, err);
    if (rc == 0)
        rc = queue_new(&s->queue, setup->queue_frames, setup->max_payload_bytes, err);
    if (rc == 0)
        rc = mirror_new(&s->mirror, &limits, err);
    if (rc == 0)
        rc = trajectory_new(&s->trajectory, err);
    if (rc) {
        session_unref(s);
        return rc;
    }
    if (setup->options.mode == SESSION_LOSSLESS)
        queue_set_lossless(s->queue);
    use_device_memory(s);
    s->setup.budget = setup->budget;
    *session = s;
    return 0;
}

struct session *session_ref(struct session *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void session_unref(struct session *s)
{
    struct session *above;

    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    if (!s->setup.store) {
        session_free(s);
        return;
    }
    /* this may be a thread of the journal, which cannot close it */
    above = atomic_load(&s->setup.store->graves);
    do
        s->next_grave = above;
    while (!atomic_compare_exchange_weak(&s->setup.store->graves, &above, s));
}

void session_free(struct session *s)
{
    if (s->log)
        journal_log_free(&s->log);
    store_drop_fetched(s);
    if (s->setup.budget)
        budget_give(s->setup.budget, s->setup.memory_bytes);
    queue_free(&s->queue);
    mirror_free(&s->mirror);
    trajectory_free(&s->trajectory);
    free(s->work.depth);
    free(s->preview);
    pthread_mutex_destroy(&s->storing);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ------------------------------------------------------------------------- clients */

static int ingest_clients(const struct session *s)
{
    int n = 0;

    for (int i = 0; i < s->n_clients; i++)
        n += s->clients[i]->started && s->clients[i]->role == CONTROL_INGEST;
    return n;
}

static void set_state(struct session *s)
{
    if (s->state == SESSION_CLOSED || s->recovering)
        return;
    if (ingest_clients(s))
        s->state = SESSION_STREAMING;
    else if (s->state != SESSION_CREATED)
        s->state = atomic_load(&s->resting) ? SESSION_SUSPENDED : SESSION_IDLE;
}

void session_set_resting(struct session *s, bool resting)
{
    atomic_store(&s->resting, resting);
    if (!resting)
        atomic_store(&s->may_rest, false);
    pthread_mutex_lock(&s->lock);
    set_state(s);
    pthread_mutex_unlock(&s->lock);
}

void session_recovered(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    s->recovering = false;
    s->state = s->stored_frames ? SESSION_IDLE : SESSION_CREATED;
    s->changed_s = clock_unix_s();
    set_state(s);
    pthread_mutex_unlock(&s->lock);
    if (session_settle(s))
        store_want_checkpoint(s, true);
}

int session_attach(struct session *s, struct session_client *c, struct err *err)
{
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    if (atomic_load(&s->dead))
        rc = err_set(err, ERR_NOT_FOUND, "no such session");
    else if (s->recovering)
        rc = err_set(err, ERR_BUSY, "the session is coming back, try again in a moment");
    else if (s->n_clients == SESSION_STREAMS_MAX)
        rc =
            err_set(err, ERR_BUSY, "%d clients are connected to this session", SESSION_STREAMS_MAX);
    else
        s->clients[s->n_clients++] = c;
    s->changed_s = clock_unix_s();
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void session_detach(struct session *s, struct session_client *c)
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i] == c) {
            s->clients[i] = s->clients[--s->n_clients];
            break;
        }
    set_state(s);
    s->changed_s = clock_unix_s();
    pthread_mutex_unlock(&s->lock);
}

/* Under the lock: the client that sent frames so far has to go. */
static void replace_ingest(struct session *s, const struct session_client *by, struct wakes *w)
{
    const struct control_bye bye = {CONTROL_DISCONNECT, 0, "another client sends frames now"};

    for (int i = 0; i < s->n_clients; i++) {
        struct session_client *c = s->clients[i];
        if (c == by || !c->started || c->role != CONTROL_INGEST)
            continue;
        outbox_bye(c->outbox, &bye, true);
        w->cookies[w->n++] = c->cookie;
    }
}

static int is_back(const struct session *s, struct err *err)
{
    return s->recovering
               ? err_set(err, ERR_BUSY, "the session is coming back, try again in a moment")
               : 0;
}

int session_is_back(struct session *s, struct err *err)
{
    int rc;

    pthread_mutex_lock(&s->lock);
    rc = is_back(s, err);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int session_start(struct session *s, struct session_client *c, struct err *err)
{
    struct wakes w = {.n = 0};
    int rc;

    pthread_mutex_lock(&s->lock);
    rc = is_back(s, err);
    if (rc) {
        /* it comes again */
    } else if (c->role == CONTROL_INGEST && (s->closing || s->state == SESSION_CLOSED)) {
        rc = err_at(err, ERR_STATE, "/role", "the session takes no more frames");
    } else {
        if (c->role == CONTROL_INGEST) {
            replace_ingest(s, c, &w);
            atomic_store(&s->may_rest, false);
        }
        c->started = true;
        set_state(s);
        if (s->state == SESSION_CLOSED)
            outbox_end(c->outbox);
        s->changed_s = clock_unix_s();
    }
    pthread_mutex_unlock(&s->lock);
    wake_all(s, &w);
    return rc;
}

/* ------------------------------------------------------------------------- frames */

enum control_reason session_admit(struct session *s, uint64_t seq, bool readable, size_t bytes)
{
    enum control_reason reason = CONTROL_REASON_NONE;

    pthread_mutex_lock(&s->lock);
    s->counts.received++;
    s->counts.queued++;
    s->counts.bytes_in += bytes;
    if (s->closing || s->state == SESSION_CLOSED || s->fault[0])
        reason = s->log && journal_log_fenced(s->log) ? CONTROL_STORAGE : CONTROL_CLOSED;
    else if (readable && s->any_seq && seq <= s->last_seq)
        reason = CONTROL_DUPLICATE;
    else if (readable) {
        s->any_seq = true;
        s->last_seq = seq;
    }
    pthread_mutex_unlock(&s->lock);
    metrics_add(s->setup.metrics, METRICS_FRAME_BYTES, bytes);
    return reason;
}

static void count_answer(struct session *s, const struct control_ack *ack, uint64_t received_us,
                         uint64_t now_us)
{
    s->counts.queued--;
    if (ack->status == CONTROL_USED)
        s->counts.used++;
    else if (ack->status == CONTROL_DROPPED)
        s->counts.dropped++;
    else
        s->counts.refused++;
    if (ack->status != CONTROL_USED)
        return;
    s->counts.keyframes += ack->keyframe;
    s->used_us[s->n_used_us++ % SESSION_FPS_FRAMES] = now_us;
    s->latency_ms = (float)(now_us - received_us) * 1e-3f;
}

void session_answer(struct session *s, uint64_t stream, const struct control_ack *ack,
                    uint64_t received_us)
{
    uint64_t now_us = clock_us();
    struct wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    count_answer(s, ack, received_us, now_us);
    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i]->serial == stream) {
            outbox_ack(s->clients[i]->outbox, ack);
            w.cookies[w.n++] = s->clients[i]->cookie;
        }
    pthread_mutex_unlock(&s->lock);
    metrics_frame(s->setup.metrics, ack->status, ack->reason);
    if (ack->status == CONTROL_USED)
        metrics_observe(s->setup.metrics, METRICS_LATENCY, now_us - received_us);
    wake_all(s, &w);
}

void session_publish(struct session *s, const struct gpu_result *result,
                     const struct mirror_commit *commit)
{
    struct wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    s->keyframes_kept = result->n_keyframes;
    s->model_points = result->n_points;
    s->model_stable = result->n_stable;
    for (int i = 0; i < s->n_clients && commit->n_changed; i++)
        if (s->clients[i]->started) {
            outbox_mark(s->clients[i]->outbox, commit->changed, commit->n_changed,
                        commit->revision);
            w.cookies[w.n++] = s->clients[i]->cookie;
        }
    pthread_mutex_unlock(&s->lock);
    wake_all(s, &w);
}

void session_sent(struct session *s, const struct outbox_sent *sent)
{
    pthread_mutex_lock(&s->lock);
    s->counts.bytes_out += sent->bytes;
    s->counts.blocks_out += sent->blocks;
    s->counts.points_out += sent->points;
    pthread_mutex_unlock(&s->lock);
    metrics_add(s->setup.metrics, METRICS_SENT_BYTES, sent->bytes);
    metrics_add(s->setup.metrics, METRICS_SENT_BLOCKS, sent->blocks);
    metrics_add(s->setup.metrics, METRICS_SENT_POINTS, sent->points);
}

void session_set_preview(struct session *s, const float *depth, uint64_t seq)
{
    size_t n;

    pthread_mutex_lock(&s->lock);
    n = (size_t)s->net_w * (size_t)s->net_h;
    if (!s->preview)
        s->preview = malloc(n * sizeof(*s->preview));
    if (s->preview)
        memcpy(s->preview, depth, n * sizeof(*s->preview));
    s->preview_seq = seq;
    pthread_mutex_unlock(&s->lock);
}

void session_set_net(struct session *s, int w, int h)
{
    pthread_mutex_lock(&s->lock);
    s->net_w = w;
    s->net_h = h;
    pthread_mutex_unlock(&s->lock);
}

void session_get_net(struct session *s, int *w, int *h)
{
    pthread_mutex_lock(&s->lock);
    *w = s->net_w;
    *h = s->net_h;
    pthread_mutex_unlock(&s->lock);
}

void session_set_fault(struct session *s, const char *why)
{
    pthread_mutex_lock(&s->lock);
    snprintf(s->fault, sizeof(s->fault), "%s", why);
    pthread_mutex_unlock(&s->lock);
}

/* ------------------------------------------------------------------------- ends */

void session_finalize(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_mutex_unlock(&s->lock);
}

bool session_settle(struct session *s)
{
    struct wakes w = {.n = 0};
    bool closed;

    pthread_mutex_lock(&s->lock);
    closed = s->closing && s->state != SESSION_CLOSED && s->counts.queued == 0 && !s->recovering;
    if (closed) {
        s->state = SESSION_CLOSED;
        s->changed_s = clock_unix_s();
        for (int i = 0; i < s->n_clients; i++) {
            outbox_end(s->clients[i]->outbox);
            w.cookies[w.n++] = s->clients[i]->cookie;
        }
    }
    pthread_mutex_unlock(&s->lock);
    wake_all(s, &w);
    return closed;
}

void session_bye(struct session *s, const struct control_bye *bye, bool at_once)
{
    struct wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->n_clients; i++) {
        outbox_bye(s->clients[i]->outbox, bye, at_once);
        w.cookies[w.n++] = s->clients[i]->cookie;
    }
    pthread_mutex_unlock(&s->lock);
    wake_all(s, &w);
}

bool session_kill(struct session *s)
{
    const struct control_bye bye = {CONTROL_DISCONNECT, 0, "the session was deleted"};
    bool first;

    pthread_mutex_lock(&s->lock);
    first = !atomic_exchange(&s->dead, true);
    s->closing = true;
    pthread_mutex_unlock(&s->lock);
    if (first)
        session_bye(s, &bye, true);
    return first;
}

bool session_idle(struct session *s, double now_s, int suspend_s)
{
    bool idle;

    pthread_mutex_lock(&s->lock);
    idle = suspend_s >= 0 && s->state == SESSION_IDLE && s->counts.queued == 0 &&
           now_s - s->changed_s > suspend_s;
    pthread_mutex_unlock(&s->lock);
    return idle;
}

bool session_expired(struct session *s, double now_s)
{
    bool expired;

    pthread_mutex_lock(&s->lock);
    expired = s->setup.options.retention_s >= 0 && s->n_clients == 0 && !s->recovering &&
              s->counts.queued == 0 && now_s - s->changed_s > s->setup.options.retention_s;
    pthread_mutex_unlock(&s->lock);
    return expired;
}
