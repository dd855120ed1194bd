#include "daemon/turn.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct turn {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct turn_entry *head, **tail;
    bool poked, closed;
};

int turn_new(struct turn **turn, struct err *err)
{
    struct turn *t = calloc(1, sizeof(*t));
    pthread_condattr_t attr;

    *turn = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for a list of turns");
    t->tail = &t->head;
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->some, &attr);
    pthread_condattr_destroy(&attr);
    return 0;
}

void turn_free(struct turn **turn)
{
    struct turn *t = *turn;

    if (!t)
        return;
    pthread_cond_destroy(&t->some);
    pthread_mutex_destroy(&t->lock);
    free(t);
    *turn = NULL;
}

static void append(struct turn *t, struct turn_entry *e)
{
    e->state = TURN_LISTED;
    e->next = NULL;
    *t->tail = e;
    t->tail = &e->next;
    pthread_cond_signal(&t->some);
}

static struct turn_entry *pop(struct turn *t)
{
    struct turn_entry *e = t->head;

    if (!e)
        return NULL;
    t->head = e->next;
    if (!t->head)
        t->tail = &t->head;
    e->next = NULL;
    return e;
}

bool turn_kick(struct turn *t, struct turn_entry *e)
{
    bool was_idle;

    pthread_mutex_lock(&t->lock);
    was_idle = e->state == TURN_IDLE && !t->closed;
    if (was_idle)
        append(t, e);
    else if (e->state == TURN_SERVED)
        e->state = TURN_AGAIN;
    pthread_mutex_unlock(&t->lock);
    return was_idle;
}

static void deadline_in(struct timespec *t, int ms)
{
    clock_gettime(CLOCK_MONOTONIC, t);
    t->tv_sec += ms / 1000;
    t->tv_nsec += (long)(ms % 1000) * 1000000;
    if (t->tv_nsec >= 1000000000) {
        t->tv_sec++;
        t->tv_nsec -= 1000000000;
    }
}

int turn_take(struct turn *t, struct turn_entry **entries, int max, int timeout_ms)
{
    struct timespec deadline;
    int n = 0;

    deadline_in(&deadline, timeout_ms);
    pthread_mutex_lock(&t->lock);
    while (!t->head && !t->poked && !t->closed)
        if (pthread_cond_timedwait(&t->some, &t->lock, &deadline) == ETIMEDOUT)
            break;
    t->poked = false;
    while (!t->closed && n < max && t->head) {
        entries[n] = pop(t);
        entries[n++]->state = TURN_SERVED;
    }
    if (t->closed)
        n = -1;
    pthread_mutex_unlock(&t->lock);
    return n;
}

bool turn_done(struct turn *t, struct turn_entry *e, bool more)
{
    bool idle;

    pthread_mutex_lock(&t->lock);
    idle = t->closed || (!more && e->state != TURN_AGAIN);
    if (idle)
        e->state = TURN_IDLE;
    else
        append(t, e);
    pthread_mutex_unlock(&t->lock);
    return idle;
}

void turn_poke(struct turn *t)
{
    pthread_mutex_lock(&t->lock);
    t->poked = true;
    pthread_cond_signal(&t->some);
    pthread_mutex_unlock(&t->lock);
}

void turn_close(struct turn *t)
{
    pthread_mutex_lock(&t->lock);
    t->closed = true;
    pthread_cond_broadcast(&t->some);
    pthread_mutex_unlock(&t->lock);
}

struct turn_entry *turn_drop(struct turn *t)
{
    struct turn_entry *e;

    pthread_mutex_lock(&t->lock);
    e = pop(t);
    if (e)
        e->state = TURN_IDLE;
    pthread_mutex_unlock(&t->lock);
    return e;
}
