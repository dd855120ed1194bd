#include "daemon/disk/journal_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/log_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOOK_EVERY_US 500000
#define LOW_WATER_BELOW 1 /* per cent below the high-water mark where frames are let in again */

int journal_sync(struct journal *j, int fd)
{
    uint64_t start = clock_us(), us;
    int rc = fdatasync(fd), error = errno, bucket = 0;

    us = clock_us() - start;
    while (bucket < JOURNAL_SYNC_BUCKETS - 1 && us >= 2ull << bucket)
        bucket++;
    atomic_fetch_add(&j->counts.syncs, 1);
    atomic_fetch_add(&j->counts.sync_us, us);
    atomic_fetch_add(&j->counts.sync_bucket[bucket], 1);
    errno = error;
    return rc;
}

/* How full are the file system and our share of it? */
static void look(struct journal *j)
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

/* Whichever thread comes first when it is time. */
static void look_at_times(struct journal *j, uint64_t now)
{
    unsigned long long due = atomic_load(&j->next_look_us);

    if (now >= due && atomic_compare_exchange_strong(&j->next_look_us, &due, now + LOOK_EVERY_US))
        look(j);
}

static void *journal_thread(void *arg)
{
    struct journal_writer *w = arg;
    struct journal *j = w->j;
    struct turn_entry *e;
    int n;

    while ((n = turn_take(j->turns, &e, 1, LOOK_EVERY_US)) >= 0) {
        struct journal_log *log = n ? (struct journal_log *)(void *)e : NULL;
        uint64_t now = clock_us();
        atomic_store(&w->alive_us, now);
        look_at_times(j, now);
        if (log && turn_done(j->turns, e, journal_log_serve(log, &w->group)))
            journal_log_unref(log);
    }
    return NULL;
}

static void settle_config(struct journal_config *c)
{
    if (!c->segment_bytes)
        c->segment_bytes = JOURNAL_SEGMENT_BYTES;
    if (!c->high_water_percent)
        c->high_water_percent = 90;
    if (c->threads < 1)
        c->threads = 4;
    if (c->threads > JOURNAL_THREADS_MAX)
        c->threads = JOURNAL_THREADS_MAX;
    c->path = NULL; /* the caller's; journal.path is ours */
}

int journal_open(struct journal **out, const struct journal_config *config, struct err *err)
{
    struct journal *j = calloc(1, sizeof(*j));
    int rc;

    *out = j;
    if (!j)
        return err_set(err, ERR_MEMORY, "no memory for the journal");
    j->config = *config;
    settle_config(&j->config);
    pthread_mutex_init(&j->lock, NULL);
    rc = journal_folder_open(j, config->path, err);
    if (rc == 0) {
        look(j);
        rc = turn_new(&j->turns, err);
    }
    for (int i = 0; rc == 0 && i < j->config.threads; i++) {
        struct journal_writer *w = &j->writers[i];
        w->j = j;
        atomic_init(&w->alive_us, clock_us());
        if (pthread_create(&w->thread, NULL, journal_thread, w))
            rc = err_set(err, ERR_MEMORY, "cannot start a journal thread");
        else
            j->n_writers++;
    }
    if (rc)
        journal_close(out);
    return rc;
}

void journal_stop(struct journal *j)
{
    struct turn_entry *e;

    if (!j->turns || atomic_load(&j->stopped))
        return;
    turn_close(j->turns);
    for (int i = 0; i < j->n_writers; i++)
        pthread_join(j->writers[i].thread, NULL);
    while ((e = turn_drop(j->turns)))
        journal_log_unref((struct journal_log *)(void *)e);
    /* what was announced until now is in the logs; a later append sees `stopped` */
    atomic_store(&j->stopped, true);
    for (struct journal_log *log = j->logs; log; log = log->next_log)
        while (journal_log_serve(log, &j->writers[0].group))
            ;
}

void journal_close(struct journal **out)
{
    struct journal *j = *out;

    if (!j)
        return;
    journal_stop(j);
    turn_free(&j->turns);
    journal_folder_close(j);
    pthread_mutex_destroy(&j->lock);
    free(j);
    *out = NULL;
}

const char *journal_path(const struct journal *j)
{
    return j->path;
}

bool journal_full(const struct journal *j)
{
    return atomic_load(&j->full);
}

uint64_t journal_alive_us(const struct journal *j)
{
    uint64_t oldest = UINT64_MAX;

    for (int i = 0; i < j->n_writers; i++) {
        uint64_t t = atomic_load(&j->writers[i].alive_us);
        oldest = t < oldest ? t : oldest;
    }
    return oldest;
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
    for (int i = 0; i < JOURNAL_SYNC_BUCKETS; i++)
        out->sync_bucket[i] = atomic_load(&c->sync_bucket[i]);
    out->used_bytes = atomic_load(&c->used_bytes);
    out->free_bytes = atomic_load(&c->free_bytes);
    out->full = atomic_load(&j->full);
}
