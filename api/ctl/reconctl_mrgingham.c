#include "api/ctl/reconctl_mrgingham.h"

#include "api/file.h"
#include "proto/geom/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TABLE_BYTES (128 * 1024) /* room for the table, whose lines have 37 bytes */
#define ARGUMENTS 8

extern char **environ;

/* Settings that are tried until a board is found. On drawn boards the first one is exact to 0.06
 * pixels, the second to 0.13; the third, its default, is for unevenly lit pictures. */
static const char *const tries[][ARGUMENTS] = {
    {"--noclahe", "--blur", "2"}, {"--noclahe", "--blur", "1"}, {"--blur", "1"}};

/* The picture goes to standard input, because mrgingham takes names for patterns and puts them in
 * its table. */
static int finder_start(pid_t *pid, int *out, char **argv, const char *path, struct err *err)
{
    posix_spawn_file_actions_t actions;
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_INPUT, "no pipe: %m");
    *out = ends[0];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    rc = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (rc == 0)
        return 0;
    close(ends[0]);
    if (rc == ENOENT && access(path, R_OK) == 0)
        return err_at(err, ERR_UNSUPPORTED, path,
                      "boards are found by mrgingham, which is not installed "
                      "(apt-get install mrgingham)");
    return err_at(err, ERR_INPUT, path, "mrgingham cannot be started on it: %s", strerror(rc));
}

/* table [TABLE_BYTES] gets its output, NUL-terminated. */
static int finder_run(char *table, char **argv, const char *path, struct err *err)
{
    int out = -1, status = 0, rc;
    size_t len = 0;
    pid_t pid;

    rc = finder_start(&pid, &out, argv, path, err);
    if (rc)
        return rc;
    rc = file_read(out, table, TABLE_BYTES, &len);
    if (rc)
        err_at(err, rc, path, "cannot be told what mrgingham finds: %m");
    else if (len == TABLE_BYTES)
        rc = err_at(err, ERR_INPUT, path, "mrgingham prints too much about it");
    if (rc)
        kill(pid, SIGKILL);
    close(out);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc == 0 && status != 0)
        rc = err_at(err, ERR_INPUT, path, "mrgingham fails on it");
    table[rc ? 0 : len] = '\0';
    return rc;
}

int reconctl_mrgingham_find(double (*at)[2], int grid, const char *path, struct err *err)
{
    char *table = malloc(TABLE_BYTES), side[16];
    int rc = ERR_NOT_FOUND;
    struct err why;

    if (!table)
        return err_set(err, ERR_MEMORY, "no memory for corners");
    snprintf(side, sizeof side, "%d", grid);
    for (size_t i = 0; rc == ERR_NOT_FOUND && i < sizeof tries / sizeof *tries; i++) {
        char *argv[ARGUMENTS + 6] = {(char *)"mrgingham", (char *)"--gridn", side};
        int n = 3;

        for (int k = 0; tries[i][k]; k++)
            argv[n++] = (char *)tries[i][k];
        argv[n] = (char *)"/dev/stdin";
        rc = finder_run(table, argv, path, err);
        if (rc)
            break;
        rc = calibrate_board_parse(at, grid, table, &why);
        if (rc)
            err_at(err, rc, path, "%s", why.text);
    }
    free(table);
    return rc;
}
