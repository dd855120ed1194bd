#include "api/ctl/reconctl_ffmpeg.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn(struct reconctl_ffmpeg *f, const char *path, char **argv, struct err *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_INPUT, "no pipe: %m");
    f->out = ends[0];
    f->said = memfd_create("ffmpeg", MFD_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    if (strcmp(path, "-") != 0)
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    if (f->said >= 0)
        posix_spawn_file_actions_adddup2(&actions, f->said, 2);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    rc = posix_spawnp(&f->pid, "ffmpeg", &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (rc == 0)
        return 0;
    f->pid = 0;
    if (rc == ENOENT)
        return err_at(err, ERR_UNSUPPORTED, path,
                      "is read through ffmpeg, which is not installed (apt-get install ffmpeg)");
    return err_at(err, ERR_UNSUPPORTED, path, "ffmpeg cannot be started: %s", strerror(rc));
}

int reconctl_ffmpeg_start(struct reconctl_ffmpeg *f, const char *path, double fps, bool loop,
                          struct err *err)
{
    char filter[64],
        *argv[24] = {(char *)"ffmpeg", (char *)"-nostdin", (char *)"-v", (char *)"error"};
    int n = 4;

    *f = (struct reconctl_ffmpeg){.out = -1, .said = -1};
    if (loop) {
        argv[n++] = (char *)"-stream_loop";
        argv[n++] = (char *)"-1";
    }
    argv[n++] = (char *)"-i";
    argv[n++] = strcmp(path, "-") == 0 ? (char *)"pipe:0" : (char *)path;
    if (fps > 0) {
        snprintf(filter, sizeof filter, "fps=%.6g", fps);
        argv[n++] = (char *)"-vf";
        argv[n++] = filter;
    }
    /* 4:2:0 in full range, as phones make pictures; -q:v 3 is close to quality 90. */
    for (const char *const *a =
             (const char *const[]){"-an", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "3",
                                   "-f", "image2pipe", "pipe:1", NULL};
         *a; a++)
        argv[n++] = (char *)*a;
    return spawn(f, path, argv, err);
}

void reconctl_ffmpeg_end(struct reconctl_ffmpeg *f)
{
    if (f->pid > 0) {
        kill(f->pid, SIGKILL); /* ends ffmpeg before the pipe breaks, of which it would complain */
        while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (f->out >= 0)
        close(f->out);
    if (f->said >= 0)
        close(f->said);
    *f = (struct reconctl_ffmpeg){.out = -1, .said = -1};
}

void reconctl_ffmpeg_said(const struct reconctl_ffmpeg *f, const char *path, char *text, size_t cap)
{
    off_t end = f->said < 0 ? 0 : lseek(f->said, 0, SEEK_END);
    char tail[512], *line;
    ssize_t n;

    *text = '\0';
    n = end > 0 ? pread(f->said, tail, sizeof tail - 1,
                        end > (off_t)sizeof tail - 1 ? end - (off_t)sizeof tail + 1 : 0)
                : 0;
    while (n > 0 && (unsigned char)tail[n - 1] <= ' ')
        n--;
    if (n <= 0)
        return;
    tail[n] = '\0';
    line = strrchr(tail, '\n');
    line = line ? line + 1 : tail;
    if (strncmp(line, path, strlen(path)) == 0 && line[strlen(path)] == ':')
        line += strlen(path) + 1;
    snprintf(text, cap, "%s", line + strspn(line, " "));
}

int reconctl_ffmpeg_probe(double *fps, const char *path, struct err *err)
{
    char *argv[] = {(char *)"ffprobe",
                    (char *)"-v",
                    (char *)"quiet",
                    (char *)"-select_streams",
                    (char *)"v:0",
                    (char *)"-show_entries",
                    (char *)"stream=codec_name,r_frame_rate",
                    (char *)"-of",
                    (char *)"csv=p=0",
                    (char *)path,
                    NULL};
    posix_spawn_file_actions_t actions;
    char line[64] = "", *rate;
    double num = 0, den = 1;
    int ends[2], rc;
    pid_t pid;
    ssize_t n;

    *fps = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_INPUT, "no pipe: %m");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    rc = posix_spawnp(&pid, "ffprobe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (rc == 0) {
        n = read(ends[0], line, sizeof line - 1);
        line[n > 0 ? n : 0] = '\0';
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    if (strncmp(line, "ansi,", 5) == 0)
        return err_at(err, ERR_INPUT, path, "is a text and no video");
    rate = strchr(line, ',');
    if (rate && sscanf(rate + 1, "%lf/%lf", &num, &den) >= 1 && den > 0 && num > 0)
        *fps = num / den;
    return 0;
}
