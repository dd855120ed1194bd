/*
 * reconctl_server.h - a recond that runs for one command
 */
#ifndef RECOND_API_RECONCTL_SERVER_H
#define RECOND_API_RECONCTL_SERVER_H

#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct reconctl_server { /* A recond that was started for one command. */
    pid_t pid;
    char url[64], folder[64];
};

MUST_CHECK int reconctl_server_start(struct reconctl_server *server, struct err *err);
void reconctl_server_stop(struct reconctl_server *server);
/* Forgets a server with its files; it keeps running. */
void reconctl_server_leave(struct reconctl_server *server);
/* For a signal handler: the process is about to end, and ends its server first. */
void reconctl_server_abandon(void);
/* Tells whether a recond can be started; path [cap] is its file. */
bool reconctl_server_find(char *path, size_t cap);
/* Tells whether a program is in PATH; path [cap] is its file. */
bool reconctl_server_in_path(const char *name, char *path, size_t cap);

#endif
