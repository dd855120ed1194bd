/* A session that is suspended, or recovered after a restart. */
#include "daemon/session/session_restart.h"

#include "daemon/clock.h"
#include "daemon/session/session_internal.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------- rest */

bool session_idle(struct session *s, double now_s, int suspend_s)
{
    bool idle;

    lock_take(&s->lock);
    idle = suspend_s >= 0 && s->state == SESSION_IDLE && s->kept.counts.queued == 0 &&
           now_s - s->changed_s > suspend_s;
    lock_give(&s->lock);
    return idle;
}

void session_allow_suspend(struct session *s)
{
    atomic_store(&s->may_suspend, true);
}

bool session_may_suspend(const struct session *s)
{
    return atomic_load(&s->may_suspend);
}

void session_set_suspended(struct session *s, bool suspended)
{
    atomic_store(&s->suspended, suspended);
    if (!suspended)
        atomic_store(&s->may_suspend, false);
    lock_take(&s->lock);
    session_update_state(s);
    lock_give(&s->lock);
}

bool session_is_suspended(const struct session *s)
{
    return atomic_load(&s->suspended);
}

/* ------------------------------------------------------------------------- after a restart */

void session_save(struct session *s, struct session_saved *saved)
{
    lock_take(&s->lock);
    *saved = s->kept;
    lock_give(&s->lock);
}

void session_restore(struct session *s, const struct session_saved *saved)
{
    s->kept = *saved;
}

bool session_recovering(struct session *s)
{
    bool recovering;

    lock_take(&s->lock);
    recovering = s->recovering;
    lock_give(&s->lock);
    return recovering;
}

void session_set_recovering(struct session *s, bool closed, const struct api_token *tokens,
                            int n_tokens)
{
    s->recovering = true;
    s->state = SESSION_RECOVERING;
    s->closing = closed;
    s->n_tokens = n_tokens;
    memcpy(s->tokens, tokens, (size_t)n_tokens * sizeof(*tokens));
}

void session_set_ends(struct session *s, uint64_t used, uint64_t dropped, uint64_t refused,
                      uint64_t queued)
{
    struct session_counts *c = &s->kept.counts;

    c->used = used;
    c->dropped = dropped;
    c->refused = refused;
    c->queued = queued;
    c->received = used + dropped + refused + queued;
}

void session_renew_epoch(struct session *s)
{
    s->setup.epoch += 2;
}

bool session_set_damaged(struct session *s, const char *what)
{
    bool first;

    lock_take(&s->lock);
    first = !s->damaged[0];
    if (first)
        snprintf(s->damaged, sizeof(s->damaged), "%.*s", (int)sizeof(s->damaged) - 1, what);
    snprintf(s->fault, sizeof(s->fault), "it did not come back whole: it can be read, not fed");
    lock_give(&s->lock);
    return first;
}

void session_unqueue(struct session *s, uint64_t n)
{
    lock_take(&s->lock);
    s->kept.counts.received -= n;
    s->kept.counts.queued -= n;
    lock_give(&s->lock);
}

void session_recovered(struct session *s, bool had_frames)
{
    lock_take(&s->lock);
    s->recovering = false;
    s->state = had_frames ? SESSION_IDLE : SESSION_CREATED;
    s->changed_s = clock_unix_s();
    session_update_state(s);
    lock_give(&s->lock);
}
