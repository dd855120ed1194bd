/*
 * folder.h - folders of the journals: may they be trusted with pictures of people's homes; how
 * their files are named and read
 */
#pragma once

#include "proto/err.h"

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

#define FOLDER_NAME_CAP 40 /* bytes of the name of a numbered file */

/*
 * folder_open - an open descriptor of a folder that other users cannot change
 *
 * A folder of another user and one behind a link are logged.
 * Out:     *fd, -1 where there is none
 * Returns: 0; ERR_NOT_FOUND; ERR_INPUT: other users may write there, or it is no folder; ERR_IO
 */
MUST_CHECK int folder_open(int *fd, const char *path, struct err *err);

/* Could folder_open() succeed after mkdir(), and may this process write there? Makes nothing. */
MUST_CHECK int folder_check(const char *path, struct err *err);

/* Opens a folder in a folder, never through a link. Returns its descriptor or -1. */
int folder_open_at(int at, const char *name);
/* Lists the entries of an open folder from the first one on; closedir() it. NULL: it
 * cannot be read. */
DIR *folder_list(int fd);

/* Writes "<20 digits><suffix>", and reads it back: returns the number, 0 = another file's name. */
void folder_name(char name[FOLDER_NAME_CAP], uint64_t number, const char *suffix);
uint64_t folder_number(const char *name, const char *suffix);

/* Opens a plain file of a folder for reading. Returns its descriptor or -1; EINVAL = not plain. */
int folder_open_file(int at, const char *name, uint64_t *size);
/* Replaces a file durably, or not at all: writes `part` and renames that. Returns 0; ERR_IO. */
MUST_CHECK int folder_replace(int at, const char *part, const char *name, const void *data,
                              size_t len, struct err *err);

/* Fills the boot id of the machine, padded with zeros. */
#define FOLDER_BOOT_CAP 40
void folder_read_boot(char boot[FOLDER_BOOT_CAP]);

/* Reads all of [at, at + len) of a file. Returns 0; -1 with errno, 0 = the file is shorter. */
int folder_read(int fd, void *data, size_t len, uint64_t at);
