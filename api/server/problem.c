#include "api/server/problem.h"

#include <stdio.h>

static const struct {
    int status;
    const char *name, *title;
} kinds[PROBLEM_KINDS] = {
    [PROBLEM_MALFORMED] = {400, "malformed", "The request cannot be understood"},
    [PROBLEM_UNAUTHORIZED] = {401, "unauthorized", "A valid token is required"},
    [PROBLEM_FORBIDDEN] = {403, "forbidden", "The token does not reach so far"},
    [PROBLEM_FOREIGN_ORIGIN] = {403, "foreign-origin", "Pages of this origin may not ask"},
    [PROBLEM_NOT_FOUND] = {404, "not-found", "No such thing"},
    [PROBLEM_METHOD] = {405, "method-not-allowed", "Not with this method"},
    [PROBLEM_NOT_ACCEPTABLE] = {406, "not-acceptable", "This route has no answer of that type"},
    [PROBLEM_CONFLICT] = {409, "conflict", "Not in this state"},
    [PROBLEM_TOO_LARGE] = {413, "too-large", "The body is too large"},
    [PROBLEM_URI_TOO_LONG] = {414, "uri-too-long", "The target is too long"},
    [PROBLEM_MEDIA_TYPE] = {415, "unsupported-media-type", "The body must be JSON"},
    [PROBLEM_MISDIRECTED] = {421, "misdirected", "This server is not that host"},
    [PROBLEM_FIELDS] = {422, "invalid-fields", "Fields are wrong"},
    [PROBLEM_UPGRADE] = {426, "upgrade-required", "WebSocket only"},
    [PROBLEM_INTERNAL] = {500, "internal", "The server failed"},
    [PROBLEM_UNSUPPORTED] = {501, "unsupported", "Not by this server"},
    [PROBLEM_BUSY] = {503, "busy", "No room now"},
    [PROBLEM_UNAVAILABLE] = {503, "unavailable", "The service cannot do this now"},
};

int problem_status(enum problem_kind kind)
{
    return kinds[kind].status;
}

enum problem_kind problem_of(int err_code)
{
    switch (err_code) {
    case ERR_INPUT:
    case ERR_LIMIT:
        return PROBLEM_FIELDS;
    case ERR_BUSY:
        return PROBLEM_BUSY;
    case ERR_STATE:
        return PROBLEM_CONFLICT;
    case ERR_NOT_FOUND:
        return PROBLEM_NOT_FOUND;
    case ERR_DENIED:
        return PROBLEM_FORBIDDEN;
    case ERR_UNSUPPORTED:
        return PROBLEM_UNSUPPORTED;
    case ERR_MEMORY:
    case ERR_DEVICE:
        return PROBLEM_UNAVAILABLE;
    }
    return PROBLEM_INTERNAL;
}

static void write_errors(struct json_writer *w, const char *detail,
                         const struct json_issues *issues, const char *parameter)
{
    int n = issues ? issues->n : 0;

    if (n == 0 && !parameter)
        return;
    json_open_list(w, "errors");
    for (int i = 0; i < n && i < JSON_ISSUES_MAX; i++) {
        json_open_map(w, NULL);
        json_put_text(w, "pointer", issues->at[i].pointer);
        json_put_text(w, "detail", issues->at[i].detail);
        json_close(w);
    }
    if (n == 0) {
        json_open_map(w, NULL);
        json_put_text(w, "parameter", parameter);
        json_put_text(w, "detail", detail);
        json_close(w);
    }
    json_close(w);
}

size_t problem_write(char *buf, size_t cap, enum problem_kind kind, const char *detail,
                     const struct json_issues *issues, const char *parameter)
{
    struct json_writer w = json_writer(buf, cap);
    char type[64];

    snprintf(type, sizeof type, "urn:recond:problem:%s", kinds[kind].name);
    json_open_map(&w, NULL);
    json_put_text(&w, "type", type);
    json_put_text(&w, "title", kinds[kind].title);
    json_put_i64(&w, "status", kinds[kind].status);
    if (detail[0])
        json_put_text(&w, "detail", detail);
    write_errors(&w, detail, issues, parameter);
    json_close(&w);
    if (w.bad && issues) /* a hostile key can be six times as long when it is escaped */
        return problem_write(buf, cap, kind, detail, NULL, NULL);
    return json_finish(&w);
}
