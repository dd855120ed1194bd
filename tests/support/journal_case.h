/*
 * journal_case.h - what the tests of the journal share: a folder of their own, entries whose bodies
 * can be told again from their number, and which of them was told what
 */
#ifndef RECOND_TESTS_SUPPORT_JOURNAL_CASE_H
#define RECOND_TESTS_SUPPORT_JOURNAL_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/disk/journal.h"
#include "daemon/log.h"
#include "tests/support/scratch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CASE_ID "abcdefghijklmnopqrstuvwxyz"
#define CASE_OTHER_ID "zyxwvutsrqponmlkjihgfedcba"
#define CASE_BODY_MAX (32u << 10)
#define CASE_ENTRIES 2048

static uint8_t case_noise[CASE_BODY_MAX + 4096];

/* Byte i of body n: noise from another place for each n, so that no two are alike. */
static inline const uint8_t *case_body(uint64_t n)
{
    if (!case_noise[0] && !case_noise[1])
        for (size_t i = 0; i < sizeof(case_noise); i++)
            case_noise[i] = (uint8_t)((i * 2654435761u + (i >> 3) * 40503u) >> 7 | (i == 0));
    return case_noise + n * 37 % 4096;
}

/* A folder under TMPDIR that does not exist yet. */
static inline void case_folder(char path[256])
{
    const char *tmp = getenv("TMPDIR");

    snprintf(path, 256, "%s/journal-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(path) || rmdir(path))
        fail_msg("cannot make %s", path);
}

static inline void case_remove(const char *path)
{
    scratch_remove(path);
}

/* A log and its entries; entry i has body i, in three parts. */
struct case_log {
    struct journal_log *log;
    struct journal_entry entries[CASE_ENTRIES];
    atomic_int calls[CASE_ENTRIES], rc[CASE_ENTRIES];
    atomic_int n_done, out_of_order, next;
};

static inline void case_done(void *ctx, struct journal_entry *e, int rc)
{
    struct case_log *c = ctx;
    int i = (int)(e - c->entries);

    if (atomic_load(&c->next) != i)
        atomic_fetch_add(&c->out_of_order, 1);
    atomic_store(&c->next, i + 1);
    atomic_store(&c->rc[i], rc);
    atomic_fetch_add(&c->calls[i], 1);
    atomic_fetch_add(&c->n_done, 1);
}

static inline void case_append(struct case_log *c, int i, enum journal_type type, size_t len)
{
    struct journal_entry *e = &c->entries[i];
    uint8_t *body = (uint8_t *)(uintptr_t)case_body((uint64_t)i);

    e->type = type;
    e->n_parts = 3;
    e->part[0] = (struct iovec){body, len / 3};
    e->part[1] = (struct iovec){body + len / 3, 0};
    e->part[2] = (struct iovec){body + len / 3, len - len / 3};
    journal_append(c->log, e);
}

static inline void case_wait(struct case_log *c, int n)
{
    for (int i = 0; i < 120000 && atomic_load(&c->n_done) < n; i++)
        usleep(500);
    assert_int_equal(atomic_load(&c->n_done), n);
}

static inline struct journal *case_open(const char *path, uint64_t segment_bytes)
{
    /* tests do not ask how full the machine's disk is */
    const struct journal_config config = {
        .path = path, .segment_bytes = segment_bytes, .high_water_percent = 101};
    struct journal *j;
    struct err err = {0};

    log_open(CONFIG_LOG_TEXT, LOG_EMERG);
    if (journal_open(&j, &config, &err))
        fail_msg("%s: %s", err.where, err.text);
    return j;
}

static inline void case_new(struct case_log *c, struct journal *j, bool sync, uint64_t next)
{
    struct err err = {0};

    if (journal_log_new(&c->log, j, CASE_ID, sync, next, case_done, c, &err))
        fail_msg("%s: %s", err.where, err.text);
}

/* The log and the folder of most tests, and what is appended to it. */
static struct case_log case_a;
static char case_path[256];

static inline int case_setup(void **state)
{
    (void)state;
    memset(&case_a, 0, sizeof(case_a));
    case_folder(case_path);
    return 0;
}

static inline int case_teardown(void **state)
{
    (void)state;
    case_remove(case_path);
    return 0;
}

static inline size_t case_length(int i)
{
    return i % 17 == 0 ? 0 : (size_t)(i * 977 % 5000);
}

static inline enum journal_type case_type(int i)
{
    return i % 5 == 4 ? JOURNAL_OUTCOME : JOURNAL_FRAME;
}

static inline struct journal_scan case_scan(struct journal *j)
{
    struct journal_scan scan;
    struct err err = {0};

    if (journal_scan(j, CASE_ID, &scan, &err))
        fail_msg("%s: %s", err.where, err.text);
    return scan;
}

static inline void case_range(struct case_log *c, int from, int to)
{
    for (int i = from; i < to; i++)
        case_append(c, i, case_type(i), case_length(i));
}

/* The same, until all that was appended is answered. */
static inline void case_feed(struct case_log *c, int from, int to)
{
    case_range(c, from, to);
    case_wait(c, to);
}

#endif
