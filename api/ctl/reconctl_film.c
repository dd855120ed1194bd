#include "api/ctl/reconctl_render.h"

#include "api/file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILM_FPS "24"

extern char **environ;

struct reconctl_film {
    char *path; /* file name for ffmpeg: file:NAME */
    size_t bytes;
    pid_t ffmpeg;
    int fd; /* its standard input */
};

static int film_start(struct reconctl_film *film, int w, int h, struct err *err)
{
    size_t n = strlen(film->path);
    bool gif = n > 4 && strcmp(film->path + n - 4, ".gif") == 0;
    char size[32];
    /* A GIF has 256 colours, so it gets a palette of its own. MP4 players want even sides and
     * 4:2:0. */
    char *filter = gif ? (char *)"split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=none"
                       : (char *)"pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p";
    char *argv[] = {(char *)"ffmpeg",
                    (char *)"-v",
                    (char *)"error",
                    (char *)"-y",
                    (char *)"-f",
                    (char *)"rawvideo",
                    (char *)"-pixel_format",
                    (char *)"rgb24",
                    (char *)"-video_size",
                    size,
                    (char *)"-framerate",
                    (char *)FILM_FPS,
                    (char *)"-i",
                    (char *)"pipe:0",
                    (char *)"-vf",
                    filter,
                    film->path,
                    NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int ends[2], rc;

    snprintf(size, sizeof size, "%dx%d", w, h);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "no pipe: %m");
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); /* Ctrl-C must not reach ffmpeg */
    posix_spawnattr_setpgroup(&attributes, 0);
    rc = posix_spawnp(&film->ffmpeg, "ffmpeg", &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[0]);
    film->fd = ends[1];
    if (rc == 0)
        return 0;
    film->ffmpeg = 0;
    return err_at(err, ERR_UNSUPPORTED, film->path + strlen("file:"),
                  rc == ENOENT ? "is written through ffmpeg, which is not installed "
                                 "(apt-get install ffmpeg)"
                               : "ffmpeg cannot be started: %s",
                  strerror(rc));
}

int reconctl_film_open(struct reconctl_film **out, const char *path, int w, int h, struct err *err)
{
    struct reconctl_film *film = calloc(1, sizeof *film);
    int rc = 0;

    *out = NULL;
    if (!film || asprintf(&film->path, "file:%s", path) < 0) {
        free(film);
        return err_set(err, ERR_MEMORY, "no memory for a film");
    }
    film->fd = -1;
    film->bytes = 3 * (size_t)w * (size_t)h;
    rc = film_start(film, w, h, err);
    if (rc) {
        struct err ignored;

        (void)!reconctl_film_close(&film, &ignored);
    }
    *out = film;
    return rc;
}

int reconctl_film_add(struct reconctl_film *film, const uint8_t *rgb, struct err *err)
{
    if (file_write(film->fd, rgb, film->bytes) == 0)
        return 0;
    return err_at(err, ERR_INPUT, film->path + strlen("file:"), "ffmpeg does not write it: %m");
}

int reconctl_film_close(struct reconctl_film **p, struct err *err)
{
    struct reconctl_film *film = *p;
    int status = 0, rc = 0;

    if (!film)
        return 0;
    if (film->fd >= 0)
        close(film->fd);
    while (film->ffmpeg > 0 && waitpid(film->ffmpeg, &status, 0) < 0 && errno == EINTR)
        ;
    if (film->ffmpeg > 0 && status != 0) {
        unlink(film->path + strlen("file:"));
        rc = err_at(err, ERR_INPUT, film->path + strlen("file:"), "ffmpeg did not write it");
    }
    free(film->path);
    free(film);
    *p = NULL;
    return rc;
}
