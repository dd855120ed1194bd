/*
 * file.h - whole files and whole buffers: read() and write() until all is done
 *
 * A signal that interrupts a call does not end it. Where a function fails, errno says why.
 */
#ifndef RECOND_API_FILE_H
#define RECOND_API_FILE_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

/* Reads from the present position to the end, `max` bytes at most. Returns 0 or ERR_IO. */
MUST_CHECK int file_read(int fd, void *data, size_t max, size_t *len);

/* Writes all of it. Returns 0 or ERR_IO. */
MUST_CHECK int file_write(int fd, const void *data, size_t len);

/*
 * file_try - may a file be written beside `path` and renamed to it? Leaves nothing behind
 * Returns: 0; ERR_FILE with where = path
 */
MUST_CHECK int file_try(const char *path, struct err *err);

/* A file's content. Zero it first, free(data) in the end. */
struct file_content {
    uint8_t *data; /* a NUL follows */
    size_t cap, len;
};

/*
 * file_load - read a whole file into memory that is kept from one call to the next
 *
 * In:      name, what an error calls the file; max bytes
 * Returns: 0; ERR_NOT_FOUND; ERR_INPUT (it cannot be read); ERR_LIMIT; ERR_MEMORY
 */
MUST_CHECK int file_load(struct file_content *content, const char *path, const char *name,
                         size_t max, struct err *err);

#endif
