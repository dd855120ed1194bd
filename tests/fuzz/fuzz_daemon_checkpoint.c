/*
 * fuzz_daemon_checkpoint - a stranger's bytes as the newest checkpoint of a session, above a whole
 * one
 *
 * Input:   one byte, then the file. An odd byte: checksums are made right, so that what they stand
 *          before is reached.
 * Either the file is loaded, and is what its header says, or the whole one below it is; a damaged
 * one does not count as a second when the next one is written.
 */
#include "daemon/disk/checkpoint_internal.h"
#include "proto/bytes.h"
#include "proto/crc32c.h"
#include "tests/support/checkpoint_rig.h"

#define FIRST 48 /* where the header's parts begin */

static const size_t sizes[CHECKPOINT_PARTS] = {16, 0, 40, 8};

static struct checkpoint_rig rig;
static uint8_t *below; /* a whole checkpoint, number 5 */
static size_t below_len;
static volatile uint32_t sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void put_file(uint64_t number, const uint8_t *data, size_t len)
{
    char path[192];
    int fd;

    checkpoint_rig_name(&rig, path, number, "");
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    check(fd >= 0 && write(fd, data, len) == (ssize_t)len);
    close(fd);
}

static void clean_up(void)
{
    checkpoint_rig_close(&rig);
    free(below);
}

static void start(void)
{
    char path[192];
    FILE *f;

    check(checkpoint_rig_open(&rig) && checkpoint_rig_write(&rig, 5, sizes) == 0);
    atexit(clean_up);
    below = malloc(4096);
    checkpoint_rig_name(&rig, path, 5, "");
    f = fopen(path, "rb");
    check(f && below);
    below_len = fread(below, 1, 4096, f);
    check(below_len > CHECKPOINT_HEADER_BYTES && below_len < 4096);
    fclose(f);
}

/* Checksums of the parts, as far as they lie in the file, and of the header. */
static void make_right(uint8_t *file, size_t len)
{
    uint64_t at = CHECKPOINT_HEADER_BYTES;
    struct bytes_writer w;

    for (int i = 0; i < CHECKPOINT_PARTS; i++) {
        struct bytes_reader r = bytes_reader(file + FIRST + 20 * i + 8, 8);
        uint64_t n = bytes_get_u64(&r);

        if (n > len - at)
            break;
        w = bytes_writer(file + FIRST + 20 * i + 16, 4);
        bytes_put_u32(&w, crc32c(0, file + at, n));
        at += n;
    }
    w = bytes_writer(file + CHECKPOINT_HEADER_BYTES - 4, 4);
    bytes_put_u32(&w, crc32c(0, file, CHECKPOINT_HEADER_BYTES - 4));
}

static int load(void)
{
    struct checkpoint_state s;
    int number;

    check(checkpoint_load(&s, rig.path, CHECKPOINT_RIG_ID, 9, NULL) == 0);
    check(s.number == 5 || s.number == 7);
    check(s.skipped == (s.number == 5));
    if (s.number == 5)
        check(checkpoint_rig_right(&s, sizes));
    for (int i = 0; i < CHECKPOINT_PARTS; i++)
        sum ^= crc32c(0, s.part[i], s.len[i]); /* all of it can be read */
    number = (int)s.number;
    checkpoint_state_free(&s);
    return number;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file;
    int number;

    if (!below)
        start();
    if (size < 1 || size > 65536)
        return 0;
    file = malloc(size);
    check(file != NULL);
    memcpy(file, data + 1, size - 1);
    if (data[0] & 1 && size - 1 >= CHECKPOINT_HEADER_BYTES)
        make_right(file, size - 1);
    put_file(5, below, below_len);
    put_file(7, file, size - 1);
    free(file);
    number = load();
    if (data[0] & 2) { /* the next one keeps what can be relied on */
        check(checkpoint_rig_write(&rig, 8, sizes) == 0);
        check(rig.older == 5 || rig.older == 7);
        check(number != 7 || rig.older == 7);
        check(!checkpoint_rig_has(&rig, rig.older == 5 ? 7 : 5, ""));
        check(checkpoint_cut(rig.path, CHECKPOINT_RIG_ID, 7, NULL) == 0);
    }
    return 0;
}
