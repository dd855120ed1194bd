/*
 * later.h - one pool for all slow work, for which no frame and no edge waits
 *
 * Its threads have nice 10 and serve tasks (struct later_kind of api.h) slice by slice: keyframes,
 * bundles, searches for objects, enrolments, depth maps.
 * Order:   a task's slices run one after the other; the task with the least service is next
 *          (turn.h)
 * Starve:  slices take 0.7 s at most, on LATER_THREADS threads. Slices of a kind that is_long have
 *          one more thread of their own: a long enrolment delays other enrolments alone
 * Budget:  most, most_of_owner of a kind: later_new() refuses more tasks
 * Watch:   a slice that takes longer than its kind's patience stops later_alive_us()
 * Save:    a task's owner saves its state (store_ops); no slice changes it after later_settle()
 * Threads: any. One mutex; nothing else is locked under it
 */
#pragma once

#include "api/api.h"

#define LATER_THREADS 2
#define LATER_ROOM_BYTES (2 << 20) /* buffer of a slice */

struct later;

MUST_CHECK int later_start(struct later **l, struct err *err);
/* Ends: running slices finish; the others, and later ones, are abandoned. */
void later_stop(struct later *l);
/* Call it when all its tasks are freed. */
void later_close(struct later **l);

/*
 * later_new - a task that has no work yet
 *
 * In:      kind, and ctx of its functions: both must stay until the task is freed; owner: a name
 *          whose tasks are counted together, copied; NULL where it has none
 * Returns: 0; ERR_BUSY: the bounds, or it was stopped; ERR_MEMORY
 */
MUST_CHECK int later_new(struct later *l, struct later_task **t, const struct later_kind *kind,
                         void *ctx, const char *owner, struct err *err);
/* Announces work: slices follow until one says that there are no more, at least one. */
void later_kick(struct later_task *t);
/* Waits until no slice of it runs, or is to come. Not by its own slices. */
void later_settle(struct later_task *t);
/* Abandons the slices that are left, then as later_settle(). Also from let_go(). */
void later_free(struct later_task **t);

/* clock_us() of the oldest sign of life, later during a patient slice; *what: that slice's kind. */
uint64_t later_alive_us(const struct later *l, const char **what);
