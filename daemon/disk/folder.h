/*
 * folder.h - may the folder of the journals be trusted with what is in people's homes?
 */
#ifndef RECOND_DAEMON_FOLDER_H
#define RECOND_DAEMON_FOLDER_H

#include "proto/err.h"

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

#endif
