/*
 * folder.h - folders of the journals: may they be trusted with what is in people's homes, and how
 * their files are named and read
 */
#ifndef RECOND_DAEMON_FOLDER_H
#define RECOND_DAEMON_FOLDER_H

#include "proto/err.h"

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

#define FOLDER_NAME_CAP 40 /* of a file that is named by a number */

/*
 * folder_open - an open descriptor of a folder that other users cannot change
 *
 * A folder of another user's and one behind a link are told to the log.
 * Out:     *fd, -1 where there is none
 * Returns: 0; ERR_NOT_FOUND; ERR_INPUT: other users may write there, or it is no folder; ERR_IO
 */
MUST_CHECK int folder_open(int *fd, const char *path, struct err *err);

/* Could folder_open() succeed after mkdir(), and may this process write there? Makes nothing. */
MUST_CHECK int folder_check(const char *path, struct err *err);

/* A folder in a folder, never through a link. Returns its descriptor or -1. */
int folder_open_at(int at, const char *name);
/* The entries of an open folder, from the first one on; closedir(). NULL: it cannot be read. */
DIR *folder_list(int fd);

/* "<20 digits><suffix>", and back: the number, 0 = it is another file's name. */
void folder_name(char name[FOLDER_NAME_CAP], uint64_t number, const char *suffix);
uint64_t folder_number(const char *name, const char *suffix);

/* A plain file of a folder, to read. Returns its descriptor or -1: errno, EINVAL = it is none. */
int folder_open_file(int at, const char *name, uint64_t *size);
/* A file's content is replaced, durably, or stays as it is: `part` is written beside it and
 * renamed. Returns 0; ERR_IO. */
MUST_CHECK int folder_replace(int at, const char *part, const char *name, const void *data,
                              size_t len, struct err *err);

/* What names a start of the machine, and zeros behind it. */
#define FOLDER_BOOT_CAP 40
void folder_read_boot(char boot[FOLDER_BOOT_CAP]);

/* All of [at, at + len) of a file. Returns 0; -1: errno, 0 = the file is shorter. */
int folder_read(int fd, void *data, size_t len, uint64_t at);

#endif
