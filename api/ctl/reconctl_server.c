#include "api/ctl/reconctl_server.h"
#include "api/ctl/reconctl_stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 20000 /* time to load networks on a small host */
#define STOP_MS 20000

extern char **environ;

static volatile sig_atomic_t running; /* process id of the server, for the signal handler */

void reconctl_server_abandon(void)
{
    if (running > 0)
        kill((pid_t)running, SIGTERM);
}

/* Finds the folder of this program. */
static bool own_folder(char *folder, size_t cap)
{
    ssize_t n = readlink("/proc/self/exe", folder, cap - 1);
    char *slash;

    if (n <= 0)
        return false;
    folder[n] = '\0';
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

bool reconctl_server_find(char *path, size_t cap)
{
    char folder[3072];

    if (own_folder(folder, sizeof folder)) {
        snprintf(path, cap, "%s/recond", folder);
        if (access(path, X_OK) == 0)
            return true;
    }
    return reconctl_server_in_path("recond", path, cap);
}

bool reconctl_server_in_path(const char *name, char *path, size_t cap)
{
    const char *list = getenv("PATH");

    while (list && *list) {
        int n = (int)strcspn(list, ":");

        snprintf(path, cap, "%.*s/%s", n, list, name);
        if (n > 0 && access(path, X_OK) == 0)
            return true;
        list += n + (list[n] == ':');
    }
    return false;
}

static int spawn(struct reconctl_server *server, const char *recond, struct err *err)
{
    char address[128], log[128];
    char *argv[] = {
        (char *)"recond", (char *)"--http.port=0", (char *)"--stream.port=0",
        (char *)"--http.listen=127.0.0.1", (char *)"--stream.listen=127.0.0.1",
        (char *)"--auth.mode=none",
        /* names that a service's own configuration may hold */
        (char *)"--auth.token_file=", (char *)"--tls.cert_file=", (char *)"--tls.key_file=",
        (char *)"--stream.public_url=", (char *)"--journal.path=", address, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc;

    snprintf(address, sizeof address, "--service.address_file=%s/address", server->folder);
    snprintf(log, sizeof log, "%s/log", server->folder);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    /* The server gets a process group of its own, so that Ctrl-C does not reach it; it is ended
     * when the cloud is written. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    rc = posix_spawn(&server->pid, recond, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (rc) {
        server->pid = 0;
        return err_at(err, ERR_IO, recond, "cannot be started: %s", strerror(rc));
    }
    running = server->pid;
    return 0;
}

/* Reads the address that the server has written. */
static bool read_address(struct reconctl_server *server)
{
    char path[128], line[128];
    FILE *in;
    bool found = false;

    snprintf(path, sizeof path, "%s/address", server->folder);
    in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, "http=", 5) == 0 && strchr(line, '\n')) {
            line[strcspn(line, "\r\n")] = '\0';
            found =
                snprintf(server->url, sizeof server->url, "%s", line + 5) < (int)sizeof server->url;
        }
    if (in)
        fclose(in);
    return found;
}

static void show_log(const struct reconctl_server *server)
{
    char path[128], line[512];
    FILE *in;

    snprintf(path, sizeof path, "%s/log", server->folder);
    in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in))
        fprintf(stderr, "recond: %s", line);
    if (in)
        fclose(in);
}

int reconctl_server_start(struct reconctl_server *server, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    char recond[4096];
    int rc, status;

    *server = (struct reconctl_server){0};
    snprintf(server->folder, sizeof server->folder, "%.40s/reconctl-XXXXXX",
             tmp && *tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (!reconctl_server_find(recond, sizeof recond))
        return err_set(err, ERR_IO, "no recond is beside reconctl or in PATH");
    if (!mkdtemp(server->folder)) {
        server->folder[0] = '\0';
        return err_set(err, ERR_IO, "no folder for the server's files: %m");
    }
    rc = spawn(server, recond, err);
    for (int waited = 0; rc == 0 && !read_address(server); waited += 20) {
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            server->pid = 0;
            rc = err_at(err, ERR_IO, recond, "ended at once with status %d",
                        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        } else if (waited > START_MS || reconctl_stopped()) {
            rc = err_at(err, ERR_IO, recond, "was not ready after %d s", waited / 1000);
        }
        usleep(20000);
    }
    if (rc) {
        show_log(server);
        reconctl_server_stop(server);
    }
    return rc;
}

void reconctl_server_leave(struct reconctl_server *server)
{
    running = server->pid = 0;
    server->folder[0] = '\0';
}

void reconctl_server_stop(struct reconctl_server *server)
{
    char path[128];
    int waited = 0;

    if (server->pid > 0) {
        kill(server->pid, SIGTERM);
        while (waitpid(server->pid, NULL, WNOHANG) == 0) {
            if (waited++ > STOP_MS / 20)
                kill(server->pid, SIGKILL);
            usleep(20000);
        }
    }
    running = server->pid = 0;
    if (server->folder[0]) {
        snprintf(path, sizeof path, "%s/address", server->folder);
        unlink(path);
        snprintf(path, sizeof path, "%s/log", server->folder);
        unlink(path);
        rmdir(server->folder);
    }
    server->folder[0] = '\0';
}
