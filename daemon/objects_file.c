#include "daemon/objects_file.h"

#include "api/file.h"
#include "daemon/disk/folder.h"
#include "proto/bytes.h"
#include "proto/crc32c.h"
#include "proto/section.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 16
#define ORIGIN SECTION_TAG('D', 'O', 'B', 'J')
#define ORIGIN_VERSION 1
#define ORIGIN_BYTES (API_NAME_CAP + OBJECT_NAME_CAP + 8)
#define ASIDE_MAX 1000

void objects_file_name(char name[OBJECTS_FILE_NAME_CAP], const char *owner, const char *object,
                       const char *suffix)
{
    snprintf(name, OBJECTS_FILE_NAME_CAP, "%.*s@%.*s%.15s", API_NAME_CAP - 1, owner,
             OBJECT_NAME_CAP - 1, object, suffix);
}

uint64_t objects_file_bytes(const struct enrolled *e)
{
    return HEAD_BYTES + section_bytes(ORIGIN_BYTES) + object_bytes(&e->object);
}

/* ------------------------------------------------------------------------- bytes */

static void put_text(struct bytes_writer *w, const char *text, size_t cap)
{
    size_t n = strnlen(text, cap - 1);
    for (size_t i = 0; i < cap; i++)
        bytes_put_u8(w, i < n ? (uint8_t)text[i] : 0);
}

/* Returns 0 unless it ends within its cap. */
static int get_text(struct bytes_reader *r, char *text, size_t cap)
{
    for (size_t i = 0; i < cap; i++)
        text[i] = (char)bytes_get_u8(r);
    return !r->bad && text[cap - 1] == '\0';
}

void objects_file_pack(uint8_t *out, const struct enrolled *e)
{
    uint8_t *row = out + HEAD_BYTES;
    size_t cap = (size_t)objects_file_bytes(e) - HEAD_BYTES, at = 0;
    struct bytes_writer w = bytes_writer(section_open(row, cap, at, ORIGIN_BYTES), ORIGIN_BYTES);

    put_text(&w, e->owner, API_NAME_CAP);
    put_text(&w, e->class_name, OBJECT_NAME_CAP);
    bytes_put_u64(&w, (uint64_t)(e->created_s * 1e3));
    section_close(row, &at, ORIGIN, ORIGIN_VERSION, 0, ORIGIN_BYTES);
    object_pack(row + at, &e->object);

    w = bytes_writer(out, HEAD_BYTES);
    bytes_put_u32(&w, OBJECTS_MAGIC);
    bytes_put_u32(&w, OBJECTS_VERSION);
    bytes_put_u32(&w, crc32c(0, row, cap));
    bytes_put_u32(&w, 0);
}

static int unpack_head(const uint8_t *bytes, size_t len, struct err *err)
{
    struct bytes_reader r = bytes_reader(bytes, len);
    uint32_t magic = bytes_get_u32(&r), version = bytes_get_u32(&r), sum = bytes_get_u32(&r);
    uint32_t zero = bytes_get_u32(&r);

    if (r.bad || magic != OBJECTS_MAGIC)
        return err_set(err, ERR_INPUT, "it is no file of an object");
    if (version != OBJECTS_VERSION)
        return err_set(err, ERR_UNSUPPORTED, "it has version %u, this build reads version %u",
                       version, OBJECTS_VERSION);
    if (zero != 0 || crc32c(0, bytes + HEAD_BYTES, len - HEAD_BYTES) != sum)
        return err_set(err, ERR_INPUT, "its checksum is wrong");
    return 0;
}

static int unpack_origin(struct enrolled *e, const uint8_t *row, size_t len, struct err *err)
{
    struct section s;
    struct bytes_reader r;
    int rc, texts;

    if (!section_find(&s, row, len, ORIGIN))
        return err_set(err, ERR_INPUT, "it does not say whose object it is");
    if ((rc = section_use(&s, ORIGIN_VERSION, err)) == 0) /* the file must have an owner */
        rc = err_set(err, ERR_UNSUPPORTED, "the object is of another version");
    if (rc < 0)
        return rc;
    r = bytes_reader(s.body, s.len);
    texts =
        get_text(&r, e->owner, sizeof e->owner) & get_text(&r, e->class_name, sizeof e->class_name);
    e->created_s = (double)bytes_get_u64(&r) / 1e3;
    if (!texts || r.bad || bytes_left(&r))
        return err_set(err, ERR_INPUT, "it does not say whose object it is");
    return 0;
}

int objects_file_unpack(struct enrolled *e, const uint8_t *bytes, size_t len, struct err *err)
{
    int rc;

    memset(&e->object, 0, sizeof e->object);
    if ((rc = unpack_head(bytes, len, err)) ||
        (rc = unpack_origin(e, bytes + HEAD_BYTES, len - HEAD_BYTES, err)))
        return rc;
    e->bytes = len;
    return object_unpack(&e->object, bytes + HEAD_BYTES, len - HEAD_BYTES, err);
}

/* ------------------------------------------------------------------------- files */

static int says_errno(struct err *err, const char *name)
{
    return err_at(err, ERR_IO, name, "the object's file: %s", strerror(errno));
}

int objects_file_write(int folder, const struct enrolled *e, struct err *err)
{
    char part[OBJECTS_FILE_NAME_CAP], name[OBJECTS_FILE_NAME_CAP];
    size_t len = (size_t)objects_file_bytes(e);
    uint8_t *bytes = malloc(len);
    int rc;

    if (!bytes)
        return err_set(err, ERR_MEMORY, "no memory for the file of an object");
    objects_file_name(part, e->owner, e->object.name, OBJECTS_FILE_PART);
    objects_file_name(name, e->owner, e->object.name, OBJECTS_FILE_SUFFIX);
    if (faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        free(bytes);
        return err_at(err, ERR_IO, name, "a file that could not be read is in the object's place");
    }
    objects_file_pack(bytes, e);
    rc = folder_replace(folder, part, name, bytes, len, err);
    if (rc) {
        (void)unlinkat(folder, part, 0);
        (void)unlinkat(folder, name, 0);
    }
    free(bytes);
    return rc;
}

int objects_file_read(int folder, const char *name, struct enrolled *e, struct err *err)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc = 0;
    uint8_t *bytes = NULL;
    struct stat st;
    size_t len;

    if (fd < 0)
        return errno == ENOENT ? err_at(err, ERR_NOT_FOUND, name, "there is no such file")
                               : says_errno(err, name);
    if (fstat(fd, &st))
        rc = says_errno(err, name);
    else if (!S_ISREG(st.st_mode))
        rc = err_set(err, ERR_INPUT, "it is no regular file");
    else if (st.st_size > OBJECTS_BYTES_MAX)
        rc = err_set(err, ERR_LIMIT, "it has %lld bytes, an object has %d at most",
                     (long long)st.st_size, OBJECTS_BYTES_MAX);
    else if (!(bytes = malloc((size_t)st.st_size + 1)))
        rc = err_set(err, ERR_MEMORY, "no memory for the file of an object");
    else if (file_read(fd, bytes, (size_t)st.st_size, &len))
        rc = says_errno(err, name);
    else
        rc = objects_file_unpack(e, bytes, len, err);
    free(bytes);
    close(fd);
    return rc;
}

int objects_file_remove(int folder, const struct enrolled *e, struct err *err)
{
    char name[OBJECTS_FILE_NAME_CAP];

    objects_file_name(name, e->owner, e->object.name, OBJECTS_FILE_SUFFIX);
    if ((unlinkat(folder, name, 0) && errno != ENOENT) || fsync(folder))
        return says_errno(err, name);
    return 0;
}

/* The new name is reserved with an empty file first, so that no earlier one is replaced. */
int objects_file_set_aside(int folder, const char *name, char *to, size_t cap, struct err *err)
{
    for (int i = 1; i <= ASIDE_MAX; i++) {
        int fd;
        if (i == 1)
            snprintf(to, cap, "%s.aside", name);
        else
            snprintf(to, cap, "%s.aside%d", name, i);
        fd = openat(folder, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return says_errno(err, to);
        close(fd);
        if (renameat(folder, name, folder, to) == 0 && fsync(folder) == 0)
            return 0;
        return says_errno(err, name);
    }
    return err_at(err, ERR_IO, name, "%d files of that name are aside already", ASIDE_MAX);
}
