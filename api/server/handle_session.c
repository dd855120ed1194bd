/* handle_session.c - create, list, get, finalize, delete sessions */
#include "api/server/handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_DEPTH_MAX 8
#define SESSION_JSON_MAX 6144 /* bytes of one session, every text escaped at its worst */
#define LIST_MAX 100

static const char *const pose_sources[] = {"device", "learned", NULL};
static const char *const journals[] = {"off", "async", "sync", NULL}; /* SESSION_JOURNAL_OFF... */
static const char *const modes[] = {"live", "lossless", NULL};        /* SESSION_LIVE... */

/* ------------------------------------------------------------------------------- the body */

static void read_camera(const struct json_at *at, struct session_options *o)
{
    static const char *const keys[] = {"fx", "fy", "cx", "cy", "width", "height", NULL};
    struct json_at camera;

    if (!json_get_map(at, "camera", &camera))
        return;
    json_only(&camera, keys);
    for (int i = 0; keys[i]; i++)
        json_require(&camera, keys[i]);
    json_get_f32(&camera, "fx", &o->K.fx, 1, 1e5);
    json_get_f32(&camera, "fy", &o->K.fy, 1, 1e5);
    json_get_f32(&camera, "cx", &o->K.cx, -1e5, 1e5);
    json_get_f32(&camera, "cy", &o->K.cy, -1e5, 1e5);
    json_get_int(&camera, "width", &o->camera_w, 16, FRAME_SIDE_MAX);
    json_get_int(&camera, "height", &o->camera_h, 16, FRAME_SIDE_MAX);
    o->has_camera = true;
}

static void read_net(const struct json_at *at, struct session_options *o)
{
    static const char *const keys[] = {"width", "height", NULL};
    struct json_at net;

    if (!json_get_map(at, "net", &net))
        return;
    json_only(&net, keys);
    json_require(&net, "width");
    json_require(&net, "height");
    json_get_int(&net, "width", &o->net_w, 32, 2048);
    json_get_int(&net, "height", &o->net_h, 32, 2048);
}

static void read_options(const struct json_at *at, struct session_options *o)
{
    static const char *const keys[] = {
        "name",    "depth_model", "motion_model", "pose_source", "camera",      "net",
        "step_m",  "max_points",  "keyframes",    "min_depth_m", "max_depth_m", "retention_s",
        "preview", "journal",     "record",       "mode",        "fps",         NULL};
    int source = SESSION_POSE_DEVICE, choice;
    uint64_t max_points = 0;

    json_only(at, keys);
    json_get_text(at, "name", o->name, sizeof o->name);
    json_get_text(at, "depth_model", o->depth_model, sizeof o->depth_model);
    json_get_text(at, "motion_model", o->motion_model, sizeof o->motion_model);
    json_get_choice(at, "pose_source", &source, pose_sources);
    o->pose_source = (enum session_pose_source)source;
    read_camera(at, o);
    read_net(at, o);
    json_get_f32(at, "step_m", &o->step_m, 0.0005, 0.1);
    json_get_u64(at, "max_points", &max_points, 1000, 100000000);
    o->max_points = (uint32_t)max_points;
    json_get_int(at, "keyframes", &o->keyframes, 2, 9);
    json_get_f32(at, "min_depth_m", &o->min_depth_m, 0.01, 1000);
    json_get_f32(at, "max_depth_m", &o->max_depth_m, 0.02, 1000);
    json_get_int(at, "retention_s", &o->retention_s, -1, 365 * 86400);
    json_get_bool(at, "preview", &o->preview);
    if (json_get_choice(at, "journal", &choice, journals))
        o->journal = (enum session_journal)(SESSION_JOURNAL_OFF + choice);
    json_get_bool(at, "record", &o->record);
    if (json_get_choice(at, "mode", &choice, modes))
        o->mode = (enum session_mode)(SESSION_LIVE + choice);
    json_get_f32(at, "fps", &o->fps, 0.1, 1000);
    if (o->min_depth_m > 0 && o->max_depth_m > 0 && o->max_depth_m <= o->min_depth_m)
        json_note(at, "max_depth_m", "must be more than min_depth_m");
}

/* The body as JSON, NULL when there is none. Returns 0, or -1 after leaving a problem. */
static int read_body(struct http_request *r, struct json **doc)
{
    struct err err = {0};

    *doc = NULL;
    if (r->body_len == 0)
        return 0;
    if (json_parse(doc, r->body, r->body_len, BODY_DEPTH_MAX, &err) == 0)
        return 0;
    if (err.code == ERR_MEMORY)
        http_problem_err(r, &err);
    else
        http_problem(r, PROBLEM_MALFORMED, "%s", err.text);
    return -1;
}

/* ------------------------------------------------------------------------------- the resource */

static void write_options(struct json_writer *w, const struct session_options *o)
{
    json_open_map(w, "options");
    json_put_text(w, "depth_model", o->depth_model);
    json_put_text(w, "motion_model", o->motion_model);
    json_put_text(w, "pose_source", pose_sources[o->pose_source]);
    if (o->has_camera) {
        json_open_map(w, "camera");
        json_put_f32(w, "fx", o->K.fx);
        json_put_f32(w, "fy", o->K.fy);
        json_put_f32(w, "cx", o->K.cx);
        json_put_f32(w, "cy", o->K.cy);
        json_put_i64(w, "width", o->camera_w);
        json_put_i64(w, "height", o->camera_h);
        json_close(w);
    }
    json_open_map(w, "net");
    json_put_i64(w, "width", o->net_w);
    json_put_i64(w, "height", o->net_h);
    json_close(w);
    json_put_f32(w, "step_m", o->step_m);
    json_put_u64(w, "max_points", o->max_points);
    json_put_i64(w, "keyframes", o->keyframes);
    json_put_f32(w, "min_depth_m", o->min_depth_m);
    json_put_f32(w, "max_depth_m", o->max_depth_m);
    json_put_i64(w, "retention_s", o->retention_s);
    json_put_bool(w, "preview", o->preview);
    json_put_text(w, "journal",
                  o->journal > 0 ? journals[o->journal - SESSION_JOURNAL_OFF] : "off");
    json_put_bool(w, "record", o->record);
    json_put_text(w, "mode", o->mode > 0 ? modes[o->mode - SESSION_LIVE] : "live");
    json_put_f32(w, "fps", o->fps);
    json_close(w);
}

static void write_counts(struct json_writer *w, const struct session_counts *c)
{
    json_open_map(w, "counts");
    json_put_u64(w, "received", c->received);
    json_put_u64(w, "used", c->used);
    json_put_u64(w, "dropped", c->dropped);
    json_put_u64(w, "refused", c->refused);
    json_put_u64(w, "queued", c->queued);
    json_put_u64(w, "keyframes", c->keyframes);
    json_put_u64(w, "bytes_in", c->bytes_in);
    json_put_u64(w, "bytes_out", c->bytes_out);
    json_put_u64(w, "blocks_out", c->blocks_out);
    json_put_u64(w, "points_out", c->points_out);
    json_close(w);
}

/* ws://host:port (or wss://) /v1/sessions/ID/stream; where no public name is configured, the host
 * that the client used. */
static void write_stream_url(struct json_writer *w, const struct http_request *r, const char *id)
{
    const char *prefix = r->config->public_ws_url, *host = r->host;
    const char *scheme = r->config->tls ? "wss" : "ws";
    char url[256];
    size_t n;

    if (prefix && prefix[0]) {
        n = strlen(prefix);
        snprintf(url, sizeof url, "%.*s/v1/sessions/%s/stream",
                 (int)(prefix[n - 1] == '/' ? n - 1 : n), prefix, id);
    } else if (host && host[0]) {
        n = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
        snprintf(url, sizeof url, "%s://%.*s:%d/v1/sessions/%s/stream", scheme,
                 n < 128 ? (int)n : 128, host, r->config->ws_port, id);
    } else {
        bool v6 = strchr(r->config->ws_host, ':') != NULL;
        snprintf(url, sizeof url, "%s://%s%s%s:%d/v1/sessions/%s/stream", scheme, v6 ? "[" : "",
                 r->config->ws_host, v6 ? "]" : "", r->config->ws_port, id);
    }
    json_put_text(w, "stream_url", url);
}

/* The members of a session; the map around them is the caller's. */
static void write_session(struct json_writer *w, const struct http_request *r,
                          const struct session_info *s)
{
    json_put_text(w, "id", s->id);
    json_put_text(w, "name", s->options.name);
    json_put_text(w, "state", api_state_name(s->state));
    json_put_text(w, "device", s->device);
    if (s->fault[0])
        json_put_text(w, "fault", s->fault);
    if (s->damaged[0])
        json_put_text(w, "damaged", s->damaged);
    json_put_time(w, "created", s->created_s);
    json_put_time(w, "changed", s->changed_s);
    write_stream_url(w, r, s->id);
    json_put_u64(w, "epoch", s->epoch);
    json_put_u64(w, "revision", s->revision);
    json_put_u64(w, "points", s->points);
    json_put_hex64(w, "hash", s->hash);
    json_put_u64(w, "blocks", s->blocks);
    json_put_u64(w, "keyframes_kept", s->keyframes_kept);
    json_open_map(w, "model");
    json_put_u64(w, "points", s->model_points);
    json_put_u64(w, "stable", s->model_stable);
    json_close(w);
    json_put_u64(w, "memory_bytes", s->memory_bytes);
    json_open_map(w, "clients");
    json_put_u64(w, "ingest", s->ingest_clients);
    json_put_u64(w, "view", s->view_clients);
    json_close(w);
    json_put_f32(w, "fps", s->fps);
    json_put_f32(w, "latency_ms", s->latency_ms);
    write_counts(w, &s->counts);
    write_options(w, &s->options);
}

static void answer_session(struct http_request *r, int status, const struct session_info *info,
                           const char *ingest, const char *view)
{
    char *buf = http_room(r, SESSION_JSON_MAX);
    struct json_writer w;

    if (!buf)
        return;
    w = json_writer(buf, SESSION_JSON_MAX);
    json_open_map(&w, NULL);
    write_session(&w, r, info);
    if (ingest) {
        json_open_map(&w, "tokens");
        json_put_text(&w, "ingest", ingest);
        json_put_text(&w, "view", view);
        json_close(&w);
    }
    json_close(&w);
    http_json(r, status, &w);
}

/* ------------------------------------------------------------------------------- routes */

/* Both tokens of a fresh session, kept as long as the session is before anybody is told them. */
static int make_tokens(struct http_request *r, const char *id, char ingest[TOKEN_CAP],
                       char view[TOKEN_CAP], struct err *err)
{
    struct api_token kept[2];
    int rc = auth_issue(r->auth, id, AUTH_INGEST, ingest, &kept[0], err);

    if (rc == 0)
        rc = auth_issue(r->auth, id, AUTH_VIEW, view, &kept[1], err);
    if (rc == 0)
        rc = r->config->ops->tokens_keep(r->config->core, id, kept, 2, err);
    return rc;
}

static void create(struct http_request *r, const struct session_options *options)
{
    const struct core_ops *ops = r->config->ops;
    struct session_info info = {0};
    struct err err = {0}, ignored;
    char ingest[TOKEN_CAP] = "", view[TOKEN_CAP] = "";
    int retry_after_s = 0;

    if (ops->session_create(r->config->core, options, &info, &retry_after_s, &err)) {
        if (err.code == ERR_NOT_FOUND)
            err.code =
                ERR_INPUT; /* the model is not found, not this route: the pointer says which */
        if (err.code == ERR_BUSY && retry_after_s > 0)
            http_header(r, "Retry-After", "%d", retry_after_s);
        http_problem_err(r, &err);
        return;
    }
    if (make_tokens(r, info.id, ingest, view, &err)) {
        (void)!ops->session_delete(r->config->core, info.id, &ignored);
        auth_forget_session(r->auth, info.id); /* nobody was told them */
        http_problem_err(r, &err);
    } else {
        http_header(r, "Location", "/v1/sessions/%s", info.id);
        answer_session(r, 201, &info, ingest, view);
    }
    explicit_bzero(ingest, sizeof ingest);
    explicit_bzero(view, sizeof view);
}

void handle_session_create(struct http_request *r)
{
    struct session_options options = {0};
    struct json_issues issues = {0};
    struct json *doc;
    struct json_at at;

    if (read_body(r, &doc))
        return;
    if (doc) {
        at = json_at(doc, &issues);
        read_options(&at, &options);
        json_free(&doc);
    }
    if (issues.n > 0)
        http_problem_fields(r, &issues);
    else
        create(r, &options);
}

void handle_session_list(struct http_request *r)
{
    struct session_info *infos = calloc((size_t)r->limit, sizeof *infos);
    size_t cap = (size_t)r->limit * SESSION_JSON_MAX + 128;
    uint64_t cursor = r->cursor;
    struct json_writer w;
    struct err err = {0};
    char *buf = http_room(r, cap), next[24];
    int n = 0;

    if (!infos || !buf)
        goto out;
    if (r->config->ops->session_list(r->config->core, infos, r->limit, &n, &cursor, &err)) {
        http_problem_err(r, &err);
        goto out;
    }
    w = json_writer(buf, cap);
    json_open_map(&w, NULL);
    json_open_list(&w, "sessions");
    for (int i = 0; i < n; i++) {
        json_open_map(&w, NULL);
        write_session(&w, r, &infos[i]);
        json_close(&w);
    }
    json_close(&w);
    if (n == r->limit) {
        snprintf(next, sizeof next, "%llu", (unsigned long long)cursor);
        json_put_text(&w, "next", next);
    }
    json_close(&w);
    http_json(r, 200, &w);
out:
    if (r->answer.status == 0)
        http_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
    free(infos);
}

void handle_session_get(struct http_request *r)
{
    struct session_info info = {0};
    struct err err = {0};

    if (r->config->ops->session_get(r->config->core, r->id, &info, &err))
        http_problem_err(r, &err);
    else
        answer_session(r, 200, &info, NULL, NULL);
}

void handle_session_delete(struct http_request *r)
{
    struct err err = {0};

    if (r->config->ops->session_delete(r->config->core, r->id, &err)) {
        http_problem_err(r, &err);
        return;
    }
    auth_forget_session(r->auth, r->id);
    http_empty(r, 204);
}

void handle_session_finalize(struct http_request *r)
{
    static const char *const none[] = {NULL};
    struct json_issues issues = {0};
    struct session_info info = {0};
    struct err err = {0};
    struct json_at at;
    struct json *doc;

    if (read_body(r, &doc))
        return;
    if (doc) {
        at = json_at(doc, &issues);
        json_only(&at, none);
        json_free(&doc);
    }
    if (issues.n > 0)
        http_problem_fields(r, &issues);
    else if (r->config->ops->session_finalize(r->config->core, r->id, &err) ||
             r->config->ops->session_get(r->config->core, r->id, &info, &err))
        http_problem_err(r, &err);
    else
        answer_session(r, 202, &info, NULL, NULL);
}
