/*
 * turn.h - a fair queue of entries that have work, at most one thread on each
 *
 * The entry that has had the least service is next; turn_charge() adds to it. So n sessions that
 * always have work share the servers' time equally, whatever their frames cost. Where nothing is
 * charged, entries are served in order of arrival. An entry that was idle begins at the present
 * level of the list: it has saved nothing up, but what it owes stays. Until turn_done() no other
 * thread gets the entry, so a session's steps stay in order; work announced meanwhile is not lost.
 * The list is sorted; most entries join near an end, in a step or two.
 * Threads: any. One mutex; nothing else is locked under it.
 */
#pragma once

#include "proto/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum turn_state { TURN_IDLE, TURN_LISTED, TURN_SERVED, TURN_AGAIN };

/* Embedded in its owner; zero is a valid idle entry. */
struct turn_entry {
    struct turn_entry *next, *prev;
    uint64_t had_us; /* service it has had, on a scale that all entries share */
    enum turn_state state;
    bool due;     /* turn_due() */
    bool charged; /* turn_charge() was called since it was taken */
};

struct turn;

MUST_CHECK int turn_new(struct turn **t, struct err *err);
void turn_free(struct turn **t);

/*
 * turn_set_apart - for servers that need n times as long for n entries
 *
 * Such a server gains nothing by taking entries together. So an entry that has had more service
 * than the head of the list, by half a usual charge, is not taken along with it, where it would
 * keep the others waiting: it is taken next, by itself.
 */
void turn_set_apart(struct turn *t, bool apart);

/* Announces work. Returns true if the entry was idle: the list keeps it from now until turn_done()
 * returns true, so the caller gives it a reference first. */
bool turn_kick(struct turn *t, struct turn_entry *e);

/* The entry will be announced soon, or will not after all: turn_take_more() may wait for it. */
void turn_due(struct turn *t, struct turn_entry *e, bool due);

/*
 * turn_take - the next entries to serve
 *
 * Waits for one, or until turn_poke(), turn_close() or timeout_us. Takes up to max that stand in
 * the list already; it never waits for more.
 * Returns: number taken, 0 after a poke or time-out, -1 when closed
 */
int turn_take(struct turn *t, struct turn_entry **entries, int max, uint64_t timeout_us);

/*
 * turn_take_more - entries to serve along with those that were taken already
 *
 * Waits for one, timeout_us at most. With `for_any` it waits for any entry, else only while one is
 * on its way: an idle entry is due (turn_due()), or an entry that was charged has announced more
 * work and comes back when it is done. After turn_set_apart() the latter is not waited for.
 * Returns: number taken; 0 when the time is over, there is nothing to wait for any more, or closed
 */
int turn_take_more(struct turn *t, struct turn_entry **entries, int max, uint64_t timeout_us,
                   bool for_any);

/* Charges an entry for its service, when all but its last steps are done; called by its server,
 * between turn_take() and turn_done(). */
void turn_charge(struct turn *t, struct turn_entry *e, uint64_t us);

/* Ends the service; `more` = it has work left. Returns true if the entry is now idle and out. */
bool turn_done(struct turn *t, struct turn_entry *e, bool more);

/* Wakes one taker that has other work. */
void turn_poke(struct turn *t);
/* From now on all takers return -1; turn_drop() empties the list. */
void turn_close(struct turn *t);
/* Returns the next entry of the list after turn_close(), when no taker is left; NULL at the end. */
struct turn_entry *turn_drop(struct turn *t);

/* ------------------------------------------------------------------------- threads that serve */

#define TURN_POOL_MAX 64

/* Serves an entry up to turn_done(), by thread 0 ... n - 1 of its pool; NULL = none for half a
 * second. */
typedef void turn_serve_fn(void *ctx, int thread, struct turn_entry *e);

/* Threads that take one entry at a time from a list of their own. Zero is valid, and empty. */
struct turn_pool {
    struct turn *turns;
    turn_serve_fn *serve;
    void *ctx;
    const char *name;
    int nice; /* priority of its threads; set before the start */
    int n;
    struct turn_pool_thread {
        pthread_t thread;
        struct turn_pool *pool;
        atomic_ullong alive_us;
    } threads[TURN_POOL_MAX];
};

/* name: of the threads, in `top -H`. On errors turn_pool_free() ends the threads that run. */
MUST_CHECK int turn_pool_start(struct turn_pool *p, int n, const char *name, turn_serve_fn *serve,
                               void *ctx, struct err *err);
/* Closes the list and ends the threads. */
void turn_pool_stop(struct turn_pool *p);
void turn_pool_free(struct turn_pool *p);
/* clock_us() of its threads' oldest sign of life: at most half a second old, unless one is
 * stuck. */
uint64_t turn_pool_alive_us(const struct turn_pool *p);
