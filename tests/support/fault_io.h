/*
 * fault_io.h - count this program's calls that change files, and let the n-th fail
 *
 * open, openat, write, writev, pwrite, pwritev, fsync, fdatasync, ftruncate, rename, renameat,
 * mkdir, mkdirat and unlinkat are defined in the program, before the C library's and a sanitizer's,
 * which are called through. Only calls whose return address lies in the program count. Include it
 * in one file of a test.
 *     fault_io_arm(n, how, for_ever)   the n-th call from now on fails, and all after it
 *     fault_io_disarm()                returns how many calls failed
 *     fault_io_synced()                what a power cut would leave of a file; see below
 * FAULT_SHORT and FAULT_SHORT_THEN_FULL count writes alone: the n-th writes half of what it was
 * given; the latter kind then finds the disk full until it is disarmed, as a real one does.
 */
#ifndef RECOND_TESTS_FAULT_IO_H
#define RECOND_TESTS_FAULT_IO_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum fault_io_how { FAULT_EIO, FAULT_ENOSPC, FAULT_SHORT, FAULT_SHORT_THEN_FULL, FAULT_HOWS };

extern char __executable_start, etext;

static atomic_long fault_io_left, fault_io_failed;
static atomic_bool fault_io_armed, fault_io_for_ever;
static atomic_bool fault_io_watch; /* note what is synced */
static atomic_int fault_io_how;

static inline void fault_io_arm(long n, enum fault_io_how how, bool for_ever)
{
    atomic_store(&fault_io_failed, 0);
    atomic_store(&fault_io_how, (int)how);
    atomic_store(&fault_io_for_ever, for_ever);
    atomic_store(&fault_io_left, n);
    atomic_store(&fault_io_armed, true);
}

static inline long fault_io_disarm(void)
{
    atomic_store(&fault_io_armed, false);
    return atomic_load(&fault_io_failed);
}

/* What happens to this call: 0 nothing, -1 it fails (errno is set), 1 it is short. */
static int fault_io_hit(const char *from, bool writes)
{
    int how = atomic_load(&fault_io_how), happens;
    long left;

    if (!atomic_load(&fault_io_armed) || from < &__executable_start || from >= &etext ||
        (how >= FAULT_SHORT && !writes))
        return 0;
    left = atomic_load(&fault_io_left);
    while (left > 0 && !atomic_compare_exchange_weak(&fault_io_left, &left, left - 1))
        ;
    happens = how == FAULT_SHORT || (how == FAULT_SHORT_THEN_FULL && left == 1) ? 1 : -1;
    if (left != 1 &&
        !(left == 0 && (atomic_load(&fault_io_for_ever) || how == FAULT_SHORT_THEN_FULL)))
        return 0;
    atomic_fetch_add(&fault_io_failed, 1);
    errno = how == FAULT_EIO ? EIO : ENOSPC;
    return happens;
}

/* How many descriptors this process has open. */
static inline int fault_io_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void *fault_io_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/*
 * What was made durable since fault_io_forget_syncs(): a file's length when it was last synced, and
 * whether the folder that names it was synced since. A power cut may leave no more than that. One
 * thread at a time syncs and asks.
 */
#define FAULT_IO_FILES 256
static struct fault_io_file {
    ino_t ino;
    long long size; /* -1 = its content was never synced */
    bool named;
} fault_io_files[FAULT_IO_FILES];
static int fault_io_n_files;

static struct fault_io_file *fault_io_file(ino_t ino)
{
    for (int i = 0; i < fault_io_n_files; i++)
        if (fault_io_files[i].ino == ino)
            return &fault_io_files[i];
    if (fault_io_n_files == FAULT_IO_FILES)
        return &fault_io_files[0];
    fault_io_files[fault_io_n_files] = (struct fault_io_file){ino, -1, false};
    return &fault_io_files[fault_io_n_files++];
}

static inline void fault_io_forget_syncs(void)
{
    fault_io_n_files = 0;
}

/* Bytes of a file that are durable under its name; -1: not even the name. */
static inline long long fault_io_synced(ino_t ino)
{
    const struct fault_io_file *f = fault_io_file(ino);

    return !f->named ? -1 : f->size < 0 ? 0 : f->size;
}

/* fd was synced: a file's length, a folder's names. */
static void fault_io_note(int fd)
{
    struct dirent *e;
    struct stat st;
    DIR *d;

    if (fstat(fd, &st))
        return;
    if (!S_ISDIR(st.st_mode)) {
        fault_io_file(st.st_ino)->size = (long long)st.st_size;
        return;
    }
    d = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            fault_io_file(e->d_ino)->named = true;
    if (d)
        closedir(d);
}

/* Of a short write: half of the first piece that is not empty. */
static struct iovec fault_io_half(const struct iovec *iov, int n)
{
    int i = 0;

    while (i < n - 1 && !iov[i].iov_len)
        i++;
    return (struct iovec){iov[i].iov_base, (iov[i].iov_len + 1) / 2};
}

int open(const char *path, int flags, ...);
int open(const char *path, int flags, ...)
{
    static int (*next)(const char *path, int flags, ...);
    unsigned mode = 0;
    va_list more;

    if (flags & O_CREAT) {
        va_start(more, flags);
        mode = va_arg(more, unsigned);
        va_end(more);
    }
    if (!next)
        *(void **)&next = fault_io_next("open");
    return fault_io_hit(__builtin_return_address(0), false) ? -1 : next(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...);
int openat(int dir, const char *path, int flags, ...)
{
    static int (*next)(int dir, const char *path, int flags, ...);
    unsigned mode = 0;
    va_list more;

    if (flags & O_CREAT) {
        va_start(more, flags);
        mode = va_arg(more, unsigned);
        va_end(more);
    }
    if (!next)
        *(void **)&next = fault_io_next("openat");
    return fault_io_hit(__builtin_return_address(0), false) ? -1 : next(dir, path, flags, mode);
}

ssize_t write(int fd, const void *buf, size_t n);
ssize_t write(int fd, const void *buf, size_t n)
{
    static ssize_t (*next)(int fd, const void *buf, size_t n);
    int hit = fault_io_hit(__builtin_return_address(0), true);

    if (!next)
        *(void **)&next = fault_io_next("write");
    return hit < 0 ? -1 : hit ? next(fd, buf, (n + 1) / 2) : next(fd, buf, n);
}

ssize_t writev(int fd, const struct iovec *iov, int n);
ssize_t writev(int fd, const struct iovec *iov, int n)
{
    static ssize_t (*next)(int fd, const struct iovec *iov, int n);
    int hit = fault_io_hit(__builtin_return_address(0), true);
    struct iovec half = fault_io_half(iov, n);

    if (!next)
        *(void **)&next = fault_io_next("writev");
    return hit < 0 ? -1 : hit ? next(fd, &half, 1) : next(fd, iov, n);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t off);
ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
    static ssize_t (*next)(int fd, const void *buf, size_t n, off_t off);
    int hit = fault_io_hit(__builtin_return_address(0), true);

    if (!next)
        *(void **)&next = fault_io_next("pwrite");
    return hit < 0 ? -1 : hit ? next(fd, buf, (n + 1) / 2, off) : next(fd, buf, n, off);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off);
ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
    static ssize_t (*next)(int fd, const struct iovec *iov, int n, off_t off);
    int hit = fault_io_hit(__builtin_return_address(0), true);
    struct iovec half = fault_io_half(iov, n);

    if (!next)
        *(void **)&next = fault_io_next("pwritev");
    return hit < 0 ? -1 : hit ? next(fd, &half, 1, off) : next(fd, iov, n, off);
}

int fsync(int fd);
int fsync(int fd)
{
    static int (*next)(int fd);
    int rc;

    if (!next)
        *(void **)&next = fault_io_next("fsync");
    rc = fault_io_hit(__builtin_return_address(0), false) ? -1 : next(fd);
    if (rc == 0 && atomic_load(&fault_io_watch))
        fault_io_note(fd);
    return rc;
}

int fdatasync(int fd);
int fdatasync(int fd)
{
    static int (*next)(int fd);
    int rc;

    if (!next)
        *(void **)&next = fault_io_next("fdatasync");
    rc = fault_io_hit(__builtin_return_address(0), false) ? -1 : next(fd);
    if (rc == 0 && atomic_load(&fault_io_watch))
        fault_io_note(fd);
    return rc;
}

int ftruncate(int fd, off_t len);
int ftruncate(int fd, off_t len)
{
    static int (*next)(int fd, off_t len);

    if (!next)
        *(void **)&next = fault_io_next("ftruncate");
    return fault_io_hit(__builtin_return_address(0), false) ? -1 : next(fd, len);
}

int rename(const char *from, const char *to);
int rename(const char *from, const char *to)
{
    static int (*next)(const char *from, const char *to);

    if (!next)
        *(void **)&next = fault_io_next("rename");
    return fault_io_hit(__builtin_return_address(0), false) ? -1 : next(from, to);
}

int renameat(int a, const char *from, int b, const char *to);
int renameat(int a, const char *from, int b, const char *to)
{
    static int (*next)(int a, const char *from, int b, const char *to);

    if (!next)
        *(void **)&next = fault_io_next("renameat");
    return fault_io_hit(__builtin_return_address(0), false) ? -1 : next(a, from, b, to);
}

int mkdir(const char *path, mode_t mode);
int mkdir(const char *path, mode_t mode)
{
    static int (*next)(const char *path, mode_t mode);

    if (!next)
        *(void **)&next = fault_io_next("mkdir");
    return fault_io_hit(__builtin_return_address(0), false) ? -1 : next(path, mode);
}

int mkdirat(int dir, const char *path, mode_t mode);
int mkdirat(int dir, const char *path, mode_t mode)
{
    static int (*next)(int dir, const char *path, mode_t mode);

    if (!next)
        *(void **)&next = fault_io_next("mkdirat");
    return fault_io_hit(__builtin_return_address(0), false) ? -1 : next(dir, path, mode);
}

int unlinkat(int dir, const char *path, int flags);
int unlinkat(int dir, const char *path, int flags)
{
    static int (*next)(int dir, const char *path, int flags);

    if (!next)
        *(void **)&next = fault_io_next("unlinkat");
    return fault_io_hit(__builtin_return_address(0), false) ? -1 : next(dir, path, flags);
}

#endif
