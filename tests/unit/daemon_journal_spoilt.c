/* A journal that changes between its scan and its reading: the reader notices at that record, and
 * hands out nothing that was not written. */
#include "tests/support/journal_case.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>

#define RECORDS 40
#define BODY 1000
#define SEGMENT_BYTES 10000 /* so that there are several */

static struct case_log a;
static char path[256], folder[320];
static struct journal *j;
static char segment[8][64];
static int n_segments;

static int by_name(const void *x, const void *y)
{
    return strcmp(x, y);
}

static void list_segments(void)
{
    struct dirent *e;
    DIR *d = opendir(folder);

    assert_non_null(d);
    for (n_segments = 0; (e = readdir(d)) && n_segments < 8;)
        if (strstr(e->d_name, ".seg"))
            snprintf(segment[n_segments++], sizeof(segment[0]), "%.63s", e->d_name);
    closedir(d);
    qsort(segment, (size_t)n_segments, sizeof(segment[0]), by_name);
    assert_true(n_segments >= 3);
}

static int setup(void **state)
{
    struct journal_scan scan;

    (void)state;
    memset(&a, 0, sizeof(a));
    case_folder(path);
    snprintf(folder, sizeof(folder), "%.255s/sessions/" CASE_ID, path);
    j = case_open(path, SEGMENT_BYTES);
    case_new(&a, j, true, 1);
    for (int i = 0; i < RECORDS; i++) {
        case_append(&a, i, JOURNAL_FRAME, BODY);
        case_wait(&a, i + 1);
    }
    journal_log_free(&a.log);
    assert_int_equal(journal_scan(j, CASE_ID, &scan, NULL), 0);
    assert_int_equal(scan.last, RECORDS);
    list_segments();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    journal_stop(j);
    journal_close(&j);
    case_remove(path);
    return 0;
}

static void flip(int in, off_t at)
{
    char name[400];
    uint8_t byte;
    int fd;

    snprintf(name, sizeof(name), "%s/%s", folder, segment[in]);
    fd = open(name, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void cut(int in, off_t length)
{
    char name[400];

    snprintf(name, sizeof(name), "%s/%s", folder, segment[in]);
    assert_int_equal(truncate(name, length), 0);
}

/* Reads on until something is wrong; what came before is right. Returns how many came. */
static int read_all(uint64_t from, int *rc)
{
    struct journal_reader *r;
    enum journal_type type;
    const uint8_t *body;
    struct err err = {0};
    uint64_t number;
    size_t len;
    int n = 0;

    *rc = journal_read_open(&r, j, CASE_ID, from, RECORDS, &err);
    while (*rc == 0 && (*rc = journal_read_next(r, &type, &number, &body, &len, &err)) == 0) {
        assert_int_equal(number, from + (uint64_t)n);
        assert_int_equal(len, BODY);
        assert_memory_equal(body, case_body(number - 1), BODY);
        n++;
    }
    if (*rc != ERR_END)
        assert_true(err.code == *rc && err.text[0]);
    journal_read_close(&r);
    return n;
}

TEST_WITH(untouched_it_is_whole, setup, teardown)
{
    int rc;

    assert_int_equal(read_all(1, &rc), RECORDS);
    assert_int_equal(rc, ERR_END);
    assert_int_equal(read_all(33, &rc), RECORDS - 32);
    assert_int_equal(rc, ERR_END);
}

/* Every byte of a record and of a segment's head: the reader stops there, or before. */
TEST_WITH(a_flipped_byte_ends_it, setup, teardown)
{
    char name[400];
    struct stat st;
    int rc, n;

    snprintf(name, sizeof(name), "%s/%s", folder, segment[1]);
    assert_int_equal(stat(name, &st), 0);
    for (off_t at = 0; at < st.st_size; at += at < 200 ? 1 : 97) {
        flip(1, at);
        n = read_all(1, &rc);
        assert_int_equal(rc, ERR_IO);
        assert_true(n > 0 && n < RECORDS);
        flip(1, at);
    }
    assert_int_equal(read_all(1, &rc), RECORDS);
}

TEST_WITH(a_cut_segment_ends_it, setup, teardown)
{
    char name[400];
    struct stat st;
    int rc, n, had = RECORDS;

    snprintf(name, sizeof(name), "%s/%s", folder, segment[1]);
    assert_int_equal(stat(name, &st), 0);
    for (off_t length = st.st_size - 1; length > 0; length -= 37) {
        cut(1, length);
        n = read_all(1, &rc);
        assert_int_equal(rc, ERR_IO);
        assert_true(n > 0 && n < RECORDS && n <= had);
        had = n;
    }
}

TEST_WITH(a_segment_away_ends_it, setup, teardown)
{
    char name[400];
    int rc;

    snprintf(name, sizeof(name), "%s/%s", folder, segment[1]);
    assert_int_equal(unlink(name), 0);
    assert_true(read_all(1, &rc) < RECORDS);
    assert_int_equal(rc, ERR_IO);
    snprintf(name, sizeof(name), "%s/%s", folder, segment[0]);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(read_all(1, &rc), 0);
    assert_int_equal(rc, ERR_NOT_FOUND);
}
