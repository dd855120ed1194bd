#include "daemon/disk/journal_internal.h"

#include "daemon/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int log_open(struct journal_log *log, struct journal *j, const char *id,
                    uint64_t next_number, struct err *err)
{
    int rc;

    log->dir = log->fd = log->mark = -1;
    log->j = j;
    log->tail = &log->head;
    log->number = next_number;
    log->sync_us = clock_us();
    atomic_init(&log->last, next_number - 1);
    if (!next_number)
        return err_set(err, ERR_INPUT, "records are numbered from 1");
    rc = journal_folder_make_session(j, id, &log->dir, err);
    if (rc == 0) {
        memcpy(log->id, id, JOURNAL_ID_LEN);
        atomic_init(&log->bytes, journal_folder_bytes(log->dir));
    }
    return rc;
}

int journal_log_new(struct journal_log **out, struct journal *j, const char *id, bool sync,
                    uint64_t next_number, journal_done_fn *done, void *ctx, struct err *err)
{
    struct journal_log *log = calloc(1, sizeof(*log));
    int rc;

    *out = NULL;
    if (!log)
        return err_set(err, ERR_MEMORY, "no memory for a session's journal");
    rc = log_open(log, j, id, next_number, err);
    if (rc) {
        free(log);
        return rc;
    }
    log->sync = sync;
    log->done = done;
    log->ctx = ctx;
    lock_init(&log->lock, LOCK_JOURNAL_LOG);
    pthread_cond_init(&log->idle, NULL);
    lock_take(&j->lock);
    log->next_log = j->logs;
    j->logs = log;
    lock_give(&j->lock);
    *out = log;
    return 0;
}

void journal_log_free(struct journal_log **out)
{
    struct journal_log *log = *out, **at;

    if (!log)
        return;
    lock_take(&log->lock);
    while (log->n_pending || log->refs)
        lock_wait(&log->lock, &log->idle);
    lock_give(&log->lock);
    lock_take(&log->j->lock);
    for (at = &log->j->logs; *at != log; at = &(*at)->next_log)
        ;
    *at = log->next_log;
    lock_give(&log->j->lock);
    journal_segment_close(log);
    if (log->mark >= 0)
        close(log->mark);
    close(log->dir);
    pthread_cond_destroy(&log->idle);
    lock_destroy(&log->lock);
    free(log);
    *out = NULL;
}

void journal_log_unref(struct journal_log *log)
{
    lock_take(&log->lock);
    if (--log->refs == 0)
        pthread_cond_broadcast(&log->idle);
    lock_give(&log->lock);
}

/* Puts the log into the turn queue, which takes over a reference of the caller's. After
 * journal_stop() no thread serves that queue, so we fail the entries here. */
static void log_announce(struct journal_log *log)
{
    if (atomic_load(&log->j->stopped)) {
        while (journal_log_serve(log, NULL))
            ;
        journal_log_unref(log);
    } else if (!turn_kick(log->j->pool.turns, &log->turn)) {
        journal_log_unref(log);
    }
}

void journal_append(struct journal_log *log, struct journal_entry *e)
{
    e->next = NULL;
    lock_take(&log->lock);
    *log->tail = e;
    log->tail = &e->next;
    log->n_pending++;
    log->refs++;
    lock_give(&log->lock);
    log_announce(log);
}

void journal_log_forget(struct journal_log *log, uint64_t before)
{
    unsigned long long was = atomic_load(&log->forget);

    while (was < before && !atomic_compare_exchange_weak(&log->forget, &was, before))
        ;
    lock_take(&log->lock);
    log->refs++;
    lock_give(&log->lock);
    log_announce(log);
}

void journal_log_cut(struct journal_log *log)
{
    atomic_store(&log->cut, true);
}

uint64_t journal_log_last(const struct journal_log *log)
{
    return atomic_load(&log->last);
}

uint64_t journal_log_bytes(const struct journal_log *log)
{
    return atomic_load(&log->bytes);
}

bool journal_log_fenced(const struct journal_log *log)
{
    return atomic_load(&log->fenced);
}

static uint64_t entry_bytes(const struct journal_entry *e)
{
    uint64_t n = JOURNAL_HEADER_BYTES;

    for (int i = 0; i < e->n_parts; i++)
        n += e->part[i].iov_len;
    return n;
}

/* Gathers the oldest pending entries, as many as one group takes. */
static struct journal_entry *chain_detach(struct journal_log *log)
{
    struct journal_entry *chain, **at;
    uint64_t bytes = 0;
    int n = 0;

    lock_take(&log->lock);
    chain = log->head;
    for (at = &log->head; *at && n < JOURNAL_GROUP_MAX && bytes < JOURNAL_GROUP_BYTES; n++) {
        bytes += entry_bytes(*at);
        at = &(*at)->next;
    }
    if (at != &log->head) {
        log->head = *at;
        *at = NULL;
    }
    if (!log->head)
        log->tail = &log->head;
    lock_give(&log->lock);
    return chain;
}

bool journal_log_serve(struct journal_log *log, struct journal_group *g)
{
    struct journal_entry *chain = chain_detach(log), *next;
    uint64_t before = atomic_exchange(&log->forget, 0);
    int rc = ERR_IO, n = 0;
    bool more;

    if (chain && g)
        rc = journal_segment_write(log, g, chain);
    for (struct journal_entry *e = chain; e; e = next, n++) {
        next = e->next;
        e->next = NULL;
        if (rc)
            e->number = 0;
        log->done(log->ctx, e, rc ? rc : e->number ? 0 : ERR_LIMIT);
    }
    if (before && g)
        journal_segment_forget(log, before);
    lock_take(&log->lock);
    log->n_pending -= n;
    more = log->head != NULL;
    lock_give(&log->lock);
    return more;
}
