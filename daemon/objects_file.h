/*
 * objects_file.h - the file of one enrolled object (objects.h says what it holds)
 */
#pragma once

#include "daemon/objects.h"

#define OBJECTS_FILE_NAME_CAP (API_NAME_CAP + OBJECT_NAME_CAP + 24)
#define OBJECTS_FILE_SUFFIX ".object"
#define OBJECTS_FILE_PART ".part"

/* OWNER@NAME and a suffix. Neither an owner nor a name has an '@'. */
void objects_file_name(char name[OBJECTS_FILE_NAME_CAP], const char *owner, const char *object,
                       const char *suffix);
uint64_t objects_file_bytes(const struct enrolled *e);

/*
 * objects_file_pack / objects_file_unpack - the bytes of a file, and back
 *
 * In/out:  e: owner, class_name, created_s and object; unpack leaves the object empty on an error
 * Returns: 0; ERR_INPUT: damaged; ERR_UNSUPPORTED: another build's; ERR_LIMIT; ERR_MEMORY
 */
void objects_file_pack(uint8_t *out, const struct enrolled *e);
MUST_CHECK int objects_file_unpack(struct enrolled *e, const uint8_t *bytes, size_t len,
                                   struct err *err);

/* Writes the file; it survives a power failure when this returns. Returns 0; ERR_IO; ERR_MEMORY. */
MUST_CHECK int objects_file_write(int folder, const struct enrolled *e, struct err *err);
/* Returns 0; ERR_NOT_FOUND; ERR_IO; ERR_LIMIT: over OBJECTS_BYTES_MAX; errors of unpacking. */
MUST_CHECK int objects_file_read(int folder, const char *name, struct enrolled *e, struct err *err);
/* Removes the file, if there is one. Returns 0; ERR_IO. */
MUST_CHECK int objects_file_remove(int folder, const struct enrolled *e, struct err *err);
/* Renames the file and replaces no other. Out: to, its new name. Returns 0; ERR_IO. */
MUST_CHECK int objects_file_set_aside(int folder, const char *name, char *to, size_t cap,
                                      struct err *err);
