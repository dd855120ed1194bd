/* handle_session.c - create, list, get, close, refine, delete sessions */
#include "api/server/request_body.h"
#include "api/server/routes.h"
#include "api/server/stream_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_JSON_MAX 8192 /* bytes of one session if every character of its texts is escaped */
#define LIST_MAX 100

/* ------------------------------------------------------------------------------- the resource */

static void write_counts(struct json_writer *w, const struct session_counts *c)
{
    json_open_map(w, "counts");
    json_put_u64(w, "received", c->received);
    json_put_u64(w, "used", c->used);
    json_put_u64(w, "dropped", c->dropped);
    json_put_u64(w, "refused", c->refused);
    json_put_u64(w, "queued", c->queued);
    json_put_u64(w, "again", c->again);
    json_put_u64(w, "keyframes", c->keyframes);
    json_put_u64(w, "bytes_in", c->bytes_in);
    json_put_u64(w, "bytes_out", c->bytes_out);
    json_put_u64(w, "blocks_out", c->blocks_out);
    json_put_u64(w, "points_out", c->points_out);
    json_close(w);
}

static void write_views(struct json_writer *w, const struct api_views *v)
{
    json_open_map(w, "views");
    json_put_text(w, "state", api_views_state_name(v->state));
    json_put_u64(w, "keyframes", v->keyframes);
    json_put_u64(w, "refined", v->refined);
    json_put_f32(w, "scale", v->scale);
    json_put_f32(w, "agreement", v->agreement);
    json_close(w);
}

static void write_scale(struct json_writer *w, const struct api_scale *s)
{
    json_open_map(w, "scale");
    json_put_f32(w, "last", s->last);
    json_put_f32(w, "sigma", s->sigma);
    json_put_f32(w, "median", s->median);
    json_put_f32(w, "median_sigma", s->median_sigma);
    json_close(w);
}

static void write_bundle(struct json_writer *w, const struct api_bundle *b)
{
    json_open_map(w, "bundle");
    json_put_text(w, "state", api_bundle_state_name(b->state));
    json_put_u64(w, "keyframes", b->keyframes);
    json_put_u64(w, "pairs", b->pairs);
    json_put_f32(w, "moved_m", b->moved_m);
    json_close(w);
}

/* Writes the sources in the order in which they appeared; freed places are used again. */
static void write_sources(struct json_writer *w, const struct session_info *s)
{
    json_open_list(w, "sources");
    for (int i = 0; i < API_SOURCES_MAX; i++) {
        const struct api_source *at = &s->sources[i];

        if (!at->name[0])
            continue;
        json_open_map(w, NULL);
        json_put_text(w, "name", at->name);
        if (at->any_seq)
            json_put_u64(w, "last_seq", at->last_seq);
        json_put_u64(w, "world_epoch", at->world_epoch);
        json_put_bool(w, "connected", at->connected);
        if (at->views.state != API_VIEWS_OFF)
            write_views(w, &at->views);
        json_close(w);
    }
    json_close(w);
}

static void write_position(struct json_writer *w, const struct frame_position *p)
{
    json_open_map(w, "position");
    json_put_degrees(w, "latitude", p->latitude);
    json_put_degrees(w, "longitude", p->longitude);
    json_put_f32(w, "altitude_m", p->altitude_m);
    json_put_f32(w, "accuracy_m", p->accuracy_m);
    json_close(w);
}

/* Writes the members of a session into an object that the caller opened. */
static void write_session(struct json_writer *w, const struct http_request *r,
                          const struct session_info *s)
{
    json_put_text(w, "id", s->id);
    json_put_text(w, "name", s->options.name);
    json_put_text(w, "owner", s->owner);
    json_put_text(w, "state", api_state_name(s->state));
    json_put_text(w, "device", s->device);
    if (s->fault[0])
        json_put_text(w, "fault", s->fault);
    if (s->damaged[0])
        json_put_text(w, "damaged", s->damaged);
    if (s->bad_pose)
        json_put_text(w, "bad_pose", s->bad_pose);
    if (s->options.pose_source == SESSION_POSE_LEARNED)
        json_put_text(w, "guessed", "path and scale: the poses follow from the pictures alone");
    json_put_time(w, "created", s->created_s);
    json_put_time(w, "changed", s->changed_s);
    stream_url_write(w, r, s->id);
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
    write_views(w, &s->views);
    if (s->options.pose_source == SESSION_POSE_LEARNED) {
        json_open_map(w, "tracks");
        json_put_text(w, "state", api_tracks_state_name(s->tracks));
        json_put_u64(w, "lost_frames", s->lost_frames);
        json_close(w);
    }
    if (s->scale.known)
        write_scale(w, &s->scale);
    if (s->bundle.state != API_BUNDLE_NONE)
        write_bundle(w, &s->bundle);
    json_put_u64(w, "memory_bytes", s->memory_bytes);
    json_open_map(w, "clients");
    json_put_u64(w, "ingest", s->ingest_clients);
    json_put_u64(w, "view", s->view_clients);
    json_close(w);
    write_sources(w, s);
    json_put_f32(w, "fps", s->fps);
    json_put_f32(w, "latency_ms", s->latency_ms);
    if (s->has_position)
        write_position(w, &s->position);
    write_counts(w, &s->counts);
    json_open_map(w, "options");
    session_options_write(w, &s->options, SESSION_OPTIONS_SHOWN);
    json_close(w);
}

static void leave_session(struct http_request *r, int status, const struct session_info *info,
                          const char *ingest, const char *view)
{
    char *buf = answer_room(r, SESSION_JSON_MAX);
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
    answer_json(r, status, &w);
}

/* ------------------------------------------------------------------------------- routes */

/* Makes both tokens of a new session. They are on the disk before the answer tells them. */
static int make_tokens(struct http_request *r, const struct session_info *s, char ingest[TOKEN_CAP],
                       char view[TOKEN_CAP], struct api_token kept[2], struct err *err)
{
    int rc = auth_issue(r->auth, s->id, AUTH_INGEST, s->owner, ingest, &kept[0], err);

    if (rc == 0)
        rc = auth_issue(r->auth, s->id, AUTH_VIEW, s->owner, view, &kept[1], err);
    if (rc == 0)
        rc = r->config->ops->tokens_keep(r->config->core, s->id, kept, 2, err);
    return rc;
}

static void create(struct http_request *r, const struct session_options *options)
{
    const struct core_ops *ops = r->config->ops;
    struct session_info info = {0};
    struct err err = {0}, ignored;
    char ingest[TOKEN_CAP] = "", view[TOKEN_CAP] = "";
    struct api_token kept[2];
    int retry_after_s = 0;

    if (ops->session_create(r->config->core, options, r->who.name, &info, &retry_after_s, &err)) {
        if (err.code == ERR_NOT_FOUND)
            err.code = ERR_INPUT; /* 404 is for routes; the pointer says which model is missing */
        if (err.code == ERR_BUSY && retry_after_s > 0)
            answer_header(r, "Retry-After", "%d", retry_after_s);
        answer_problem_err(r, &err);
        return;
    }
    if (make_tokens(r, &info, ingest, view, kept, &err)) {
        (void)!ops->session_delete(r->config->core, info.id, &ignored);
        auth_forget_session(r->auth, info.id); /* the client has not been told them */
        answer_problem_err(r, &err);
    } else {
        answer_header(r, "Location", "/v1/sessions/%s", info.id);
        leave_session(r, 201, &info, ingest, view);
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

    if (request_body_parse(r, &doc))
        return;
    if (doc) {
        at = json_at(doc, &issues);
        session_options_read(&options, &at, SESSION_OPTIONS_ASKED);
        json_free(&doc);
    }
    if (issues.n > 0)
        answer_problem_fields(r, &issues);
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
    char *buf = answer_room(r, cap), next[24];
    int n = 0;

    if (!infos || !buf)
        goto out;
    if (r->config->ops->session_list(r->config->core, infos, r->limit, &n, &cursor, &err)) {
        answer_problem_err(r, &err);
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
    answer_json(r, 200, &w);
out:
    if (r->answer.status == 0)
        answer_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
    free(infos);
}

void handle_session_get(struct http_request *r)
{
    struct session_info info = {0};
    struct err err = {0};

    if (r->config->ops->session_get(r->config->core, r->id, &info, &err))
        answer_problem_err(r, &err);
    else
        leave_session(r, 200, &info, NULL, NULL);
}

void handle_session_delete(struct http_request *r)
{
    struct err err = {0};

    if (r->config->ops->session_delete(r->config->core, r->id, &err)) {
        answer_problem_err(r, &err);
        return;
    }
    auth_forget_session(r->auth, r->id);
    answer_empty(r, 204);
}

void handle_session_close(struct http_request *r)
{
    struct session_info info = {0};
    struct err err = {0};

    if (request_body_empty(r))
        return;
    if (r->config->ops->session_close(r->config->core, r->id, &err) ||
        r->config->ops->session_get(r->config->core, r->id, &info, &err))
        answer_problem_err(r, &err);
    else
        leave_session(r, 202, &info, NULL, NULL);
}

void handle_session_refine(struct http_request *r)
{
    struct session_info info = {0};
    struct err err = {0};

    if (request_body_empty(r))
        return;
    if (r->config->ops->session_refine(r->config->core, r->id, &err) ||
        r->config->ops->session_get(r->config->core, r->id, &info, &err))
        answer_problem_err(r, &err);
    else
        leave_session(r, 202, &info, NULL, NULL);
}

void handle_session_kick(struct http_request *r)
{
    struct err err = {0};

    if (request_body_empty(r))
        return;
    if (r->config->ops->session_kick(r->config->core, r->id, &err))
        answer_problem_err(r, &err);
    else
        answer_empty(r, 204);
}

/* Issues new tokens. The old ones are void from then on, and their streams end. */
void handle_session_tokens(struct http_request *r)
{
    char ingest[TOKEN_CAP] = "", view[TOKEN_CAP] = "";
    struct session_info info = {0};
    struct api_token kept[2];
    struct err err = {0};

    if (request_body_empty(r))
        return;
    if (r->config->ops->session_get(r->config->core, r->id, &info, &err) ||
        make_tokens(r, &info, ingest, view, kept, &err)) {
        answer_problem_err(r, &err);
    } else {
        auth_keep_only(r->auth, r->id, kept, 2);
        leave_session(r, 200, &info, ingest, view);
    }
    explicit_bzero(ingest, sizeof ingest);
    explicit_bzero(view, sizeof view);
}
