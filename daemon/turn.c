#include "daemon/turn.h"

#include "daemon/clock.h"
#include "proto/lock.h"

#include <pthread.h>
#include <stdlib.h>

struct turn {
    struct lock lock;
    pthread_cond_t some;
    struct turn_entry *head, *tail; /* sorted by had_us; equal ones in order of arrival */
    uint64_t level_us;              /* the most service of an entry that was taken */
    uint64_t first_us;              /* service of the first entry of the last turn_take() */
    uint64_t usual_us;              /* recent mean of a charge */
    bool apart;
    int n_due;  /* idle entries that are due */
    int n_back; /* charged entries that have announced more work and are not done */
    bool poked, closed;
    int wakes; /* takers to wake when the lock is released */
};

int turn_new(struct turn **turn, struct err *err)
{
    struct turn *t = calloc(1, sizeof(*t));

    *turn = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for a list of turns");
    lock_init(&t->lock, LOCK_TURN);
    pthread_cond_init(&t->some, NULL);
    return 0;
}

void turn_free(struct turn **turn)
{
    struct turn *t = *turn;

    if (!t)
        return;
    pthread_cond_destroy(&t->some);
    lock_destroy(&t->lock);
    free(t);
    *turn = NULL;
}

/* Waking a thread is a system call, and the woken thread needs the lock. So we wake after
 * unlocking, because every frame of every session takes this lock. */
static void unlock_and_wake(struct turn *t)
{
    int wakes = t->wakes;

    t->wakes = 0;
    lock_give(&t->lock);
    while (wakes--)
        pthread_cond_signal(&t->some);
}

/* All changes of state go through here: it counts the entries that are about to come, and wakes the
 * thread that waits for them when there is none left. */
static void set_state(struct turn *t, struct turn_entry *e, enum turn_state state, bool due)
{
    bool some = t->n_due || t->n_back;

    t->n_due += (state == TURN_IDLE && due) - (e->state == TURN_IDLE && e->due);
    t->n_back += (state == TURN_AGAIN && e->charged) - (e->state == TURN_AGAIN && e->charged);
    e->state = state;
    e->due = due;
    t->wakes += some && t->n_due == 0 && t->n_back == 0;
}

/* Is an entry about to come that turn_take_more() may wait for? */
static bool some_come(const struct turn *t)
{
    return t->n_due || (!t->apart && t->n_back);
}

/* Returns the entry of the list behind which `had_us` belongs; NULL = none. */
static struct turn_entry *place_for(const struct turn *t, uint64_t had_us)
{
    struct turn_entry *at = t->tail, *next;

    if (!at || had_us >= at->had_us)
        return at;
    if (had_us < t->head->had_us)
        return NULL;
    if (at->had_us - had_us < had_us - t->head->had_us) {
        while (at->had_us > had_us)
            at = at->prev;
        return at;
    }
    for (at = t->head, next = at->next; next->had_us <= had_us; next = next->next)
        at = next;
    return at;
}

static void list_join(struct turn *t, struct turn_entry *e)
{
    struct turn_entry *prev;

    if (e->had_us < t->level_us)
        e->had_us = t->level_us;
    prev = place_for(t, e->had_us);
    e->prev = prev;
    e->next = prev ? prev->next : t->head;
    *(prev ? &prev->next : &t->head) = e;
    *(e->next ? &e->next->prev : &t->tail) = e;
    set_state(t, e, TURN_LISTED, e->due);
    t->wakes++;
}

static struct turn_entry *list_pop(struct turn *t)
{
    struct turn_entry *e = t->head;

    if (!e)
        return NULL;
    t->head = e->next;
    *(e->next ? &e->next->prev : &t->tail) = NULL;
    e->next = NULL;
    if (e->had_us > t->level_us)
        t->level_us = e->had_us;
    return e;
}

bool turn_kick(struct turn *t, struct turn_entry *e)
{
    bool was_idle;

    lock_take(&t->lock);
    was_idle = e->state == TURN_IDLE && !t->closed;
    if (was_idle)
        list_join(t, e);
    else if (e->state == TURN_SERVED)
        set_state(t, e, TURN_AGAIN, e->due);
    unlock_and_wake(t);
    return was_idle;
}

void turn_due(struct turn *t, struct turn_entry *e, bool due)
{
    lock_take(&t->lock);
    set_state(t, e, e->state, due);
    unlock_and_wake(t);
}

/* Is the head of the list served along with the first entry? */
static bool head_goes_along(const struct turn *t)
{
    return !t->apart || t->head->had_us <= t->first_us + t->usual_us / 2;
}

static int take_listed(struct turn *t, struct turn_entry **entries, int max)
{
    int n = 0;

    while (!t->closed && n < max && t->head && head_goes_along(t)) {
        entries[n] = list_pop(t);
        entries[n]->charged = false;
        set_state(t, entries[n], TURN_SERVED, entries[n]->due);
        n++;
    }
    return n;
}

int turn_take(struct turn *t, struct turn_entry **entries, int max, uint64_t timeout_us)
{
    uint64_t until_us = clock_us() + timeout_us;
    int n;

    lock_take(&t->lock);
    while (!t->head && !t->poked && !t->closed)
        if (!clock_wait(&t->some, &t->lock, until_us))
            break;
    t->poked = false;
    if (t->head)
        t->first_us = t->head->had_us;
    n = take_listed(t, entries, max);
    if (t->closed)
        n = -1;
    unlock_and_wake(t);
    return n;
}

int turn_take_more(struct turn *t, struct turn_entry **entries, int max, uint64_t timeout_us,
                   bool for_any)
{
    uint64_t until_us = clock_us() + timeout_us;
    int n;

    lock_take(&t->lock);
    while (!(t->head && head_goes_along(t)) && (for_any || some_come(t)) && !t->closed)
        if (!clock_wait(&t->some, &t->lock, until_us))
            break;
    n = take_listed(t, entries, max);
    unlock_and_wake(t);
    return n;
}

void turn_charge(struct turn *t, struct turn_entry *e, uint64_t us)
{
    lock_take(&t->lock);
    e->had_us += us;
    t->n_back += !e->charged && e->state == TURN_AGAIN;
    e->charged = true;
    t->usual_us = us > t->usual_us ? t->usual_us + (us - t->usual_us) / 8
                                   : t->usual_us - (t->usual_us - us) / 8;
    unlock_and_wake(t);
}

void turn_set_apart(struct turn *t, bool apart)
{
    lock_take(&t->lock);
    t->apart = apart;
    unlock_and_wake(t);
}

bool turn_done(struct turn *t, struct turn_entry *e, bool more)
{
    bool idle;

    lock_take(&t->lock);
    idle = t->closed || (!more && e->state != TURN_AGAIN);
    if (idle)
        set_state(t, e, TURN_IDLE, e->due);
    else
        list_join(t, e);
    unlock_and_wake(t);
    return idle;
}

void turn_poke(struct turn *t)
{
    lock_take(&t->lock);
    t->poked = true;
    t->wakes++;
    unlock_and_wake(t);
}

void turn_close(struct turn *t)
{
    lock_take(&t->lock);
    t->closed = true;
    pthread_cond_broadcast(&t->some);
    unlock_and_wake(t);
}

struct turn_entry *turn_drop(struct turn *t)
{
    struct turn_entry *e;

    lock_take(&t->lock);
    e = list_pop(t);
    if (e)
        set_state(t, e, TURN_IDLE, e->due);
    unlock_and_wake(t);
    return e;
}
