/*
 * bench_daemon_journal - what it costs to be durable before the acknowledgement
 *
 * In:      TMPDIR, a folder on the disk in question; arguments (sequences, for its neighbours) are
 *          not looked at
 * 64 sessions send 15 frames of 71 kB a second each, spread evenly, for five seconds, to logs that
 * sync; after that each log gets all of its records at once. Prints the time from journal_append()
 * to done(), and how many records shared a sync.
 */
#include "daemon/clock.h"
#include "daemon/disk/journal.h"
#include "daemon/log.h"

#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOGS 64
#define RATE_HZ 15
#define SECONDS 5
#define BODY_BYTES 71000u
#define PER_LOG (RATE_HZ * SECONDS)
#define RECORDS (LOGS * PER_LOG)

struct sample {
    struct journal_entry entry; /* first */
    uint64_t start_us, us;
};

static struct sample samples[RECORDS];
static struct journal_log *logs[LOGS];
static uint8_t body[BODY_BYTES];
static atomic_int n_done, n_failed;

static void on_done(void *ctx, struct journal_entry *e, int rc)
{
    struct sample *s = (struct sample *)(void *)e;

    (void)ctx;
    s->us = clock_us() - s->start_us;
    if (rc)
        atomic_fetch_add(&n_failed, 1);
    atomic_fetch_add(&n_done, 1);
}

static void append(int i, int log)
{
    struct sample *s = &samples[i];

    memset(s, 0, sizeof(*s));
    s->entry.type = JOURNAL_FRAME;
    s->entry.n_parts = 2;
    s->entry.part[0] = (struct iovec){body, 80};
    s->entry.part[1] = (struct iovec){body + 80, BODY_BYTES - 80};
    s->start_us = clock_us();
    journal_append(logs[log], &s->entry);
}

static void wait_all(void)
{
    while (atomic_load(&n_done) < RECORDS)
        usleep(200);
    atomic_store(&n_done, 0);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct sample *)a)->us, y = ((const struct sample *)b)->us;

    return (x > y) - (x < y);
}

static void report(const struct journal *j, bool paced, const struct journal_stats *before,
                   double seconds)
{
    struct journal_stats now;

    journal_get_stats(j, &now);
    now.syncs -= before->syncs;
    now.sync_us -= before->sync_us;
    qsort(samples, RECORDS, sizeof(samples[0]), compare);
    printf("%-10s %6.0f records/s %6.1f MB/s  append to done p50 %.2f p99 %.2f max %.2f ms  "
           "%.2f records a sync, a sync %.2f ms\n",
           paced ? "64 x 15 Hz" : "at once", RECORDS / seconds,
           RECORDS * (double)BODY_BYTES / seconds / 1e6, samples[RECORDS / 2].us / 1e3,
           samples[RECORDS * 99 / 100].us / 1e3, samples[RECORDS - 1].us / 1e3,
           RECORDS / (double)now.syncs, now.sync_us / 1e3 / (double)now.syncs);
    if (!paced)
        return;
    printf("@ journal_p50 %.3f ms\n", samples[RECORDS / 2].us / 1e3);
    printf("@ journal_p99 %.3f ms\n", samples[RECORDS * 99 / 100].us / 1e3);
    printf("@ journal_records_a_sync %.2f records\n", RECORDS / (double)now.syncs);
}

static void run(struct journal *j, bool paced)
{
    uint64_t start = clock_us(), now;
    struct journal_stats before;

    journal_get_stats(j, &before);
    for (int i = 0; i < RECORDS; i++) {
        uint64_t due = start + (uint64_t)i * 1000000 * SECONDS / RECORDS;
        while (paced && (now = clock_us()) < due)
            usleep((useconds_t)(due - now));
        append(i, i % LOGS);
    }
    wait_all();
    report(j, paced, &before, (double)(clock_us() - start) * 1e-6);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

int main(void)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    const char *tmp = getenv("TMPDIR");
    struct journal_config config = {.high_water_percent = 101};
    struct err err = {0};
    struct journal *j;
    char path[256], id[] = "aaaaaaaaaaaaaaaaaaaaaaaaaa";

    log_open(CONFIG_LOG_TEXT, LOG_WARNING);
    for (size_t i = 0; i < sizeof(body); i++)
        body[i] = (uint8_t)((i * 2654435761u) >> 13);
    snprintf(path, sizeof(path), "%s/bench-journal-XXXXXX", tmp ? tmp : "/tmp");
    config.path = path;
    if (!mkdtemp(path) || journal_open(&j, &config, &err)) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        return 1;
    }
    for (int i = 0; i < LOGS; i++) {
        id[0] = digits[i % 32];
        id[1] = digits[i / 32];
        if (journal_log_new(&logs[i], j, id, true, 1, on_done, NULL, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
    }
    run(j, true);
    run(j, false);
    for (int i = 0; i < LOGS; i++)
        journal_log_free(&logs[i]);
    journal_close(&j);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return atomic_load(&n_failed) != 0;
}
