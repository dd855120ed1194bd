#include "daemon/work/later.h"

#include "daemon/clock.h"
#include "daemon/turn.h"
#include "proto/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NICE 10

/* Threads for tasks of one sort: those with long slices, or the others. */
struct lane {
    struct turn_pool pool;
    void *room[LATER_THREADS];
    _Atomic(const char *) serving[LATER_THREADS]; /* name of a kind; NULL = none */
};

struct later_task {
    struct later *later;
    struct lane *lane;
    const struct later_kind *kind;
    void *ctx;
    char owner[API_NAME_CAP + API_ID_CAP];
    struct turn_entry turn;
    atomic_bool cancelled;
    struct later_task *next; /* list of all tasks */
    int n_held;              /* calls of hold() without their let_go() */
};

struct later {
    struct lane lane[2]; /* indexed by later_kind.is_long */
    atomic_bool stopped;
    struct lock lock; /* guards all that follows, and the last two members of tasks */
    pthread_cond_t idle;
    struct later_task *first;
};

/* ------------------------------------------------------------------------- holding on */

static void task_hold(struct later_task *t)
{
    lock_take(&t->later->lock);
    t->n_held++;
    lock_give(&t->later->lock);
    if (t->kind->hold)
        t->kind->hold(t->ctx);
}

/* let_go() may free the task, so it is not used afterwards. */
static _Thread_local struct later_task *leaving;

static void task_let_go(struct later_task *t)
{
    struct later_task *outer = leaving;
    struct later *l = t->later;

    leaving = t;
    if (t->kind->let_go)
        t->kind->let_go(t->ctx);
    if (leaving == t) {
        lock_take(&l->lock);
        t->n_held--;
        pthread_cond_broadcast(&l->idle);
        lock_give(&l->lock);
    }
    leaving = outer;
}

static void task_end(struct later_task *t, bool complete)
{
    if (!complete && t->kind->abandon)
        t->kind->abandon(t->ctx);
    task_let_go(t);
}

/* ------------------------------------------------------------------------- slices */

static void later_serve(void *ctx, int thread, struct turn_entry *e)
{
    struct later_task *t = e ? CONTAINER_OF(e, struct later_task, turn) : NULL;
    uint64_t began_us = clock_us();
    struct lane *lane = ctx;
    bool more = true;

    if (!t)
        return;
    atomic_store(&lane->serving[thread], t->kind->name);
    atomic_store(&lane->pool.threads[thread].alive_us,
                 began_us + (uint64_t)t->kind->patience_s * 1000000u);
    if (!atomic_load(&t->cancelled))
        more = t->kind->run(t->ctx, lane->room[thread]);
    atomic_store(&lane->serving[thread], NULL);
    turn_charge(lane->pool.turns, e, clock_us() - began_us);
    if (turn_done(lane->pool.turns, e, more && !atomic_load(&t->cancelled)))
        task_end(t, !more);
}

void later_kick(struct later_task *t)
{
    task_hold(t);
    if (!turn_kick(t->lane->pool.turns,
                   &t->turn)) /* it is announced already, or no thread is left */
        task_end(t, !atomic_load(&t->later->stopped));
}

/* ------------------------------------------------------------------------- lives */

static int tasks_count(const struct later *l, const struct later_kind *kind, const char *owner)
{
    int n = 0;

    for (const struct later_task *t = l->first; t; t = t->next)
        n += t->kind == kind && (!owner || strcmp(t->owner, owner) == 0);
    return n;
}

int later_new(struct later *l, struct later_task **task, const struct later_kind *kind, void *ctx,
              const char *owner, struct err *err)
{
    struct later_task *t = calloc(1, sizeof(*t));
    int rc = 0;

    *task = NULL;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for more %s", kind->name);
    t->later = l;
    t->lane = &l->lane[kind->is_long];
    t->kind = kind;
    t->ctx = ctx;
    snprintf(t->owner, sizeof(t->owner), "%s", owner ? owner : "");
    lock_take(&l->lock);
    if (atomic_load(&l->stopped))
        rc = err_set(err, ERR_BUSY, "the server is stopping");
    else if ((kind->most && tasks_count(l, kind, NULL) >= kind->most) ||
             (kind->most_of_owner && tasks_count(l, kind, t->owner) >= kind->most_of_owner))
        rc = err_set(err, ERR_BUSY, "other %s are being worked on", kind->name);
    if (rc == 0) {
        t->next = l->first;
        l->first = t;
    }
    lock_give(&l->lock);
    if (rc)
        free(t);
    else
        *task = t;
    return rc;
}

/* `own`: holds of the calling thread */
static void task_settle(struct later_task *t, int own)
{
    while (t->n_held > own)
        lock_wait(&t->later->lock, &t->later->idle);
}

void later_settle(struct later_task *t)
{
    lock_take(&t->later->lock);
    task_settle(t, 0);
    lock_give(&t->later->lock);
}

void later_free(struct later_task **task)
{
    struct later_task *t = *task, **at;

    if (!t)
        return;
    atomic_store(&t->cancelled, true);
    lock_take(&t->later->lock);
    task_settle(t, t == leaving);
    for (at = &t->later->first; *at != t; at = &(*at)->next)
        ;
    *at = t->next;
    lock_give(&t->later->lock);
    if (t == leaving)
        leaving = NULL;
    free(t);
    *task = NULL;
}

static int lane_start(struct lane *lane, int threads, struct err *err)
{
    lane->pool.nice = NICE;
    for (int i = 0; i < threads; i++)
        if (!(lane->room[i] = malloc(LATER_ROOM_BYTES)))
            return err_set(err, ERR_MEMORY, "no memory for slow work");
    return turn_pool_start(&lane->pool, threads, "later", later_serve, lane, err);
}

int later_start(struct later **later, struct err *err)
{
    struct later *l = calloc(1, sizeof(*l));
    int rc;

    *later = l;
    if (!l)
        return err_set(err, ERR_MEMORY, "no memory for slow work");
    lock_init(&l->lock, LOCK_LATER);
    pthread_cond_init(&l->idle, NULL);
    rc = lane_start(&l->lane[0], LATER_THREADS, err);
    if (rc == 0)
        rc = lane_start(&l->lane[1], 1, err);
    if (rc)
        later_close(later);
    return rc;
}

void later_stop(struct later *l)
{
    struct turn_entry *e;

    atomic_store(&l->stopped, true);
    for (int i = 0; i < 2; i++) {
        turn_pool_stop(&l->lane[i].pool);
        while (l->lane[i].pool.turns && (e = turn_drop(l->lane[i].pool.turns)))
            task_end(CONTAINER_OF(e, struct later_task, turn), false);
    }
}

void later_close(struct later **later)
{
    struct later *l = *later;

    if (!l)
        return;
    later_stop(l);
    for (int i = 0; i < 2; i++) {
        turn_pool_free(&l->lane[i].pool);
        for (int k = 0; k < LATER_THREADS; k++)
            free(l->lane[i].room[k]);
    }
    pthread_cond_destroy(&l->idle);
    lock_destroy(&l->lock);
    free(l);
    *later = NULL;
}

uint64_t later_alive_us(const struct later *l, const char **what)
{
    uint64_t oldest_us = UINT64_MAX;

    *what = "later";
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < l->lane[i].pool.n; k++) {
            uint64_t alive_us = atomic_load(&l->lane[i].pool.threads[k].alive_us);
            const char *name = atomic_load(&l->lane[i].serving[k]);

            if (alive_us >= oldest_us)
                continue;
            oldest_us = alive_us;
            *what = name ? name : "later";
        }
    return oldest_us;
}
