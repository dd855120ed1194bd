#include "daemon/disk/journal_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/log_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MEASURE_EVERY_US 500000
#define LOW_WATER_BELOW 1 /* per cent: frames are admitted again so far below the high-water mark */

/* Measures how full the file system and our share of it are. */
static void disk_measure(struct journal *j)
{
    uint64_t ours = atomic_load(&j->counts.used_bytes), taken, room, percent;
    const struct journal_config *c = &j->config;
    bool was = atomic_load(&j->full), full;
    uint64_t mark = (uint64_t)c->high_water_percent - (was ? LOW_WATER_BELOW : 0);
    struct statvfs fs;

    if (fstatvfs(j->dir, &fs))
        return;
    taken = (uint64_t)fs.f_blocks - fs.f_bfree;
    room = fs.f_bavail;
    percent = taken + room ? taken * 100 / (taken + room) : 100;
    atomic_store(&j->counts.free_bytes, room * fs.f_frsize);
    full = percent >= mark || (c->max_bytes && ours >= c->max_bytes);
    atomic_store(&j->full, full);
    if (full && !was)
        LOG_EVENT(LOG_ERR, LOG_EVENT_DISK_HIGH,
                  "%s: frames are refused: the disk is %llu %% full, segments take %llu MiB",
                  j->path, (unsigned long long)percent, (unsigned long long)ours >> 20);
    else if (was && !full)
        LOG_AT(LOG_NOTICE, "%s: frames are taken again: the disk is %llu %% full", j->path,
               (unsigned long long)percent);
}

/* The first thread that comes here after MEASURE_EVERY_US measures for all. */
static void disk_measure_if_due(struct journal *j, uint64_t now)
{
    unsigned long long due = atomic_load(&j->next_measure_us);

    if (now >= due &&
        atomic_compare_exchange_strong(&j->next_measure_us, &due, now + MEASURE_EVERY_US))
        disk_measure(j);
}

static void log_serve(void *ctx, int thread, struct turn_entry *e)
{
    struct journal_log *log = (struct journal_log *)(void *)e;
    struct journal *j = ctx;

    disk_measure_if_due(j, clock_us());
    if (log && turn_done(j->pool.turns, e, journal_log_serve(log, &j->groups[thread])))
        journal_log_unref(log);
}

static void config_complete(struct journal_config *c)
{
    if (!c->segment_bytes)
        c->segment_bytes = JOURNAL_SEGMENT_BYTES;
    if (!c->high_water_percent)
        c->high_water_percent = 90;
    if (c->threads < 1)
        c->threads = 4;
    if (c->threads > JOURNAL_THREADS_MAX)
        c->threads = JOURNAL_THREADS_MAX;
    c->path = NULL; /* the caller owns this one; journal.path is a copy */
}

int journal_open(struct journal **out, const struct journal_config *config, struct err *err)
{
    struct journal *j = calloc(1, sizeof(*j));
    int rc;

    *out = j;
    if (!j)
        return err_set(err, ERR_MEMORY, "no memory for the journal");
    j->config = *config;
    config_complete(&j->config);
    lock_init(&j->lock, LOCK_JOURNAL);
    rc = journal_folder_open(j, config->path, err);
    if (rc == 0) {
        disk_measure(j);
        rc = turn_pool_start(&j->pool, j->config.threads, "journal", log_serve, j, err);
    }
    if (rc)
        journal_close(out);
    return rc;
}

void journal_stop(struct journal *j)
{
    struct turn_entry *e;

    if (!j->pool.turns || atomic_load(&j->stopped))
        return;
    turn_pool_stop(&j->pool);
    while ((e = turn_drop(j->pool.turns)))
        journal_log_unref((struct journal_log *)(void *)e);
    /* entries announced before are in the logs; a later append sees `stopped` */
    atomic_store(&j->stopped, true);
    for (struct journal_log *log = j->logs; log; log = log->next_log)
        while (journal_log_serve(log, &j->groups[0]))
            ;
}

void journal_close(struct journal **out)
{
    struct journal *j = *out;

    if (!j)
        return;
    journal_stop(j);
    turn_pool_free(&j->pool);
    journal_folder_close(j);
    lock_destroy(&j->lock);
    free(j);
    *out = NULL;
}

const char *journal_path(const struct journal *j)
{
    return j->path;
}

int journal_sessions(const struct journal *j)
{
    return j->sessions;
}

bool journal_full(const struct journal *j)
{
    return atomic_load(&j->full);
}

uint64_t journal_alive_us(const struct journal *j)
{
    return turn_pool_alive_us(&j->pool);
}

void journal_get_stats(const struct journal *j, struct journal_stats *out)
{
    const struct journal_counts *c = &j->counts;

    out->records = atomic_load(&c->records);
    out->bytes = atomic_load(&c->bytes);
    out->groups = atomic_load(&c->groups);
    out->failures = atomic_load(&c->failures);
    out->syncs = atomic_load(&c->syncs);
    out->sync_us = atomic_load(&c->sync_us);
    out->used_bytes = atomic_load(&c->used_bytes);
    out->free_bytes = atomic_load(&c->free_bytes);
    out->full = atomic_load(&j->full);
}
