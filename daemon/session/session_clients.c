/* A session's clients, and what they are told of their frames. */
#include "daemon/session/session_internal.h"

#include "daemon/clock.h"

void session_wake(struct session *s, const struct session_wakes *w)
{
    const struct session_edges *e = s->setup.edges;

    for (int i = 0; e->ops && i < w->n; i++)
        e->ops->wake(e->edge, w->cookies[i]);
}

int session_feeders(const struct session *s)
{
    int n = 0;

    for (int i = 0; i < s->n_clients; i++)
        n += s->clients[i]->started && s->clients[i]->role == CONTROL_INGEST;
    return n;
}

void session_update_state(struct session *s)
{
    if (s->state == SESSION_CLOSED || s->recovering)
        return;
    if (session_feeders(s))
        s->state = SESSION_STREAMING;
    else if (s->state != SESSION_CREATED)
        s->state = atomic_load(&s->resting) ? SESSION_SUSPENDED : SESSION_IDLE;
}

/* ------------------------------------------------------------------------- clients */

static bool has_place(const struct session *s, enum control_role role)
{
    int places = role == CONTROL_INGEST ? SESSION_FEEDERS_MAX : s->setup.max_viewers, n = 0;

    for (int i = 0; i < s->n_clients; i++)
        n += s->clients[i]->role == role;
    return n < places;
}

static int is_back(const struct session *s, struct err *err)
{
    return s->recovering
               ? err_set(err, ERR_BUSY, "the session is coming back, try again in a moment")
               : 0;
}

/* Under the lock. It is told of all submaps and tracked objects that are there; of later ones as
 * they come. */
static void add_client(struct session *s, struct session_client *c)
{
    s->clients[s->n_clients++] = c;
    for (uint32_t i = 0; i < API_SUBMAPS_MAX; i++)
        if (i == 0 || sources_has_world(s->sources, i))
            outbox_place(c->outbox, &s->places, i);
    session_tell_objects(s, c);
}

int session_attach(struct session *s, struct session_client *c, struct err *err)
{
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    if (atomic_load(&s->dead))
        rc = err_set(err, ERR_NOT_FOUND, "no such session");
    else if (s->recovering)
        rc = is_back(s, err);
    else if (!has_place(s, c->role))
        rc = err_set(err, ERR_BUSY, "%s",
                     c->role == CONTROL_INGEST ? "too many clients send frames to this session"
                                               : "too many clients watch this session");
    else
        add_client(s, c);
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
    session_update_state(s);
    s->changed_s = clock_unix_s();
    pthread_mutex_unlock(&s->lock);
}

/* Under the lock: the client that sent frames of this source so far has to go. */
static void replace_ingest(struct session *s, const struct session_client *by,
                           struct session_wakes *w)
{
    const struct control_bye bye = {CONTROL_DISCONNECT, 0,
                                    "another client sends frames of this source now"};

    for (int i = 0; i < s->n_clients; i++) {
        struct session_client *c = s->clients[i];
        if (c == by || !c->started || c->source != by->source)
            continue;
        outbox_bye(c->outbox, &bye, OUTBOX_AT_ONCE);
        w->cookies[w->n++] = c->cookie;
    }
}

int session_is_back(struct session *s, struct err *err)
{
    int rc;

    pthread_mutex_lock(&s->lock);
    rc = is_back(s, err);
    if (rc)
        atomic_store(&s->asked_for, true);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

bool session_asked_for(const struct session *s)
{
    return atomic_load(&s->asked_for);
}

/* Under the lock. */
static int start_feeding(struct session *s, struct session_client *c, const char *source,
                         struct api_source *at, struct session_wakes *w, struct err *err)
{
    struct api_source all[API_SOURCES_MAX];
    int i = sources_join(s->sources, source, session_connected(s), err);

    if (i < 0)
        return i;
    c->source = i;
    (void)sources_info(s->sources, all);
    *at = all[i];
    replace_ingest(s, c, w);
    if (!s->closing)
        atomic_store(&s->may_rest, false);
    return 0;
}

int session_start(struct session *s, struct session_client *c, const char *source,
                  struct api_source *at, struct err *err)
{
    struct session_wakes w = {.n = 0};
    int rc;

    pthread_mutex_lock(&s->lock);
    rc = is_back(s, err);
    if (rc == 0 && c->role == CONTROL_INGEST)
        rc = start_feeding(s, c, source, at, &w, err);
    if (rc == 0) {
        c->started = true;
        session_update_state(s);
        if (s->state == SESSION_CLOSED)
            outbox_session_closed(c->outbox);
        s->changed_s = clock_unix_s();
    }
    pthread_mutex_unlock(&s->lock);
    session_wake(s, &w);
    return rc;
}

/* ------------------------------------------------------------------------- frames */

enum control_reason session_admit(struct session *s, size_t bytes)
{
    enum control_reason reason = CONTROL_REASON_NONE;

    pthread_mutex_lock(&s->lock);
    s->kept.counts.received++;
    s->kept.counts.queued++;
    s->kept.counts.bytes_in += bytes;
    if (s->closing || s->state == SESSION_CLOSED || s->fault[0])
        reason = CONTROL_CLOSED;
    pthread_mutex_unlock(&s->lock);
    metrics_add(s->setup.metrics, METRICS_FRAME_BYTES, bytes);
    return reason;
}

/* Under the lock, before the frame is counted: is the client told the result of the frame that is
 * used next? */
static bool is_told(const struct session *s, const struct session_client *c)
{
    return c->started && c->result_every && s->kept.counts.used % c->result_every == 0;
}

bool session_result_wanted(struct session *s)
{
    bool wanted = false;

    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->n_clients && !wanted; i++)
        wanted = is_told(s, s->clients[i]);
    pthread_mutex_unlock(&s->lock);
    return wanted;
}

static void count_answer(struct session *s, const struct control_ack *ack, uint64_t received_us,
                         uint64_t now_us)
{
    s->kept.counts.queued--;
    if (ack->status == CONTROL_USED)
        s->kept.counts.used++;
    else if (ack->status == CONTROL_DROPPED)
        s->kept.counts.dropped++;
    else
        s->kept.counts.refused++;
    if (ack->status != CONTROL_USED)
        return;
    s->kept.counts.keyframes += ack->keyframe;
    s->used_us[s->n_used_us++ % SESSION_FPS_FRAMES] = now_us;
    s->latency_ms = (float)(now_us - received_us) * 1e-3f;
    pace_used(&s->pace, now_us, s->kept.counts.queued);
}

void session_answer(struct session *s, uint64_t stream, const struct control_ack *ack,
                    uint64_t received_us)
{
    uint64_t now_us = clock_us();
    struct session_wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i]->serial == stream) {
            if (ack->status == CONTROL_USED && s->latest && s->latest->seq == ack->seq &&
                is_told(s, s->clients[i]))
                outbox_result(s->clients[i]->outbox, s->latest, true);
            session_tell(s, s->clients[i], ack, now_us);
            w.cookies[w.n++] = s->clients[i]->cookie;
        }
    count_answer(s, ack, received_us, now_us);
    pthread_mutex_unlock(&s->lock);
    metrics_frame(s->setup.metrics, ack->status, ack->reason);
    if (ack->status == CONTROL_USED)
        metrics_observe(s->setup.metrics, METRICS_LATENCY, now_us - received_us);
    session_wake(s, &w);
}

/* Under the lock: what clients have to be sent. */
static void mark(struct session *s, const struct mirror_commit *commit, struct session_wakes *w)
{
    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i]->started && outbox_mark(s->clients[i]->outbox, commit->changed,
                                                  commit->n_changed, commit->revision))
            w->cookies[w->n++] = s->clients[i]->cookie;
}

/* Under the lock: the map's counts as well. */
static void publish(struct session *s, const struct gpu_result *result,
                    const struct mirror_commit *commit, struct session_wakes *w)
{
    s->kept.keyframes_kept = result->n_keyframes;
    s->kept.model_points = result->n_points;
    s->kept.model_stable = result->n_stable;
    mark(s, commit, w);
}

void session_publish_moved(struct session *s, const struct mirror_commit *commit)
{
    struct session_wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    mark(s, commit, &w);
    pthread_mutex_unlock(&s->lock);
    session_wake(s, &w);
}

void session_publish(struct session *s, int source, const struct gpu_result *result,
                     const struct mirror_commit *commit)
{
    struct session_wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    publish(s, result, commit, &w);
    views_told_note(&s->views[source], &result->views);
    scale_told_note(&s->scale, result);
    if (result->tracks.state != GPU_TRACKS_NONE) {
        s->tracks = (enum api_tracks_state)result->tracks.state;
        s->lost_frames += s->tracks == API_TRACKS_LOST;
    }
    pthread_mutex_unlock(&s->lock);
    session_wake(s, &w);
}

void session_publish_round(struct session *s, int source, const struct gpu_result *result,
                           const struct mirror_commit *commit)
{
    struct session_wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    publish(s, result, commit, &w);
    s->views[source].last.n_keyframes = result->views.n_keyframes;
    s->views[source].last.n_refined = result->views.n_refined;
    pthread_mutex_unlock(&s->lock);
    session_wake(s, &w);
}

void session_show(struct session *s, struct frame_result *result)
{
    struct session_wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    results_unref(s->latest);
    s->latest = result;
    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i]->role == CONTROL_VIEW && is_told(s, s->clients[i])) {
            outbox_result(s->clients[i]->outbox, result, false);
            w.cookies[w.n++] = s->clients[i]->cookie;
        }
    pthread_mutex_unlock(&s->lock);
    session_wake(s, &w);
}

void session_sent(struct session *s, const struct outbox_sent *sent)
{
    pthread_mutex_lock(&s->lock);
    s->kept.counts.bytes_out += sent->bytes;
    s->kept.counts.blocks_out += sent->blocks;
    s->kept.counts.points_out += sent->points;
    pthread_mutex_unlock(&s->lock);
    metrics_add(s->setup.metrics, METRICS_SENT_BYTES, sent->bytes);
    metrics_add(s->setup.metrics, METRICS_SENT_BLOCKS, sent->blocks);
    metrics_add(s->setup.metrics, METRICS_SENT_POINTS, sent->points);
}
