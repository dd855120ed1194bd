/* A session tells its clients of the objects that it tracks. */
#include "daemon/session/session_internal.h"

static uint64_t all_of(const struct tracked_objects *s)
{
    return s->n == TRACKED_OBJECTS_MAX ? UINT64_MAX : (1ull << s->n) - 1;
}

void session_tell_objects(const struct session *s, struct session_client *c)
{
    if (s->tracked)
        outbox_objects(c->outbox, s->tracked->at, all_of(s->tracked), s->searching);
}

/* Under the lock: what is news, and how many pictures are searched, to all clients. */
static void tell(struct session *s, uint64_t news, struct session_wakes *w)
{
    for (int i = 0; i < s->n_clients; i++) {
        outbox_objects(s->clients[i]->outbox, s->tracked->at, news, s->searching);
        w->cookies[w->n++] = s->clients[i]->cookie;
    }
}

void session_search_begin(struct session *s)
{
    struct session_wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    s->searching++;
    tell(s, 0, &w); /* nothing is due for it, so no client is woken */
    pthread_mutex_unlock(&s->lock);
}

void session_search_end(struct session *s, const struct tracked_objects *now, uint64_t news)
{
    struct session_wakes w = {.n = 0};

    pthread_mutex_lock(&s->lock);
    s->searching--;
    if (now) {
        uint64_t skipped = s->tracked->n_skipped;

        *s->tracked = *now;
        s->tracked->n_skipped = skipped;
    }
    tell(s, news, &w);
    pthread_mutex_unlock(&s->lock);
    session_wake(s, &w);
}

void session_search_skipped(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    s->tracked->n_skipped++;
    pthread_mutex_unlock(&s->lock);
}

bool session_get_objects(struct session *s, struct tracked_objects *out)
{
    pthread_mutex_lock(&s->lock);
    if (s->tracked)
        *out = *s->tracked;
    pthread_mutex_unlock(&s->lock);
    return s->tracked != NULL;
}

void session_set_objects(struct session *s, const struct tracked_objects *in)
{
    if (s->tracked)
        *s->tracked = *in;
}
