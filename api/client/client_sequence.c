#include "api/client/client_sequence.h"

#include "api/client/client_picture.h"
#include "proto/array.h"
#include "proto/json.h"
#include "proto/image/png.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTION_MAX (1u << 20) /* limit of sequence.json, bytes */
#define LINE_MAX_BYTES 512
#define UP_COS2 0.413f /* cos(50 degrees) squared */

struct pose {
    long number;
    struct rigid T;
};

struct client_sequence {
    char *folder;
    const char *place;  /* folder of the pictures: "frames/" */
    char **names;       /* file names of the pictures, sorted */
    struct pose *poses; /* sorted by number */
    size_t poses_cap;
    struct client_sequence_info info;
    struct file_content file; /* picture that was read last */
    struct file_content second;
    int quality; /* quality of JPEGs that are made of other pictures */
    bool has_up; /* sequence.json names: */
    int up;      /* of axes[] */
};

static const char *const axes[] = {"+x", "-x", "+y", "-y", "+z", "-z", NULL};

int client_sequence_pose(struct rigid *T, const char *text, struct err *err)
{
    double v[7], n, x, y, z, w;
    char *end;

    for (int i = 0; i < 7; i++) {
        v[i] = strtod(text, &end);
        if (end == text || !isfinite(v[i]))
            return err_set(err, ERR_INPUT, "a pose is seven numbers: tx ty tz qx qy qz qw");
        text = end + strspn(end, " \t,");
    }
    if (text[strspn(text, " \t\r\n")])
        return err_set(err, ERR_INPUT, "there is more than a pose of seven numbers");
    n = sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5] + v[6] * v[6]);
    if (!(n > 1e-6))
        return err_set(err, ERR_INPUT, "the quaternion of a pose has length 0");
    x = v[3] / n, y = v[4] / n, z = v[5] / n, w = v[6] / n;
    *T = (struct rigid){
        .r = {(float)(1 - 2 * (y * y + z * z)), (float)(2 * (x * y - z * w)),
              (float)(2 * (x * z + y * w)), (float)(2 * (x * y + z * w)),
              (float)(1 - 2 * (x * x + z * z)), (float)(2 * (y * z - x * w)),
              (float)(2 * (x * z - y * w)), (float)(2 * (y * z + x * w)),
              (float)(1 - 2 * (x * x + y * y))},
        .t = {(float)v[0], (float)v[1], (float)v[2]},
    };
    return 0;
}

/* ------------------------------------------------------------------------------------ files */

static char *path_of(const char *folder, const char *rest)
{
    char *path = malloc(strlen(folder) + strlen(rest) + 2);

    if (path)
        sprintf(path, "%s/%s", folder, rest);
    return path;
}

/* Reads a whole file into the sequence's buffer. */
static int read_file(struct client_sequence *s, const char *rest, size_t max, struct err *err)
{
    char *path = path_of(s->folder, rest);
    int rc = path ? file_load(&s->file, path, rest, max, err)
                  : err_at(err, ERR_MEMORY, rest, "no memory for its name");

    free(path);
    return rc;
}

/* Reads model and distortion; the numbers are those of the op `camera` behind fx fy cx cy. */
static void read_lens(const struct json_at *at, struct client_sequence_info *info)
{
    float k[LENS_PARAMS_MAX] = {0};
    struct err why = {0};
    int model = LENS_PINHOLE;
    size_t n;

    if (!json_get_choice(at, "model", &model, lens_names) || model == LENS_PINHOLE)
        return;
    json_require(at, "width");
    json_require(at, "height");
    n = (size_t)lens_n_params((enum lens_model)model);
    if (n)
        json_require(at, "distortion");
    if (n && !json_get_f32s(at, "distortion", k, n, (double)LENS_PARAM_MOST))
        return;
    if (model == LENS_SPHERE) {
        info->has_camera = true;
        info->K = lens_sphere_intrinsics(info->width, info->height);
    }
    if (!info->has_camera)
        json_note(at, "model", "is of a camera whose fx fy cx cy are not all there");
    else if (at->issues->n == 0 && lens_make(&info->lens, (enum lens_model)model, k, info->K,
                                             info->width, info->height, &why))
        json_note(at, n ? "distortion" : "model", "%s", why.text);
}

/* Reads the place of the second camera of pairs. */
static void read_second(const struct json_at *at, struct client_sequence_info *info)
{
    char text[200] = "";
    float v[7];
    int n = 0;

    if (!json_member(at->map, "second") || !json_get_f32s(at, "second", v, 7, 1e3))
        return;
    for (int i = 0; i < 7; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%.9g ", (double)v[i]);
    info->has_second = client_sequence_pose(&info->T_cs, text, NULL) == 0;
    if (!info->has_second)
        json_note(at, "second", "is no pose: tx ty tz qx qy qz qw");
}

static int read_description(struct client_sequence *s, struct err *err)
{
    struct client_sequence_info *info = &s->info;
    struct json_issues issues = {0};
    struct json *doc = NULL;
    struct json_at at;
    float fps = 0;
    bool camera;
    int rc = read_file(s, "sequence.json", DESCRIPTION_MAX, err);

    if (rc == ERR_NOT_FOUND)
        return 0;
    if (rc)
        return rc;
    rc = json_parse(&doc, (const char *)s->file.data, s->file.len, 16, err);
    if (rc)
        return err_at(err, rc, "sequence.json", "is not JSON");
    at = json_at(doc, &issues);
    json_get_int(&at, "width", &info->width, 1, FRAME_SIDE_MAX);
    json_get_int(&at, "height", &info->height, 1, FRAME_SIDE_MAX);
    camera = json_get_f32(&at, "fx", &info->K.fx, 1, 1e5);
    camera &= json_get_f32(&at, "fy", &info->K.fy, 1, 1e5);
    camera &= json_get_f32(&at, "cx", &info->K.cx, -1e5, 1e5);
    camera &= json_get_f32(&at, "cy", &info->K.cy, -1e5, 1e5);
    info->has_camera = camera;
    read_lens(&at, info);
    if (json_get_f32(&at, "fps", &fps, 0.01, 1000))
        info->fps = (double)fps;
    json_get_f32(&at, "depth_unit_m", &info->depth_unit_m, 1e-6, 1e3);
    read_second(&at, info);
    s->has_up = json_get_choice(&at, "up", &s->up, axes);
    rc = json_issues_err(&issues, err);
    json_free(&doc);
    return rc;
}

static int is_jpeg(const struct dirent *entry)
{
    return client_picture_is(entry->d_name, false);
}

static int is_png(const struct dirent *entry)
{
    return client_picture_is(entry->d_name, true);
}

/* Finds the pictures in frames/, in images/ or in the folder itself; JPEG is preferred. */
static int find_pictures(struct client_sequence *s, struct dirent ***entries)
{
    static const char *const places[] = {"frames/", "images/", ""};
    int n = 0;

    for (size_t i = 0; i < sizeof places / sizeof *places && n <= 0; i++) {
        char *path = path_of(s->folder, places[i]);

        s->place = places[i];
        for (int png = 0; path && png < 2 && n <= 0; png++) {
            free(n == 0 ? *entries : NULL);
            *entries = NULL;
            n = scandir(path, entries, png ? is_png : is_jpeg, versionsort);
        }
        free(path);
    }
    return n;
}

static int list_frames(struct client_sequence *s, struct err *err)
{
    struct dirent **entries = NULL;
    int n = find_pictures(s, &entries), rc = 0;

    if (n <= 0) {
        rc = err_at(err, ERR_NOT_FOUND, s->folder,
                    "has no .jpg and no .png, nor have frames/ or images/ in it: ffmpeg -i PICTURE "
                    "000001.jpg converts others");
        goto out;
    }
    s->names = calloc((size_t)n, sizeof *s->names);
    for (int i = 0; i < n; i++) {
        if (s->names)
            s->names[i] = strdup(entries[i]->d_name);
        if (!s->names || !s->names[i])
            rc = err_set(err, ERR_MEMORY, "no memory for a sequence");
        else
            s->info.n_frames = i + 1;
        free(entries[i]);
    }
out:
    free(entries);
    return rc;
}

/* ------------------------------------------------------------------------------------ poses */

static int by_number(const void *a, const void *b)
{
    long x = ((const struct pose *)a)->number, y = ((const struct pose *)b)->number;
    return x < y ? -1 : x > y;
}

static int add_pose(struct client_sequence *s, const char *line, struct err *err)
{
    char *rest;
    long number = strtol(line, &rest, 10);

    if (rest == line || (!isspace((unsigned char)*rest)) || number < 0)
        return err_set(err, ERR_INPUT, "the line does not begin with a frame number");
    if (array_grow(&s->poses, &s->poses_cap, (size_t)s->info.n_poses + 1, sizeof *s->poses))
        return err_set(err, ERR_MEMORY, "no memory for poses");
    s->poses[s->info.n_poses].number = number;
    return client_sequence_pose(&s->poses[s->info.n_poses++].T, rest, err);
}

static int read_poses(struct client_sequence *s, const char *given, struct err *err)
{
    char line[LINE_MAX_BYTES], where[ERR_WHERE_CAP];
    char *path = given ? strdup(given) : path_of(s->folder, "poses.txt");
    FILE *file = path ? fopen(path, "r") : NULL;
    struct err why;
    int rc = 0;

    if (!file && path && !given && errno == ENOENT)
        goto out;
    if (!file) {
        rc = err_at(err, ERR_NOT_FOUND, given ? given : "poses.txt", "cannot be read: %m");
        goto out;
    }
    for (int n = 1; rc == 0 && fgets(line, sizeof line, file); n++) {
        const char *p = line + strspn(line, " \t\r\n");

        if (*p == '\0' || *p == '#')
            continue;
        rc = add_pose(s, p, &why);
        if (rc) {
            snprintf(where, sizeof where, "%.60s:%d", given ? given : "poses.txt", n);
            err_at(err, rc, where, "%s", why.text);
        }
    }
    if (s->info.n_poses)
        qsort(s->poses, (size_t)s->info.n_poses, sizeof *s->poses, by_number);
out:
    if (file)
        fclose(file);
    free(path);
    return rc;
}

/* ------------------------------------------------------------------------------------ interface */

int client_sequence_open(struct client_sequence **out, const char *folder, const char *poses,
                         struct err *err)
{
    struct client_sequence *s = calloc(1, sizeof *s);
    int rc = 0;

    *out = NULL;
    if (s)
        s->folder = strdup(folder);
    if (!s || !s->folder)
        rc = err_set(err, ERR_MEMORY, "no memory for a sequence");
    if (s)
        s->quality = CLIENT_PICTURE_QUALITY;
    if (rc == 0)
        rc = list_frames(s, err);
    if (rc == 0)
        rc = read_description(s, err);
    if (rc == 0 && !(poses && strcmp(poses, "none") == 0))
        rc = read_poses(s, poses, err);
    if (rc)
        client_sequence_close(&s);
    *out = s;
    return rc;
}

void client_sequence_close(struct client_sequence **p)
{
    struct client_sequence *s = *p;

    if (!s)
        return;
    for (int i = 0; i < s->info.n_frames; i++)
        free(s->names[i]);
    free(s->names);
    free(s->poses);
    free(s->folder);
    free(s->file.data);
    free(s->second.data);
    free(s);
    *p = NULL;
}

void client_sequence_get_info(const struct client_sequence *s, struct client_sequence_info *info)
{
    *info = s->info;
}

/* Reads the number at the beginning of a picture's name, else the last one: 12 of
 * "IMG_000012.jpg". */
static long number_in(const char *name)
{
    const char *end = strrchr(name, '.'), *at;

    if (isdigit((unsigned char)*name))
        return strtol(name, NULL, 10);
    while (end > name && !isdigit((unsigned char)end[-1]))
        end--;
    for (at = end; at > name && isdigit((unsigned char)at[-1]);)
        at--;
    return at < end ? strtol(at, NULL, 10) : -1;
}

void client_sequence_set_quality(struct client_sequence *s, int quality)
{
    s->quality = quality;
}

int client_sequence_read(struct client_sequence *s, int i, struct frame *f, struct err *err)
{
    char rest[300], *path;
    struct pose key, *pose = NULL;
    int rc;

    snprintf(rest, sizeof rest, "%s%.250s", s->place, s->names[i]);
    path = path_of(s->folder, rest);
    rc = path ? client_picture_load(&s->file, path, rest, s->quality, err)
              : err_at(err, ERR_MEMORY, rest, "no memory for its name");
    free(path);
    if (rc)
        return rc;
    f->payload = s->file.data;
    f->payload_len = (uint32_t)s->file.len;
    key.number = number_in(s->names[i]);
    if (s->info.n_poses)
        pose = bsearch(&key, s->poses, (size_t)s->info.n_poses, sizeof *pose, by_number);
    f->flags &= ~(uint32_t)(FRAME_HAS_POSE | FRAME_TRACKING_MASK);
    if (pose) {
        f->T_wc = pose->T;
        f->flags |= FRAME_HAS_POSE | FRAME_TRACKING_NORMAL << 2;
    }
    return 0;
}

int client_sequence_second(struct client_sequence *s, int i, const uint8_t **data, size_t *len,
                           struct err *err)
{
    char rest[300], *path;
    int rc;

    snprintf(rest, sizeof rest, "second/%.250s", s->names[i]);
    path = path_of(s->folder, rest);
    rc = path ? client_picture_load(&s->second, path, rest, s->quality, err)
              : err_at(err, ERR_MEMORY, rest, "no memory for its name");
    free(path);
    *data = s->second.data;
    *len = s->second.len;
    return rc;
}

const char *client_sequence_up(const struct client_sequence *s)
{
    float up[3] = {0}, length2 = 0;
    int axis = 0;

    if (s->has_up)
        return axes[s->up];
    for (int i = 0; i < s->info.n_poses; i++)
        for (int k = 0; k < 3; k++)
            up[k] -= s->poses[i].T.r[3 * k + 1];
    for (int k = 0; k < 3; k++) {
        length2 += up[k] * up[k];
        axis = fabsf(up[k]) > fabsf(up[axis]) ? k : axis;
    }
    if (!(up[axis] * up[axis] > UP_COS2 * length2))
        return "";
    return axes[2 * axis + (up[axis] < 0)];
}

/* ------------------------------------------------------------------------------------ truth */

void client_sequence_name(const struct client_sequence *s, int i, char name[81])
{
    const char *dot = strrchr(s->names[i], '.');

    snprintf(name, 81, "%.*s", dot ? (int)(dot - s->names[i]) : 80, s->names[i]);
}

int client_sequence_depth(const struct client_sequence *s, int i, float **depth, int *w, int *h,
                          struct err *err)
{
    char rest[100], name[81];
    uint16_t *gray = NULL;
    struct err why = {0};
    char *path;
    int rc;

    *depth = NULL;
    client_sequence_name(s, i, name);
    snprintf(rest, sizeof rest, "depth/%s.png", name);
    path = path_of(s->folder, rest);
    rc = path ? png_read_gray16(path, &gray, w, h, FRAME_SIDE_MAX, &why)
              : err_set(&why, ERR_MEMORY, "no memory for a path");
    if (rc == 0 && !(s->info.depth_unit_m > 0))
        rc = err_set(&why, ERR_INPUT, "sequence.json does not say depth_unit_m");
    if (rc == 0)
        *depth = malloc((size_t)*w * (size_t)*h * sizeof **depth);
    if (rc == 0 && !*depth)
        rc = err_set(&why, ERR_MEMORY, "no memory for a depth map");
    for (size_t k = 0; rc == 0 && k < (size_t)*w * (size_t)*h; k++)
        (*depth)[k] = (float)gray[k] * s->info.depth_unit_m;
    free(gray);
    free(path);
    return rc ? err_at(err, rc, rest, "%s", why.text) : 0;
}
