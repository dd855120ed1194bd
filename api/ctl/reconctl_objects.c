/* `objects`: the objects that are enrolled on a server, and searches for them in files. */
#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_link.h"

#include "api/file.h"
#include "proto/base64.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)96 << 20)
#define NAME_CAP 64
#define WAIT_S 120
#define POSE_LINE 512
#define PLACE_CAP 96

struct arguments {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *class_name, *camera, *poses, *session, *box;
    double scale;
};

#define AT(field) offsetof(struct arguments, field)

/* clang-format off */
#define CAMERA \
    {"camera", 0, "FX,FY,CX,CY", RECONCTL_TEXT, AT(camera), 0, 0, \
     "Focal lengths and centre of depth pictures, in pixels"}
#define SCALE \
    {"scale", 0, "METRES", RECONCTL_REAL, AT(scale), 1e-6, 1e3, \
     "Length of one of a mesh's units (1)"}

static const struct reconctl_option add_options[] = {
    {"class", 0, "WORD", RECONCTL_TEXT, AT(class_name), 0, 0, "What kind of thing it is"},
    CAMERA,
    {"poses", 0, "FILE", RECONCTL_TEXT, AT(poses), 0, 0,
     "Where the pictures were taken: a line each of the TUM format, camera to object"},
    SCALE,
    {"session", 0, "SESSION", RECONCTL_TEXT, AT(session), 0, 0,
     "Enrol what a session's cloud holds in --box, instead of files"},
    {"box", 0, "X,Y,Z,SX,SY,SZ[,TURN]", RECONCTL_TEXT, AT(box), 0, 0,
     "Middle and sides of a box in metres, and its turn about the up axis in degrees"},
    {0},
};
static const struct reconctl_option match_options[] = {CAMERA, SCALE, {0}};
/* clang-format on */

/* ------------------------------------------------------------------------- the request */

/* The text of a request, which grows. */
struct body {
    char *text;
    struct json_writer w;
};

static int body_open(struct body *b, size_t cap, struct err *err)
{
    b->text = malloc(cap);
    if (!b->text)
        return err_set(err, ERR_MEMORY, "no memory for a request of %zu bytes", cap);
    b->w = json_writer(b->text, cap);
    json_open_map(&b->w, NULL);
    return 0;
}

static int body_close(struct body *b, struct err *err)
{
    json_close(&b->w);
    return json_finish(&b->w) ? 0 : err_set(err, ERR_LIMIT, "the request is too long");
}

/* Writes a file's bytes as a base64 member. */
static int put_file(struct body *b, const char *key, const struct file_content *file,
                    struct err *err)
{
    char *text = malloc(BASE64_CHARS(file->len) + 1);

    if (!text)
        return err_set(err, ERR_MEMORY, "no memory for a file of %zu bytes", file->len);
    base64_encode(text, file->data, file->len);
    json_put_text(&b->w, key, text);
    free(text);
    return 0;
}

/* Reads numbers separated by commas, at most `most`. Returns how many; -1 on other text. */
static int read_numbers(float *v, int most, const char *text)
{
    char *end;

    for (int n = 0; n < most; n++) {
        v[n] = strtof(text, &end);
        if (end == text || !isfinite(v[n]) || (*end && *end != ','))
            return -1;
        if (!*end)
            return n + 1;
        text = end + 1;
    }
    return -1;
}

static void put_numbers(struct body *b, const char *key, const float *v, int n)
{
    json_open_list(&b->w, key);
    for (int i = 0; i < n; i++)
        json_put_f32(&b->w, NULL, v[i]);
    json_close(&b->w);
}

static int put_camera(struct body *b, const char *text, struct err *err)
{
    static const char *const names[] = {"fx", "fy", "cx", "cy"};
    float v[4];

    if (!text)
        return err_set(err, ERR_INPUT, "a depth picture needs --camera FX,FY,CX,CY");
    if (read_numbers(v, 4, text) != 4)
        return err_set(err, ERR_INPUT, "--camera: '%.60s' is not four numbers FX,FY,CX,CY", text);
    json_open_map(&b->w, "camera");
    for (int i = 0; i < 4; i++)
        json_put_f32(&b->w, names[i], v[i]);
    json_close(&b->w);
    return 0;
}

static bool is_png(const struct file_content *file)
{
    return file->len > 8 && memcmp(file->data, "\x89PNG\r\n\x1a\n", 8) == 0;
}

/* Reads the next pose of lines `seconds tx ty tz qx qy qz qw`; a '#' begins a comment. */
static int put_pose(struct body *b, FILE *poses, const char *name, struct err *err)
{
    char line[POSE_LINE];
    float t[3], q[4];

    while (fgets(line, sizeof line, poses)) {
        if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#')
            continue;
        if (sscanf(line, "%*f %f %f %f %f %f %f %f", &t[0], &t[1], &t[2], &q[0], &q[1], &q[2],
                   &q[3]) != 7)
            return err_set(err, ERR_INPUT, "%.80s: '%.40s' is no pose", name, line);
        json_open_list(&b->w, "pose");
        for (int i = 0; i < 4; i++)
            json_put_f32(&b->w, NULL, q[i]);
        for (int i = 0; i < 3; i++)
            json_put_f32(&b->w, NULL, t[i]);
        json_close(&b->w);
        return 0;
    }
    return err_set(err, ERR_INPUT, "%.80s has fewer poses than there are pictures", name);
}

static int put_views(struct body *b, const struct arguments *o, const struct file_content *file,
                     int n, struct err *err)
{
    FILE *poses = o->poses ? fopen(o->poses, "re") : NULL;
    int rc = 0;

    if (o->poses && !poses)
        return err_set(err, ERR_NOT_FOUND, "%.160s cannot be read", o->poses);
    if (n > 1 && !poses)
        return err_set(err, ERR_INPUT, "several pictures need --poses FILE");
    json_open_list(&b->w, "views");
    for (int i = 0; i < n && rc == 0; i++) {
        json_open_map(&b->w, NULL);
        rc = is_png(&file[i])
                 ? put_file(b, "depth", &file[i], err)
                 : err_set(err, ERR_INPUT, "several files are depth pictures, each a PNG");
        if (rc == 0)
            rc = put_camera(b, o->camera, err);
        if (rc == 0 && poses)
            rc = put_pose(b, poses, o->poses, err);
        json_close(&b->w);
    }
    json_close(&b->w);
    if (poses)
        fclose(poses);
    return rc;
}

static int put_mesh(struct body *b, const struct arguments *o, const struct file_content *file,
                    struct err *err)
{
    if (o->camera || o->poses)
        return err_set(err, ERR_INPUT, "--camera and --poses are of depth pictures");
    json_put_f32(&b->w, "mesh_scale", (float)o->scale);
    return put_file(b, "mesh", file, err);
}

/* Writes a box of a session, whose id is looked up. */
static int put_region(struct body *b, const struct arguments *o, struct err *err)
{
    char id[CONTROL_ID_CAP];
    struct reconctl_link link;
    float v[7] = {0};
    int n = read_numbers(v, 7, o->box), rc;

    if (n < 6)
        return err_set(err, ERR_INPUT, "--box: '%.60s' is not six or seven numbers", o->box);
    rc = reconctl_link_open(&link, &o->common, false, err);
    if (rc)
        return rc;
    rc = reconctl_find_session(id, link.client, o->session, err);
    reconctl_link_close(&link);
    if (rc)
        return rc;
    json_open_map(&b->w, "region");
    json_put_text(&b->w, "session", id);
    put_numbers(b, "centre", v, 3);
    put_numbers(b, "size", v + 3, 3);
    json_put_f32(&b->w, "turn", v[6]);
    json_close(&b->w);
    return 0;
}

/* Loads the files of the operands from `first` on. Returns how many; negative: an error. */
static int files_load(struct file_content *file, const struct arguments *o, int first, int last,
                      size_t *chars, struct err *err)
{
    int n = 0;

    *chars = 4096;
    for (int i = first; i < last; i++, n++) {
        const char *path = o->common.operands[i];
        int rc = file_load(&file[n], path, path, FILE_MAX, err);
        if (rc)
            return rc;
        *chars += BASE64_CHARS(file[n].len) + 512;
    }
    return n;
}

static int make_add(struct body *b, const struct arguments *o, struct err *err)
{
    struct file_content file[RECONCTL_OPERANDS_MAX] = {0};
    size_t chars;
    int n = files_load(file, o, 1, o->common.n_operands, &chars, err);
    int rc = n < 0 ? n : body_open(b, chars, err);
    bool region = o->session || o->box;

    if (rc == 0 && (region ? n > 0 || !o->session || !o->box : n == 0))
        rc = err_set(err, ERR_INPUT, "either files or --session and --box say what it looks like");

    if (rc == 0) {
        json_put_text(&b->w, "name", o->common.operands[0]);
        if (o->class_name)
            json_put_text(&b->w, "class", o->class_name);
        rc = region                      ? put_region(b, o, err)
             : n > 1 || is_png(&file[0]) ? put_views(b, o, file, n, err)
                                         : put_mesh(b, o, &file[0], err);
    }
    for (int i = 0; i < RECONCTL_OPERANDS_MAX; i++)
        free(file[i].data);
    return rc ? rc : body_close(b, err);
}

static int make_match(struct body *b, const struct arguments *o, struct err *err)
{
    struct file_content file = {0};
    size_t chars;
    int n = files_load(&file, o, 0, 1, &chars, err), rc = n < 0 ? n : body_open(b, chars, err);

    if (rc == 0 && o->common.n_operands > 1) {
        json_open_list(&b->w, "objects");
        for (int i = 1; i < o->common.n_operands; i++)
            json_put_text(&b->w, NULL, o->common.operands[i]);
        json_close(&b->w);
    }
    if (rc == 0)
        rc = is_png(&file) ? put_camera(b, o->camera, err) : put_mesh(b, o, &file, err);
    if (rc == 0 && is_png(&file))
        rc = put_file(b, "depth", &file, err);
    free(file.data);
    return rc ? rc : body_close(b, err);
}

/* ------------------------------------------------------------------------- the answer */

static void print_size(char text[PLACE_CAP], const struct json *box)
{
    const struct json *least = json_member(box, "least"), *most = json_member(box, "most");
    double side[3];

    for (size_t k = 0; k < 3; k++)
        side[k] = json_f64(json_item(most, k)) - json_f64(json_item(least, k));
    snprintf(text, PLACE_CAP, "%.2f x %.2f x %.2f m", side[0], side[1], side[2]);
}

static void print_object(struct reconctl_screen *screen, const struct json *o)
{
    char name[RECONCTL_SHOWN], class_name[RECONCTL_SHOWN], size[PLACE_CAP];

    print_size(size, json_member(o, "box"));
    reconctl_put_row(screen, "%-20s  %-12s %5lld %7lld %8.0f  %s", reconctl_member(name, o, "name"),
                     reconctl_member(class_name, o, "class"),
                     (long long)json_i64(json_member(o, "views")),
                     (long long)json_i64(json_member(o, "tensors")),
                     json_f64(json_member(o, "bytes")) / 1e3, size);
}

static void print_objects(const struct json *doc)
{
    struct reconctl_screen screen = reconctl_screen();
    const struct json *list = json_member(doc, "objects");

    reconctl_put_row(&screen, "%-20s  %-12s %5s %7s %8s  %s", "OBJECT", "CLASS", "VIEWS", "TENSORS",
                     "KB", "SIZE");
    for (size_t i = 0; i < json_count(list); i++)
        print_object(&screen, json_item(list, i));
}

static void print_one(const struct json *doc)
{
    struct reconctl_screen screen = reconctl_screen();

    print_object(&screen, doc);
}

static void print_found(const struct json *doc)
{
    struct reconctl_screen screen = reconctl_screen();
    const struct json *list = json_member(doc, "found");
    char name[RECONCTL_SHOWN], class_name[RECONCTL_SHOWN];

    reconctl_put_row(&screen, "%-20s  %-12s %5s %7s %6s  %s", "OBJECT", "CLASS", "SCORE", "SUPPORT",
                     "POINTS", "POSE (QX,QY,QZ,QW,TX,TY,TZ)");
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *m = json_item(list, i), *pose = json_member(m, "pose");
        char where[PLACE_CAP] = "";
        size_t at = 0;
        for (size_t k = 0; k < json_count(pose) && at < sizeof where; k++)
            at += (size_t)snprintf(where + at, sizeof where - at, "%s%.4f", k ? "," : "",
                                   json_f64(json_item(pose, k)));
        reconctl_put_row(&screen, "%-20s  %-12s %5.2f %7.2f %6lld  %s",
                         reconctl_member(name, m, "object"),
                         reconctl_member(class_name, m, "class"), json_f64(json_member(m, "score")),
                         json_f64(json_member(m, "support")),
                         (long long)json_i64(json_member(m, "points")), where);
    }
}

/* ------------------------------------------------------------------------- commands */

/* Makes one call and prints its answer. */
static int call(const struct arguments *o, const char *method, const char *path, const char *body,
                const char *type, void (*show)(const struct json *doc))
{
    struct reconctl_link link;
    struct json *doc = NULL;
    struct err err;
    char *answer = NULL;
    size_t len = 0;
    int rc, code = RECONCTL_OK;

    if (reconctl_link_open(&link, &o->common, false, &err))
        return reconctl_fail(&o->common, &err);
    rc = client_request(link.client, method, path, body, &answer, &len, NULL, &err);
    if (rc == 0 && len && !reconctl_json(&o->common))
        rc = json_parse(&doc, answer, len, 8, &err);
    if (rc)
        code = reconctl_fail_server(&o->common, &err);
    else if (reconctl_json(&o->common) && len)
        reconctl_print_json(type, answer);
    else if (len)
        show(doc);
    json_free(&doc);
    free(answer);
    reconctl_link_close(&link);
    return code;
}

/* A request from wrong words is not sent. */
static int send_body(const struct arguments *o, const char *path, const char *type,
                     int (*make)(struct body *b, const struct arguments *o, struct err *err),
                     void (*show)(const struct json *doc))
{
    struct body b = {0};
    struct err err = {0};
    int code;

    if (make(&b, o, &err)) {
        code = reconctl_fail(&o->common, &err);
        code = err.code == ERR_INPUT ? RECONCTL_USAGE : code;
    } else {
        code = call(o, "POST", path, b.text, type, show);
    }
    free(b.text);
    return code;
}

/* Computing the answer takes the server some time. */
static void objects_defaults(void *arguments)
{
    struct arguments *o = arguments;
    o->common.timeout_s = WAIT_S;
    o->scale = 1;
}

static int run_add(void *arguments)
{
    return send_body(arguments, "/v1/objects", "object", make_add, print_one);
}

static int run_match(void *arguments)
{
    return send_body(arguments, "/v1/objects/match", "found", make_match, print_found);
}

static int run_list(void *arguments)
{
    return call(arguments, "GET", "/v1/objects", NULL, "objects", print_objects);
}

/* Writes a name as part of a path; other names cannot exist. */
static bool is_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return n > 0 && n < NAME_CAP && !text[n] && text[0] != '.';
}

static int run_rm(void *arguments)
{
    const struct arguments *o = arguments;
    const char *name = o->common.operands[0];
    char path[128], buf[160];
    struct json_writer w = json_writer(buf, sizeof buf);
    int code;

    if (!is_name(name))
        return reconctl_usage(&o->common, "'%.60s' is no name of an object", name);
    snprintf(path, sizeof path, "/v1/objects/%s", name);
    code = call(o, "DELETE", path, NULL, "deleted", print_one);
    if (code)
        return code;
    if (!reconctl_json(&o->common)) {
        printf("deleted\n");
        return code;
    }
    json_open_map(&w, NULL);
    json_put_text(&w, "type", "deleted");
    json_put_text(&w, "object", name);
    reconctl_print(&w);
    return code;
}

RECONCTL_COMMAND(
    objects_add, "objects add", "NAME [FILE]...",
    "Enrol an object by depth pictures, a mesh (PLY, OBJ), or a part of a session's cloud", run_add,
    sizeof(struct arguments), add_options, 0, objects_defaults);

RECONCTL_COMMAND(objects_list, "objects list", "", "List the objects that a server recognises",
                 run_list, sizeof(struct arguments));

RECONCTL_COMMAND(objects_rm, "objects rm", "NAME", "Delete an object", run_rm,
                 sizeof(struct arguments));

RECONCTL_COMMAND(objects_match, "objects match", "FILE [NAME...]",
                 "Look for objects in a depth picture or a mesh, without a session", run_match,
                 sizeof(struct arguments), match_options, 0, objects_defaults);
