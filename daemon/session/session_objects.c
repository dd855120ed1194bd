/* Tells a session's clients of its tracked objects. */
#include "daemon/session/session_objects.h"

#include "daemon/session/session_internal.h"

/* Under the lock: tells all clients the changed entries and the pictures being searched. */
static void tell_all(struct session *s, uint64_t news, struct session_wakes *w)
{
    for (int i = 0; i < s->n_clients; i++) {
        outbox_objects(s->clients[i]->outbox, s->tracked->at, news, s->searching);
        w->cookies[w->n++] = s->clients[i]->cookie;
    }
}

void session_search_begin(struct session *s)
{
    struct session_wakes w = {.n = 0};

    lock_take(&s->lock);
    s->searching++;
    tell_all(s, 0, &w); /* nothing is due, so no client is woken */
    lock_give(&s->lock);
}

void session_search_end(struct session *s, const struct tracked_objects *now, uint64_t news)
{
    struct session_wakes w = {.n = 0};

    lock_take(&s->lock);
    s->searching--;
    if (now) {
        uint64_t skipped = s->tracked->n_skipped;

        *s->tracked = *now;
        s->tracked->n_skipped = skipped;
    }
    tell_all(s, news, &w);
    lock_give(&s->lock);
    session_wake(s, &w);
}

void session_search_skipped(struct session *s)
{
    lock_take(&s->lock);
    s->tracked->n_skipped++;
    lock_give(&s->lock);
}

bool session_get_objects(struct session *s, struct tracked_objects *out)
{
    lock_take(&s->lock);
    if (s->tracked)
        *out = *s->tracked;
    lock_give(&s->lock);
    return s->tracked != NULL;
}

void session_set_objects(struct session *s, const struct tracked_objects *in)
{
    if (s->tracked)
        *s->tracked = *in;
}
