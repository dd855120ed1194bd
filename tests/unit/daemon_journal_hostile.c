/* The journal among strangers: names that are no ids, files that change under it, bodies made to
 * hurt. */
#include "tests/support/journal_case.h"

#include "daemon/clock.h"
#include "tests/support/bound.h"
#include "tests/support/unit.h"

#include <fcntl.h>

TEST_WITH(only_ids_become_paths, case_setup, case_teardown)
{
    static const char *const wrong[] = {"",
                                        ".",
                                        "..",
                                        "../../../../../../etc/cron",
                                        "abcdefghijklmnopqrstuvwxy/",
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                                        "abcdefghijklmnopqrstuvwxyza",
                                        "abcdefghijklmnopqrstuvwxy1"};
    struct journal *j = case_open(case_path, 0);
    struct journal_reader *r;
    struct journal_scan scan;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(
            journal_log_new(&case_a.log, j, wrong[i], true, 1, case_done, &case_a, NULL),
            ERR_INPUT);
        assert_null(case_a.log);
        assert_int_equal(journal_scan(j, wrong[i], &scan, NULL), ERR_INPUT);
        assert_int_equal(journal_read_open(&r, j, wrong[i], 1, 2, NULL), ERR_INPUT);
        assert_int_equal(journal_remove(j, wrong[i], NULL), ERR_INPUT);
    }
    assert_int_equal(journal_log_new(&case_a.log, j, CASE_ID, true, 0, case_done, &case_a, NULL),
                     ERR_INPUT);
    journal_close(&j);
}

static void segment_path(char name[400], uint64_t first)
{
    snprintf(name, 400, "%s/sessions/%s/%020llu.seg", case_path, CASE_ID,
             (unsigned long long)first);
}

/* Records [from, last] are asked for; returns what the call after `good` of them says. */
static int read_after(struct journal *j, uint64_t from, uint64_t last, int good)
{
    struct journal_reader *r;
    enum journal_type type;
    const uint8_t *body;
    uint64_t number;
    size_t len;
    int rc;

    assert_int_equal(journal_read_open(&r, j, CASE_ID, from, last, NULL), 0);
    for (int i = 0; i < good; i++)
        assert_int_equal(journal_read_next(r, &type, &number, &body, &len, NULL), 0);
    rc = journal_read_next(r, &type, &number, &body, &len, NULL);
    journal_read_close(&r);
    return rc;
}

/* A file that changes after it was checked is noticed: each record is checked when it is read. */
TEST_WITH(what_changed_is_not_read, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 0);
    struct journal_reader *r;
    char name[400], aside[420];
    struct stat st;
    uint8_t byte;
    int fd;

    case_new(&case_a, j, true, 1);
    case_feed(&case_a, 0, 10);
    journal_log_cut(case_a.log);
    case_feed(&case_a, 10, 20);
    journal_log_free(&case_a.log);
    assert_int_equal(read_after(j, 1, 20, 20), ERR_END);
    assert_int_equal(read_after(j, 5, 4, 0), ERR_END);
    assert_int_equal(read_after(j, 1, 21, 20), ERR_IO); /* record 21 was not written */
    assert_int_equal(journal_read_open(&r, j, CASE_ID, 21, 30, NULL), ERR_NOT_FOUND);
    segment_path(name, 1);
    fd = open(name, O_RDWR);
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t back = 1; back < 24 + (off_t)case_length(9); back += 97) { /* in record 10 */
        assert_int_equal(pread(fd, &byte, 1, st.st_size - back), 1);
        byte ^= 4;
        assert_int_equal(pwrite(fd, &byte, 1, st.st_size - back), 1);
        assert_int_equal(read_after(j, 1, 20, 9), ERR_IO);
        byte ^= 4;
        assert_int_equal(pwrite(fd, &byte, 1, st.st_size - back), 1);
    }
    assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
    assert_int_equal(read_after(j, 1, 20, 9), ERR_IO);
    close(fd);
    segment_path(name, 11);
    snprintf(aside, sizeof(aside), "%s.aside", name);
    assert_int_equal(rename(name, aside), 0);
    assert_int_equal(read_after(j, 1, 20, 9), ERR_IO);
    assert_int_equal(mkdir(name, 0700), 0); /* no file at all */
    assert_int_equal(journal_read_open(&r, j, CASE_ID, 11, 20, NULL), ERR_IO);
    assert_int_equal(rmdir(name), 0);
    journal_close(&j);
}

static void put_le(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* A sender fills a frame with headers of the longest records there can be, and the machine stops
 * while it is written. The search behind the tear has an end, and in doubt it cuts nothing: one
 * that read every body that is announced would take weeks, which the runner does not allow. */
TEST_WITH(a_hostile_body_costs_little, case_setup, case_teardown)
{
    uint8_t *bomb = calloc(1, JOURNAL_BODY_MAX);
    struct journal *j = case_open(case_path, 0);
    struct journal_scan scan;
    uint64_t start;
    char name[400];
    struct stat st;

    for (size_t at = 0; at + 24 <= JOURNAL_BODY_MAX; at += 24) {
        put_le(bomb + at, 0x4c4a4352, 4);
        bomb[at + 4] = JOURNAL_FRAME;
        bomb[at + 5] = 1;
        put_le(bomb + at + 8, JOURNAL_BODY_MAX - at - 24 > 100 ? JOURNAL_BODY_MAX - at - 124 : 0,
               4);
        put_le(bomb + at + 16, 3, 8);
    }
    case_new(&case_a, j, true, 1);
    case_feed(&case_a, 0, 1);
    case_a.entries[1].type = JOURNAL_FRAME;
    case_a.entries[1].n_parts = 1;
    case_a.entries[1].part[0] = (struct iovec){bomb, JOURNAL_BODY_MAX};
    journal_append(case_a.log, &case_a.entries[1]);
    case_wait(&case_a, 2);
    journal_log_free(&case_a.log);
    assert_int_equal(case_scan(j).last, 2);
    segment_path(name, 1);
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(truncate(name, st.st_size - 1), 0);
    start = clock_us();
    scan = case_scan(j);
    assert_true(bound_at_most("the scan", (double)(clock_us() - start) * 1e-6, 20, "s"));
    assert_int_equal(scan.last, 1);
    assert_true(scan.damaged);
    assert_int_equal(stat(name, &st), 0);
    assert_true(st.st_size > (off_t)JOURNAL_BODY_MAX);
    journal_close(&j);
    free(bomb);
}

/* Records of a later build are no torn tail: what stands before them is read, and nothing goes. */
TEST_WITH(another_builds_record_is_kept, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 0);
    struct journal_scan scan;
    struct stat before, after;
    char name[400];

    case_new(&case_a, j, true, 1);
    case_feed(&case_a, 0, 5);
    case_append(&case_a, 5, (enum journal_type)7, 100);
    case_wait(&case_a, 6);
    journal_log_free(&case_a.log);
    segment_path(name, 1);
    assert_int_equal(stat(name, &before), 0);
    for (int i = 0; i < 2; i++) {
        scan = case_scan(j);
        assert_true(scan.damaged && !scan.torn);
        assert_int_equal(scan.last, 5);
        assert_non_null(strstr(scan.damage, "another build wrote a record"));
        assert_int_equal(stat(name, &after), 0);
        assert_int_equal(after.st_size, before.st_size);
    }
    journal_close(&j);
}
