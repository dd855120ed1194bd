/*
 * answer.h - one REST request, and the answer that the gate or a handler leaves for it
 *
 * http.c fills a struct http_request, the gate (http_gate.h) refuses what the library lets through,
 * routes.c names the handler, and the handler leaves an answer. All of it runs on the edge's one
 * thread, but for answers that take long: then the request waits, its connection is suspended, and
 * nothing of it is touched until a thread of the pool (struct later_kind) has left the answer.
 */
#ifndef RECOND_API_ANSWER_H
#define RECOND_API_ANSWER_H

#include "api/server/auth.h"
#include "api/server/problem.h"

#include <stdatomic.h>

#define HTTP_PATH_CAP 96
#define HTTP_TARGET_MAX 512 /* bytes of path and query */
#define HTTP_ANSWER_HEADERS 12
#define HTTP_UNKNOWN UINT64_MAX

struct pictures;
struct routes_entry;

/* A body that is made while it is sent. */
struct http_stream {
    /* Writes bytes from offset on into buf. Returns their number, 0 at the end, -1 if the source is
     * gone. */
    long (*read)(void *ctx, uint64_t offset, uint8_t *buf, size_t cap);
    void (*close)(void *ctx);
    void *ctx;
    uint64_t total; /* bytes, or HTTP_UNKNOWN */
};

struct http_answer {
    int status; /* status; 0 = none yet */
    const char *type;
    /* malloc()ed or NULL; the answer owns it and frees it by wipe_free(), because it may name
     * tokens */
    char *body;
    size_t len;
    const char *still;         /* used in place of body: len bytes of static memory */
    char *policy;              /* Content-Security-Policy, malloc()ed or NULL */
    bool cached;               /* a cache may keep it, but must ask each time */
    struct http_stream stream; /* used in place of body if read is set */
    int n_headers;
    struct {
        const char *name;
        char value[160];
    } header[HTTP_ANSWER_HEADERS];
};

/* A request as it came; pointers are borrowed until it is answered, "" or NULL = absent. */
struct http_request {
    const struct api_config *config;
    struct auth *auth;
    struct pictures *pictures;
    const char *method;
    char path[HTTP_PATH_CAP];
    const struct routes_entry *route;
    char id[API_ID_CAP]; /* {id} of the path */
    uint32_t number;     /* {n} of the path */
    uint64_t cursor;
    int limit;
    bool raw;      /* ?format=f32: numbers in place of a picture */
    bool unplaced; /* ?unplaced=1: submaps without a place are included */
    const char *host, *origin, *authorization, *accept, *content_type, *if_none_match;
    const char *accept_encoding;
    const char *content_length, *transfer_encoding;
    struct auth_who who;
    uint8_t client[16]; /* client's address, of listen_peer() */
    char *body;         /* [body_cap] bytes, body_len of them used */
    size_t body_len, body_cap, body_seen;
    size_t header_bytes; /* bytes that the headers so far explain */
    int64_t begun_us;
    struct later_task *task;   /* index among the running tasks, if the route has a task */
    bool waits;                /* another thread leaves the answer */
    struct http_request *next; /* next request that waits for the same picture (pictures.c) */
    void (*resume)(void *connection); /* answer is there; any thread sets it */
    _Atomic(void *) held;             /* the connection, for answer.c */
    struct http_answer answer;
};

void answer_header(struct http_request *r, const char *name, const char *fmt, ...) ERR_PRINTF(3, 4);
void answer_problem(struct http_request *r, enum problem_kind kind, const char *fmt, ...)
    ERR_PRINTF(3, 4);
void answer_problem_fields(struct http_request *r, const struct json_issues *issues);
/* Answers with an error of the core, auth or proto. */
void answer_problem_err(struct http_request *r, const struct err *err);
void answer_problem_parameter(struct http_request *r, const char *name, const char *detail);
/* Makes room for a body of cap bytes; NULL after leaving a problem. */
char *answer_room(struct http_request *r, size_t cap);
/* Answers with the filled room: len bytes of type. */
void answer_done(struct http_request *r, int status, const char *type, size_t len);
/* Answers with the text of w in the room; if it did not fit, with an internal problem. */
void answer_json(struct http_request *r, int status, struct json_writer *w);
void answer_empty(struct http_request *r, int status);
/* answer_problem_err(); on ERR_BUSY the client may come again after so many seconds. */
void answer_refusal(struct http_request *r, const struct err *err, int retry_s);
/* Makes a request wait: its connection is suspended, and may be resumed from now on. */
void answer_hold(struct http_request *r, void *connection);
/* A waiting request has its answer. The request may be gone afterwards. */
void answer_left(struct http_request *r);
void answer_free(struct http_answer *a);

#endif
