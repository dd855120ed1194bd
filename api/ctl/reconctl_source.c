#include "api/ctl/reconctl_source.h"

#include "api/client/client_mjpeg.h"
#include "api/client/client_sequence.h"
#include "api/ctl/reconctl.h"
#include "proto/image/jpeg.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_PICTURE_MS 20000
#define DEFAULT_FPS 30.0

extern char **environ;

struct reconctl_source {
    struct reconctl_source_config config;
    struct reconctl_source_info info;
    struct client_sequence *sequence;
    struct client_mjpeg *mjpeg;
    int fd; /* of the video's pipe */
    pid_t ffmpeg;
    int at;       /* next frame of the folder */
    uint64_t seq; /* of the next frame */
    const uint8_t *first;
    size_t first_len; /* picture that was looked at by open() and not handed out yet */
};

/* ------------------------------------------------------------------------------------ videos */

static int start_ffmpeg(struct reconctl_source *s, struct err *err)
{
    char filter[64];
    char *argv[24] = {(char *)"ffmpeg", (char *)"-nostdin", (char *)"-v", (char *)"error"};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int n = 4, ends[2], rc;

    if (s->config.loop) {
        argv[n++] = (char *)"-stream_loop";
        argv[n++] = (char *)"-1";
    }
    argv[n++] = (char *)"-i";
    argv[n++] = (char *)s->config.path;
    if (s->config.fps > 0) {
        snprintf(filter, sizeof filter, "fps=%.6g", s->config.fps);
        argv[n++] = (char *)"-vf";
        argv[n++] = filter;
    }
    /* 4:2:0 in full range, as phones make pictures; -q:v 3 is close to quality 90. */
    for (const char *const *a =
             (const char *const[]){"-an", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "3",
                                   "-f", "image2pipe", "pipe:1", NULL};
         *a; a++)
        argv[n++] = (char *)*a;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_INPUT, "no pipe: %m");
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    rc = posix_spawnp(&s->ffmpeg, "ffmpeg", &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    s->fd = ends[0];
    if (rc == 0)
        return 0;
    s->ffmpeg = 0;
    if (rc == ENOENT)
        return err_at(err, ERR_UNSUPPORTED, s->config.path,
                      "is read through ffmpeg, which is not installed (apt-get install ffmpeg)");
    return err_at(err, ERR_UNSUPPORTED, s->config.path, "ffmpeg cannot be started: %s",
                  strerror(rc));
}

static void end_ffmpeg(struct reconctl_source *s)
{
    if (s->ffmpeg <= 0)
        return;
    kill(s->ffmpeg, SIGKILL);
    while (waitpid(s->ffmpeg, NULL, 0) < 0 && errno == EINTR)
        ;
    s->ffmpeg = 0;
}

/* Frames a second of a video as ffprobe tells it; 0 if it does not. */
static double probe_fps(const char *path)
{
    char *argv[] = {(char *)"ffprobe",
                    (char *)"-v",
                    (char *)"error",
                    (char *)"-select_streams",
                    (char *)"v:0",
                    (char *)"-show_entries",
                    (char *)"stream=r_frame_rate",
                    (char *)"-of",
                    (char *)"csv=p=0",
                    (char *)path,
                    NULL};
    posix_spawn_file_actions_t actions;
    char line[64] = "";
    double num = 0, den = 1;
    int ends[2], rc;
    pid_t pid;
    ssize_t n;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
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
    if (sscanf(line, "%lf/%lf", &num, &den) < 1 || den <= 0 || num <= 0)
        return 0;
    return num / den;
}

/* ------------------------------------------------------------------------------------ pictures */

/* Size of a picture; one that cannot be read keeps the size before: the server says what is
 * wrong. */
static void probe_size(const uint8_t *data, size_t len, int *w, int *h)
{
    static const struct jpeg_limits limits = {.max_width = FRAME_SIDE_MAX,
                                              .max_height = FRAME_SIDE_MAX,
                                              .max_scans = 500,
                                              .max_bytes = FRAME_PAYLOAD_MAX};
    struct jpeg_info info;

    if (jpeg_probe(&info, data, len, &limits, NULL) == 0) {
        *w = info.width;
        *h = info.height;
    }
}

/* The next picture of a stream; waits for the first one only. */
static int next_of_stream(struct reconctl_source *s, int timeout_ms, const uint8_t **data,
                          size_t *len, struct err *err)
{
    int rc;

    if (s->first) {
        *data = s->first;
        *len = s->first_len;
        s->first = NULL;
        return 0;
    }
    rc = client_mjpeg_next(s->mjpeg, timeout_ms, data, len, err);
    if (rc == ERR_END && s->ffmpeg > 0 && s->seq == 0)
        rc = err_at(err, ERR_INPUT, s->config.path, "ffmpeg found no picture in it");
    return rc;
}

static int look_at_first(struct reconctl_source *s, struct err *err)
{
    struct frame f = {0};
    int rc;

    if (s->sequence) {
        rc = client_sequence_read(s->sequence, 0, &f, err);
        if (rc)
            return rc;
        probe_size(f.payload, f.payload_len, &s->info.width, &s->info.height);
        if (s->info.width == 0)
            return err_at(err, ERR_INPUT, s->config.path,
                          "the first picture is no JPEG and sequence.json does not say its size");
        return 0;
    }
    for (int waited = 0;; waited += 100) {
        rc = client_mjpeg_next(s->mjpeg, 100, &s->first, &s->first_len, err);
        if (rc != ERR_BUSY || waited > FIRST_PICTURE_MS || reconctl_stopped())
            break;
    }
    if (rc == ERR_END)
        return err_at(err, ERR_INPUT, s->config.path, "there is no JPEG picture in it");
    if (rc)
        return rc;
    probe_size(s->first, s->first_len, &s->info.width, &s->info.height);
    return s->info.width ? 0
                         : err_at(err, ERR_INPUT, s->config.path, "the first picture is no JPEG");
}

/* ------------------------------------------------------------------------------------ open */

static int open_folder(struct reconctl_source *s, struct err *err)
{
    struct client_sequence_info info;
    int rc = client_sequence_open(&s->sequence, s->config.path, s->config.poses, err);

    if (rc)
        return rc;
    client_sequence_get_info(s->sequence, &info);
    s->info.n_frames = info.n_frames;
    s->info.width = info.width;
    s->info.height = info.height;
    s->info.has_poses = info.n_poses > 0;
    s->info.up = client_sequence_up(s->sequence);
    s->info.fps = info.fps;
    rc = look_at_first(s, err);
    if (rc == 0 && info.has_camera) {
        s->info.K = info.K;
        if (info.width && info.height)
            s->info.K =
                intrinsics_scale(info.K, info.width, info.height, s->info.width, s->info.height);
    }
    return rc;
}

static int open_stream(struct reconctl_source *s, struct err *err)
{
    int rc = 0, fd = STDIN_FILENO;

    if (strcmp(s->config.path, "-") != 0) {
        s->info.fps = probe_fps(s->config.path);
        rc = start_ffmpeg(s, err);
        fd = s->fd;
    }
    if (rc == 0)
        rc = client_mjpeg_new(&s->mjpeg, fd, FRAME_PAYLOAD_MAX, err);
    return rc ? rc : look_at_first(s, err);
}

int reconctl_source_camera(struct intrinsics *K, const char *text, struct err *err)
{
    char rest;

    if (sscanf(text, "%f,%f,%f,%f%c", &K->fx, &K->fy, &K->cx, &K->cy, &rest) != 4 ||
        !(K->fx > 0 && K->fy > 0 && K->fx < 1e5f && K->fy < 1e5f) || !isfinite(K->cx) ||
        !isfinite(K->cy))
        return err_set(err, ERR_INPUT, "--camera takes fx,fy,cx,cy in pixels, not '%.60s'", text);
    return 0;
}

static int set_camera(struct reconctl_source *s, struct err *err)
{
    struct reconctl_source_info *i = &s->info;
    struct intrinsics *K = &i->K;

    if (s->config.camera)
        return reconctl_source_camera(K, s->config.camera, err);
    if (!(K->fx > 0)) {
        K->fx = K->fy = 0.85f * (float)(i->width > i->height ? i->width : i->height);
        K->cx = 0.5f * (float)(i->width - 1);
        K->cy = 0.5f * (float)(i->height - 1);
        i->camera_guessed = true;
    }
    return 0;
}

int reconctl_source_open(struct reconctl_source **out, const struct reconctl_source_config *config,
                         struct err *err)
{
    struct reconctl_source *s = calloc(1, sizeof *s);
    struct stat st;
    int rc = 0;

    *out = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a source");
    s->config = *config;
    s->fd = -1;
    if (strcmp(config->path, "-") == 0)
        rc = open_stream(s, err);
    else if (stat(config->path, &st) != 0)
        rc = err_at(err, ERR_NOT_FOUND, config->path, "cannot be read: %m");
    else
        rc = S_ISDIR(st.st_mode) ? open_folder(s, err) : open_stream(s, err);
    if (rc == 0)
        rc = set_camera(s, err);
    if (config->fps > 0)
        s->info.fps = config->fps;
    if (!(s->info.fps > 0))
        s->info.fps = DEFAULT_FPS;
    if (rc)
        reconctl_source_close(&s);
    *out = s;
    return rc;
}

void reconctl_source_close(struct reconctl_source **p)
{
    struct reconctl_source *s = *p;

    if (!s)
        return;
    end_ffmpeg(s); /* first, or it complains about its broken pipe */
    if (s->fd >= 0)
        close(s->fd);
    client_mjpeg_free(&s->mjpeg);
    client_sequence_close(&s->sequence);
    free(s);
    *p = NULL;
}

void reconctl_source_get_info(const struct reconctl_source *s, struct reconctl_source_info *info)
{
    *info = s->info;
}

uint64_t reconctl_source_broken(const struct reconctl_source *s)
{
    return s->mjpeg ? client_mjpeg_broken(s->mjpeg) : 0;
}

/* ------------------------------------------------------------------------------------ next */

int reconctl_source_next(struct reconctl_source *s, struct frame *f, struct err *err)
{
    const uint8_t *data = NULL;
    size_t len = 0;
    int rc;

    *f = (struct frame){.T_wc = rigid_identity()};
    if (s->sequence) {
        if (s->at == s->info.n_frames && s->config.loop)
            s->at = 0;
        if (s->at == s->info.n_frames)
            return err_set(err, ERR_END, "the sequence is over");
        rc = client_sequence_read(s->sequence, s->at++, f, err);
    } else {
        rc = next_of_stream(s, 0, &data, &len, err);
        f->payload = data;
        f->payload_len = (uint32_t)len;
    }
    if (rc)
        return rc;
    f->width = s->info.width;
    f->height = s->info.height;
    probe_size(f->payload, f->payload_len, &f->width, &f->height);
    f->flags |= FRAME_HAS_CAMERA;
    f->K = intrinsics_scale(s->info.K, s->info.width, s->info.height, f->width, f->height);
    f->seq = s->seq++;
    f->t_capture_ns = (uint64_t)(1e9 * (double)f->seq / s->info.fps);
    return 0;
}
