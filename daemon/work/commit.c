#include "daemon/work/commit.h"

#include "daemon/clock.h"
#include "daemon/session/pipeline.h"
#include "daemon/work/frame_end.h"
#include "proto/types.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 64

struct commit_thread {
    pthread_t thread;
    struct commit *pool;
    atomic_ullong alive_us;
};

struct commit {
    struct turn *turns;
    int n;
    struct commit_thread threads[THREADS_MAX];
};

static void finish(struct job *job)
{
    struct metrics *metrics = session_setup(job->session)->metrics;
    const struct gpu_item *item = &job->on_device;
    struct control_ack ack = {.status = CONTROL_USED};

    for (int i = 0; i < item->n_passes; i++)
        metrics_stage(metrics, item->passes[i].name, item->passes[i].us);
    session_setup(job->session)->kind->finish(job, &ack);
    frame_end_used(job, &ack);
}

static void *committer_thread(void *arg)
{
    struct commit_thread *t = arg;
    struct turn *turns = t->pool->turns;
    struct turn_entry *e;
    struct job *job;
    int n;

    pthread_setname_np(pthread_self(), "committer");
    while ((n = turn_take(turns, &e, 1, 500000)) >= 0) {
        atomic_store(&t->alive_us, clock_us());
        if (n == 0)
            continue;
        job = CONTAINER_OF(e, struct job, turn);
        turn_done(turns, e, false); /* before the job ends, for the session may be gone then */
        finish(job);
    }
    return NULL;
}

void commit_push(struct commit *c, struct job *job)
{
    turn_kick(c->turns, &job->turn);
}

uint64_t commit_alive_us(const struct commit *c)
{
    uint64_t oldest = UINT64_MAX;

    for (int i = 0; i < c->n; i++) {
        uint64_t t = atomic_load(&c->threads[i].alive_us);
        oldest = t < oldest ? t : oldest;
    }
    return oldest;
}

int commit_threads(long cores)
{
    return cores < 2 ? 1 : cores / 2 < THREADS_MAX ? (int)(cores / 2) : THREADS_MAX;
}

int commit_start(struct commit **commit, int threads, struct err *err)
{
    struct commit *c = calloc(1, sizeof(*c));
    int rc;

    *commit = c;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory for the committers");
    rc = turn_new(&c->turns, err);
    threads = threads ? threads : commit_threads(sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; i < threads && i < THREADS_MAX && rc == 0; i++) {
        struct commit_thread *t = &c->threads[i];
        t->pool = c;
        atomic_init(&t->alive_us, clock_us());
        if (pthread_create(&t->thread, NULL, committer_thread, t))
            rc = err_set(err, ERR_MEMORY, "cannot start a committer thread");
        else
            c->n++;
    }
    if (rc)
        commit_free(commit);
    return rc;
}

void commit_stop(struct commit *c)
{
    if (!c->turns)
        return;
    turn_close(c->turns);
    for (int i = 0; i < c->n; i++)
        pthread_join(c->threads[i].thread, NULL);
    c->n = 0;
}

void commit_free(struct commit **commit)
{
    struct commit *c = *commit;

    if (!c)
        return;
    commit_stop(c);
    turn_free(&c->turns);
    free(c);
    *commit = NULL;
}
