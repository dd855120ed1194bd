/*
 * checkpoint_file.c - checkpoints in a session's folder: writing one, listing them, giving up old
 * ones
 */
#include "daemon/disk/checkpoint_internal.h"

#include "daemon/clock.h"
#include "proto/bytes.h"
#include "proto/crc32c.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x504b4352u /* "RCKP" */
#define VERSION 1u
#define DIGITS 20
#define RATIO_MAX 40000  /* plain bytes of a packed one: zstd has 128 KiB in 4 bytes at most */
#define CHUNK (1u << 20) /* bytes between two signs of life */

/* ------------------------------------------------------------------------- names */

int checkpoint_folder(const char *journal_path, const char *id, struct err *err)
{
    char path[4096];
    size_t n = strlen(id);
    int fd;

    if (n == 0 || n >= CHECKPOINT_ID_CAP ||
        strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != n)
        return err_set(err, ERR_INPUT, "not the id of a session");
    if (snprintf(path, sizeof path, "%s/sessions/%s", journal_path, id) >= (int)sizeof path)
        return err_set(err, ERR_INPUT, "the path of the journal is too long");
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%.150s: %s", path,
                       strerror(errno));
    return fd;
}

void checkpoint_name(char name[CHECKPOINT_NAME_CAP], uint64_t number)
{
    snprintf(name, CHECKPOINT_NAME_CAP, "%020llu.ckpt", (unsigned long long)number);
}

/* The number in "<20 digits><suffix>"; 0 = it is another file's name. */
static uint64_t number_of(const char *name, const char *suffix)
{
    uint64_t number;

    if (strspn(name, "0123456789") != DIGITS || strcmp(name + DIGITS, suffix) != 0)
        return 0;
    errno = 0;
    number = strtoull(name, NULL, 10);
    return errno ? 0 : number;
}

/* The folder's entries, from the first one on. */
static DIR *list(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d && fd >= 0)
        close(fd);
    return d;
}

int checkpoint_file_below(int folder, uint64_t limit, uint64_t *number)
{
    DIR *d = list(folder);
    struct dirent *e;

    *number = 0;
    if (!d)
        return ERR_IO;
    while ((e = readdir(d))) {
        uint64_t n = number_of(e->d_name, ".ckpt");
        if (n < limit && n > *number)
            *number = n;
    }
    closedir(d);
    return 0;
}

int checkpoint_file_cut(int folder, uint64_t number, int *removed)
{
    DIR *d = list(folder);
    struct dirent *e;
    int rc = 0;

    *removed = 0;
    if (!d)
        return ERR_IO;
    while ((e = readdir(d))) {
        if (number_of(e->d_name, ".ckpt") <= number && !number_of(e->d_name, ".ckpt.part"))
            continue;
        if (unlinkat(folder, e->d_name, 0) == 0)
            (*removed)++;
        else
            rc = ERR_IO;
    }
    closedir(d);
    return rc;
}

/* ------------------------------------------------------------------------- header */

void checkpoint_head_put(uint8_t out[CHECKPOINT_HEADER_BYTES], const char *id,
                         const struct checkpoint_head *h)
{
    struct bytes_writer w = bytes_writer(out, CHECKPOINT_HEADER_BYTES);

    memset(out, 0, CHECKPOINT_HEADER_BYTES);
    bytes_put_u32(&w, MAGIC);
    bytes_put_u32(&w, VERSION);
    memcpy(out + w.at, id, strlen(id)); /* shorter than its room: checkpoint_folder() */
    w.at += CHECKPOINT_ID_CAP;
    bytes_put_u64(&w, h->number);
    for (int i = 0; i < CHECKPOINT_PARTS; i++) {
        bytes_put_u64(&w, h->plain[i]);
        bytes_put_u64(&w, h->packed[i]);
        bytes_put_u32(&w, h->crc[i]);
    }
    bytes_put_u32(&w, crc32c(0, out, w.at));
}

int checkpoint_head_get(struct checkpoint_head *h, const uint8_t in[CHECKPOINT_HEADER_BYTES],
                        uint64_t size, const char *id, uint64_t number, struct err *err)
{
    struct bytes_reader r = bytes_reader(in, CHECKPOINT_HEADER_BYTES);
    struct bytes_reader end = bytes_reader(in + CHECKPOINT_HEADER_BYTES - 4, 4);
    char name[CHECKPOINT_ID_CAP] = {0};
    uint64_t plain = 0, left = size - CHECKPOINT_HEADER_BYTES;
    uint32_t magic = bytes_get_u32(&r), version = bytes_get_u32(&r);

    memcpy(name, id, strlen(id));
    if (magic != MAGIC || crc32c(0, in, CHECKPOINT_HEADER_BYTES - 4) != bytes_get_u32(&end))
        return err_set(err, ERR_INPUT, "the header is damaged");
    if (version != VERSION)
        return err_set(err, ERR_INPUT, "a checkpoint of version %u", (unsigned)version);
    if (memcmp(bytes_get_span(&r, CHECKPOINT_ID_CAP), name, CHECKPOINT_ID_CAP) != 0)
        return err_set(err, ERR_INPUT, "another session's checkpoint");
    h->number = bytes_get_u64(&r);
    if (h->number != number)
        return err_set(err, ERR_INPUT, "the checkpoint of another record");
    for (int i = 0; i < CHECKPOINT_PARTS; i++) {
        h->plain[i] = bytes_get_u64(&r);
        h->packed[i] = bytes_get_u64(&r);
        h->crc[i] = bytes_get_u32(&r);
        if (h->packed[i] > left || h->plain[i] > CHECKPOINT_PLAIN_MAX - plain ||
            h->plain[i] / RATIO_MAX > h->packed[i])
            return err_set(err, ERR_INPUT, "part %d is larger than the file or the limit", i);
        left -= h->packed[i];
        plain += h->plain[i];
    }
    return left ? err_set(err, ERR_INPUT, "bytes behind the last part") : 0;
}

/* ------------------------------------------------------------------------- writing */

static int put(int fd, const uint8_t *data, size_t len, uint64_t at, atomic_ullong *beat)
{
    while (len) {
        ssize_t n = pwrite(fd, data, len < CHUNK ? len : CHUNK, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        atomic_store(beat, clock_us());
        data += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

/* The parts, then the header in front of them. */
static int put_all(int fd, const char *id, uint64_t number, const struct checkpoint_draft *draft,
                   struct codec *codec, uint8_t *packed, size_t cap, atomic_ullong *beat,
                   struct err *err)
{
    struct checkpoint_head h = {.number = number};
    uint8_t head[CHECKPOINT_HEADER_BYTES];
    uint64_t at = sizeof head;

    for (int i = 0; i < CHECKPOINT_PARTS; i++) {
        size_t len;
        int rc = codec_pack(codec, CODEC_ZSTD, packed, cap, &len, draft->part[i], &draft->len[i], 1,
                            err);
        if (rc)
            return rc;
        h.plain[i] = draft->len[i];
        h.packed[i] = len;
        h.crc[i] = crc32c(0, packed, len);
        if (put(fd, packed, len, at, beat))
            return err_set(err, ERR_IO, "writing a checkpoint: %s", strerror(errno));
        at += len;
    }
    checkpoint_head_put(head, id, &h);
    if (put(fd, head, sizeof head, 0, beat) || fsync(fd))
        return err_set(err, ERR_IO, "writing a checkpoint: %s", strerror(errno));
    return 0;
}

int checkpoint_file_write(int folder, const char *id, uint64_t number,
                          const struct checkpoint_draft *draft, struct codec *codec,
                          uint8_t *packed, size_t cap, atomic_ullong *beat, struct err *err)
{
    char name[CHECKPOINT_NAME_CAP], part[CHECKPOINT_NAME_CAP + 8];
    int fd = -1, rc, removed;

    checkpoint_name(name, number);
    snprintf(part, sizeof part, "%s.part", name);
    rc = checkpoint_file_cut(folder, number, &removed);
    if (rc)
        return err_set(err, rc, "what is left of older checkpoints cannot be removed: %s",
                       strerror(errno));
    fd = openat(folder, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", part, strerror(errno));
    rc = put_all(fd, id, number, draft, codec, packed, cap, beat, err);
    if (close(fd) && rc == 0)
        rc = err_set(err, ERR_IO, "%s: %s", part, strerror(errno));
    if (rc == 0 && renameat(folder, part, folder, name))
        rc = err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
    if (rc) {
        (void)unlinkat(folder, part, 0);
        return rc;
    }
    if (fsync(folder))
        rc = err_set(err, ERR_IO, "the folder of %s: %s", name, strerror(errno));
    return rc;
}

/* ------------------------------------------------------------------------- the older one */

static int get(int fd, uint8_t *data, size_t len, uint64_t at)
{
    while (len) {
        ssize_t n = pread(fd, data, len, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

/* Do the parts have their checksums? 1, 0; -1: they cannot be read now. */
static int parts_whole(int fd, const struct checkpoint_head *h, uint8_t *scratch, size_t cap)
{
    uint64_t at = CHECKPOINT_HEADER_BYTES;

    for (int i = 0; i < CHECKPOINT_PARTS; i++) {
        uint32_t crc = 0;

        for (uint64_t left = h->packed[i]; left;) {
            size_t n = left < cap ? (size_t)left : cap;

            if (get(fd, scratch, n, at))
                return -1;
            crc = crc32c(crc, scratch, n);
            at += n;
            left -= n;
        }
        if (crc != h->crc[i])
            return 0;
    }
    return 1;
}

/* Is the file whole? 1, 0; -1: it cannot be read now, which says nothing of what it holds. */
static int whole(int folder, const char *id, uint64_t number, uint8_t *scratch, size_t cap)
{
    char name[CHECKPOINT_NAME_CAP];
    uint8_t head[CHECKPOINT_HEADER_BYTES];
    struct checkpoint_head h;
    struct stat st;
    int fd, is = -1;

    checkpoint_name(name, number);
    fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0)
        is = st.st_size >= (off_t)sizeof head;
    if (is == 1)
        is = get(fd, head, sizeof head, 0) ? -1 : 1;
    if (is == 1)
        is = checkpoint_head_get(&h, head, (uint64_t)st.st_size, id, number, NULL) == 0;
    if (is == 1)
        is = parts_whole(fd, &h, scratch, cap);
    close(fd);
    return is;
}

uint64_t checkpoint_file_prune(int folder, const char *id, uint64_t number, uint8_t *scratch,
                               size_t cap)
{
    uint64_t older, kept = 0;
    char name[CHECKPOINT_NAME_CAP];

    while (checkpoint_file_below(folder, number, &older) == 0 && older) {
        int is = kept ? 0 : whole(folder, id, older, scratch, cap);

        if (is < 0)
            break;
        number = older;
        if (is)
            kept = older;
        else if (checkpoint_name(name, older), unlinkat(folder, name, 0) != 0)
            break;
    }
    return kept;
}
