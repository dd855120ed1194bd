#include "daemon/disk/journal_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_AHEAD ((size_t)256 << 10)

int journal_window_open(struct journal_window *w, int dir, uint64_t first, struct err *err)
{
    char name[FOLDER_NAME_CAP];

    folder_name(name, first, JOURNAL_SUFFIX);
    w->at = w->len = 0;
    w->fd = folder_open_file(dir, name, &w->size);
    return w->fd < 0 ? err_at(err, ERR_IO, name, "cannot open it: %s", strerror(errno)) : 0;
}

/* Reads at least n bytes from off, and more where the file and the buffer have room. */
static int window_fill(struct journal_window *w, uint64_t off, size_t n, struct err *err)
{
    uint64_t left = w->size - off;
    size_t want = left < w->cap ? (size_t)left : w->cap;

    w->at = off;
    w->len = 0;
    while (w->len < want) {
        ssize_t got = pread(w->fd, w->buf + w->len, want - w->len, (off_t)(off + w->len));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && w->len < n)
            return err_set(err, ERR_IO, "cannot read at byte %llu: %s",
                           (unsigned long long)(off + w->len), strerror(errno));
        if (got <= 0)
            break;
        w->len += (size_t)got;
    }
    if (w->len < n)
        return err_set(err, ERR_IO, "ends at byte %llu, shorter than it was",
                       (unsigned long long)(off + w->len));
    return 0;
}

int journal_window_get(struct journal_window *w, const uint8_t **p, uint64_t off, size_t n,
                       struct err *err)
{
    size_t ahead = w->size < READ_AHEAD ? (size_t)w->size : READ_AHEAD;
    size_t cap = n < ahead ? ahead : n;
    int rc = 0;

    if (w->cap < cap) {
        uint8_t *buf = realloc(w->buf, cap);
        if (!buf)
            return err_set(err, ERR_MEMORY, "no memory to read a segment");
        w->buf = buf;
        w->cap = cap;
    }
    if (off < w->at || off - w->at > w->len || n > w->len - (off - w->at))
        rc = window_fill(w, off, n, err);
    if (rc == 0)
        *p = w->buf + (off - w->at);
    return rc;
}

int journal_window_head(struct journal_window *w, struct journal_head *h, uint64_t off,
                        struct err *err)
{
    const uint8_t *p;
    int rc;

    if (w->size - off < JOURNAL_HEADER_BYTES)
        return ERR_INPUT;
    rc = journal_window_get(w, &p, off, JOURNAL_HEADER_BYTES, err);
    if (rc)
        return rc;
    return journal_record_parse(h, p) && w->size - off - JOURNAL_HEADER_BYTES >= h->length
               ? 0
               : ERR_INPUT;
}

int journal_window_record(struct journal_window *w, struct journal_head *h, const uint8_t **record,
                          uint64_t off, struct err *err)
{
    int rc = journal_window_head(w, h, off, err);

    if (rc == 0)
        rc = journal_window_get(w, record, off, JOURNAL_HEADER_BYTES + h->length, err);
    return rc == 0 && !journal_record_whole(h, *record) ? ERR_INPUT : rc;
}

void journal_window_close(struct journal_window *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

void journal_window_free(struct journal_window *w)
{
    journal_window_close(w);
    free(w->buf);
    w->buf = NULL;
    w->cap = w->len = 0;
}
