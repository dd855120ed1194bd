#include "daemon/disk/checkpoint_internal.h"

#include "proto/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALIGN 16

static int read_all(int fd, uint8_t *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = pread(fd, data + at, len - at, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += (size_t)n;
    }
    return 0;
}

/* The whole file in memory; ERR_IO: not there, no file, or it cannot be read. */
static int read_file(int folder, uint64_t number, uint8_t **data, size_t *len, struct err *err)
{
    char name[CHECKPOINT_NAME_CAP];
    struct stat st;
    int fd, rc = 0;

    *data = NULL;
    checkpoint_name(name, number);
    fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st)) {
        rc = err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
        goto out;
    }
    if (!S_ISREG(st.st_mode) || st.st_size < CHECKPOINT_HEADER_BYTES) {
        rc = err_set(err, ERR_INPUT, "%s is no checkpoint", name);
        goto out;
    }
    *len = (size_t)st.st_size;
    *data = malloc(*len);
    if (!*data)
        rc = err_set(err, ERR_MEMORY, "no memory for a checkpoint of %zu bytes", *len);
    else if (read_all(fd, *data, *len))
        rc = err_set(err, ERR_IO, "%s cannot be read", name);
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

static int check_parts(const struct checkpoint_head *h, const uint8_t *packed, struct err *err)
{
    for (int i = 0; i < CHECKPOINT_PARTS; packed += h->packed[i++])
        if (crc32c(0, packed, h->packed[i]) != h->crc[i])
            return err_set(err, ERR_INPUT, "part %d is damaged", i);
    return 0;
}

static size_t room(uint64_t plain)
{
    return (plain + ALIGN - 1) / ALIGN * ALIGN;
}

static int unpack(struct checkpoint_state *out, const struct checkpoint_head *h,
                  const uint8_t *packed, struct codec *codec, struct err *err)
{
    size_t total = ALIGN, at = 0;
    int rc = 0;

    for (int i = 0; i < CHECKPOINT_PARTS; i++)
        total += room(h->plain[i]);
    out->memory = malloc(total);
    if (!out->memory)
        return err_set(err, ERR_MEMORY, "no memory for a state of %zu bytes", total);
    for (int i = 0; i < CHECKPOINT_PARTS && rc == 0; packed += h->packed[i++]) {
        out->part[i] = (uint8_t *)out->memory + at;
        out->len[i] = h->plain[i];
        at += room(h->plain[i]);
        rc = codec_unpack(codec, CODEC_ZSTD, out->part[i], out->len[i], packed, h->packed[i], err);
    }
    return rc;
}

static int load_one(struct checkpoint_state *out, int folder, const char *id, uint64_t number,
                    struct codec *codec, struct err *err)
{
    struct checkpoint_head h;
    uint8_t *file = NULL;
    size_t len = 0;
    int rc = read_file(folder, number, &file, &len, err);

    if (rc == 0)
        rc = checkpoint_head_get(&h, file, len, id, number, err);
    if (rc == 0)
        rc = check_parts(&h, file + CHECKPOINT_HEADER_BYTES, err);
    if (rc == 0)
        rc = unpack(out, &h, file + CHECKPOINT_HEADER_BYTES, codec, err);
    out->number = number;
    if (rc)
        checkpoint_state_free(out);
    free(file);
    return rc;
}

int checkpoint_load(struct checkpoint_state *out, const char *journal_path, const char *id,
                    uint64_t max_number, struct err *err)
{
    uint64_t number, limit = max_number < UINT64_MAX ? max_number + 1 : max_number;
    struct codec *codec = NULL;
    int folder, rc, skipped = 0;

    memset(out, 0, sizeof *out);
    folder = checkpoint_folder(journal_path, id, err);
    if (folder < 0)
        return folder;
    rc = codec_new(&codec, err);
    while (rc == 0) {
        rc = checkpoint_file_below(folder, limit, &number);
        if (rc)
            rc = err_set(err, rc, "the folder of a session: %s", strerror(errno));
        else if (number == 0)
            rc = err_set(err, ERR_NOT_FOUND, "no whole checkpoint, %d damaged", skipped);
        if (rc)
            break;
        rc = load_one(out, folder, id, number, codec, err);
        if (rc == 0 || rc == ERR_MEMORY)
            break;
        skipped++;
        limit = number;
        rc = 0;
    }
    out->skipped = skipped;
    codec_free(&codec);
    close(folder);
    return rc;
}

void checkpoint_state_free(struct checkpoint_state *s)
{
    free(s->memory);
    memset(s, 0, sizeof *s);
}

int checkpoint_cut(const char *journal_path, const char *id, uint64_t max_number, struct err *err)
{
    int folder = checkpoint_folder(journal_path, id, err), removed, rc;

    if (folder < 0)
        return folder == ERR_NOT_FOUND ? 0 : folder;
    rc = checkpoint_file_cut(folder, max_number, &removed);
    if (rc == 0 && removed && fsync(folder))
        rc = ERR_IO;
    if (rc)
        err_set(err, rc, "checkpoints that the journal has lost cannot be removed: %s",
                strerror(errno));
    close(folder);
    return rc;
}
