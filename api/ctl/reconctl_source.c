#include "api/ctl/reconctl_source.h"

#include "api/client/client_mjpeg.h"
#include "api/client/client_picture.h"
#include "api/client/client_sequence.h"
#include "api/ctl/reconctl.h"
#include "api/ctl/reconctl_ffmpeg.h"
#include "api/ctl/reconctl_sensor.h"
#include "proto/image/jpeg.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_PICTURE_MS 20000
#define DEFAULT_FPS 30.0
#define HEAD_BYTES 512 /* name of a stream on standard input */
/* quality below which the pictures of a video are encoded again; ffmpeg's are a little better */
#define VIDEO_QUALITY 85

struct reconctl_source {
    struct reconctl_source_config config;
    struct reconctl_source_info info;
    struct client_sequence *sequence;
    struct reconctl_sensor *sensor; /* NULL: depth is not asked for */
    struct client_mjpeg *mjpeg;
    struct reconctl_ffmpeg ffmpeg;
    int quality;                 /* quality that the server asks for; 0 = none */
    struct file_content lowered; /* last picture of a video, at that quality */
    int at;                      /* index of the folder's next frame */
    uint64_t seq;                /* time of the next frame */
    const uint8_t *first;
    size_t first_len; /* open() has read a picture that was not returned yet */
};

/* ------------------------------------------------------------------------------------ pictures */

/* Reads the size of a picture. One that cannot be read keeps the size before, and the server
 * refuses it. */
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

/* Reads the next picture of a stream; waits only for the first one. */
static int next_of_stream(struct reconctl_source *s, int timeout_ms, const uint8_t **data,
                          size_t *len, struct err *err)
{
    if (s->first) {
        *data = s->first;
        *len = s->first_len;
        s->first = NULL;
        return 0;
    }
    return client_mjpeg_next(s->mjpeg, timeout_ms, data, len, err);
}

static int no_picture(const struct reconctl_source *s, struct err *err)
{
    const char *name = strcmp(s->config.path, "-") == 0 ? "standard input" : s->config.path;
    char said[160];

    reconctl_source_said(s, said, sizeof said);
    if (s->ffmpeg.pid > 0)
        return err_at(err, ERR_INPUT, name, "ffmpeg finds no video in it%s%s", *said ? ": " : "",
                      said);
    return err_at(err, ERR_INPUT, name, "there is no JPEG picture in it");
}

static int first_read(struct reconctl_source *s, struct err *err)
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
        return no_picture(s, err);
    if (rc)
        return rc;
    probe_size(s->first, s->first_len, &s->info.width, &s->info.height);
    return s->info.width ? 0
                         : err_at(err, ERR_INPUT, s->config.path, "the first picture is no JPEG");
}

/* ------------------------------------------------------------------------------------ open */

/* Tells whether two sizes have the same aspect up to rounding. */
static bool same_aspect(int w, int h, int other_w, int other_h)
{
    double a = (double)w * other_h, b = (double)other_w * h;

    return fabs(a - b) <= 0.01 * fmax(a, b);
}

static void guess_camera(struct intrinsics *K, int w, int h)
{
    K->fx = K->fy = 0.85f * (float)(w > h ? w : h);
    K->cx = 0.5f * (float)(w - 1);
    K->cy = 0.5f * (float)(h - 1);
}

/* Intrinsics for pictures of another aspect would be stretched. */
static int wrong_aspect(const struct reconctl_source *s, int w, int h, int K_w, int K_h,
                        struct err *err)
{
    return err_at(err, ERR_INPUT, s->config.path,
                  "a picture is %dx%d and the intrinsics are of %dx%d, another aspect: mend "
                  "sequence.json, or give push --camera",
                  w, h, K_w, K_h);
}

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
    s->info.has_second = info.has_second;
    s->info.T_cs = info.T_cs;
    rc = first_read(s, err);
    if (rc || !info.has_camera || s->config.camera)
        return rc;
    s->info.K = info.K;
    s->info.lens = info.lens;
    if (!info.width || !info.height)
        return 0;
    if (!same_aspect(info.width, info.height, s->info.width, s->info.height))
        return wrong_aspect(s, s->info.width, s->info.height, info.width, info.height, err);
    s->info.K = intrinsics_scale(info.K, info.width, info.height, s->info.width, s->info.height);
    return 0;
}

/* Reads the first bytes of a descriptor without consuming them. Returns how many; 0 at its end or
 * if that is impossible. */
static ssize_t peek(int fd, uint8_t *data, size_t len)
{
    int ends[2];
    ssize_t n = pread(fd, data, len, lseek(fd, 0, SEEK_CUR));

    if (n < 0)
        n = recv(fd, data, len, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && pipe2(ends, O_CLOEXEC) == 0) {
        n = tee(fd, ends[1], len, SPLICE_F_NONBLOCK);
        n = n > 0 ? read(ends[0], data, (size_t)n) : n;
        close(ends[0]);
        close(ends[1]);
    }
    return n > 0 ? n : 0;
}

/* Tells whether standard input is a stream of JPEG pictures: one begins in its first bytes. */
static bool stdin_is_jpeg(void)
{
    struct pollfd wait = {.fd = STDIN_FILENO, .events = POLLIN};
    uint8_t head[4096];
    ssize_t n;

    poll(&wait, 1, FIRST_PICTURE_MS);
    n = peek(STDIN_FILENO, head, sizeof head);
    for (int more = 0; n > 0 && n < HEAD_BYTES && more < 20; more++) {
        reconctl_sleep_ms(20);
        n = peek(STDIN_FILENO, head, sizeof head);
    }
    for (ssize_t i = 0; i + 3 <= n; i++)
        if (memcmp(head + i, "\xff\xd8\xff", 3) == 0)
            return true;
    return n < 3;
}

static int open_stream(struct reconctl_source *s, struct err *err)
{
    bool in = strcmp(s->config.path, "-") == 0;
    int rc = 0;

    if (!in)
        rc = reconctl_ffmpeg_probe(&s->info.fps, s->config.path, err);
    if (rc)
        return rc;
    if (!in || !stdin_is_jpeg())
        rc = reconctl_ffmpeg_start(&s->ffmpeg, s->config.path, s->config.fps, s->config.loop && !in,
                                   err);
    if (rc == 0)
        rc = client_mjpeg_new(&s->mjpeg, s->ffmpeg.pid ? s->ffmpeg.out : STDIN_FILENO,
                              FRAME_PAYLOAD_MAX, err);
    return rc ? rc : first_read(s, err);
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
        guess_camera(K, i->width, i->height);
        i->camera_guessed = true;
    }
    return 0;
}

/* The first frame must have depth; later ones may lack it. */
static int open_sensor(struct reconctl_source *s, struct err *err)
{
    float *depth = NULL;
    int w, h, rc;

    if (!s->sequence)
        return err_at(err, ERR_INPUT, s->config.path,
                      "--sensor-depth takes a folder that has depth/, and this is none");
    rc = client_sequence_depth(s->sequence, 0, &depth, &w, &h, err);
    free(depth);
    s->info.has_depth = true;
    return rc ? rc : reconctl_sensor_new(&s->sensor, err);
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
    s->ffmpeg = (struct reconctl_ffmpeg){.out = -1, .said = -1};
    if (strcmp(config->path, "-") == 0)
        rc = open_stream(s, err);
    else if (stat(config->path, &st) != 0)
        rc = err_at(err, ERR_NOT_FOUND, config->path, "cannot be read: %m");
    else
        rc = S_ISDIR(st.st_mode) ? open_folder(s, err) : open_stream(s, err);
    if (rc == 0)
        rc = set_camera(s, err);
    if (rc == 0 && config->depth)
        rc = open_sensor(s, err);
    if (rc == 0 && config->pairs && !s->info.has_second && !s->info.has_poses)
        rc =
            err_at(err, ERR_INPUT, config->path,
                   "is no folder of pairs (second/ and `second` of sequence.json are missing), and "
                   "one camera's pictures need poses");
    s->info.has_second = s->info.has_second && config->pairs;
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
    reconctl_ffmpeg_end(&s->ffmpeg);
    client_mjpeg_free(&s->mjpeg);
    client_sequence_close(&s->sequence);
    free(s->lowered.data);
    reconctl_sensor_free(&s->sensor);
    free(s);
    *p = NULL;
}

void reconctl_source_get_info(const struct reconctl_source *s, struct reconctl_source_info *info)
{
    *info = s->info;
}

void reconctl_source_said(const struct reconctl_source *s, char *text, size_t cap)
{
    reconctl_ffmpeg_said(&s->ffmpeg, strcmp(s->config.path, "-") == 0 ? "pipe:0" : s->config.path,
                         text, cap);
}

uint64_t reconctl_source_broken(const struct reconctl_source *s)
{
    return s->mjpeg ? client_mjpeg_broken(s->mjpeg) : 0;
}

/* ------------------------------------------------------------------------------------ next */

void reconctl_source_set_quality(struct reconctl_source *s, int quality)
{
    if (s->sequence)
        client_sequence_set_quality(s->sequence, quality);
    s->quality = quality;
}

void reconctl_source_lower(struct reconctl_source *s, struct frame *f)
{
    if (s->ffmpeg.pid <= 0 || s->quality == 0 || s->quality >= VIDEO_QUALITY ||
        client_picture_lower(&s->lowered, f->payload, f->payload_len, s->quality, NULL))
        return;
    f->payload = s->lowered.data;
    f->payload_len = (uint32_t)s->lowered.len;
}

/* at: index of the frame in the folder. */
static int add_depth(struct reconctl_source *s, int at, struct frame *f, struct err *err)
{
    float *depth = NULL;
    int w, h, rc = client_sequence_depth(s->sequence, at, &depth, &w, &h, err);

    if (rc == ERR_NOT_FOUND)
        return 0;
    if (rc == 0)
        rc = reconctl_sensor_add(s->sensor, f, depth, w, h, err);
    free(depth);
    return rc;
}

/* Adds the other picture of a pair as the last part of the frame. */
static int add_second(struct reconctl_source *s, int at, struct frame *f, struct err *err)
{
    struct frame_part part = {.type = FRAME_COLOUR,
                              .codec = FRAME_JPEG,
                              .width = s->info.width,
                              .height = s->info.height,
                              .camera = RECONCTL_SOURCE_SECOND};
    size_t len;
    int rc = client_sequence_second(s->sequence, at, &part.data, &len, err);

    if (rc)
        return rc;
    part.len = (uint32_t)len;
    probe_size(part.data, len, &part.width, &part.height);
    f->parts[f->n_parts++] = part;
    return 0;
}

int reconctl_source_declare(const struct reconctl_source_info *info, struct client_stream *s,
                            struct err *err)
{
    const struct cameras_entry camera = {.id = RECONCTL_SOURCE_CAMERA,
                                         .width = info->width,
                                         .height = info->height,
                                         .K = info->K,
                                         .T_rc = rigid_identity(),
                                         .lens = info->lens};

    struct cameras_entry second = camera;
    int rc = 0;

    if (info->lens.model != LENS_PINHOLE || info->has_second)
        rc = client_stream_camera(s, &camera, err);
    if (rc || !info->has_second)
        return rc;
    second.id = RECONCTL_SOURCE_SECOND;
    second.T_rc = info->T_cs;
    return client_stream_camera(s, &second, err);
}

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
        rc = client_sequence_read(s->sequence, s->at, f, err);
        if (rc == 0 && s->sensor)
            rc = add_depth(s, s->at, f, err);
        if (rc == 0 && s->info.has_second)
            rc = add_second(s, s->at, f, err);
        s->at++;
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
    f->camera =
        s->info.lens.model != LENS_PINHOLE || s->info.has_second ? RECONCTL_SOURCE_CAMERA : 0;
    f->K = intrinsics_scale(s->info.K, s->info.width, s->info.height, f->width, f->height);
    if (!same_aspect(f->width, f->height, s->info.width, s->info.height)) {
        if (!s->info.camera_guessed)
            return wrong_aspect(s, f->width, f->height, s->info.width, s->info.height, err);
        guess_camera(&f->K, f->width, f->height);
    }
    f->seq = s->seq++;
    f->t_capture_ns = (uint64_t)(1e9 * (double)f->seq / s->info.fps);
    return 0;
}
