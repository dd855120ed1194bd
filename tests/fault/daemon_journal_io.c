/*
 * The k-th call that changes a file fails, for every k, once and for ever, with EIO, ENOSPC and
 * short writes, while a journal is opened, written, cut, thinned out, closed, opened again,
 * recovered and removed. Nothing crashes or leaks (the sanitizer build looks at memory, this test
 * at descriptors), every append is answered exactly once, and what was acknowledged is found
 * afterwards, as it was written.
 */
#include "tests/support/fault_io.h"

#include "tests/support/journal_case.h"
#include "tests/support/unit.h"

#define APPENDS 20
#define FORGET 11 /* records before it may go */

static char folder[256];
static struct case_log c;

static void check_code(int rc, const char *what, const struct err *err)
{
    if (rc != 0 && (rc != ERR_IO || !err->text[0]))
        fail_msg("%s answered %d: %s", what, rc, err->text);
}

static int open_journal(struct journal **j)
{
    const struct journal_config config = {.path = folder, .threads = 1, .high_water_percent = 101};
    struct err err = {0};
    int rc = journal_open(j, &config, &err);

    check_code(rc, "journal_open", &err);
    assert_true((rc == 0) == (*j != NULL));
    return rc;
}

static void append_all(void)
{
    for (int i = 0; i < APPENDS; i++) {
        if (i == 5 || i == 10 || i == 15)
            journal_log_cut(c.log);
        case_append(&c, i, JOURNAL_FRAME, 100 + (size_t)i * 50);
        if (i < APPENDS - 4)
            case_wait(&c, i + 1);
        if (i == 12)
            journal_log_forget(c.log, FORGET);
    }
    case_wait(&c, APPENDS);
    for (int i = 0; i < APPENDS; i++) {
        int rc = atomic_load(&c.rc[i]);
        assert_int_equal(atomic_load(&c.calls[i]), 1);
        assert_true(rc == 0 || rc == ERR_IO);
        /* the fence holds: nothing is acknowledged behind what was not */
        assert_true(i == 0 || rc != 0 || atomic_load(&c.rc[i - 1]) == 0);
        assert_int_equal(c.entries[i].number, rc ? 0 : i + 1);
    }
    assert_int_equal(journal_log_fenced(c.log), atomic_load(&c.rc[APPENDS - 1]) != 0);
    assert_int_equal(c.out_of_order, 0);
}

/* Returns the number of records that were acknowledged. */
static int write_journal(void)
{
    struct err err = {0};
    struct journal *j;
    int n = 0, rc;

    memset(&c, 0, sizeof(c));
    if (open_journal(&j))
        return 0;
    rc = journal_log_new(&c.log, j, CASE_ID, true, 1, case_done, &c, &err);
    check_code(rc, "journal_log_new", &err);
    if (rc == 0) {
        append_all();
        while (n < APPENDS && atomic_load(&c.rc[n]) == 0)
            n++;
        assert_int_equal(journal_log_last(c.log), n);
    }
    journal_log_free(&c.log);
    journal_close(&j);
    return n;
}

static void recover(void)
{
    struct journal_scan scan;
    struct err err = {0};
    struct journal *j;
    int rc;

    if (open_journal(&j))
        return;
    rc = journal_scan(j, CASE_ID, &scan, &err);
    if (rc != ERR_NOT_FOUND)
        check_code(rc, "journal_scan", &err);
    journal_close(&j);
}

/* Without faults: [first, last] is whole, holds all that was acknowledged and still wanted, and if
 * `exact` nothing else. */
static void check_found(int acked, bool exact)
{
    struct journal_reader *r;
    struct journal_scan scan = {0};
    enum journal_type type;
    const uint8_t *body;
    struct journal *j;
    uint64_t number;
    size_t len;
    int rc;

    assert_int_equal(open_journal(&j), 0);
    rc = journal_scan(j, CASE_ID, &scan, NULL);
    if (rc == ERR_NOT_FOUND && acked == 0)
        goto out;
    assert_int_equal(rc, 0);
    if (scan.damaged || scan.last < (uint64_t)acked || (exact && scan.last != (uint64_t)acked) ||
        (acked >= FORGET && scan.first > FORGET) || scan.last > APPENDS)
        fail_msg("%d were acknowledged, %llu to %llu found %s", acked,
                 (unsigned long long)scan.first, (unsigned long long)scan.last, scan.damage);
    if (scan.last >= scan.first) {
        assert_int_equal(journal_read_open(&r, j, CASE_ID, scan.first, scan.last, NULL), 0);
        for (uint64_t n = scan.first; n <= scan.last; n++) {
            assert_int_equal(journal_read_next(r, &type, &number, &body, &len, NULL), 0);
            assert_int_equal(number, n);
            assert_int_equal(len, 100 + (n - 1) * 50);
            assert_memory_equal(body, case_body(n - 1), len);
        }
        journal_read_close(&r);
    }
out:
    journal_close(&j);
}

/* A folder that was removed, whole or in part, is gone after one more try. */
static void remove_and_check(long k, enum fault_io_how how, bool for_ever, long *failed)
{
    struct err err = {0};
    struct journal *j;
    struct journal_scan scan;

    assert_int_equal(open_journal(&j), 0);
    fault_io_arm(k, how, for_ever);
    check_code(journal_remove(j, CASE_ID, &err), "journal_remove", &err);
    *failed = fault_io_disarm();
    assert_int_equal(journal_remove(j, CASE_ID, NULL), 0);
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), ERR_NOT_FOUND);
    journal_close(&j);
}

/* Returns how many calls failed. */
static long run(long k, enum fault_io_how how, bool for_ever)
{
    long failed;
    int acked;

    case_folder(folder);
    fault_io_arm(k, how, for_ever);
    acked = write_journal();
    recover();
    failed = fault_io_disarm();
    check_found(acked, failed <= 1);
    if (!failed)
        assert_int_equal(acked, APPENDS);
    case_remove(folder);
    return failed;
}

TEST(every_call)
{
    static const char *const names[FAULT_HOWS] = {"EIO", "ENOSPC", "short", "short, then full"};
    int before;

    run(0, FAULT_EIO, false);
    before = fault_io_descriptors();
    for (int how = 0; how < FAULT_HOWS; how++)
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            long k = 1;
            while (run(k, (enum fault_io_how)how, for_ever))
                k++;
            print_message("# %s%s: %ld calls\n", names[how], for_ever ? ", for ever" : "", k - 1);
            assert_true(k > (how < FAULT_SHORT ? 40 : 15));
            assert_int_equal(fault_io_descriptors(), before);
        }
}

TEST(every_call_of_a_removal)
{
    int before = -1;

    for (int how = 0; how < FAULT_SHORT; how++)
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            long failed = 1, k = 1;
            for (; failed; k++) {
                case_folder(folder);
                assert_int_equal(write_journal(), APPENDS);
                remove_and_check(k, (enum fault_io_how)how, for_ever, &failed);
                case_remove(folder);
                if (before < 0)
                    before = fault_io_descriptors();
            }
            assert_true(k > 6);
            assert_int_equal(fault_io_descriptors(), before);
        }
}

/* Reading: the k-th pread of this program's fails. */
static atomic_long reads_left;

ssize_t pread(int fd, void *buf, size_t n, off_t off);
ssize_t pread(int fd, void *buf, size_t n, off_t off)
{
    static ssize_t (*next)(int, void *, size_t, off_t);

    if (!next)
        *(void **)&next = fault_io_next("pread");
    if (atomic_load(&reads_left) > 0 && atomic_fetch_sub(&reads_left, 1) == 1) {
        errno = EIO;
        return -1;
    }
    return next(fd, buf, n, off);
}

/* A sector that cannot be read is damage where it is, whatever is behind it; nothing is cut. */
TEST(a_bad_sector_is_damage)
{
    struct journal_reader *r;
    struct journal_scan scan, right;
    enum journal_type type;
    const uint8_t *body;
    uint64_t number;
    struct journal *j;
    size_t len;
    int n_damaged = 0;

    case_folder(folder);
    assert_int_equal(write_journal(), APPENDS);
    assert_int_equal(open_journal(&j), 0);
    assert_int_equal(journal_scan(j, CASE_ID, &right, NULL), 0);
    /* The first read is that of the synced mark, without which the segments are found the same. */
    atomic_store(&reads_left, 1);
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
    assert_int_equal(atomic_load(&reads_left), 0);
    assert_memory_equal(&scan, &right, sizeof(scan));
    for (long k = 2; k < 100; k++) {
        atomic_store(&reads_left, k);
        assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
        if (atomic_exchange(&reads_left, 0) > 0)
            break;
        if (k == 1) { /* the mark's: without it the records alone are believed */
            assert_memory_equal(&scan, &right, sizeof(scan));
            continue;
        }
        n_damaged++;
        assert_true(scan.damaged && !scan.torn && scan.last < right.last);
        assert_non_null(strstr(scan.damage, "cannot read"));
        assert_int_equal(journal_read_open(&r, j, CASE_ID, right.first, right.last, NULL), 0);
        atomic_store(&reads_left, 1); /* its next segment */
        while ((len = 0, journal_read_next(r, &type, &number, &body, &len, NULL)) == 0)
            ;
        assert_int_equal(atomic_exchange(&reads_left, 0), 0);
        assert_true(number < right.last);
        journal_read_close(&r);
    }
    assert_true(n_damaged >= 2);
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
    assert_memory_equal(&scan, &right, sizeof(scan));
    journal_close(&j);
    case_remove(folder);
}

static long long durable(const char *path)
{
    struct stat st;

    return stat(path, &st) ? -1 : fault_io_synced(st.st_ino);
}

/* Copy of a segment what a power cut would leave of it. */
static void copy_durable(const char *from, const char *to)
{
    static char buf[1 << 16];
    long long n = durable(from);
    int in, out;

    if (n < 0)
        return;
    assert_true(n <= (long long)sizeof(buf));
    in = open(from, O_RDONLY);
    out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(read(in, buf, (size_t)n), n);
    assert_int_equal(write(out, buf, (size_t)n), n);
    close(in);
    close(out);
}

/* The power goes now: what is found of the log? */
static struct journal_scan after_power_cut(const char *copy)
{
    char from[400], to[400], session[400];
    struct journal_scan scan = {.first = 1};
    struct dirent *e;
    struct journal *j;
    DIR *d;
    int rc;

    case_remove(copy);
    j = case_open(copy, 0); /* makes its folders */
    snprintf(session, sizeof(session), "%s/sessions", folder);
    assert_true(durable(session) >= 0);
    snprintf(session, sizeof(session), "%s/sessions/%s", folder, CASE_ID);
    d = opendir(session);
    assert_true(durable(session) >= 0);
    snprintf(to, sizeof(to), "%s/sessions/%s", copy, CASE_ID);
    assert_int_equal(mkdir(to, 0700), 0);
    while (d && (e = readdir(d))) {
        if (!strstr(e->d_name, ".seg"))
            continue;
        snprintf(from, sizeof(from), "%.120s/sessions/%s/%.30s", folder, CASE_ID, e->d_name);
        snprintf(to, sizeof(to), "%.120s/sessions/%s/%.30s", copy, CASE_ID, e->d_name);
        copy_durable(from, to);
    }
    closedir(d);
    rc = journal_scan(j, CASE_ID, &scan, NULL);
    assert_int_equal(rc, 0);
    journal_close(&j);
    return scan;
}

/* At no moment does a power cut take back a record that was acknowledged by a synchronous log, or
 * one of an asynchronous log's earlier segments; and none of it looks like damage. */
static void cut_power_after_each(bool sync)
{
    char copy[256];
    struct journal_scan scan;
    struct journal *j;

    case_folder(folder);
    case_folder(copy);
    memset(&c, 0, sizeof(c));
    fault_io_forget_syncs();
    atomic_store(&fault_io_watch, true);
    assert_int_equal(open_journal(&j), 0);
    case_new(&c, j, sync, 1);
    for (int i = 0; i < APPENDS; i++) {
        if (i % 5 == 4)
            journal_log_cut(c.log);
        case_append(&c, i, JOURNAL_FRAME, 100 + (size_t)i * 50);
        case_wait(&c, i + 1);
        atomic_store(&fault_io_watch, false);
        scan = after_power_cut(copy);
        atomic_store(&fault_io_watch, true);
        assert_false(scan.damaged);
        assert_true(scan.last >= (uint64_t)(sync ? i + 1 : i < 4 ? 0 : (i - 4) / 5 * 5 + 4));
        assert_true(scan.last <= (uint64_t)i + 1);
    }
    journal_log_free(&c.log);
    journal_close(&j);
    atomic_store(&fault_io_watch, false);
    case_remove(copy);
    case_remove(folder);
}

TEST(nothing_acknowledged_hangs_on_power)
{
    cut_power_after_each(true);
    cut_power_after_each(false);
}

static int write_to_memory(void **state)
{
    (void)state;
    log_open(CONFIG_LOG_TEXT, LOG_EMERG);
    if (access("/dev/shm", W_OK) == 0) /* what is under test is not how fast a disk syncs */
        setenv("TMPDIR", "/dev/shm", 1);
    return 0;
}

TEST_GROUP(write_to_memory, NULL)
