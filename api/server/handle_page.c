/* handle_page.c - a file of the page as an answer */
#include "api/server/page.h"
#include "api/server/routes.h"
#include "api/server/stream_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLICY_CAP 640

/* The policy allows no `unsafe-*` and no other origin: styles, scripts and workers are files of
 * their own. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
                             "img-src 'self' blob: data:; worker-src 'self'; "
                             "manifest-src 'self'; base-uri 'none'; form-action 'none'; "
                             "frame-ancestors 'none'; connect-src 'self' ";

/* Returns 0, or -1 after leaving a problem. */
static int leave_policy(struct http_request *r)
{
    char stream[STREAM_URL_CAP];

    r->answer.policy = malloc(POLICY_CAP);
    if (!r->answer.policy) {
        answer_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
        return -1;
    }
    stream_url_origin(stream, r);
    snprintf(r->answer.policy, POLICY_CAP, "%s%s", policy, stream);
    return 0;
}

void handle_page(struct http_request *r)
{
    const struct web_file *file = page_file(r->path);
    bool packed = page_takes_gzip(r->accept_encoding);
    char tag[64];

    if (!file) { /* the page was built without index.html */
        answer_problem(r, PROBLEM_NOT_FOUND, "%s", "");
        return;
    }
    if (leave_policy(r))
        return;
    snprintf(tag, sizeof tag, "\"%s%s\"", file->tag, packed ? "-gz" : "");
    r->answer.cached = true;
    answer_header(r, "ETag", "%s", tag);
    answer_header(r, "Vary", "Accept-Encoding");
    answer_header(r, "Referrer-Policy", "no-referrer");
    answer_header(r, "Cross-Origin-Opener-Policy", "same-origin");
    answer_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    answer_header(r, "Permissions-Policy",
                  "camera=(self), xr-spatial-tracking=(self), geolocation=(), microphone=()");
    if (r->if_none_match &&
        (strcmp(r->if_none_match, "*") == 0 || strstr(r->if_none_match, tag) != NULL)) {
        answer_empty(r, 304);
        return;
    }
    if (packed)
        answer_header(r, "Content-Encoding", "gzip");
    r->answer.still = packed ? file->packed : file->plain;
    answer_done(r, 200, file->type, packed ? file->packed_len : file->plain_len);
}
