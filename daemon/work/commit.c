#include "daemon/work/commit.h"

#include "daemon/session/pipeline.h"
#include "daemon/work/closing.h"
#include "daemon/work/frame_end.h"
#include "proto/types.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

struct commit {
    struct turn_pool pool;
};

static void finish(struct job *job)
{
    struct metrics *metrics = session_setup(job->session)->metrics;
    const struct gpu_item *item = &job->on_device;
    struct control_ack ack = {.status = CONTROL_USED};

    for (int i = 0; i < item->n_passes; i++)
        metrics_stage(metrics, item->passes[i].name, item->passes[i].us);
    session_setup(job->session)->kind->finish(job, &ack);
    if (job->round) {
        closing_keep(job->session, job->more);
        frame_end_settle(job->session);
        session_work_turn_over(job->session);
        return;
    }
    if (job->more) {
        session_work(job->session)->held = job->item;
        session_work(job->session)->rest = true;
        session_work_turn_over(job->session);
        return;
    }
    frame_end_used(job, &ack);
}

static void serve(void *ctx, int thread, struct turn_entry *e)
{
    struct commit *c = ctx;

    (void)thread;
    if (!e)
        return;
    turn_done(c->pool.turns, e, false); /* before the job ends: the session may be gone then */
    finish(CONTAINER_OF(e, struct job, turn));
}

void commit_push(struct commit *c, struct job *job)
{
    turn_kick(c->pool.turns, &job->turn);
}

uint64_t commit_alive_us(const struct commit *c)
{
    return turn_pool_alive_us(&c->pool);
}

int commit_threads(long cores)
{
    return cores < 2 ? 1 : cores / 2 < TURN_POOL_MAX ? (int)(cores / 2) : TURN_POOL_MAX;
}

int commit_start(struct commit **commit, int threads, struct err *err)
{
    struct commit *c = calloc(1, sizeof(*c));
    int rc;

    *commit = c;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory for the committers");
    threads = threads ? threads : commit_threads(sysconf(_SC_NPROCESSORS_ONLN));
    rc = turn_pool_start(&c->pool, threads, "committer", serve, c, err);
    if (rc)
        commit_free(commit);
    return rc;
}

void commit_stop(struct commit *c)
{
    turn_pool_stop(&c->pool);
}

void commit_free(struct commit **commit)
{
    struct commit *c = *commit;

    if (!c)
        return;
    turn_pool_free(&c->pool);
    free(c);
    *commit = NULL;
}
