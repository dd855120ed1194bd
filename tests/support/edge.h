/*
 * edge.h - both edges over the fake core on random loopback ports, and raw sockets to talk to them
 *
 * Nothing here is polite: requests are sent byte for byte as a test writes them.
 */
#pragma once

#include "api/server/http.h"
#include "api/server/ws.h"
#include "tests/support/fake_core.h"
#include "tests/support/fake_objects.h"
#include "tests/support/scratch.h"

/* Tokens of the file that edge_start() writes; EDGE_EXPIRED is there too, and was valid in
 * 2001. */
#define EDGE_ADMIN "edge-admin-token"
#define EDGE_INGEST "edge-ingest-token"
#define EDGE_VIEW "edge-view-token"
#define EDGE_EXPIRED "edge-expired-token"
#define EDGE_ORIGIN "https://app.example"

struct edge {
    struct fake_core *core;
    struct auth *auth;
    struct http *http;
    struct ws *ws;
    struct api_config config;
    char token_file[SCRATCH_CAP];
    char log[1 << 16]; /* every line that the edges wrote, as far as it fits */
    size_t log_len;
};

/* What tests set before edge_start() fills the rest: time-outs, limits, auth_mode. */
void edge_defaults(struct edge *e);
void edge_start(struct edge *e);
void edge_stop(struct edge *e);
/* Has an edge written a line that holds text? */
bool edge_logged(struct edge *e, const char *text);

struct edge_answer {
    int status; /* 0: the connection was closed without an answer */
    char head[4096];
    char *body; /* NUL-terminated, edge_answer_free() */
    size_t body_len;
};

int edge_connect(int port);
/* All of text; false if the peer has closed. */
bool edge_send(int fd, const void *data, size_t len);
/* One HTTP answer; head_only for answers to HEAD. */
struct edge_answer edge_read(int fd, bool head_only);
void edge_answer_free(struct edge_answer *a);
/* Value of a header of the answer, "" if it is absent; valid until the next call. */
const char *edge_header(const struct edge_answer *a, const char *name);

/* A whole request on a connection of its own; token and json may be NULL. */
struct edge_answer edge_request(struct edge *e, const char *method, const char *target,
                                const char *token, const char *json);
/* The same, text as it is. */
struct edge_answer edge_raw(struct edge *e, const char *text);

struct edge_session {
    char id[API_ID_CAP], ingest[32], view[32];
};
struct edge_session edge_session(struct edge *e, const char *json);

/* True when the other side closes within timeout_ms; bytes that come before are passed over. */
bool edge_closed(int fd, int timeout_ms);
