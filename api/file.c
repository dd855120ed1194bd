#include "api/file.h"

#include "proto/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOAD_BYTES (1u << 18)

int file_read(int fd, void *data, size_t max, size_t *len)
{
    ssize_t n = 1;

    *len = 0;
    while (n && *len < max) {
        n = read(fd, (uint8_t *)data + *len, max - *len);
        if (n < 0 && errno != EINTR)
            return ERR_IO;
        if (n > 0)
            *len += (size_t)n;
    }
    return 0;
}

int file_write(int fd, const void *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, (const uint8_t *)data + at, len - at);

        if (n == 0)
            errno = EIO;
        if (n == 0 || (n < 0 && errno != EINTR))
            return ERR_IO;
        if (n > 0)
            at += (size_t)n;
    }
    return 0;
}

int file_try(const char *path, struct err *err)
{
    char beside[4096];
    struct stat st;
    int fd;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return err_at(err, ERR_FILE, path, "is a folder: name a file in it");
    if (snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= (int)sizeof beside)
        return err_at(err, ERR_FILE, path, "is too long a name");
    fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return err_at(err, ERR_FILE, path, "cannot be written: %m");
    close(fd);
    unlink(beside);
    return 0;
}

int file_load(struct file_content *content, const char *path, const char *name, size_t max,
              struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    size_t room, n;

    content->len = 0;
    if (fd < 0)
        return err_at(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_INPUT, name, "cannot be read: %m");
    do {
        if (content->cap < content->len + 2 &&
            array_grow(&content->data, &content->cap, content->len + LOAD_BYTES, 1)) {
            rc = err_at(err, ERR_MEMORY, name, "no memory for its content");
            break;
        }
        room = content->cap - content->len - 1;
        if (file_read(fd, content->data + content->len, room, &n))
            rc = err_at(err, ERR_INPUT, name, "cannot be read: %m");
        content->len += n;
        content->data[content->len] = 0;
        if (rc == 0 && content->len > max)
            rc = err_at(err, ERR_LIMIT, name, "is larger than %zu bytes", max);
    } while (rc == 0 && n == room);
    close(fd);
    return rc;
}
