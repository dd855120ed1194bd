/* handle_object.c - objects: enrol, list, inspect, delete, and search in a picture */
#include "api/server/request_body.h"
#include "api/server/routes.h"

#include "proto/base64.h"
#include "proto/geom/pose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECT_JSON_MAX 640 /* bytes of one */
#define MATCH_JSON_MAX 512
#define LIST_MAX 1024 /* largest value of objects.per_owner */
#define BODY_DEPTH_MAX 5
#define COMMAS_MAX 4096   /* parsed values of a body; 64 views have some thousand */
#define FAR_M 100.0f      /* metres; largest distance of a camera from its object */
#define REGION_FAR_M 1e6f /* metres; range of submaps' places */
#define SCALE_MIN 1e-6f   /* largest unit of a mesh, metres */
#define SCALE_MAX 1e3f
#define NAMES_MAX 64 /* names of one search */
#define RETRY_S 10

/* Returns the name at the end of the path. */
static const char *name_of(const struct http_request *r)
{
    return strrchr(r->path, '/') + 1;
}

/* ------------------------------------------------------------------------------- out */

static void put_numbers(struct json_writer *w, const char *key, const float *v, int n)
{
    json_open_list(w, key);
    for (int i = 0; i < n; i++)
        json_put_f32(w, NULL, v[i]);
    json_close(w);
}

/* Writes the members of an object into a map that the caller opened. */
static void write_object(struct json_writer *w, const struct api_object *o)
{
    json_put_text(w, "name", o->name);
    json_put_text(w, "class", o->class_name);
    json_put_time(w, "created", o->created_s);
    json_put_u64(w, "views", o->views);
    json_put_u64(w, "tensors", o->tensors);
    json_put_u64(w, "points", o->points);
    json_put_u64(w, "bytes", o->bytes);
    json_open_map(w, "box");
    put_numbers(w, "least", o->box[0], 3);
    put_numbers(w, "most", o->box[1], 3);
    json_close(w);
}

static void leave_object(struct http_request *r, int status, const struct api_object *o)
{
    char *buf = answer_room(r, OBJECT_JSON_MAX);
    struct json_writer w;

    if (!buf)
        return;
    w = json_writer(buf, OBJECT_JSON_MAX);
    json_open_map(&w, NULL);
    write_object(&w, o);
    json_close(&w);
    answer_json(r, status, &w);
}

static void leave_matches(struct http_request *r, const struct api_match *list, int n)
{
    size_t cap = (size_t)n * MATCH_JSON_MAX + 64;
    char *buf = answer_room(r, cap);
    struct json_writer w;

    if (!buf)
        return;
    w = json_writer(buf, cap);
    json_open_map(&w, NULL);
    json_open_list(&w, "found");
    for (int i = 0; i < n; i++) {
        json_open_map(&w, NULL);
        json_put_text(&w, "object", list[i].name);
        json_put_text(&w, "class", list[i].class_name);
        put_numbers(&w, "pose", list[i].pose, 7);
        json_put_f32(&w, "score", list[i].score);
        json_put_f32(&w, "support", list[i].support);
        json_put_u64(&w, "points", list[i].points);
        json_put_u64(&w, "votes", list[i].votes);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    answer_json(r, 200, &w);
}

/* ------------------------------------------------------------------------------- in */

/* Content of a body; base64 members are decoded here. */
struct wanted {
    char name[API_OBJECT_CAP], class_name[API_OBJECT_CAP];
    struct api_shape shape;
    struct api_region region;
    struct api_depth_picture picture[API_OBJECT_VIEWS_MAX];
    uint8_t *decoded[API_OBJECT_VIEWS_MAX + 1]; /* free() them */
    int n_decoded;
    char names[NAMES_MAX][API_OBJECT_CAP];
    int n_names;
};

static void wanted_free(struct wanted *w)
{
    if (!w)
        return;
    for (int i = 0; i < w->n_decoded; i++)
        free(w->decoded[i]);
    free(w);
}

/* Decodes a base64 member. Returns false if it is missing or wrong, which is noted. */
static bool get_bytes(struct wanted *to, const struct json_at *at, const char *key,
                      const uint8_t **bytes, size_t *len)
{
    const struct json *v = json_member(at->map, key);
    const char *text = json_text(v);
    size_t chars = strlen(text);
    uint8_t *data;

    if (json_kind(v) == JSON_KIND_NONE)
        return false;
    if (json_kind(v) != JSON_KIND_TEXT)
        return json_note(at, key, "must be a text");
    data = malloc(BASE64_BYTES(chars) + 1);
    if (!data)
        return json_note(at, key, "out of memory");
    to->decoded[to->n_decoded++] = data;
    if (base64_decode(data, len, text, chars) || *len == 0)
        return json_note(at, key, "must be base64 with padding, and not empty");
    *bytes = data;
    return true;
}

static void get_camera(const struct json_at *at, struct intrinsics *K)
{
    static const char *const members[] = {"fx", "fy", "cx", "cy", NULL};
    float *const field[] = {&K->fx, &K->fy, &K->cx, &K->cy};
    struct json_at camera;

    json_require(at, "camera");
    if (!json_get_map(at, "camera", &camera))
        return;
    json_only(&camera, members);
    for (int i = 0; i < 4; i++) {
        json_require(&camera, members[i]);
        (void)json_get_f32(&camera, members[i], field[i], i < 2 ? 1 : -1e5, 1e5);
    }
}

/* Reads a picture's members; `posed`: a pose is required. */
static void get_picture(struct wanted *to, const struct json_at *at, bool posed)
{
    struct api_depth_picture *p = &to->picture[to->shape.n_pictures++];
    struct rigid T;
    struct err err;

    p->pose[3] = 1;
    json_require(at, "depth");
    (void)get_bytes(to, at, "depth", &p->png, &p->len);
    get_camera(at, &p->camera);
    if (posed)
        json_require(at, "pose");
    if (json_get_f32s(at, "pose", p->pose, 7, (double)FAR_M) &&
        pose_from_numbers(&T, p->pose, FAR_M, &err))
        json_note(at, "pose", "%s", err.text);
}

static void get_mesh(struct wanted *to, const struct json_at *at)
{
    to->shape.mesh_scale = 1;
    (void)get_bytes(to, at, "mesh", &to->shape.mesh, &to->shape.mesh_len);
    (void)json_get_f32(at, "mesh_scale", &to->shape.mesh_scale, (double)SCALE_MIN,
                       (double)SCALE_MAX);
}

static void get_views(struct wanted *to, const struct json_at *at)
{
    static const char *const members[] = {"depth", "camera", "pose", NULL};
    const struct json *list = json_member(at->map, "views");
    size_t n = json_count(list);

    if (json_kind(list) != JSON_KIND_LIST || n < 1 || n > API_OBJECT_VIEWS_MAX) {
        json_note(at, "views", "must be a list of 1 to %d views", API_OBJECT_VIEWS_MAX);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct json_at view = *at;
        view.map = json_item(list, i);
        snprintf(view.pointer, sizeof view.pointer, "/views/%zu", i);
        if (json_kind(view.map) != JSON_KIND_MAP) {
            json_note(&view, NULL, "must be an object");
            continue;
        }
        json_only(&view, members);
        get_picture(to, &view, n > 1);
    }
}

static void get_region(struct wanted *to, const struct json_at *at)
{
    static const char *const members[] = {"session", "centre", "size", "turn", NULL};
    struct api_region *r = &to->region;
    struct json_at region;

    if (!json_get_map(at, "region", &region))
        return;
    json_only(&region, members);
    json_require(&region, "session");
    json_require(&region, "centre");
    json_require(&region, "size");
    (void)json_get_text(&region, "session", r->session, sizeof r->session);
    (void)json_get_f32s(&region, "centre", r->centre, 3, (double)REGION_FAR_M);
    if (json_get_f32s(&region, "size", r->size, 3, (double)API_REGION_SIDE_MAX_M))
        for (int k = 0; k < 3; k++)
            if (!(r->size[k] >= API_REGION_SIDE_MIN_M)) {
                json_note(&region, "size", "has sides of %g to %g m", (double)API_REGION_SIDE_MIN_M,
                          (double)API_REGION_SIDE_MAX_M);
                break;
            }
    (void)json_get_f32(&region, "turn", &r->turn_deg, -360, 360);
    to->shape.region = r;
}

static void get_object(struct wanted *to, const struct json_at *at)
{
    static const char *const members[] = {"name",       "class",  "views", "mesh",
                                          "mesh_scale", "region", NULL};
    bool views = json_member(at->map, "views"), mesh = json_member(at->map, "mesh");
    bool region = json_member(at->map, "region");

    json_only(at, members);
    json_require(at, "name");
    (void)json_get_text(at, "name", to->name, sizeof to->name);
    (void)json_get_text(at, "class", to->class_name, sizeof to->class_name);
    if (views + mesh + region != 1)
        json_note(at, "views", "either views or mesh or region says what it looks like");
    else if (mesh)
        get_mesh(to, at);
    else if (region)
        get_region(to, at);
    else
        get_views(to, at);
}

static void get_names(struct wanted *to, const struct json_at *at)
{
    const struct json *list = json_member(at->map, "objects");
    size_t n = json_count(list);

    if (!list)
        return;
    if (json_kind(list) != JSON_KIND_LIST || n < 1 || n > NAMES_MAX) {
        json_note(at, "objects", "must be a list of 1 to %d names", NAMES_MAX);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = json_text(json_item(list, i));
        if (!name[0] || strlen(name) >= API_OBJECT_CAP)
            json_note(at, "objects", "has something that is no name");
        else
            strcpy(to->names[to->n_names++], name);
    }
}

static void get_search(struct wanted *to, const struct json_at *at)
{
    static const char *const picture[] = {"objects", "depth", "camera", NULL};
    static const char *const mesh[] = {"objects", "mesh", "mesh_scale", NULL};

    if (json_member(at->map, "mesh")) {
        json_only(at, mesh);
        get_mesh(to, at);
    } else {
        json_only(at, picture);
        get_picture(to, at, false);
    }
    get_names(to, at);
}

/* A value costs many times its bytes once it is parsed, so a large body may not be made of small
 * ones. base64 has no commas. */
static bool has_few_values(const struct http_request *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->body_len; i++)
        n += r->body[i] == ',';
    return n <= COMMAS_MAX;
}

/* Parses the body with `get`; NULL after leaving a problem. */
static struct wanted *read_body(struct http_request *r,
                                void (*get)(struct wanted *to, const struct json_at *at))
{
    struct wanted *to = calloc(1, sizeof *to);
    struct json_issues issues = {0};
    struct json *doc = NULL;
    struct err err = {0};
    struct json_at at;

    if (!to) {
        answer_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
        return NULL;
    }
    if (r->body_len == 0) {
        answer_problem(r, PROBLEM_MALFORMED, "a body is needed");
        goto bad;
    }
    if (!has_few_values(r)) {
        answer_problem(r, PROBLEM_MALFORMED, "more than %d values", COMMAS_MAX);
        goto bad;
    }
    if (json_parse(&doc, r->body, r->body_len, BODY_DEPTH_MAX, &err)) {
        answer_problem(r, err.code == ERR_MEMORY ? PROBLEM_UNAVAILABLE : PROBLEM_MALFORMED, "%s",
                       err.text);
        goto bad;
    }
    to->shape.picture = to->picture;
    at = json_at(doc, &issues);
    get(to, &at);
    json_free(&doc);
    if (issues.n == 0)
        return to;
    answer_problem_fields(r, &issues);
bad:
    wanted_free(to);
    return NULL;
}

/* ------------------------------------------------------------------------------- tasks */

void handle_object_add(struct http_request *r)
{
    struct wanted *w = read_body(r, get_object);
    struct api_object object;
    struct err err = {0};

    if (!w)
        return;
    /* A region shows the same data as GET .../cloud. */
    if ((w->shape.region && auth_may(&r->who, AUTH_READ, w->region.session, &err)) ||
        r->config->ops->object_add(r->config->core, r->who.name, w->name, w->class_name, &w->shape,
                                   &object, &err)) {
        answer_refusal(r, &err, RETRY_S);
    } else {
        answer_header(r, "Location", "/v1/objects/%s", object.name);
        leave_object(r, 201, &object);
    }
    wanted_free(w);
}

void handle_object_match(struct http_request *r)
{
    struct api_match *list = calloc(API_MATCHES_MAX, sizeof *list);
    struct wanted *w = list ? read_body(r, get_search) : NULL;
    struct err err = {0};
    int n = 0;

    if (!list)
        answer_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
    else if (w && r->config->ops->object_match(r->config->core, r->who.name,
                                               (const char(*)[API_OBJECT_CAP])w->names, w->n_names,
                                               &w->shape, list, &n, &err))
        answer_refusal(r, &err, RETRY_S);
    else if (w)
        leave_matches(r, list, n);
    wanted_free(w);
    free(list);
}

/* ------------------------------------------------------------------------------- at once */

void handle_object_list(struct http_request *r)
{
    struct api_object *list = calloc(LIST_MAX, sizeof *list);
    struct err err = {0};
    struct json_writer w;
    char *buf = NULL;
    size_t cap;
    int n = 0;

    if (!list) {
        answer_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
        return;
    }
    if (r->config->ops->object_list(r->config->core, r->who.name, "", list, LIST_MAX, &n, &err)) {
        answer_problem_err(r, &err);
        free(list);
        return;
    }
    cap = (size_t)n * OBJECT_JSON_MAX + 64;
    buf = answer_room(r, cap);
    if (buf) {
        w = json_writer(buf, cap);
        json_open_map(&w, NULL);
        json_open_list(&w, "objects");
        for (int i = 0; i < n; i++) {
            json_open_map(&w, NULL);
            write_object(&w, &list[i]);
            json_close(&w);
        }
        json_close(&w);
        json_close(&w);
        answer_json(r, 200, &w);
    }
    free(list);
}

void handle_object_get(struct http_request *r)
{
    struct api_object object;
    struct err err = {0};

    if (r->config->ops->object_get(r->config->core, r->who.name, name_of(r), &object, &err))
        answer_problem_err(r, &err);
    else
        leave_object(r, 200, &object);
}

void handle_object_delete(struct http_request *r)
{
    struct err err = {0};

    if (r->config->ops->object_delete(r->config->core, r->who.name, name_of(r), &err))
        answer_problem_err(r, &err);
    else
        answer_empty(r, 204);
}
