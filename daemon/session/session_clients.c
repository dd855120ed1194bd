/* Clients of a session: adding, starting, removing. */
#include "daemon/session/session_clients.h"

#include "daemon/clock.h"
#include "daemon/session/session_internal.h"

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

/* Under the lock: queues all submaps and tracked objects for a new client. */
static void add_client(struct session *s, struct session_client *c)
{
    s->clients[s->n_clients++] = c;
    for (uint32_t i = 0; i < API_SUBMAPS_MAX; i++)
        if (i == 0 || sources_has_submap(s->sources, i))
            outbox_place(c->outbox, &s->places, i);
    session_tell_objects(s, c);
}

int session_attach(struct session *s, struct session_client *c, struct err *err)
{
    int rc = 0;

    lock_take(&s->lock);
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
    lock_give(&s->lock);
    return rc;
}

void session_detach(struct session *s, struct session_client *c)
{
    lock_take(&s->lock);
    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i] == c) {
            s->clients[i] = s->clients[--s->n_clients];
            break;
        }
    session_update_state(s);
    s->changed_s = clock_unix_s();
    lock_give(&s->lock);
}

/* Under the lock: ends the client that sent frames of this source so far. */
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

    lock_take(&s->lock);
    rc = is_back(s, err);
    if (rc)
        atomic_store(&s->asked_for, true);
    lock_give(&s->lock);
    return rc;
}

bool session_asked_for(const struct session *s)
{
    return atomic_load(&s->asked_for);
}

/* Called under the lock. */
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
        atomic_store(&s->may_suspend, false);
    return 0;
}

int session_start(struct session *s, struct session_client *c, const char *source,
                  struct api_source *at, struct err *err)
{
    struct session_wakes w = {.n = 0};
    int rc;

    lock_take(&s->lock);
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
    lock_give(&s->lock);
    session_wake(s, &w);
    return rc;
}

void session_sent(struct session *s, const struct outbox_sent *sent)
{
    lock_take(&s->lock);
    s->kept.counts.bytes_out += sent->bytes;
    s->kept.counts.blocks_out += sent->blocks;
    s->kept.counts.points_out += sent->points;
    lock_give(&s->lock);
    metrics_add(s->setup.metrics, METRICS_SENT_BYTES, sent->bytes);
    metrics_add(s->setup.metrics, METRICS_SENT_BLOCKS, sent->blocks);
    metrics_add(s->setup.metrics, METRICS_SENT_POINTS, sent->points);
}
