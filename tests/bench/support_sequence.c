#include "tests/bench/support_sequence.h"

#include "proto/image/jpeg.h"
#include "proto/json.h"
#include "proto/image/png.h"
#include "tests/support/scene.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCENE_FRAMES 240
#define DEPTH_NOISE_SMOOTH 0.02f
#define DEPTH_NOISE_PIXEL 0.005f

struct support_sequence {
    char folder[512];
    int w, h, next;
    int width, height;
    struct intrinsics K;
    float depth_unit_m;
    FILE *poses;
    struct jpeg_decoder *jpeg;
    uint8_t *rgb;
    float *depth;
    uint32_t noise;
};

static int read_file(uint8_t **data, size_t *len, const char *path, struct err *err)
{
    FILE *f = fopen(path, "rb");
    long size = -1;
    int rc = 0;
    *data = NULL;
    if (!f)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    rewind(f);
    if (size > 0)
        *data = malloc((size_t)size + 1);
    if (!*data || fread(*data, 1, (size_t)size, f) != (size_t)size)
        rc = err_set(err, ERR_IO, "%s: cannot be read", path);
    *len = (size_t)size;
    fclose(f);
    return rc;
}

static int read_json(struct support_sequence *s, struct err *err)
{
    char path[600];
    uint8_t *text = NULL;
    size_t len;
    struct json *doc = NULL;
    int rc;

    snprintf(path, sizeof path, "%s/sequence.json", s->folder);
    rc = read_file(&text, &len, path, err);
    if (rc == 0)
        rc = json_parse(&doc, (const char *)text, len, 4, err);
    if (rc == 0) {
        s->width = (int)json_i64(json_member(doc, "width"));
        s->height = (int)json_i64(json_member(doc, "height"));
        s->K.fx = (float)json_f64(json_member(doc, "fx"));
        s->K.fy = (float)json_f64(json_member(doc, "fy"));
        s->K.cx = (float)json_f64(json_member(doc, "cx"));
        s->K.cy = (float)json_f64(json_member(doc, "cy"));
        s->depth_unit_m = (float)json_f64(json_member(doc, "depth_unit_m"));
        if (s->width < 16 || s->height < 16 || s->width > 8192 || s->height > 8192 ||
            !(s->K.fx > 0.0f))
            rc = err_set(err, ERR_INPUT, "%s: no usable camera", path);
    }
    json_free(&doc);
    free(text);
    return rc;
}

int support_sequence_open(struct support_sequence **out, const char *folder, int w, int h,
                          struct err *err)
{
    struct support_sequence *s = calloc(1, sizeof *s);
    char path[600];
    int rc = 0;

    *out = s;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory");
    s->w = w;
    s->h = h;
    s->noise = 2463534242u;
    s->width = w;
    s->height = h;
    s->K = scene_intrinsics(w, h);
    if (folder) {
        snprintf(s->folder, sizeof s->folder, "%s", folder);
        rc = read_json(s, err);
        snprintf(path, sizeof path, "%s/poses.txt", folder);
        s->poses = fopen(path, "r"); /* optional */
        if (rc == 0)
            rc = jpeg_decoder_new(&s->jpeg, err);
        if (s->w == 0) {
            s->w = s->width;
            s->h = s->height;
        }
    }
    if (rc == 0) {
        s->rgb = malloc((size_t)s->width * (size_t)s->height * 3);
        s->depth = malloc((size_t)s->w * (size_t)s->h * sizeof *s->depth);
        if (!s->rgb || !s->depth)
            rc = err_set(err, ERR_MEMORY, "no memory");
    }
    if (rc)
        support_sequence_close(out);
    return rc;
}

void support_sequence_close(struct support_sequence **out)
{
    struct support_sequence *s = *out;
    if (s) {
        if (s->poses)
            fclose(s->poses);
        jpeg_decoder_free(&s->jpeg);
        free(s->rgb);
        free(s->depth);
        free(s);
    }
    *out = NULL;
}

static int next_drawn(struct support_sequence *s, struct rigid *T_wc, struct err *err)
{
    struct scene scene = scene_make();
    float t = (float)s->next / SCENE_FRAMES, ax, ay, phase;
    if (s->next >= SCENE_FRAMES)
        return err_set(err, ERR_END, "no more frames");
    *T_wc = scene_pose(1.6f * sinf(6.2832f * t), 0.1f * sinf(25.0f * t),
                       -1.5f + 0.5f * cosf(9.0f * t), 0.6f * sinf(12.5664f * t));
    scene_draw(&scene, T_wc, s->K, s->w, s->h, s->depth, s->rgb);
    ax = 6.0f * scene_random(&s->noise);
    ay = 6.0f * scene_random(&s->noise);
    phase = 6.2832f * scene_random(&s->noise);
    for (int y = 0; y < s->h; y++)
        for (int x = 0; x < s->w; x++) {
            float smooth = sinf(ax * (float)x / (float)s->w + ay * (float)y / (float)s->h + phase);
            float pixel = 2.0f * scene_random(&s->noise) - 1.0f;
            s->depth[(size_t)y * (size_t)s->w + (size_t)x] *=
                1.0f + DEPTH_NOISE_SMOOTH * smooth + DEPTH_NOISE_PIXEL * pixel;
        }
    return 0;
}

/* The nearest pixel of a 16-bit grey PNG for each of ours. */
static int read_depth(struct support_sequence *s, const char *path, struct err *err)
{
    uint16_t *gray;
    int w, h, rc = png_read_gray16(path, &gray, &w, &h, 8192, err);
    if (rc)
        return rc;
    for (int y = 0; y < s->h; y++)
        for (int x = 0; x < s->w; x++) {
            size_t at = (size_t)((2 * y + 1) * h / (2 * s->h)) * (size_t)w +
                        (size_t)((2 * x + 1) * w / (2 * s->w));
            s->depth[(size_t)y * (size_t)s->w + (size_t)x] = (float)gray[at] * s->depth_unit_m;
        }
    free(gray);
    return 0;
}

static struct rigid pose_from(const float t[3], float x, float y, float z, float w)
{
    float n = sqrtf(x * x + y * y + z * z + w * w);
    struct rigid T;
    x /= n, y /= n, z /= n, w /= n;
    T.r[0] = 1 - 2 * (y * y + z * z), T.r[1] = 2 * (x * y - z * w), T.r[2] = 2 * (x * z + y * w);
    T.r[3] = 2 * (x * y + z * w), T.r[4] = 1 - 2 * (x * x + z * z), T.r[5] = 2 * (y * z - x * w);
    T.r[6] = 2 * (x * z - y * w), T.r[7] = 2 * (y * z + x * w), T.r[8] = 1 - 2 * (x * x + y * y);
    memcpy(T.t, t, sizeof T.t);
    return T;
}

/* The next frame's number: of the next pose, or simply the next one where there are no poses. */
static int next_number(struct support_sequence *s, int *number, struct rigid *T_wc)
{
    char line[300];
    float t[3], q[4];

    *number = s->next;
    *T_wc = rigid_identity();
    if (!s->poses)
        return 0;
    do {
        if (!fgets(line, sizeof line, s->poses))
            return -1;
    } while (sscanf(line, "%d %f %f %f %f %f %f %f", number, t, t + 1, t + 2, q, q + 1, q + 2,
                    q + 3) != 8);
    *T_wc = pose_from(t, q[0], q[1], q[2], q[3]);
    return 0;
}

static int next_read(struct support_sequence *s, struct rigid *T_wc, struct err *err)
{
    struct jpeg_limits limits = {8192, 8192, 20, 32u << 20, 10000};
    char path[600];
    uint8_t *data;
    size_t len;
    int number, rc;

    if (next_number(s, &number, T_wc))
        return err_set(err, ERR_END, "no more frames");
    snprintf(path, sizeof path, "%s/frames/%06d.jpg", s->folder, number);
    if (!s->poses && s->next > 0 && access(path, F_OK))
        return err_set(err, ERR_END, "no more frames");
    rc = read_file(&data, &len, path, err);
    if (rc == 0)
        rc = jpeg_decode(s->jpeg, s->rgb, s->width, s->height, data, len, &limits, err);
    free(data);
    if (rc)
        return rc;
    snprintf(path, sizeof path, "%s/depth/%06d.png", s->folder, number);
    return read_depth(s, path, err);
}

int support_sequence_next(struct support_sequence *s, struct support_frame *f, struct err *err)
{
    int rc = s->folder[0] ? next_read(s, &f->T_wc, err) : next_drawn(s, &f->T_wc, err);
    s->next++;
    f->rgb = s->rgb;
    f->width = s->width;
    f->height = s->height;
    f->K = s->K;
    f->depth = s->depth;
    f->posed = !s->folder[0] || s->poses;
    return rc;
}
