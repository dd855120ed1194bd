/*
 * http.h - one REST request as the gate, the routes and the handlers see it
 *
 * http.c alone knows libmicrohttpd. It fills a struct http_request, the gate (http_gate.c) refuses
 * what the library lets through, routes.c names the handler, and the handler leaves an answer
 * (http_answer.c). All of it runs on the edge's one thread.
 */
#ifndef RECOND_API_HTTP_H
#define RECOND_API_HTTP_H

#include "api/api.h"
#include "api/server/auth.h"
#include "api/server/problem.h"

#define HTTP_PATH_CAP 96
#define HTTP_TARGET_MAX 512 /* bytes of path and query */
#define HTTP_ANSWER_HEADERS 8
#define HTTP_UNKNOWN UINT64_MAX

struct routes_entry;

/* An answer that is made while it is sent. */
struct http_stream {
    /* Bytes from offset on into buf: their number, 0 at the end, -1 when the source is gone. */
    long (*read)(void *ctx, uint64_t offset, uint8_t *buf, size_t cap);
    void (*close)(void *ctx);
    void *ctx;
    uint64_t total; /* bytes, or HTTP_UNKNOWN */
};

struct http_answer {
    int status; /* 0 = none yet */
    const char *type;
    char *body; /* malloc()ed or NULL; the answer owns it, wipe_free()s it: it may name tokens */
    size_t len;
    struct http_stream stream; /* instead of body when read is set */
    int n_headers;
    struct {
        const char *name;
        char value[160];
    } header[HTTP_ANSWER_HEADERS];
};

/* What came; pointers are borrowed until the request is answered, "" or NULL = absent. */
struct http_request {
    const struct api_config *config;
    struct auth *auth;
    const char *method;
    char path[HTTP_PATH_CAP];
    const struct routes_entry *route;
    char id[API_ID_CAP]; /* {id} of the path */
    uint64_t cursor;
    int limit;
    bool raw; /* ?format=f32: numbers instead of a picture */
    const char *host, *origin, *authorization, *accept, *content_type, *if_none_match;
    const char *content_length, *transfer_encoding;
    struct auth_who who;
    char *body; /* [body_cap], body_len of it used */
    size_t body_len, body_cap, body_seen;
    size_t header_bytes; /* that the headers seen so far explain */
    int64_t begun_us;
    struct http_answer answer;
};

struct http_counts {
    uint64_t requests[6]; /* answered, by the first digit of the status */
    uint64_t connections, accepted, overstayed;
};
void http_counts(const struct http *h, struct http_counts *counts);

/* ------------------------------------------------------------------------------- the gate */

/* The method if it is one that routes may have, else "OTHER": a peer's text never reaches a log. */
const char *http_gate_method(const char *method);
/* The raw target, before the library decodes it: path and query into r, or a problem as the
 * answer. */
void http_gate_target(struct http_request *r, const char *raw);

/* Each returns 0, or -1 after it has left a problem as the answer. */
/* One header as it came. */
MUST_CHECK int http_gate_header(struct http_request *r, const char *name, size_t name_len,
                                const char *value, size_t value_len);
/* The library ends a value at its first NUL and says nothing, but counts the bytes of the whole
 * head: more of them than `Name: value` CRLF lines explain are a refusal (extra blanks too; no
 * client of note sends any). */
void http_gate_size(struct http_request *r, size_t bytes);
bool http_gate_has_body(const struct http_request *r);
/* All headers are in: route, host, origin, token, length and type of the body. */
MUST_CHECK int http_gate_decide(struct http_request *r);
/* Append a piece of the body; -1: over the limit by so much that the connection is not worth
 * keeping. */
MUST_CHECK int http_gate_body(struct http_request *r, const char *data, size_t len);

/* ------------------------------------------------------------------------------- answers */

void http_header(struct http_request *r, const char *name, const char *fmt, ...) ERR_PRINTF(3, 4);
void http_problem(struct http_request *r, enum problem_kind kind, const char *fmt, ...)
    ERR_PRINTF(3, 4);
void http_problem_fields(struct http_request *r, const struct json_issues *issues);
/* What the core, auth or proto said. */
void http_problem_err(struct http_request *r, const struct err *err);
void http_problem_parameter(struct http_request *r, const char *name, const char *detail);
/* Room for a body of cap bytes, or NULL after leaving a problem. */
char *http_room(struct http_request *r, size_t cap);
/* The room was filled: len bytes of type. */
void http_done(struct http_request *r, int status, const char *type, size_t len);
/* What w wrote into the room; 0 bytes = it did not fit, answered as an internal problem. */
void http_json(struct http_request *r, int status, struct json_writer *w);
void http_empty(struct http_request *r, int status);
void http_answer_free(struct http_answer *a);

#endif
