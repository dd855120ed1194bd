/*
 * tasks.h - requests that take long, answered by a thread of their own
 *
 * Enrolling an object computes for up to some seconds, and the REST thread must answer /livez
 * meanwhile.
 *
 *   handler        tasks_run(): the request waits
 *   REST thread    suspends the connection, then tasks_hold(), and leaves the request alone
 *   this thread    runs the work, which leaves the answer in the request, then resumes it
 *   REST thread    sends the answer
 *
 * The watchdog does not ask for this thread's signs of life: one task at low priority may take long
 * on a busy machine, and nothing but other tasks waits for it.
 */
#ifndef RECOND_API_TASKS_H
#define RECOND_API_TASKS_H

#include "proto/err.h"

#include <stdbool.h>

#define TASKS_MAX 4 /* that wait or run; as many requests hold a large body at most */
#define TASKS_OWNER_MAX (TASKS_MAX / 2) /* of them, of one token */

struct tasks;

/* Of one request; zero is valid. */
struct tasks_wait {
    struct tasks_wait *next;
    void *request;
    void (*work)(void *request);
    void *held;   /* what resume() is told; NULL until tasks_hold() */
    bool waiting; /* the request is to be held */
    bool done;
};

/* resume: by any thread, no lock held. refuse: leaves an answer that says why, to come again. */
MUST_CHECK int tasks_start(struct tasks **t, void (*resume)(void *held),
                           void (*refuse)(void *request, const char *why), struct err *err);
/* What runs is finished; what waits, and what comes later, is refused. */
void tasks_stop(struct tasks *t);
void tasks_free(struct tasks **t);

/* Let work(request) leave the answer. Of too many at once some are refused. */
void tasks_run(struct tasks *t, struct tasks_wait *w, void *request, void (*work)(void *request));
/* The request can be resumed from now on. Only after tasks_run() set w->waiting. */
void tasks_hold(struct tasks *t, struct tasks_wait *w, void *held);

#endif
