#include "daemon/disk/checkpoint_internal.h"

#include "daemon/clock.h"
#include "proto/array.h"
#include "proto/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDLE_US 1000000 /* time between two signs of life of a waiting thread */

/* ------------------------------------------------------------------------- the thread */

/* Reserves a buffer for the largest section. */
static int scratch_grow(struct checkpoint *c)
{
    struct section s;
    size_t at = 0, largest = 4096;
    int rc;

    while ((rc = section_next(&s, c->draft.row, c->draft.len, &at, NULL)) == 1)
        if (codec_bound(CODEC_ZSTD, s.len, 1) > largest)
            largest = codec_bound(CODEC_ZSTD, s.len, 1);
    return rc ? rc : array_grow(&c->writer.packed, &c->writer.packed_cap, largest, 1);
}

static int draft_write(struct checkpoint *c, uint64_t *older)
{
    struct checkpoint_folder f;
    int rc = c->number ? scratch_grow(c) : ERR_INPUT;

    *older = 0;
    if (rc)
        return rc;
    rc = checkpoint_folder(&f, c, c->id, NULL);
    if (rc)
        return rc == ERR_INPUT ? rc : ERR_IO;
    rc = checkpoint_file_write(&f, c->number, &c->draft, &c->writer, NULL);
    if (rc == 0)
        *older = checkpoint_file_prune(&f, c->number, &c->writer);
    close(f.fd);
    return rc;
}

/* Waits for a commit; returns false at the end. */
static bool commit_wait(struct checkpoint *c)
{
    bool committed;

    lock_take(&c->lock);
    while (c->state != CHECKPOINT_COMMITTED && !c->stopping) {
        atomic_store(&c->writer.beat, clock_us());
        (void)clock_wait(&c->wake, &c->lock, clock_us() + IDLE_US);
    }
    committed = c->state == CHECKPOINT_COMMITTED;
    lock_give(&c->lock);
    return committed;
}

static void *checkpoint_thread(void *arg)
{
    struct checkpoint *c = arg;

    while (commit_wait(c)) {
        checkpoint_done_fn *done = c->done;
        void *ctx = c->ctx;
        uint64_t number = c->number, older;
        uint32_t rounds = c->rounds;
        int rc = draft_write(c, &older);

        checkpoint_abandon(c);
        done(ctx, number, rounds, older, rc);
    }
    return NULL;
}

/* ------------------------------------------------------------------------- drafts */

struct checkpoint_draft *checkpoint_begin(struct checkpoint *c, size_t bytes)
{
    bool mine;

    lock_take(&c->lock);
    mine = c->state == CHECKPOINT_IDLE && !c->stopping;
    if (mine)
        c->state = CHECKPOINT_DRAFTED;
    lock_give(&c->lock);
    if (!mine)
        return NULL;
    c->draft.len = 0;
    if (bytes <= CHECKPOINT_PLAIN_MAX && array_grow(&c->draft.row, &c->draft.cap, bytes, 1) == 0)
        return &c->draft;
    checkpoint_abandon(c);
    return NULL;
}

void checkpoint_abandon(struct checkpoint *c)
{
    lock_take(&c->lock);
    c->state = CHECKPOINT_IDLE;
    lock_give(&c->lock);
}

void checkpoint_commit(struct checkpoint *c, const char *id, uint64_t number, uint32_t rounds,
                       checkpoint_done_fn *done, void *ctx)
{
    bool late;

    snprintf(c->id, sizeof c->id, "%s", id);
    c->number = number;
    c->rounds = rounds;
    c->done = done;
    c->ctx = ctx;
    lock_take(&c->lock);
    late = c->stopping;
    c->state = late ? CHECKPOINT_IDLE : CHECKPOINT_COMMITTED;
    pthread_cond_signal(&c->wake);
    lock_give(&c->lock);
    if (late)
        done(ctx, number, rounds, 0, ERR_STATE);
}

/* ------------------------------------------------------------------------- its life */

int checkpoint_start(struct checkpoint **out, int sessions, section_reads_fn *reads,
                     const void *reads_ctx, struct err *err)
{
    struct checkpoint *c = calloc(1, sizeof *c);
    int rc;

    *out = NULL;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory for checkpoints");
    lock_init(&c->lock, LOCK_CHECKPOINT);
    pthread_cond_init(&c->wake, NULL);
    atomic_store(&c->writer.beat, clock_us());
    c->reads = reads;
    c->reads_ctx = reads_ctx;
    c->sessions = fcntl(sessions, F_DUPFD_CLOEXEC, 0);
    rc = c->sessions < 0 ? err_set(err, ERR_IO, "the folder of sessions: %s", strerror(errno))
                         : codec_new(&c->writer.codec, err);
    if (rc == 0 && (rc = pthread_create(&c->thread, NULL, checkpoint_thread, c)))
        rc = err_set(err, ERR_MEMORY, "no thread for checkpoints: %s", strerror(rc));
    else if (rc == 0)
        c->started = true;
    if (rc)
        checkpoint_close(&c);
    *out = c;
    return rc;
}

void checkpoint_stop(struct checkpoint *c)
{
    bool join = c->started;

    lock_take(&c->lock);
    c->stopping = true;
    pthread_cond_signal(&c->wake);
    lock_give(&c->lock);
    if (join)
        pthread_join(c->thread, NULL);
    c->started = false;
}

void checkpoint_close(struct checkpoint **checkpoint)
{
    struct checkpoint *c = *checkpoint;

    if (!c)
        return;
    checkpoint_stop(c);
    codec_free(&c->writer.codec);
    free(c->draft.row);
    free(c->writer.packed);
    if (c->sessions >= 0)
        close(c->sessions);
    pthread_cond_destroy(&c->wake);
    lock_destroy(&c->lock);
    free(c);
    *checkpoint = NULL;
}

uint64_t checkpoint_alive_us(const struct checkpoint *c)
{
    return atomic_load(&c->writer.beat);
}
