#include "api/server/tasks.h"

#include "proto/lock.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#define NICE 10 /* frames go first */

struct tasks {
    void (*resume)(void *held);
    void (*refuse)(void *request, const char *why);
    pthread_t thread;
    struct lock lock; /* of all that follows, and of what waits */
    pthread_cond_t work;
    struct tasks_wait *first;
    int n; /* that wait or run */
    bool stop;
};

void tasks_run(struct tasks *t, struct tasks_wait *w, void *request, void (*work)(void *request))
{
    struct tasks_wait **end;
    const char *why = NULL;

    lock_take(&t->lock);
    if (t->stop) {
        why = "the server is stopping";
    } else if (t->n == TASKS_MAX) {
        why = "other objects are being worked on";
    } else {
        *w = (struct tasks_wait){.request = request, .work = work, .waiting = true};
        for (end = &t->first; *end; end = &(*end)->next)
            ;
        *end = w;
        t->n++;
        pthread_cond_signal(&t->work);
    }
    lock_give(&t->lock);
    if (why)
        t->refuse(request, why);
}

void tasks_hold(struct tasks *t, struct tasks_wait *w, void *held)
{
    bool done;

    lock_take(&t->lock);
    w->held = held;
    done = w->done;
    lock_give(&t->lock);
    if (done)
        t->resume(held);
}

/* The request has its answer. It may be gone as soon as it is resumed. */
static void finish(struct tasks *t, struct tasks_wait *w)
{
    void *held;

    lock_take(&t->lock);
    w->done = true;
    held = w->held;
    t->n--;
    lock_give(&t->lock);
    if (held)
        t->resume(held);
}

static void *run(void *arg)
{
    struct tasks *t = arg;
    struct tasks_wait *w;

    pthread_setname_np(pthread_self(), "tasks");
    (void)setpriority(PRIO_PROCESS, 0, NICE); /* on Linux: of this thread alone */
    for (;;) {
        lock_take(&t->lock);
        while (!t->first && !t->stop)
            lock_wait(&t->lock, &t->work);
        w = t->stop ? NULL : t->first;
        if (w)
            t->first = w->next;
        lock_give(&t->lock);
        if (!w)
            return NULL;
        w->work(w->request);
        finish(t, w);
    }
}

int tasks_start(struct tasks **out, void (*resume)(void *held),
                void (*refuse)(void *request, const char *why), struct err *err)
{
    struct tasks *t = calloc(1, sizeof *t);

    *out = NULL;
    if (!t)
        return err_set(err, ERR_MEMORY, "out of memory");
    t->resume = resume;
    t->refuse = refuse;
    lock_init(&t->lock, LOCK_TASKS);
    pthread_cond_init(&t->work, NULL);
    if (pthread_create(&t->thread, NULL, run, t) != 0) {
        t->stop = true;
        tasks_free(&t);
        return err_set(err, ERR_IO, "cannot start the thread for objects");
    }
    *out = t;
    return 0;
}

void tasks_stop(struct tasks *t)
{
    struct tasks_wait *w, *next;
    bool stopped;

    lock_take(&t->lock);
    stopped = t->stop;
    t->stop = true;
    pthread_cond_signal(&t->work);
    w = t->first;
    t->first = NULL;
    lock_give(&t->lock);
    if (!stopped)
        pthread_join(t->thread, NULL);
    for (; w; w = next) {
        next = w->next;
        t->refuse(w->request, "the server is stopping");
        finish(t, w);
    }
}

void tasks_free(struct tasks **out)
{
    struct tasks *t = *out;

    if (!t)
        return;
    tasks_stop(t);
    pthread_cond_destroy(&t->work);
    lock_destroy(&t->lock);
    free(t);
    *out = NULL;
}
