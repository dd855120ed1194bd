/*
 * Every length that a journal can be cut to, and every bit that can flip, within its last 64 kB:
 * no wrong recovery. Wrong is a record that was not written so, or is out of its place, and a
 * prefix that is longer or shorter than the truth, which this file knows from how it wrote it:
 *
 *   a cut       all records that lie wholly before it, nothing told as damaged
 *   a flip      all records before the one that it hit; damage, and no byte of a file changed, if a
 *               group follows that one's group; else a torn tail, cut behind the last good record
 *
 * No `synced` helps; with it more is damage (daemon_store_files).
 * One segment is open for the whole run: its file is changed in place and put back, every change
 * goes through journal_scan(), the end of the prefix is read and compared for each byte (a bit of
 * it, and every eighth length), the whole prefix for every 512th byte and length.
 */
#include "tests/support/sample.h"
#include "tests/support/journal_case.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <sys/mman.h>

#define RECORDS 300
#define TAIL_BYTES 65536u
#define FIRST_SEGMENT 60 /* records, at least */

/* The truth about the last segment. */
struct record {
    uint64_t number; /* 0: the one that begins the segment */
    size_t from, to; /* bytes */
    int group;
};

static struct case_log log_of;
static char folder[256], last_name[400], first_name[400];
static struct journal *j;
static struct record records[RECORDS + 1];
static int n_records, fd;
static uint64_t first_of_last;
static uint8_t *truth, *file; /* file: the last segment, mapped */
static size_t truth_len;
static struct stat first_before;

static size_t length_of(int i)
{
    if (i % 97 == 96)
        return 12000;
    return i % 23 == 0 ? 0 : (size_t)(i * 571 % 330);
}

static uint32_t le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* What the writer's file says, by its own lengths; bodies are compared with what was appended. */
static void learn_truth(void)
{
    uint64_t number = first_of_last;
    size_t at = 0;
    int group = -1;

    for (n_records = 0; at < truth_len; n_records++) {
        struct record *r = &records[n_records];
        const uint8_t *p = truth + at;
        size_t len = le32(p + 8);
        assert_true(n_records <= RECORDS);
        group += p[5] & 1;
        *r = (struct record){p[4] ? number : 0, at, at + 24 + len, group};
        assert_int_equal(le32(p + 16), number);
        if (r->number) {
            assert_int_equal(len, length_of((int)number - 1));
            assert_memory_equal(p + 24, case_body(number - 1), len);
            number++;
        }
        at = r->to;
    }
    assert_int_equal(at, truth_len);
    assert_int_equal(number, RECORDS + 1);
}

static void read_truth(void)
{
    struct stat st;

    fd = open(last_name, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    truth_len = (size_t)st.st_size;
    truth = malloc(truth_len);
    assert_int_equal(pread(fd, truth, truth_len, 0), (ssize_t)truth_len);
    file = mmap(NULL, truth_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(file != MAP_FAILED);
}

static int next_entry, group_size = 1;

static void append_group(void)
{
    int from = next_entry, to = from + group_size < RECORDS ? from + group_size : RECORDS;

    next_entry = to;
    group_size = group_size % 9 + 1;
    for (int i = from; i < to; i++)
        case_append(&log_of, i, i % 4 == 3 ? JOURNAL_OUTCOME : JOURNAL_FRAME, length_of(i));
}

/* What is appended while the log has its turn is one group of the next turn; so groups are as this
 * test wants them, whatever the threads do. */
static void group_after_group(void *ctx, struct journal_entry *e, int rc)
{
    int i = (int)(e - log_of.entries);

    if (i + 1 == next_entry) {
        if (first_of_last == 0 && next_entry >= FIRST_SEGMENT) {
            first_of_last = (uint64_t)next_entry + 1;
            journal_log_cut(log_of.log);
        }
        append_group();
    }
    case_done(ctx, e, rc);
}

/* Two segments; the last one has more than 64 kB in groups of one to nine records. */
static void write_journal(void)
{
    char mark[320];

    j = case_open(folder, 0);
    assert_int_equal(
        journal_log_new(&log_of.log, j, CASE_ID, true, 1, group_after_group, &log_of, NULL), 0);
    append_group();
    case_wait(&log_of, RECORDS);
    journal_log_free(&log_of.log);
    snprintf(first_name, sizeof(first_name), "%s/sessions/%s/%020d.seg", folder, CASE_ID, 1);
    snprintf(last_name, sizeof(last_name), "%s/sessions/%s/%020" PRIu64 ".seg", folder, CASE_ID,
             first_of_last);
    snprintf(mark, sizeof(mark), "%s/sessions/%s/synced", folder, CASE_ID);
    assert_int_equal(unlink(mark), 0); /* as after a power cut: it had not come to the disk */
    read_truth();
    learn_truth();
    assert_true(truth_len > TAIL_BYTES + 1000);
    assert_int_equal(records[n_records - 1].group > 40, true);
    assert_int_equal(stat(first_name, &first_before), 0);
}

static int setup(void **state)
{
    (void)state;
    mallopt(M_TRIM_THRESHOLD, 64 << 20); /* half a million buffers: do not fault each in again */
    if (access("/dev/shm", W_OK) == 0)   /* each of half a million recoveries syncs its files */
        setenv("TMPDIR", "/dev/shm", 1);
    case_folder(folder);
    write_journal();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    munmap(file, truth_len);
    close(fd);
    free(truth);
    journal_close(&j);
    case_remove(folder);
    return 0;
}

/* Records [from, last] are what was appended, and then it ends. */
static void check_records(uint64_t from, uint64_t last)
{
    struct journal_reader *r;
    enum journal_type type;
    const uint8_t *body;
    uint64_t number;
    size_t len;

    assert_int_equal(journal_read_open(&r, j, CASE_ID, from, last, NULL), 0);
    for (uint64_t n = from; n <= last; n++) {
        int i = (int)n - 1;
        assert_int_equal(journal_read_next(r, &type, &number, &body, &len, NULL), 0);
        if (number != n || type != (i % 4 == 3 ? JOURNAL_OUTCOME : JOURNAL_FRAME) ||
            len != length_of(i) || (len && memcmp(body, case_body(n - 1), len) != 0))
            fail_msg("record %llu is not what was appended", (unsigned long long)n);
    }
    assert_int_equal(journal_read_next(r, &type, &number, &body, &len, NULL), ERR_END);
    journal_read_close(&r);
}

static size_t file_len(void)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return (size_t)st.st_size;
}

static void put_back(void)
{
    size_t len = file_len();

    assert_int_equal(ftruncate(fd, (off_t)truth_len), 0);
    memcpy(file + len, truth + len, truth_len - len);
}

/* The record that holds byte `at`. */
static const struct record *record_of(size_t at)
{
    static int i; /* callers go from byte to byte */

    while (records[i].from > at)
        i--;
    while (records[i].to <= at)
        i++;
    return &records[i];
}

/* One bit or length in so many is looked at. */
static int stride(void)
{
    if (sample_sanitized())
        return sample_full() ? 11 : 47;
    return sample_full() ? 1 : 13;
}

static size_t first_case(void)
{
    return sample_full() ? 0 : sample_seed() % (unsigned)stride();
}

TEST(every_length)
{
    struct journal_scan scan;

    for (size_t cut = truth_len - TAIL_BYTES + first_case(); cut < truth_len;
         cut += (size_t)stride()) {
        const struct record *r = record_of(cut); /* the first one that is not whole */
        assert_int_equal(ftruncate(fd, (off_t)cut), 0);
        assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
        if (scan.first != 1 || scan.last != r->number - 1 || scan.damaged ||
            scan.torn != (cut > r->from) || file_len() != r->from)
            fail_msg("cut to %zu bytes: %llu to %llu, torn %d, %s; %zu bytes are left", cut,
                     (unsigned long long)scan.first, (unsigned long long)scan.last, scan.torn,
                     scan.damaged ? scan.damage : "not damaged", file_len());
        if (cut % 8 == 0)
            check_records(scan.last - 1, scan.last);
        if (cut % 512 == 0)
            check_records(1, scan.last);
        put_back();
    }
    assert_memory_equal(file, truth, truth_len);
}

static void check_flip(size_t at, int bit, int *n_damaged, int *n_torn)
{
    const struct record *r = record_of(at);
    const bool later = records[n_records - 1].group > r->group;
    struct journal_scan scan;

    file[at] ^= (uint8_t)(1u << bit);
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
    if (scan.first != 1 || scan.last != r->number - 1 || scan.damaged != later ||
        scan.torn == later)
        fail_msg("bit %d of byte %zu, in record %llu: %llu to %llu, torn %d, %s", bit, at,
                 (unsigned long long)r->number, (unsigned long long)scan.first,
                 (unsigned long long)scan.last, scan.torn,
                 scan.damaged ? scan.damage : "not damaged");
    *(later ? n_damaged : n_torn) += 1;
    if (bit == (int)(at % 8))
        check_records(scan.last - 1, scan.last);
    if (at % 512 == 0)
        check_records(1, scan.last);
    if (later) {
        file[at] ^= (uint8_t)(1u << bit);
        if (file_len() != truth_len || memcmp(file, truth, truth_len) != 0)
            fail_msg("bit %d of byte %zu: a damaged file was changed", bit, at);
        return;
    }
    assert_int_equal(file_len(), r->from);
    put_back();
}

TEST(every_bit)
{
    int n_damaged = 0, n_torn = 0, n = 0;
    struct journal_scan scan;
    struct stat st;

    for (size_t bit = first_case(); bit < TAIL_BYTES * 8; bit += (size_t)stride(), n++)
        check_flip(truth_len - TAIL_BYTES + bit / 8, (int)(bit % 8), &n_damaged, &n_torn);
    assert_int_equal(n_damaged + n_torn, n);
    assert_true(n_damaged > 400000 / stride());
    assert_true(n_torn > 1000 / stride());
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
    assert_int_equal(scan.last, RECORDS);
    assert_false(scan.torn || scan.damaged);
    check_records(1, RECORDS);
    assert_int_equal(stat(first_name, &st), 0);
    assert_memory_equal(&st.st_mtim, &first_before.st_mtim, sizeof(st.st_mtim));
    assert_int_equal(st.st_size, first_before.st_size);
}

static int cut_file(const char *name, off_t by)
{
    struct stat st;

    return stat(name, &st) || truncate(name, st.st_size - by);
}

/* Whatever happens to a segment that is not the last one is damage, a cut at its end too; so are
 * one that is missing and one that belongs elsewhere. */
TEST(earlier_segments_are_never_cut)
{
    char aside[480];
    struct journal_scan scan;
    struct stat st;

    snprintf(aside, sizeof(aside), "%s/aside", folder);
    assert_int_equal(rename(first_name, aside), 0);
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
    assert_int_equal(scan.first, first_of_last); /* forgotten, as far as one can see here */
    assert_int_equal(rename(aside, first_name), 0);
    assert_int_equal(cut_file(first_name, 1), 0);
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
    assert_true(scan.damaged);
    assert_false(scan.torn);
    assert_int_equal(scan.last, first_of_last - 2);
    assert_int_equal(stat(first_name, &st), 0);
    assert_int_equal(st.st_size, first_before.st_size - 1);
    check_records(1, scan.last);
    /* a whole record less: the numbers tell */
    assert_int_equal(cut_file(first_name, 23 + (off_t)length_of((int)first_of_last - 2)), 0);
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
    assert_true(scan.damaged);
    assert_int_equal(scan.last, first_of_last - 2);
    /* the last segment under the first one's name */
    assert_int_equal(rename(last_name, first_name), 0);
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
    assert_true(scan.damaged);
    assert_int_equal(scan.last, 0);
    assert_int_equal(rename(first_name, last_name), 0);
    /* and under another session's */
    snprintf(aside, sizeof(aside), "%s/sessions/%s", folder, CASE_OTHER_ID);
    assert_int_equal(mkdir(aside, 0700), 0);
    snprintf(aside, sizeof(aside), "%s/sessions/%s/%020" PRIu64 ".seg", folder, CASE_OTHER_ID,
             first_of_last);
    assert_int_equal(rename(last_name, aside), 0);
    assert_int_equal(journal_scan(j, CASE_OTHER_ID, &scan, NULL), 0);
    assert_true(scan.damaged);
    assert_int_equal(scan.last, first_of_last - 1);
    assert_true(file_len() == truth_len);
    assert_int_equal(rename(aside, last_name), 0);
}

TEST_GROUP(setup, teardown)
