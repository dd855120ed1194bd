/* Functions under a session's lock for all of its parts: its clients, and messages to them. */
#include "daemon/session/session_internal.h"

void session_wake(struct session *s, const struct session_wakes *w)
{
    const struct session_edges *e = s->setup.edges;

    for (int i = 0; e->ops && i < w->n; i++)
        e->ops->wake(e->edge, w->cookies[i]);
}

static int session_feeders(const struct session *s)
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
        s->state = atomic_load(&s->suspended) ? SESSION_SUSPENDED : SESSION_IDLE;
}

uint32_t session_connected(const struct session *s)
{
    uint32_t connected = 0;

    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i]->started && s->clients[i]->source >= 0)
            connected |= 1u << s->clients[i]->source;
    return connected;
}

float session_share(const struct session *s, double rate)
{
    int n = session_feeders(s);

    return (float)(rate / (n > 1 ? n : 1));
}

/* Tells rate and quality, where they differ from those that the client was told. */
static void add_pace(const struct session *s, struct session_client *c, struct control_ack *ack)
{
    float rate = session_share(s, s->pace.rate), most = session_share(s, s->pace.fps);

    if (!c->started)
        return;
    if (pace_differs((double)rate, (double)c->told_rate, (double)most))
        ack->rate = c->told_rate = rate;
    if (c->link.jpeg != c->told_jpeg)
        ack->jpeg = (uint8_t)(c->told_jpeg = c->link.jpeg);
}

void session_tell(const struct session *s, struct session_client *c, const struct control_ack *end,
                  uint64_t now_us)
{
    struct control_ack ack = *end;

    ack.server_us = now_us;
    add_pace(s, c, &ack);
    if (ack.placed && c->convention == FRAME_POSE_OPENGL)
        control_pose_swap_axes(ack.pose);
    outbox_ack(c->outbox, &ack);
}

void session_tell_place(struct session *s, uint32_t submap, struct session_wakes *w)
{
    for (int i = 0; i < s->n_clients; i++) {
        outbox_place(s->clients[i]->outbox, &s->places, submap);
        w->cookies[w->n++] = s->clients[i]->cookie;
    }
}

static uint64_t all_of(const struct tracked_objects *s)
{
    return s->n == TRACKED_OBJECTS_MAX ? UINT64_MAX : (1ull << s->n) - 1;
}

void session_tell_objects(const struct session *s, struct session_client *c)
{
    if (s->tracked)
        outbox_objects(c->outbox, s->tracked->at, all_of(s->tracked), s->searching);
}
