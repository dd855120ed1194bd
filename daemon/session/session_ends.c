/* Closing a session, deleting it, and its expiry. */
#include "daemon/session/session_ends.h"

#include "daemon/clock.h"
#include "daemon/session/session_internal.h"

void session_close(struct session *s)
{
    lock_take(&s->lock);
    s->closing = true;
    lock_give(&s->lock);
}

bool session_closing(struct session *s)
{
    bool closing;

    lock_take(&s->lock);
    closing = s->closing;
    lock_give(&s->lock);
    return closing;
}

/* Under the lock: is it closing, and have all of its frames ended? */
static bool all_have_ended(const struct session *s)
{
    return s->closing && s->state != SESSION_CLOSED && s->kept.counts.queued == 0;
}

void session_set_rounds(struct session *s, bool to_come)
{
    lock_take(&s->lock);
    s->rounds = to_come;
    lock_give(&s->lock);
}

bool session_waits_for_rounds(struct session *s)
{
    bool waits;

    lock_take(&s->lock);
    waits = all_have_ended(s) && s->rounds && !session_dead(s);
    lock_give(&s->lock);
    return waits;
}

void session_set_bundle(struct session *s, bool to_come)
{
    lock_take(&s->lock);
    s->bundle = to_come;
    lock_give(&s->lock);
}

bool session_waits_for_bundle(struct session *s)
{
    bool waits;

    lock_take(&s->lock);
    waits = all_have_ended(s) && !s->rounds && s->bundle && !session_dead(s);
    lock_give(&s->lock);
    return waits;
}

bool session_settle(struct session *s)
{
    struct session_wakes w = {.n = 0};
    bool closed;

    lock_take(&s->lock);
    closed = all_have_ended(s) && !s->recovering && ((!s->rounds && !s->bundle) || session_dead(s));
    if (closed) {
        s->state = SESSION_CLOSED;
        s->changed_s = clock_unix_s();
        for (int i = 0; i < s->n_clients; i++) {
            outbox_session_closed(s->clients[i]->outbox);
            w.cookies[w.n++] = s->clients[i]->cookie;
        }
    }
    lock_give(&s->lock);
    session_wake(s, &w);
    return closed;
}

void session_hurry(struct session *s)
{
    atomic_store(&s->hurried, true);
}

bool session_hurried(const struct session *s)
{
    return atomic_load(&s->hurried);
}

void session_bye(struct session *s, const struct control_bye *bye, enum outbox_haste haste)
{
    struct session_wakes w = {.n = 0};

    lock_take(&s->lock);
    for (int i = 0; i < s->n_clients; i++) {
        outbox_bye(s->clients[i]->outbox, bye, haste);
        w.cookies[w.n++] = s->clients[i]->cookie;
    }
    lock_give(&s->lock);
    session_wake(s, &w);
}

bool session_kill(struct session *s)
{
    const struct control_bye bye = {CONTROL_DISCONNECT, 0, "the session was deleted"};
    bool first;

    lock_take(&s->lock);
    first = !atomic_exchange(&s->dead, true);
    s->closing = true;
    lock_give(&s->lock);
    if (first)
        session_bye(s, &bye, OUTBOX_AT_ONCE);
    return first;
}

bool session_expired(struct session *s, double now_s)
{
    bool expired;

    lock_take(&s->lock);
    expired = s->setup.options.retention_s >= 0 && s->n_clients == 0 && !s->recovering &&
              !s->damaged[0] && s->kept.counts.queued == 0 &&
              now_s - s->changed_s > s->setup.options.retention_s;
    lock_give(&s->lock);
    return expired;
}
