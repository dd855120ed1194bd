#include "daemon/disk/journal_internal.h"

#include "proto/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define GONE ".gone-"

/* Opens a folder, and makes it durably if it is missing. Returns a descriptor or -1. */
static int folder_make(int at, const char *name)
{
    if (mkdirat(at, name, 0700) == 0) {
        if (fsync(at))
            return -1;
    } else if (errno != EEXIST) {
        return -1;
    }
    return folder_open_at(at, name);
}

static uint64_t file_size(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

/* Sums the bytes of the segments in a session's folder; with `empty`, removes all that is in it. */
static uint64_t segments_add_up(int dir, bool empty)
{
    DIR *d = folder_list(dir);
    struct dirent *e;
    uint64_t first, bytes = 0;

    while (d && (e = readdir(d))) {
        if ((first = folder_number(e->d_name, JOURNAL_SUFFIX)))
            bytes += file_size(dir, e->d_name);
        if (empty && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlinkat(dir, e->d_name, 0); /* if one stays, removing the folder fails below */
    }
    if (d)
        closedir(d);
    return bytes;
}

uint64_t journal_folder_bytes(int dir)
{
    return segments_add_up(dir, false);
}

/* Returns the bytes of its segments. */
static uint64_t folder_empty_and_remove(int sessions, const char *name, int *rc)
{
    int dir = folder_open_at(sessions, name);
    uint64_t bytes = 0;

    if (dir >= 0) {
        bytes = segments_add_up(dir, true);
        close(dir);
    }
    *rc = unlinkat(sessions, name, AT_REMOVEDIR);
    return bytes;
}

/* Finishes removals that a crash interrupted, and adds up the segments. */
static void sessions_add_up(struct journal *j)
{
    DIR *d = folder_list(j->sessions);
    struct dirent *e;
    int rc;

    while (d && (e = readdir(d))) {
        if (strncmp(e->d_name, GONE, strlen(GONE)) == 0) {
            (void)folder_empty_and_remove(j->sessions, e->d_name, &rc);
        } else if (journal_id_valid(e->d_name)) {
            int dir = folder_open_at(j->sessions, e->d_name);
            if (dir < 0)
                continue;
            atomic_fetch_add(&j->counts.used_bytes, segments_add_up(dir, false));
            close(dir);
        }
    }
    if (d)
        closedir(d);
}

static int folder_lock(struct journal *j, struct err *err)
{
    j->lock_file = openat(j->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (j->lock_file < 0)
        return err_at(err, ERR_IO, j->path, "cannot open its lock: %s", strerror(errno));
    if (flock(j->lock_file, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return err_at(err, ERR_BUSY, j->path, "is in use by another process");
    return err_at(err, ERR_IO, j->path, "cannot lock it: %s", strerror(errno));
}

int journal_folder_open(struct journal *j, const char *path, struct err *err)
{
    int parent = -1, quarantine = -1, rc = 0;
    bool made;

    j->dir = j->sessions = j->lock_file = -1;
    j->path = strdup(path);
    if (!j->path)
        return err_set(err, ERR_MEMORY, "no memory for the journal's path");
    made = mkdir(path, 0700) == 0;
    if (!made && errno != EEXIST)
        rc = err_at(err, ERR_IO, path, "cannot make the folder: %s", strerror(errno));
    else
        rc = folder_open(&j->dir, path, err);
    if (rc == 0 && made) {
        parent = folder_open_at(j->dir, "..");
        if (parent < 0 || fsync(parent))
            rc = err_at(err, ERR_IO, path, "cannot sync the folder that it is in: %s",
                        strerror(errno));
    }
    if (rc == 0)
        rc = folder_lock(j, err);
    if (rc)
        goto out;
    j->sessions = folder_make(j->dir, "sessions");
    quarantine = j->sessions < 0 ? -1 : folder_make(j->dir, "quarantine");
    if (quarantine < 0) {
        rc = err_at(err, ERR_IO, path, "cannot make a folder in it: %s", strerror(errno));
        goto out;
    }
    sessions_add_up(j);
out:
    if (parent >= 0)
        close(parent);
    if (quarantine >= 0)
        close(quarantine);
    return rc;
}

void journal_folder_close(struct journal *j)
{
    if (j->sessions >= 0)
        close(j->sessions);
    if (j->lock_file >= 0)
        close(j->lock_file);
    if (j->dir >= 0)
        close(j->dir);
    free(j->path);
    j->path = NULL;
    j->dir = j->sessions = j->lock_file = -1;
}

int journal_folder_session(const struct journal *j, const char *id, int *dir, struct err *err)
{
    if (!journal_id_valid(id))
        return err_set(err, ERR_INPUT, "this is no session's id");
    *dir = folder_open_at(j->sessions, id);
    if (*dir >= 0)
        return 0;
    return err_at(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, id,
                  "cannot open the session's folder: %s", strerror(errno));
}

int journal_folder_make_session(struct journal *j, const char *id, int *dir, struct err *err)
{
    if (!journal_id_valid(id))
        return err_set(err, ERR_INPUT, "this is no session's id");
    *dir = folder_make(j->sessions, id);
    if (*dir >= 0)
        return 0;
    return err_at(err, ERR_IO, id, "cannot make the session's folder: %s", strerror(errno));
}

static int first_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

int journal_folder_segments(struct journal_list *list, int dir, struct err *err)
{
    DIR *d = folder_list(dir);
    struct dirent *e;
    uint64_t first;
    size_t cap = 0;
    int rc = 0;

    *list = (struct journal_list){0};
    if (!d)
        return err_set(err, ERR_IO, "cannot list the session's folder: %s", strerror(errno));
    errno = 0;
    while (rc == 0 && (e = readdir(d))) {
        if (!(first = folder_number(e->d_name, JOURNAL_SUFFIX)))
            continue;
        if (array_grow(&list->first, &cap, (size_t)list->n + 1, sizeof(*list->first))) {
            rc = err_set(err, ERR_MEMORY, "no memory for a list of segments");
            break;
        }
        list->first[list->n++] = first;
        errno = 0;
    }
    if (rc == 0 && errno)
        rc = err_set(err, ERR_IO, "cannot list the session's folder: %s", strerror(errno));
    closedir(d);
    if (rc) {
        free(list->first);
        *list = (struct journal_list){0};
    } else if (list->n) {
        qsort(list->first, (size_t)list->n, sizeof(*list->first), first_compare);
    }
    return rc;
}

int journal_folder_oldest(int dir, uint64_t *oldest, uint64_t *second)
{
    _Alignas(struct dirent64) char buf[8192];
    uint64_t first;
    ssize_t n;

    *oldest = *second = 0;
    if (lseek(dir, 0, SEEK_SET))
        return -1;
    while ((n = getdents64(dir, buf, sizeof(buf))) > 0) {
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *e = (const struct dirent64 *)(const void *)(buf + at);
            at += e->d_reclen;
            if (!(first = folder_number(e->d_name, JOURNAL_SUFFIX)))
                continue;
            if (!*oldest || first < *oldest) {
                *second = *oldest;
                *oldest = first;
            } else if (!*second || first < *second) {
                *second = first;
            }
        }
    }
    return n < 0 ? -1 : 0;
}

int journal_remove(struct journal *j, const char *id, struct err *err)
{
    char gone[sizeof(GONE) + JOURNAL_ID_LEN];
    int rc = 0, removed;

    if (!journal_id_valid(id))
        return err_set(err, ERR_INPUT, "this is no session's id");
    snprintf(gone, sizeof(gone), GONE "%s", id);
    if (renameat(j->sessions, id, j->sessions, gone)) {
        if (errno == ENOENT)
            return 0;
        if (errno != EEXIST && errno != ENOTEMPTY)
            return err_at(err, ERR_IO, id, "cannot remove the session's folder: %s",
                          strerror(errno));
        (void)folder_empty_and_remove(j->sessions, gone, &removed);
        if (renameat(j->sessions, id, j->sessions, gone))
            return err_at(err, ERR_IO, id, "cannot remove the session's folder: %s",
                          strerror(errno));
    }
    if (fsync(j->sessions))
        rc = err_at(err, ERR_IO, id, "cannot sync the folder of sessions: %s", strerror(errno));
    atomic_fetch_sub(&j->counts.used_bytes, folder_empty_and_remove(j->sessions, gone, &removed));
    if (rc == 0 && removed)
        rc = err_at(err, ERR_IO, id, "cannot empty the session's folder: %s", strerror(errno));
    return rc;
}
