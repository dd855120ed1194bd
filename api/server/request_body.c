#include "api/server/request_body.h"

#define BODY_DEPTH_MAX 8

int request_body_parse(struct http_request *r, struct json **doc)
{
    struct err err = {0};

    *doc = NULL;
    if (r->body_len == 0)
        return 0;
    if (json_parse(doc, r->body, r->body_len, BODY_DEPTH_MAX, &err) == 0)
        return 0;
    if (err.code == ERR_MEMORY)
        answer_problem_err(r, &err);
    else
        answer_problem(r, PROBLEM_MALFORMED, "%s", err.text);
    return -1;
}

int request_body_empty(struct http_request *r)
{
    static const char *const none[] = {NULL};
    struct json_issues issues = {0};
    struct json_at at;
    struct json *doc;

    if (request_body_parse(r, &doc))
        return -1;
    if (doc) {
        at = json_at(doc, &issues);
        json_only(&at, none);
        json_free(&doc);
    }
    if (issues.n == 0)
        return 0;
    answer_problem_fields(r, &issues);
    return -1;
}
