#include "daemon/work/commit.h"

#include "daemon/session/pipeline.h"
#include "daemon/work/frame_end.h"
#include "proto/types.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

struct commit {
    struct turn_pool pool;
};

/* Puts the result into the session. Then its frame has ended, or goes to the device again. */
static void finish_job(struct job *job)
{
    struct session_work *k = session_work(job->session);
    const struct gpu_item *item = &job->on_device;
    struct control_ack ack = {.status = CONTROL_USED};

    for (int i = 0; i < item->n_passes; i++)
        metrics_stage(k->setup->metrics, item->passes[i].name, item->passes[i].us);
    k->setup->kind->finish(job, &ack);
    if (job->closing_round) {
        frame_end_round(job);
    } else if (job->unfinished) {
        frame_state_move(&job->item->state, FRAME_EVENT_CONTINUE);
        k->next = job->item;
        session_work_turn_over(job->session);
    } else {
        frame_end_used(job, &ack);
    }
}

static void serve_job(void *ctx, int thread, struct turn_entry *e)
{
    struct commit *c = ctx;

    (void)thread;
    if (!e)
        return;
    turn_done(c->pool.turns, e, false); /* before the job ends: the session may be freed then */
    finish_job(CONTAINER_OF(e, struct job, turn));
}

void commit_push(struct commit *c, struct job *job)
{
    frame_state_move(&job->item->state, FRAME_EVENT_COMPUTED);
    turn_kick(c->pool.turns, &job->turn);
}

uint64_t commit_alive_us(const struct commit *c)
{
    return turn_pool_alive_us(&c->pool);
}

/* Returns the number of threads for so many cores: half of them, 64 at most. A frame of a large
 * network takes a millisecond here, and a device does five thousand of these a second. */
static int commit_threads(long cores)
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
    rc = turn_pool_start(&c->pool, threads, "committer", serve_job, c, err);
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
