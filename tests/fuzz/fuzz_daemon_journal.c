/*
 * fuzz_daemon_journal - a session's segments as a stranger, or a bad disk, leaves them
 *
 * In:      byte 0: 1 = sums are put right first (what no flip of a bit gets past), 2 = two
 *          segments; u16 length of the first, u64 number that the second is named by (of two); then
 *          their bytes, one behind the other
 * Whatever recovery says is in there can be read, in order, each body as it stands in the file; a
 * second recovery says the same and has nothing left to cut; what is damaged was not touched.
 */
#include "tests/support/journal_case.h"

#include "proto/crc32c.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_MAX_IN (64u << 10)

static char folder[256], session[320];
static struct journal *j;
static uint8_t copy[SIZE_MAX_IN];

static void check(int ok)
{
    if (!ok)
        abort();
}

static void leave(void)
{
    journal_close(&j);
    case_remove(folder);
}

static void enter(void)
{
    const struct journal_config config = {.path = folder, .threads = 1, .high_water_percent = 101};

    log_open(CONFIG_LOG_TEXT, LOG_EMERG);
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    snprintf(folder, sizeof(folder), "%s/fuzz-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    check(mkdtemp(folder) != NULL);
    check(journal_open(&j, &config, NULL) == 0);
    snprintf(session, sizeof(session), "%s/sessions/%s", folder, CASE_ID);
    check(mkdir(session, 0700) == 0);
    atexit(leave);
}

static uint32_t le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Go from record to record by their lengths and set each sum. */
static void put_right(uint8_t *p, size_t len)
{
    while (len >= 24 && le32(p + 8) <= len - 24) {
        uint32_t sum;
        memset(p + 12, 0, 4);
        sum = crc32c(0, p, 24 + (size_t)le32(p + 8));
        for (int i = 0; i < 4; i++)
            p[12 + i] = (uint8_t)(sum >> 8 * i);
        len -= 24 + (size_t)le32(p + 8);
        p += 24 + (size_t)le32(p + 8);
    }
}

static void put_segment(char name[400], uint64_t number, const uint8_t *data, size_t len)
{
    int fd;

    snprintf(name, 400, "%s/%020llu.seg", session, (unsigned long long)number);
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    check(fd >= 0 && write(fd, data, len) == (ssize_t)len);
    close(fd);
}

static long long size_of(const char *name)
{
    struct stat st;

    return stat(name, &st) ? -1 : (long long)st.st_size;
}

/* Is the body one that the file holds at all? */
static void check_body(const uint8_t *body, size_t len, const uint8_t *all, size_t n)
{
    check(len == 0 || memmem(all, n, body, len) != NULL);
}

static void recover(const uint8_t *all, size_t n, struct journal_scan *scan)
{
    struct journal_reader *r;
    enum journal_type type;
    const uint8_t *body;
    uint64_t number;
    size_t len;

    check(journal_scan(j, CASE_ID, scan, NULL) == 0);
    check(scan->last + 1 >= scan->first && scan->bytes <= n);
    check(!(scan->torn && scan->damaged) && scan->damaged == (scan->damage[0] != 0));
    if (scan->last < scan->first)
        return;
    check(journal_read_open(&r, j, CASE_ID, scan->first, scan->last, NULL) == 0);
    for (uint64_t k = scan->first; k <= scan->last; k++) {
        check(journal_read_next(r, &type, &number, &body, &len, NULL) == 0);
        check(number == k && (type == JOURNAL_FRAME || type == JOURNAL_OUTCOME));
        check_body(body, len, all, n);
    }
    check(journal_read_next(r, &type, &number, &body, &len, NULL) == ERR_END);
    journal_read_close(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal_scan scan, again;
    char first[400], second[400] = "";
    uint64_t number = 0;
    size_t cut;
    uint8_t flags;

    if (!j)
        enter();
    if (size < 11 || size > SIZE_MAX_IN)
        return 0;
    flags = data[0];
    cut = (size_t)(data[1] | data[2] << 8);
    for (int i = 0; i < 8; i++)
        number |= (uint64_t)data[3 + i] << 8 * i;
    data += 11;
    size -= 11;
    if (cut > size || !(flags & 2))
        cut = size;
    memcpy(copy, data, size);
    if (flags & 1) {
        put_right(copy, cut);
        put_right(copy + cut, size - cut);
    }
    put_segment(first, 1, copy, cut);
    if (flags & 2 && number > 1)
        put_segment(second, number, copy + cut, size - cut);
    recover(copy, size, &scan);
    if (scan.damaged)
        check(size_of(first) == (long long)cut &&
              (!second[0] || size_of(second) == (long long)(size - cut)));
    recover(copy, size, &again);
    check(!again.torn && again.damaged == scan.damaged && again.last == scan.last);
    check(again.bytes == scan.bytes);
    unlink(first);
    if (second[0])
        unlink(second);
    return 0;
}
