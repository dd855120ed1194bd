/* The journal: what was appended is read again, over segments, restarts, checkpoints and logs. */
#include "tests/support/journal_case.h"
#include "tests/support/unit.h"

#include "daemon/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/statvfs.h>

static struct case_log b;

static int segments(const char *id)
{
    char dir[320];
    struct dirent *e;
    int n = 0;
    DIR *d;

    snprintf(dir, sizeof(dir), "%s/sessions/%s", case_path, id);
    d = opendir(dir);
    assert_non_null(d);
    while ((e = readdir(d)))
        n += strstr(e->d_name, ".seg") != NULL;
    closedir(d);
    return n;
}

/* Records [from, last] are entries `base` on. */
static void check_records(struct journal *j, uint64_t from, uint64_t last, int base)
{
    struct journal_reader *r;
    enum journal_type type;
    const uint8_t *body;
    uint64_t number;
    size_t len;

    assert_int_equal(journal_read_open(&r, j, CASE_ID, from, last, NULL), 0);
    for (uint64_t n = from; n <= last; n++) {
        int i = base + (int)(n - from);
        assert_int_equal(journal_read_next(r, &type, &number, &body, &len, NULL), 0);
        assert_int_equal(number, n);
        assert_int_equal(type, case_type(i));
        assert_int_equal(len, case_length(i));
        if (len)
            assert_memory_equal(body, case_body((uint64_t)i), len);
    }
    assert_int_equal(journal_read_next(r, &type, &number, &body, &len, NULL), ERR_END);
    journal_read_close(&r);
}

TEST_WITH(round_trip_over_segments, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 100000);
    struct journal_scan scan;
    struct journal_stats stats;

    case_new(&case_a, j, true, 1);
    for (int i = 0; i < 300; i += 20) { /* several writes, so that segments end in between */
        case_feed(&case_a, i, i + 20);
    }
    assert_int_equal(journal_log_last(case_a.log), 300);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(case_a.rc[i], 0);
        assert_int_equal(case_a.calls[i], 1);
        assert_int_equal(case_a.entries[i].number, i + 1);
    }
    assert_int_equal(case_a.out_of_order, 0);
    journal_log_free(&case_a.log);
    assert_true(segments(CASE_ID) >= 4);
    scan = case_scan(j);
    assert_int_equal(scan.first, 1);
    assert_int_equal(scan.last, 300);
    assert_false(scan.torn);
    assert_false(scan.damaged);
    journal_get_stats(j, &stats);
    assert_int_equal(stats.records, 300);
    assert_int_equal(stats.bytes, scan.bytes);
    assert_int_equal(stats.used_bytes, scan.bytes);
    check_records(j, 1, 300, 0);
    for (uint64_t from = 1; from <= 300; from += 7)
        check_records(j, from, from + 2 < 300 ? from + 2 : 300, (int)from - 1);
    journal_close(&j);
}

/* While one group is being written, what comes meanwhile becomes the next one. */
TEST_WITH(records_share_a_sync, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 0);
    struct journal_stats stats;

    case_new(&case_a, j, true, 1);
    case_feed(&case_a, 0, 2000);
    journal_get_stats(j, &stats);
    assert_int_equal(stats.records, 2000);
    assert_true(stats.groups < 1000);
    assert_int_equal(stats.syncs, stats.groups);
    assert_int_equal(case_a.out_of_order, 0);
    journal_log_free(&case_a.log);
    check_records(j, 1, 2000, 0);
    journal_close(&j);
}

TEST_WITH(an_asynchronous_log_waits_for_no_sync, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 0);
    struct journal_stats stats;

    case_new(&case_a, j, false, 1);
    for (int i = 0; i < 50; i++) {
        case_feed(&case_a, i, i + 1);
    }
    journal_get_stats(j, &stats);
    assert_int_equal(stats.groups, 50);
    assert_true(stats.syncs < 10);
    journal_log_free(&case_a.log);
    assert_int_equal(case_scan(j).last, 50);
    check_records(j, 1, 50, 0);
    journal_close(&j);
}

TEST_WITH(a_reopened_log_goes_on, case_setup, case_teardown)
{
    struct journal *j;
    struct journal_scan scan;

    for (int run = 0; run < 4; run++) {
        j = case_open(case_path, 0);
        case_new(&case_a, j, true, run ? case_scan(j).last + 1 : 1);
        case_range(&case_a, run * 10, run * 10 + 10);
        case_wait(&case_a, run * 10 + 10);
        journal_log_free(&case_a.log);
        journal_close(&j);
    }
    j = case_open(case_path, 0);
    scan = case_scan(j);
    assert_int_equal(scan.last, 40);
    assert_int_equal(segments(CASE_ID), 4);
    check_records(j, 1, 40, 0);
    journal_close(&j);
}

/* A log that was opened and never written to leaves nothing that its next opening would meet. */
TEST_WITH(an_unused_log_leaves_no_segment, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 0);
    struct journal_scan scan;

    case_new(&case_a, j, true, 1);
    journal_log_free(&case_a.log);
    scan = case_scan(j);
    assert_int_equal(scan.first, 1);
    assert_int_equal(scan.last, 0);
    assert_int_equal(segments(CASE_ID), 0);
    assert_int_equal(journal_scan(j, CASE_OTHER_ID, &scan, NULL), ERR_NOT_FOUND);
    journal_close(&j);
}

static void wait_segments(int n)
{
    for (int i = 0; i < 120000 && segments(CASE_ID) != n; i++)
        usleep(500);
    assert_int_equal(segments(CASE_ID), n);
}

TEST_WITH(forget_removes_whole_segments_only, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 0);
    struct journal_reader *r;
    struct journal_stats stats;
    struct journal_scan scan;

    case_new(&case_a, j, true, 1);
    for (int i = 0; i < 50; i += 10) { /* segments 1-10, 11-20, ... */
        case_feed(&case_a, i, i + 10);
        journal_log_cut(case_a.log);
    }
    wait_segments(5);
    journal_log_forget(case_a.log, 30); /* record 30 itself is still wanted: 21-30 stays */
    wait_segments(3);
    scan = case_scan(j);
    assert_int_equal(scan.first, 21);
    assert_int_equal(scan.last, 50);
    journal_log_forget(case_a.log, 31);
    wait_segments(2);
    journal_log_forget(case_a.log, 1000); /* the last one always stays: it says where numbers are */
    wait_segments(1);
    scan = case_scan(j);
    assert_int_equal(scan.first, 41);
    check_records(j, 43, 50, 42);
    assert_int_equal(journal_read_open(&r, j, CASE_ID, 40, 50, NULL), ERR_NOT_FOUND);
    assert_null(r);
    journal_get_stats(j, &stats);
    assert_int_equal(stats.used_bytes, scan.bytes);
    case_feed(&case_a, 50, 60);
    assert_int_equal(segments(CASE_ID), 2);
    journal_log_free(&case_a.log);
    assert_int_equal(case_scan(j).last, 60);
    journal_close(&j);
}

TEST_WITH(remove_takes_the_folder, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 0);
    struct journal_stats stats;
    struct stat st;
    char name[400];

    case_new(&case_a, j, true, 1);
    case_feed(&case_a, 0, 10);
    journal_log_free(&case_a.log);
    snprintf(name, sizeof(name), "%s/sessions/%s/meta.json", case_path, CASE_ID);
    close(open(name, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(journal_remove(j, CASE_ID, NULL), 0);
    snprintf(name, sizeof(name), "%s/sessions/%s", case_path, CASE_ID);
    assert_int_not_equal(stat(name, &st), 0);
    snprintf(name, sizeof(name), "%s/sessions/.gone-%s", case_path, CASE_ID);
    assert_int_not_equal(stat(name, &st), 0);
    journal_get_stats(j, &stats);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(journal_remove(j, CASE_ID, NULL), 0);
    assert_int_equal(journal_remove(j, "../../etc", NULL), ERR_INPUT);
    journal_close(&j);
    /* a crash between the two halves of a removal */
    assert_int_equal(mkdir(name, 0700), 0);
    strcat(name, "/00000000000000000001.seg");
    close(open(name, O_CREAT | O_WRONLY, 0600));
    j = case_open(case_path, 0);
    assert_int_not_equal(stat(name, &st), 0);
    journal_close(&j);
}

TEST_WITH(one_process_has_the_folder, case_setup, case_teardown)
{
    const struct journal_config config = {.path = case_path};
    struct journal *j = case_open(case_path, 0), *second;
    struct err err = {0};
    struct stat st;

    assert_int_equal(stat(case_path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(journal_open(&second, &config, &err), ERR_BUSY);
    assert_null(second);
    assert_string_equal(err.where, case_path);
    journal_close(&j);
    j = case_open(case_path, 0);
    journal_close(&j);
}

/* A body over the bound fails alone; its neighbours and the numbers do not notice. */
TEST_WITH(too_long_a_body_fails_alone, case_setup, case_teardown)
{
    uint8_t *big = calloc(1, JOURNAL_BODY_MAX + 1);
    struct journal *j = case_open(case_path, 0);

    case_new(&case_a, j, true, 1);
    case_append(&case_a, 0, case_type(0), case_length(0));
    case_a.entries[1].type = JOURNAL_FRAME;
    case_a.entries[1].n_parts = 1;
    case_a.entries[1].part[0] = (struct iovec){big, JOURNAL_BODY_MAX + 1};
    journal_append(case_a.log, &case_a.entries[1]);
    case_a.entries[2].type = JOURNAL_FRAME;
    case_a.entries[2].n_parts = 1;
    case_a.entries[2].part[0] = (struct iovec){big, JOURNAL_BODY_MAX};
    journal_append(case_a.log, &case_a.entries[2]);
    case_wait(&case_a, 3);
    assert_int_equal(case_a.rc[0], 0);
    assert_int_equal(case_a.rc[1], ERR_LIMIT);
    assert_int_equal(case_a.entries[1].number, 0);
    assert_int_equal(case_a.rc[2], 0);
    assert_int_equal(case_a.entries[2].number, 2);
    assert_false(journal_log_fenced(case_a.log));
    journal_log_free(&case_a.log);
    assert_int_equal(case_scan(j).last, 2);
    journal_close(&j);
    free(big);
}

/* What is pending at the end is written; what comes after it fails, at once and once. */
TEST_WITH(stop_writes_what_is_pending, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 0);

    case_new(&case_a, j, true, 1);
    case_range(&case_a, 0, 1000);
    journal_stop(j);
    assert_int_equal(case_a.n_done, 1000);
    assert_int_equal(journal_log_last(case_a.log), 1000);
    case_range(&case_a, 1000, 1001);
    assert_int_equal(case_a.calls[1000], 1);
    assert_int_equal(case_a.rc[1000], ERR_IO);
    journal_log_free(&case_a.log);
    assert_int_equal(case_scan(j).last, 1000);
    journal_close(&j);
}

TEST_WITH(a_full_folder_says_so, case_setup, case_teardown)
{
    const struct journal_config config = {
        .path = case_path, .high_water_percent = 101, .max_bytes = 40000};
    struct journal *j;

    log_open(CONFIG_LOG_TEXT, LOG_EMERG);
    assert_int_equal(journal_open(&j, &config, NULL), 0);
    assert_false(journal_full(j));
    case_new(&case_a, j, true, 1);
    case_feed(&case_a, 0, 30);
    for (int i = 0; i < 120000 && !journal_full(j); i++)
        usleep(500);
    assert_true(journal_full(j));
    for (uint64_t had = journal_alive_us(j), i = 0; journal_alive_us(j) == had; i++) {
        assert_true(i < 120000); /* it is alive though it waits for room */
        usleep(500);
    }
    journal_log_free(&case_a.log);
    assert_int_equal(journal_remove(j, CASE_ID, NULL), 0);
    for (int i = 0; i < 120000 && journal_full(j); i++)
        usleep(500);
    assert_false(journal_full(j));
    journal_close(&j);
}

static int open_with_mark(int percent)
{
    const struct journal_config config = {.path = case_path, .high_water_percent = percent};
    struct journal *j;
    int full;

    log_open(CONFIG_LOG_TEXT, LOG_EMERG);
    assert_int_equal(journal_open(&j, &config, NULL), 0);
    full = journal_full(j);
    journal_close(&j);
    return full;
}

/* The mark is a share of the file system, as df(1) counts it. */
TEST_WITH(the_mark_is_the_disks, case_setup, case_teardown)
{
    struct statvfs fs;
    uint64_t taken;
    int percent;

    assert_int_equal(mkdir(case_path, 0700), 0);
    assert_int_equal(statvfs(case_path, &fs), 0);
    taken = fs.f_blocks - fs.f_bfree;
    percent = (int)(taken * 100 / (taken + fs.f_bavail));
    assert_int_equal(open_with_mark(percent + 2), 0);
    if (percent > 2)
        assert_int_equal(open_with_mark(percent - 1), 1);
}

/* Two logs, each from a thread of its own, do not mix. */
static void *feed(void *arg)
{
    case_range(arg, 0, 1000);
    return NULL;
}

TEST_WITH(logs_do_not_mix, case_setup, case_teardown)
{
    struct journal *j = case_open(case_path, 200000);
    pthread_t threads[2];
    struct journal_scan scan;

    case_new(&case_a, j, true, 1);
    assert_int_equal(journal_log_new(&b.log, j, CASE_OTHER_ID, false, 1, case_done, &b, NULL), 0);
    pthread_create(&threads[0], NULL, feed, &case_a);
    pthread_create(&threads[1], NULL, feed, &b);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    journal_log_free(&case_a.log);
    journal_log_free(&b.log);
    assert_int_equal(case_a.n_done, 1000);
    assert_int_equal(b.n_done, 1000);
    assert_int_equal(case_a.out_of_order + b.out_of_order, 0);
    check_records(j, 1, 1000, 0);
    assert_int_equal(journal_scan(j, CASE_OTHER_ID, &scan, NULL), 0);
    assert_int_equal(scan.last, 1000);
    journal_close(&j);
}
