#include "api/server/answer.h"

#include "api/wipe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void answer_free(struct http_answer *a)
{
    wipe_free(a->body);
    free(a->policy);
    if (a->stream.close)
        a->stream.close(a->stream.ctx);
    memset(a, 0, sizeof *a);
}

void answer_header(struct http_request *r, const char *name, const char *fmt, ...)
{
    struct http_answer *a = &r->answer;
    va_list args;

    if (a->n_headers == HTTP_ANSWER_HEADERS)
        return;
    a->header[a->n_headers].name = name;
    va_start(args, fmt);
    vsnprintf(a->header[a->n_headers].value, sizeof a->header[0].value, fmt, args);
    va_end(args);
    a->n_headers++;
}

char *answer_room(struct http_request *r, size_t cap)
{
    free(r->answer.body);
    r->answer.body = malloc(cap);
    if (!r->answer.body) {
        r->answer.status = 503; /* there is no memory for a problem document either */
        r->answer.len = 0;
    }
    return r->answer.body;
}

void answer_done(struct http_request *r, int status, const char *type, size_t len)
{
    r->answer.status = status;
    r->answer.type = type;
    r->answer.len = len;
}

void answer_json(struct http_request *r, int status, struct json_writer *w)
{
    size_t len = json_finish(w);

    if (len == 0)
        answer_problem(r, PROBLEM_INTERNAL, "the answer is too long");
    else
        answer_done(r, status, "application/json", len);
}

void answer_empty(struct http_request *r, int status)
{
    free(r->answer.body);
    r->answer.body = NULL;
    answer_done(r, status, NULL, 0);
}

void answer_refusal(struct http_request *r, const struct err *err, int retry_s)
{
    if (err->code == ERR_BUSY)
        answer_header(r, "Retry-After", "%d", retry_s);
    answer_problem_err(r, err);
}

/* Stands in for the connection of a request whose answer was there first. */
static char left;

void answer_hold(struct http_request *r, void *connection)
{
    if (atomic_exchange(&r->held, connection) == &left)
        r->resume(connection);
}

void answer_left(struct http_request *r)
{
    void (*resume)(void *connection) = r->resume;
    void *connection = atomic_exchange(&r->held, &left);

    if (connection)
        resume(connection);
}

static bool has_header(const struct http_answer *a, const char *name)
{
    for (int i = 0; i < a->n_headers; i++)
        if (strcmp(a->header[i].name, name) == 0)
            return true;
    return false;
}

static void problem_answer(struct http_request *r, enum problem_kind kind, const char *detail,
                           const struct json_issues *issues, const char *parameter)
{
    char *buf = answer_room(r, PROBLEM_MAX);

    if (!buf)
        return;
    answer_done(r, problem_status(kind), "application/problem+json",
                problem_write(buf, PROBLEM_MAX, kind, detail, issues, parameter));
    if (r->answer.status == 503 && !has_header(&r->answer, "Retry-After"))
        answer_header(r, "Retry-After", "5");
}

void answer_problem(struct http_request *r, enum problem_kind kind, const char *fmt, ...)
{
    char detail[ERR_TEXT_CAP];
    va_list args;

    va_start(args, fmt);
    vsnprintf(detail, sizeof detail, fmt, args);
    va_end(args);
    problem_answer(r, kind, detail, NULL, NULL);
}

void answer_problem_fields(struct http_request *r, const struct json_issues *issues)
{
    problem_answer(r, PROBLEM_FIELDS, "", issues, NULL);
}

void answer_problem_parameter(struct http_request *r, const char *name, const char *detail)
{
    problem_answer(r, PROBLEM_MALFORMED, detail, NULL, name);
}

void answer_problem_err(struct http_request *r, const struct err *err)
{
    enum problem_kind kind = problem_of(err->code);
    struct json_issues issues = {0};

    if (kind == PROBLEM_FIELDS && err->where[0] == '/') {
        issues.n = 1;
        snprintf(issues.at[0].pointer, sizeof issues.at[0].pointer, "%s", err->where);
        snprintf(issues.at[0].detail, sizeof issues.at[0].detail, "%.*s",
                 (int)sizeof issues.at[0].detail - 1, err->text);
    }
    /* The text of an internal error stays in the log: clients do not get it. */
    problem_answer(r, kind, kind == PROBLEM_INTERNAL ? "" : err->text, &issues, NULL);
}
