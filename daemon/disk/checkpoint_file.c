#include "daemon/disk/checkpoint_file.h"

#include "daemon/clock.h"
#include "daemon/disk/folder.h"
#include "proto/crc32c.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".ckpt"
#define CHUNK (1u << 20) /* bytes between two signs of life */

/* ------------------------------------------------------------------------- names */

int checkpoint_file_folder(struct checkpoint_folder *f, int sessions,
                           const struct checkpoint_reads *reads, struct err *err)
{
    const char *id = reads->id;
    size_t n = strlen(id);

    if (n == 0 || n >= CHECKPOINT_ID_CAP ||
        strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != n)
        return err_set(err, ERR_INPUT, "not the id of a session");
    *f = (struct checkpoint_folder){folder_open_at(sessions, id), *reads};
    if (f->fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO,
                       "the folder of session %s: %s", id, strerror(errno));
    return 0;
}

int checkpoint_file_below(int folder, uint64_t limit, uint64_t *number)
{
    DIR *d = folder_list(folder);
    struct dirent *e;

    *number = 0;
    if (!d)
        return ERR_IO;
    while ((e = readdir(d))) {
        uint64_t n = folder_number(e->d_name, SUFFIX);
        if (n < limit && n > *number)
            *number = n;
    }
    closedir(d);
    return 0;
}

int checkpoint_file_set_aside(int folder, uint64_t number)
{
    char name[FOLDER_NAME_CAP], aside[FOLDER_NAME_CAP + 24];
    int n = 1;

    folder_name(name, number, SUFFIX);
    snprintf(aside, sizeof aside, "%s.aside", name);
    while (faccessat(folder, aside, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        snprintf(aside, sizeof aside, "%s.aside%d", name, ++n);
    return errno != ENOENT || renameat(folder, name, folder, aside) ? ERR_IO : 0;
}

static int file_remove(const struct checkpoint_folder *f, const char *name, uint64_t number)
{
    struct checkpoint_head h;
    int fd = -1, rc = number ? checkpoint_file_open(f, number, &h, &fd, NULL) : 0;

    if (fd >= 0)
        close(fd);
    if (rc == ERR_UNSUPPORTED)
        return checkpoint_file_set_aside(f->fd, number);
    if (rc == ERR_IO) /* the file may be another build's */
        return rc;
    return unlinkat(f->fd, name, 0) ? ERR_IO : 0;
}

int checkpoint_file_cut(const struct checkpoint_folder *f, uint64_t number, int *changed)
{
    DIR *d = folder_list(f->fd);
    struct dirent *e;
    int rc = 0;

    *changed = 0;
    if (!d)
        return ERR_IO;
    while ((e = readdir(d))) {
        uint64_t n = folder_number(e->d_name, SUFFIX);
        if (n <= number && !folder_number(e->d_name, SUFFIX ".part"))
            continue;
        if (file_remove(f, e->d_name, n) == 0)
            (*changed)++;
        else
            rc = ERR_IO;
    }
    closedir(d);
    return rc;
}

/* ------------------------------------------------------------------------- reading */

int checkpoint_file_open(const struct checkpoint_folder *f, uint64_t number,
                         struct checkpoint_head *h, int *fd, struct err *err)
{
    uint8_t head[CHECKPOINT_HEAD_MAX];
    char name[FOLDER_NAME_CAP];
    uint64_t size;
    size_t len;
    int rc;

    folder_name(name, number, SUFFIX);
    *fd = folder_open_file(f->fd, name, &size);
    if (*fd < 0) /* links and other files are no checkpoints */
        return err_set(err, errno == ELOOP || errno == EINVAL ? ERR_INPUT : ERR_IO, "%s: %s", name,
                       strerror(errno));
    len = size < sizeof head ? (size_t)size : sizeof head;
    if (folder_read(*fd, head, len, 0))
        rc = err_set(err, ERR_IO, "%s cannot be read", name);
    else
        rc = checkpoint_head_get(h, head, len, size, &f->reads, number, err);
    if (rc) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

/* ------------------------------------------------------------------------- writing */

static int bytes_write(int fd, const uint8_t *data, size_t len, uint64_t at, atomic_ullong *beat)
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

/* Packs one body and writes it from *at on. */
static int section_write(int fd, uint64_t *at, struct checkpoint_entry *e,
                         struct checkpoint_writer *w, struct err *err)
{
    size_t len;
    int rc = codec_pack(w->codec, CODEC_ZSTD, w->packed, w->packed_cap, &len, e->s.body, &e->s.len,
                        1, err);

    if (rc)
        return rc;
    e->packed = len;
    e->crc = crc32c(0, w->packed, len);
    if (bytes_write(fd, w->packed, len, *at, &w->beat))
        return err_set(err, ERR_IO, "writing a checkpoint: %s", strerror(errno));
    *at += len;
    return 0;
}

/* Writes the bodies, then the head in front of them. */
static int sections_write(int fd, struct checkpoint_head *h, const char *id,
                          struct checkpoint_writer *w, struct err *err)
{
    uint8_t head[CHECKPOINT_HEAD_MAX];
    uint64_t at = h->bytes;
    int rc = 0;

    for (int i = 0; i < h->n && rc == 0; i++)
        rc = section_write(fd, &at, &h->entry[i], w, err);
    if (rc)
        return rc;
    checkpoint_head_put(head, id, h);
    if (bytes_write(fd, head, h->bytes, 0, &w->beat) || fsync(fd))
        return err_set(err, ERR_IO, "writing a checkpoint: %s", strerror(errno));
    return 0;
}

static int list_sections(struct checkpoint_head *h, const struct checkpoint_draft *draft,
                         struct err *err)
{
    struct section s;
    size_t at = 0;
    int rc;

    h->n = 0;
    while ((rc = section_next(&s, draft->row, draft->len, &at, err)) == 1) {
        if (h->n == CHECKPOINT_SECTIONS_MAX)
            return err_set(err, ERR_INPUT, "more than %d sections", CHECKPOINT_SECTIONS_MAX);
        h->entry[h->n++].s = s;
    }
    h->bytes = (size_t)CHECKPOINT_HEAD_BYTES(h->n);
    return rc;
}

int checkpoint_file_write(const struct checkpoint_folder *f, uint64_t number,
                          const struct checkpoint_draft *draft, struct checkpoint_writer *w,
                          struct err *err)
{
    char name[FOLDER_NAME_CAP], part[FOLDER_NAME_CAP];
    struct checkpoint_head h = {.number = number};
    int fd = -1, rc, changed;

    folder_name(name, number, SUFFIX);
    folder_name(part, number, SUFFIX ".part");
    rc = list_sections(&h, draft, err);
    if (rc)
        return rc;
    rc = checkpoint_file_cut(f, number, &changed);
    if (rc)
        return err_set(err, rc, "what is left of older checkpoints cannot be removed: %s",
                       strerror(errno));
    fd = openat(f->fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                0600);
    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", part, strerror(errno));
    rc = sections_write(fd, &h, f->reads.id, w, err);
    if (close(fd) && rc == 0)
        rc = err_set(err, ERR_IO, "%s: %s", part, strerror(errno));
    if (rc == 0 && renameat(f->fd, part, f->fd, name))
        rc = err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
    if (rc) {
        (void)unlinkat(f->fd, part, 0);
        return rc;
    }
    if (fsync(f->fd))
        rc = err_set(err, ERR_IO, "the folder of %s: %s", name, strerror(errno));
    return rc;
}

/* ------------------------------------------------------------------------- the older one */

/* Do the bodies have their checksums? 1, 0; -1: they cannot be read now. */
static int bodies_whole(int fd, const struct checkpoint_head *h, uint8_t *scratch, size_t cap)
{
    uint64_t at = h->bytes;

    for (int i = 0; i < h->n; i++) {
        uint32_t crc = 0;

        for (uint64_t left = h->entry[i].packed; left;) {
            size_t n = left < cap ? (size_t)left : cap;

            if (folder_read(fd, scratch, n, at))
                return -1;
            crc = crc32c(crc, scratch, n);
            at += n;
            left -= n;
        }
        if (crc != h->entry[i].crc)
            return 0;
    }
    return 1;
}

/* Checks a file. With a buffer of `cap` 0 its bodies are not read. */
enum file_kind { FILE_DAMAGED, FILE_WHOLE, FILE_FOREIGN, FILE_UNREADABLE };

static enum file_kind file_kind(const struct checkpoint_folder *f, uint64_t number,
                                uint8_t *scratch, size_t cap)
{
    struct checkpoint_head h;
    int fd, whole, rc = checkpoint_file_open(f, number, &h, &fd, NULL);

    if (rc)
        return rc == ERR_UNSUPPORTED ? FILE_FOREIGN : rc == ERR_IO ? FILE_UNREADABLE : FILE_DAMAGED;
    whole = cap ? bodies_whole(fd, &h, scratch, cap) : 1;
    close(fd);
    return whole < 0 ? FILE_UNREADABLE : whole ? FILE_WHOLE : FILE_DAMAGED;
}

uint64_t checkpoint_file_prune(const struct checkpoint_folder *f, uint64_t number,
                               const struct checkpoint_writer *w)
{
    uint64_t kept = 0;
    char name[FOLDER_NAME_CAP];

    while (checkpoint_file_below(f->fd, number, &number) == 0 && number) {
        enum file_kind kind = file_kind(f, number, w->packed, kept ? 0 : w->packed_cap);

        folder_name(name, number, SUFFIX);
        if (kind == FILE_FOREIGN)
            continue;
        if (kind == FILE_UNREADABLE) /* the file may be whole */
            break;
        if (kind == FILE_WHOLE && !kept)
            kept = number;
        else if (unlinkat(f->fd, name, 0) != 0)
            break;
    }
    return kept;
}
