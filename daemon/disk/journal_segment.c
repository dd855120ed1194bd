#include "daemon/disk/journal_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/log_events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASYNC_SYNC_US 1000000 /* time between two syncs of an asynchronous log that is written */

/* Times and counts an fdatasync(). */
static int log_sync(struct journal *j, int fd)
{
    uint64_t start = clock_us();
    int rc = fdatasync(fd), error = errno;

    atomic_fetch_add(&j->counts.syncs, 1);
    atomic_fetch_add(&j->counts.sync_us, clock_us() - start);
    errno = error;
    return rc;
}

/* Returns the length of the body; more than JOURNAL_BODY_MAX = too long. */
static uint64_t body_length(const struct journal_entry *e)
{
    uint64_t n = 0;

    for (int i = 0; i < e->n_parts; i++) {
        if (e->part[i].iov_len > JOURNAL_BODY_MAX)
            return UINT64_MAX;
        n += e->part[i].iov_len;
    }
    return n;
}

static void iov_push(struct journal_group *g, void *base, size_t len)
{
    g->iov[g->n_iov++] = (struct iovec){base, len};
    g->bytes += len;
}

/* Gathers the group's bytes as pieces, in a new segment behind its SEGMENT record. */
static void group_gather(struct journal_log *log, struct journal_group *g,
                         struct journal_entry *chain)
{
    uint64_t number = log->number;
    uint8_t flags = log->barrier ? JOURNAL_FLAG_GROUP : 0;

    g->n_iov = g->n_records = 0;
    g->bytes = 0;
    if (log->fd < 0) {
        struct iovec body = {g->segment, JOURNAL_SEGMENT_BODY};
        journal_record_segment_body(g->segment, log->id);
        journal_record_encode(g->head[JOURNAL_GROUP_MAX], JOURNAL_SEGMENT, JOURNAL_FLAG_GROUP,
                              number, &body, 1, JOURNAL_SEGMENT_BODY);
        iov_push(g, g->head[JOURNAL_GROUP_MAX], JOURNAL_HEADER_BYTES);
        iov_push(g, body.iov_base, body.iov_len);
        flags = 0;
    }
    for (struct journal_entry *e = chain; e; e = e->next) {
        uint64_t length = body_length(e);
        e->number = 0;
        if (length > JOURNAL_BODY_MAX)
            continue;
        e->number = number++;
        journal_record_encode(g->head[g->n_records], e->type, flags, e->number, e->part, e->n_parts,
                              (uint32_t)length);
        iov_push(g, g->head[g->n_records], JOURNAL_HEADER_BYTES);
        for (int i = 0; i < e->n_parts; i++)
            if (e->part[i].iov_len)
                iov_push(g, e->part[i].iov_base, e->part[i].iov_len);
        g->n_records++;
        flags = 0;
    }
}

/* Writes all of it at `off`, in as many calls as needed. Returns 0 or an errno. */
static int iov_write(int fd, struct iovec *iov, int n, uint64_t off)
{
    while (n) {
        ssize_t did = pwritev(fd, iov, n, (off_t)off);
        size_t done;
        if (did < 0 && errno == EINTR)
            continue;
        if (did <= 0)
            return did < 0 ? errno : EIO;
        done = (size_t)did;
        off += done;
        while (n && done >= iov->iov_len) {
            done -= iov->iov_len;
            iov++;
            n--;
        }
        if (n) {
            iov->iov_base = (char *)iov->iov_base + done;
            iov->iov_len -= done;
        }
    }
    return 0;
}

void journal_segment_close(struct journal_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
}

static int log_fence(struct journal_log *log, const char *what, int error)
{
    atomic_store(&log->fenced, true);
    atomic_fetch_add(&log->j->counts.failures, 1);
    LOG_EVENT(LOG_ERR, LOG_EVENT_STORAGE_FAILED,
              "session %s: the journal is fenced behind record %llu: cannot %s: %s", log->id,
              (unsigned long long)(log->number - 1), what, strerror(error));
    return ERR_IO;
}

/* Ends the open segment if it is long enough or was told to end. It is synced first, in an
 * asynchronous log too, so that a later segment proves an earlier one whole. */
static int segment_rotate(struct journal_log *log)
{
    int error = 0;

    if (log->fd < 0 ||
        (!atomic_exchange(&log->cut, false) && log->end < log->j->config.segment_bytes))
        return 0;
    if (!log->sync && log_sync(log->j, log->fd))
        error = errno;
    journal_segment_close(log);
    return error ? log_fence(log, "sync the end of a segment", error) : 0;
}

/* Removes what a failed group has left in the file. Its senders were told that it is not stored, so
 * no later start may find it. */
static void group_undo(struct journal_log *log, bool fresh)
{
    char name[FOLDER_NAME_CAP];
    int rc;

    if (fresh) {
        folder_name(name, log->number, JOURNAL_SUFFIX);
        rc = unlinkat(log->dir, name, 0);
    } else {
        rc = ftruncate(log->fd, (off_t)log->end);
    }
    if (rc)
        LOG_AT(LOG_ERR, "session %s: what could not be stored cannot be taken back either: %s",
               log->id, strerror(errno));
}

static int segment_begin(struct journal_log *log)
{
    char name[FOLDER_NAME_CAP];

    folder_name(name, log->number, JOURNAL_SUFFIX);
    log->fd = openat(log->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    log->end = 0;
    log->first = log->number;
    atomic_store(&log->cut, false);
    return log->fd < 0 ? errno : 0;
}

/* Syncs the group. An asynchronous log promises nothing, but is synced now and then, so that a
 * crash of the machine costs about a second and earlier damage is seen. */
static int group_settle(struct journal_log *log, bool fresh)
{
    uint64_t now;

    log->barrier = log->sync;
    if (log->sync && log_sync(log->j, log->fd))
        return errno;
    if (fresh && fsync(log->dir))
        return errno;
    if (log->sync)
        return 0;
    now = clock_us();
    if (now - log->sync_us < ASYNC_SYNC_US)
        return 0;
    log->sync_us = now;
    log->barrier = true;
    return log_sync(log->j, log->fd) ? errno : 0;
}

int journal_segment_write(struct journal_log *log, struct journal_group *g,
                          struct journal_entry *chain)
{
    struct journal_counts *c = &log->j->counts;
    bool fresh;
    int error;

    if (atomic_load(&log->fenced))
        return ERR_IO;
    if (segment_rotate(log))
        return ERR_IO;
    group_gather(log, g, chain);
    if (!g->n_records)
        return 0;
    fresh = log->fd < 0;
    error = fresh ? segment_begin(log) : 0;
    if (error)
        return log_fence(log, "begin a segment", error);
    error = iov_write(log->fd, g->iov, g->n_iov, log->end);
    if (error) {
        group_undo(log, fresh);
        return log_fence(log, "write", error);
    }
    error = group_settle(log, fresh);
    if (error) {
        group_undo(log, fresh);
        return log_fence(log, "sync", error);
    }
    log->end += g->bytes;
    log->number += (uint64_t)g->n_records;
    atomic_store(&log->last, log->number - 1);
    if (log->sync && log->mark < 0)
        log->mark = journal_mark_open(log->dir);
    journal_mark_write(log->mark, log->number - 1);
    atomic_fetch_add(&c->groups, 1);
    atomic_fetch_add(&c->records, (unsigned long long)g->n_records);
    atomic_fetch_add(&c->bytes, g->bytes);
    atomic_fetch_add(&c->used_bytes, g->bytes);
    atomic_fetch_add(&log->bytes, g->bytes);
    return 0;
}

/* Removes segments oldest first, one at a time, so that a crash leaves no gap; the last one
 * stays. */
void journal_segment_forget(struct journal_log *log, uint64_t before)
{
    char name[FOLDER_NAME_CAP];
    uint64_t oldest, second;
    struct stat st;
    bool gone = false;

    while (journal_folder_oldest(log->dir, &oldest, &second) == 0 && second && second <= before) {
        folder_name(name, oldest, JOURNAL_SUFFIX);
        if (fstatat(log->dir, name, &st, AT_SYMLINK_NOFOLLOW) || unlinkat(log->dir, name, 0)) {
            LOG_AT(LOG_WARNING, "session %s: cannot remove %s: %s", log->id, name, strerror(errno));
            break;
        }
        atomic_fetch_sub(&log->j->counts.used_bytes, (unsigned long long)st.st_size);
        atomic_fetch_sub(&log->bytes, (unsigned long long)st.st_size);
        gone = true;
    }
    if (gone && fsync(log->dir))
        LOG_AT(LOG_WARNING, "session %s: cannot sync its folder: %s", log->id, strerror(errno));
}
