#include "daemon/disk/folder.h"

#include "api/file.h"
#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_WRITE 022
#define DIGITS 20

/* An operator may want a link there, so it is logged and not refused. */
static void link_tell(const char *path)
{
    char name[PATH_MAX], target[PATH_MAX];
    size_t n = strlen(path);
    struct stat st;

    if (n >= sizeof(name))
        return;
    memcpy(name, path, n + 1);
    while (n > 1 && name[n - 1] == '/') /* lstat() would follow the link */
        name[--n] = '\0';
    if (lstat(name, &st) == 0 && S_ISLNK(st.st_mode) && realpath(name, target))
        LOG_AT(LOG_NOTICE, "%s is a link to %s", name, target);
}

static int folder_judge(int fd, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st))
        return err_at(err, ERR_IO, path, "%s", strerror(errno));
    if (st.st_mode & OTHERS_WRITE)
        return err_at(err, ERR_INPUT, path,
                      "other users may write there (mode %04o): chmod go-w makes it right",
                      (unsigned)st.st_mode & 07777);
    if (st.st_uid != geteuid())
        LOG_AT(LOG_WARNING, "%s belongs to user %u, not to user %u, who runs this", path,
               (unsigned)st.st_uid, (unsigned)geteuid());
    link_tell(path);
    return 0;
}

int folder_open(int *fd, const char *path, struct err *err)
{
    int rc;

    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return err_at(err,
                      errno == ENOENT    ? ERR_NOT_FOUND
                      : errno == ENOTDIR ? ERR_INPUT
                                         : ERR_IO,
                      path, "cannot open the folder: %s", strerror(errno));
    rc = folder_judge(*fd, path, err);
    if (rc) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

int folder_check(const char *path, struct err *err)
{
    char parent[PATH_MAX];
    int fd, rc = folder_open(&fd, path, err);

    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    snprintf(parent, sizeof(parent), "%s", path);
    if (rc == 0)
        close(fd);
    if (access(rc ? dirname(parent) : path, W_OK | X_OK))
        return err_at(err, ERR_IO, path, "cannot %s: %s", rc ? "be made" : "be written in",
                      strerror(errno));
    return 0;
}

int folder_open_at(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

DIR *folder_list(int fd)
{
    int own =
        folder_open_at(fd, "."); /* a descriptor of its own leaves the position of `fd` alone */
    DIR *d = own < 0 ? NULL : fdopendir(own);

    if (!d && own >= 0)
        close(own);
    return d;
}

void folder_name(char name[FOLDER_NAME_CAP], uint64_t number, const char *suffix)
{
    snprintf(name, FOLDER_NAME_CAP, "%020llu%s", (unsigned long long)number, suffix);
}

uint64_t folder_number(const char *name, const char *suffix)
{
    uint64_t number;
    int error = errno;

    if (strspn(name, "0123456789") != DIGITS || strcmp(name + DIGITS, suffix) != 0)
        return 0;
    errno = 0;
    number = strtoull(name, NULL, 10);
    number = errno ? 0 : number;
    errno = error; /* the caller may need the errno of readdir() */
    return number;
}

/* Opening a pipe for reading would wait for its writer. */
int folder_open_file(int at, const char *name, uint64_t *size)
{
    int fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *size = (uint64_t)st.st_size;
        return fd;
    }
    close(fd);
    errno = EINVAL;
    return -1;
}

int folder_replace(int at, const char *part, const char *name, const void *data, size_t len,
                   struct err *err)
{
    int fd =
        openat(at, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    int rc = fd < 0 || file_write(fd, data, len) || fsync(fd) ? ERR_IO : 0;

    if (rc)
        err_set(err, rc, "%.120s: %s", part, strerror(errno));
    if (fd >= 0 && close(fd) && rc == 0)
        rc = err_set(err, ERR_IO, "%.120s: %s", part, strerror(errno));
    if (rc == 0 && (renameat(at, part, at, name) || fsync(at)))
        rc = err_set(err, ERR_IO, "%.120s: %s", name, strerror(errno));
    return rc;
}

void folder_read_boot(char boot[FOLDER_BOOT_CAP])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    memset(boot, 0, FOLDER_BOOT_CAP);
    if (fd < 0)
        return;
    if (read(fd, boot, FOLDER_BOOT_CAP - 1) < 0)
        boot[0] = '\0';
    close(fd);
}

int folder_read(int fd, void *data, size_t len, uint64_t at)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)data + done, len - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = 0;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}
