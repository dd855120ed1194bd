#include "daemon/disk/checkpoint_internal.h"

#include "daemon/clock.h"
#include "proto/array.h"
#include "proto/lock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDLE_US 1000000 /* between two signs of life of a thread that waits */

enum state { IDLE, DRAFTED, COMMITTED };

struct checkpoint {
    struct lock lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool started, stopping;
    atomic_ullong beat;
    char path[4096];
    section_reads_fn *reads;

    /* the draft: its holder's, then the thread's */
    enum state state;
    struct checkpoint_draft draft;
    uint8_t *packed;
    size_t packed_cap;
    struct codec *codec;
    char id[CHECKPOINT_ID_CAP];
    uint64_t number;
    uint32_t rounds;
    checkpoint_done_fn *done;
    void *ctx;
};

/* ------------------------------------------------------------------------- the thread */

/* Scratch for the largest section. */
static int make_scratch(struct checkpoint *c)
{
    struct section s;
    size_t at = 0, largest = 4096;
    int rc;

    while ((rc = section_next(&s, c->draft.row, c->draft.len, &at, NULL)) == 1)
        if (codec_bound(CODEC_ZSTD, s.len, 1) > largest)
            largest = codec_bound(CODEC_ZSTD, s.len, 1);
    return rc ? rc : array_grow(&c->packed, &c->packed_cap, largest, 1);
}

static int write_one(struct checkpoint *c, uint64_t *older)
{
    struct checkpoint_folder f = {.id = c->id, .reads = c->reads};
    int rc = c->number ? make_scratch(c) : ERR_INPUT;

    *older = 0;
    if (rc)
        return rc;
    f.fd = checkpoint_folder(c->path, c->id, NULL);
    if (f.fd < 0)
        return f.fd == ERR_INPUT ? f.fd : ERR_IO;
    rc = checkpoint_file_write(&f, c->number, &c->draft, c->codec, c->packed, c->packed_cap,
                               &c->beat, NULL);
    if (rc == 0)
        *older = checkpoint_file_prune(&f, c->number, c->packed, c->packed_cap);
    close(f.fd);
    return rc;
}

/* Waits for a commit; false at the end. */
static bool wait_commit(struct checkpoint *c)
{
    bool committed;

    lock_take(&c->lock);
    while (c->state != COMMITTED && !c->stopping) {
        atomic_store(&c->beat, clock_us());
        (void)clock_wait(&c->wake, &c->lock, clock_us() + IDLE_US);
    }
    committed = c->state == COMMITTED;
    lock_give(&c->lock);
    return committed;
}

static void *checkpoint_thread(void *arg)
{
    struct checkpoint *c = arg;

    while (wait_commit(c)) {
        checkpoint_done_fn *done = c->done;
        void *ctx = c->ctx;
        uint64_t number = c->number, older;
        uint32_t rounds = c->rounds;
        int rc = write_one(c, &older);

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
    mine = c->state == IDLE && !c->stopping;
    if (mine)
        c->state = DRAFTED;
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
    c->state = IDLE;
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
    c->state = late ? IDLE : COMMITTED;
    pthread_cond_signal(&c->wake);
    lock_give(&c->lock);
    if (late)
        done(ctx, number, rounds, 0, ERR_STATE);
}

/* ------------------------------------------------------------------------- its life */

int checkpoint_start(struct checkpoint **out, const char *journal_path, section_reads_fn *reads,
                     struct err *err)
{
    struct checkpoint *c = calloc(1, sizeof *c);
    int rc;

    *out = NULL;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory for checkpoints");
    lock_init(&c->lock, LOCK_CHECKPOINT);
    pthread_cond_init(&c->wake, NULL);
    atomic_store(&c->beat, clock_us());
    c->reads = reads;
    if (snprintf(c->path, sizeof c->path, "%s", journal_path) >= (int)sizeof c->path) {
        rc = err_set(err, ERR_INPUT, "the path of the journal is too long");
        goto out;
    }
    rc = codec_new(&c->codec, err);
    if (rc)
        goto out;
    rc = pthread_create(&c->thread, NULL, checkpoint_thread, c);
    if (rc) {
        rc = err_set(err, ERR_MEMORY, "no thread for checkpoints: %s", strerror(rc));
        goto out;
    }
    c->started = true;
out:
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
    codec_free(&c->codec);
    free(c->draft.row);
    free(c->packed);
    pthread_cond_destroy(&c->wake);
    lock_destroy(&c->lock);
    free(c);
    *checkpoint = NULL;
}

uint64_t checkpoint_alive_us(const struct checkpoint *c)
{
    return atomic_load(&c->beat);
}
