/*
 * http.c - the REST edge; the only file that knows libmicrohttpd
 *
 * One thread drives the library (MHD_run_wait), runs every handler, and closes connections that
 * stay beyond an absolute deadline (http_peers.h): the library's own time-out starts anew with
 * every byte.
 * Deadlines: header_timeout_s after accept or the last answer for the headers, as long again for
 *            the body; an answer has 30 s and a second more for each 64 KiB. A task has ten minutes
 *            for its body and as long for its answer to be made; there are HTTP_TASKS_MAX at
 *            most, HTTP_TASKS_OF_TOKEN of a token.
 */
#include "api/server/http.h"

#include "api/server/http_gate.h"
#include "api/server/http_peers.h"
#include "api/server/listen.h"
#include "api/server/pictures.h"
#include "api/server/routes.h"
#include "api/wipe.h"
#include "api/server/tls.h"

#include <microhttpd.h>
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#define TURN_MS 200
/* pause while a request is held: the library does not wake for a resumed one */
#define HELD_TURN_MS 5
#define ANSWER_MS 30000
#define ANSWER_BYTES_A_MS 64
#define ANSWER_UNKNOWN_MS 600000
#define TASK_S 600 /* time for a task's body to arrive, and again for its answer to be made */
#define TASK_RETRY_S 2
#define STOP_MS 2000
/* The library maps the memory of a connection that has more than 32 KiB, and unmaps it at the end.
 * Memory that it only frees would keep the token of a request that was never finished. */
#define CONNECTION_BYTES (33u << 10)
/* bytes of one piece of an answer that is made while the library sends it */
#define PIECE_BYTES (64u << 10)

struct http {
    struct api_config config;
    struct auth *auth;
    struct pictures *pictures;
    int n_held; /* requests whose connection is suspended */
    struct MHD_Daemon *mhd;
    pthread_t thread;
    bool thread_started;
    int port;
    struct http_peers peers;
    atomic_bool stop;
    atomic_uint_fast64_t beat;
    atomic_uint_fast64_t requests[6];
};

struct request {
    struct http_request pub;
    struct http *http;
    bool gated; /* the headers have been checked */
    bool held;  /* its connection is suspended */
};

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t now_ms(void)
{
    return now_us() / 1000;
}

/* ------------------------------------------------------------------------------- deadlines */

/* The library does not see the first bytes of a TLS session's connection. */
static void watch(const struct http *h, struct MHD_Connection *c, bool first)
{
    const union MHD_ConnectionInfo *info =
        h->config.tls ? MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;

    if (info && info->tls_session)
        tls_gnutls_watch(info->tls_session, first);
}

static void on_connection(void *cls, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    const union MHD_ConnectionInfo *info;
    struct http *h = cls;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context)
            http_peers_remove(&h->peers, *context);
        return;
    }
    info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    watch(h, c, true);
    *context = info ? http_peers_add(&h->peers, info->connect_fd, now_ms(),
                                     (int64_t)h->config.header_timeout_s * 1000)
                    : NULL;
    if (info && !*context) /* a connection without a deadline is not served */
        shutdown(info->connect_fd, SHUT_RDWR);
}

static struct http_peer *peer_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void set_deadline(struct MHD_Connection *c, int64_t ms, bool answering)
{
    struct http_peer *p = peer_of(c);

    if (p) {
        http_peers_allow(p, now_ms(), ms);
        p->answering = answering;
    }
}

/* ------------------------------------------------------------------------------- answers */

static ssize_t on_read(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct http_stream *b = cls;
    long n = b->read(b->ctx, pos, (uint8_t *)buf, max);

    if (n < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    return n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

static void on_read_end(void *cls)
{
    struct http_stream *b = cls;
    b->close(b->ctx);
    free(b);
}

/* The response that is returned owns the answer's body or stream. */
static struct MHD_Response *make_response(struct http_answer *a)
{
    struct MHD_Response *response;
    struct http_stream *b;

    if (a->still)
        return MHD_create_response_from_buffer(a->len, (void *)(uintptr_t)a->still,
                                               MHD_RESPMEM_PERSISTENT);
    if (!a->stream.read) {
        response = MHD_create_response_from_buffer_with_free_callback(a->len, a->body, wipe_free);
        if (response)
            a->body = NULL;
        return response;
    }
    b = malloc(sizeof *b);
    if (!b)
        return NULL;
    *b = a->stream;
    response = MHD_create_response_from_callback(a->stream.total == HTTP_UNKNOWN ? MHD_SIZE_UNKNOWN
                                                                                 : a->stream.total,
                                                 PIECE_BYTES, on_read, b, on_read_end);
    if (response)
        memset(&a->stream, 0, sizeof a->stream);
    else
        free(b);
    return response;
}

/* Tells whether the request changed something for the holder of its token. */
static bool changed(const struct http_request *r, int status)
{
    return r->route && status < 400 && strcmp(r->route->method, "GET") != 0;
}

static void write_log(const struct request *q, int status)
{
    const struct http_request *r = &q->pub;
    int64_t us = now_us() - r->begun_us;
    char fields[512], text[256], client[LISTEN_TEXT_CAP];
    struct json_writer w = json_writer(fields, sizeof fields);
    int level = status >= 500 ? LOG_WARNING : r->route && r->route->quiet ? LOG_DEBUG : LOG_INFO;

    if (!r->config->log)
        return;
    listen_text(client, r->client);
    json_open_map(&w, NULL);
    json_put_text(&w, "method", r->method);
    json_put_text(&w, "path", r->path);
    json_put_i64(&w, "status", status);
    json_put_i64(&w, "us", us);
    json_put_text(&w, "client", client);
    json_put_text(&w, "token", r->who.name);
    json_close(&w);
    snprintf(text, sizeof text, "%.8s %s %d in %lld us for %s%s%s", r->method,
             r->path[0] ? r->path : "?", status, (long long)us, client, r->who.name[0] ? ", " : "",
             r->who.name);
    if (r->config->audit && changed(r, status))
        r->config->audit(r->config->log_ctx, json_finish(&w) ? fields : "{}", text);
    else
        r->config->log(r->config->log_ctx, level, json_finish(&w) ? fields : "{}", text);
}

static enum MHD_Result answer(struct request *q, struct MHD_Connection *c)
{
    struct http_answer *a = &q->pub.answer;
    uint64_t total = a->stream.read ? a->stream.total : a->len;
    struct MHD_Response *response = make_response(a);
    enum MHD_Result ok;

    if (!response)
        return MHD_NO;
    if (a->type)
        MHD_add_response_header(response, "Content-Type", a->type);
    MHD_add_response_header(response, "Cache-Control", a->cached ? "no-cache" : "no-store");
    if (a->policy)
        MHD_add_response_header(response, "Content-Security-Policy", a->policy);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (int i = 0; i < a->n_headers; i++)
        MHD_add_response_header(response, a->header[i].name, a->header[i].value);
    if (peer_of(c) && peer_of(c)->spare)
        MHD_add_response_header(response, "Connection", "close");
    set_deadline(c,
                 total == HTTP_UNKNOWN ? ANSWER_UNKNOWN_MS
                                       : ANSWER_MS + (int64_t)(total / ANSWER_BYTES_A_MS),
                 true);
    ok = MHD_queue_response(c, (unsigned)a->status, response);
    MHD_destroy_response(response);
    atomic_fetch_add(&q->http->requests[a->status / 100 % 6], 1);
    write_log(q, a->status);
    return ok;
}

/* ------------------------------------------------------------------------------- requests */

static void request_resume(void *connection)
{
    MHD_resume_connection(connection);
}

/* A request begins here, with its raw target, before the library splits and decodes it. */
static void *on_target(void *cls, const char *uri, struct MHD_Connection *c)
{
    struct http *h = cls;
    const struct http_peer *p = peer_of(c);
    struct request *q = calloc(1, sizeof *q);

    watch(h, c, false);
    if (!q)
        return NULL;
    if (p)
        memcpy(q->pub.client, p->addr, sizeof q->pub.client);
    q->http = h;
    q->pub.config = &h->config;
    q->pub.auth = h->auth;
    q->pub.pictures = h->pictures;
    q->pub.resume = request_resume;
    q->pub.begun_us = now_us();
    q->pub.method = "";
    http_gate_target(
        &q->pub,
        uri); /* the gate may have refused it: the answer waits in q until the headers are in */
    return q;
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 size_t name_len, const char *value, size_t value_len)
{
    struct request *q = cls;

    (void)kind;
    if (q->http->config.behind_proxy && value && name_len == 15 &&
        strncasecmp(name, "X-Forwarded-For", 15) == 0)
        (void)listen_forwarded(value, q->pub.client);
    if (q->pub.answer.status == 0 && http_gate_header(&q->pub, name, name_len, value, value_len))
        return MHD_NO;
    return MHD_YES;
}

/* Called when the token has been checked, or never will be. The library hands out its own buffer
 * and reads no Authorization itself. An answer may take minutes, so the token is wiped here. */
static enum MHD_Result on_wipe(void *cls, enum MHD_ValueKind kind, const char *name,
                               size_t name_len, const char *value, size_t value_len)
{
    (void)cls;
    (void)kind;
    if (value && name_len == 13 && strncasecmp(name, "Authorization", 13) == 0)
        explicit_bzero((void *)(uintptr_t)value, value_len);
    return MHD_YES;
}

static size_t header_bytes(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

/* The request waits: on_request() is called again when the connection is resumed. */
static enum MHD_Result request_hold(struct request *q, struct MHD_Connection *c)
{
    set_deadline(c, q->pub.task ? TASK_S * 1000 : ANSWER_MS, true);
    q->held = true;
    q->http->n_held++;
    MHD_suspend_connection(c);
    answer_hold(&q->pub, c);
    return MHD_YES;
}

static bool task_run(void *request, void *room)
{
    struct http_request *r = request;

    (void)room;
    r->route->handle(r);
    return false;
}

static void task_abandon(void *request)
{
    struct err err;

    (void)!err_set(&err, ERR_BUSY, "the server is stopping");
    answer_refusal(request, &err, TASK_RETRY_S);
}

static void task_let_go(void *request)
{
    answer_left(request);
}

static const struct later_kind task_kind = {
    "objects",           task_run,        task_abandon,        NULL, task_let_go, HTTP_TASKS_MAX,
    HTTP_TASKS_OF_TOKEN, .is_long = true, .patience_s = TASK_S};

/* Resumes or ends the connection of a held request. */
static void let_go(struct request *q)
{
    q->http->n_held -= q->held;
    q->held = false;
}

/* Tells whether a request may be served. A connection beyond the limit may only be a probe; few
 * tasks may come at once, because their bodies are large. */
static bool has_place(struct MHD_Connection *c, struct request *q)
{
    const struct http_peer *p = peer_of(c);
    struct http_request *r = &q->pub;
    struct err err;

    if (p && p->spare && !r->route->probe) {
        answer_problem(r, PROBLEM_BUSY, "too many connections");
        return false;
    }
    if (!r->route->task)
        return true;
    if (r->config->ops->task_new(r->config->core, &r->task, &task_kind, r, r->who.name, &err))
        answer_refusal(r, &err, TASK_RETRY_S);
    return r->task != NULL;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_len, void **context)
{
    struct http *h = cls;
    struct request *q = *context;
    struct http_request *r;
    bool refused;

    (void)url; /* the library decoded it; the gate judges the raw target instead */
    if (!q)
        return MHD_NO;
    let_go(q);
    r = &q->pub;
    if (!q->gated) {
        q->gated = true;
        r->method = http_gate_method(method);
        r->header_bytes += strlen(method) + strlen(version) + 4;
        if (r->answer.status == 0)
            MHD_get_connection_values_n(c, MHD_HEADER_KIND, on_header, q);
        if (r->answer.status == 0)
            http_gate_size(r, header_bytes(c));
        refused = r->answer.status != 0 || http_gate_decide(r) || !has_place(c, q);
        MHD_get_connection_values_n(c, MHD_HEADER_KIND, on_wipe, NULL);
        r->authorization = NULL;
        if (refused && http_gate_has_body(r))
            return answer(q, c); /* before the body; the library then closes the connection */
        set_deadline(c, r->task ? TASK_S * 1000 : (int64_t)h->config.header_timeout_s * 1000,
                     false);
        return MHD_YES;
    }
    if (*data_len > 0) {
        if (http_gate_body(r, data, *data_len))
            return MHD_NO;
        *data_len = 0;
        return MHD_YES;
    }
    if (r->answer.status != 0)
        return answer(q, c);
    if (r->body_seen > http_gate_body_max(r))
        answer_problem(r, PROBLEM_TOO_LARGE, "at most %zu bytes", http_gate_body_max(r));
    else if (!r->task)
        r->route->handle(r);
    else if ((r->waits = true))
        r->config->ops->task_kick(r->task);
    return r->waits ? request_hold(q, c) : answer(q, c);
}

static void on_completed(void *cls, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode why)
{
    struct http *h = cls;
    struct request *q = *context;

    (void)why;
    *context = NULL;
    if (!q)
        return;
    let_go(q);
    if (q->pub.task)
        h->config.ops->task_free(&q->pub.task);
    answer_free(&q->pub.answer);
    free(q->pub.body);
    free(q);
    set_deadline(c, (int64_t)h->config.header_timeout_s * 1000, false);
}

/* ------------------------------------------------------------------------------- life */

static void http_sweep(struct http *h, bool idle_too)
{
    MHD_run_wait(h->mhd, h->n_held ? HELD_TURN_MS : TURN_MS);
    atomic_fetch_add(&h->beat, 1);
    if (idle_too || now_ms() - h->peers.swept_ms >= TURN_MS)
        http_peers_sweep(&h->peers, now_ms(), idle_too);
}

static void *http_run(void *arg)
{
    struct http *h = arg;
    MHD_socket listener;
    int64_t until;

    while (!atomic_load(&h->stop))
        http_sweep(h, false);
    listener = MHD_quiesce_daemon(h->mhd);
    if (listener != MHD_INVALID_SOCKET)
        close(listener);
    while (h->n_held) /* the library wants no connection suspended when it stops */
        http_sweep(h, false);
    until = now_ms() + STOP_MS;
    while (h->peers.first && now_ms() < until)
        http_sweep(h, true);
    MHD_stop_daemon(h->mhd);
    return NULL;
}

static struct MHD_Daemon *start_daemon(struct http *h, int fd)
{
    struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (char *)(uintptr_t)tls_gnutls_priorities},
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, tls_gnutls_callback()},
        {MHD_OPTION_END, 0, NULL}};
    /* Behind a proxy every connection has the proxy's address, so the proxy limits its clients. */
    int per_address = h->config.behind_proxy ? 0 : h->config.max_per_address;
    /* At its own limit the library accepts no more, and a probe would wait for ever. */
    int limit = h->config.max_connections + HTTP_PEERS_SPARE + HTTP_PEERS_CLOSING;

    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (h->config.tls ? MHD_USE_TLS : 0), 0, NULL, NULL,
        on_request, h, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)limit, MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)per_address,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        60u, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, on_target, h,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        h, MHD_OPTION_ARRAY, h->config.tls ? secure : secure + 2, MHD_OPTION_END);
}

int http_start(struct http **out, const struct api_config *config, struct auth *auth,
               struct err *err)
{
    struct http *h = calloc(1, sizeof *h);
    int rc, fd = -1;

    *out = NULL;
    if (!h)
        return err_set(err, ERR_MEMORY, "out of memory");
    h->config = *config;
    h->auth = auth;
    h->peers.places = config->max_connections;
    rc = listen_open(
        config->http_host, config->http_port, config->http_fd,
        listen_loopback_only(auth_open_to_all(auth), !config->tls, config->behind_proxy), &fd,
        &h->port, err);
    if (rc)
        goto out;
    rc = pictures_new(&h->pictures, &h->config, err);
    if (rc)
        goto out;
    h->mhd = start_daemon(h, fd);
    if (!h->mhd) {
        rc = err_set(err, ERR_IO, "libmicrohttpd does not start: %s", strerror(errno));
        goto out;
    }
    if (pthread_create(&h->thread, NULL, http_run, h) != 0) {
        MHD_stop_daemon(h->mhd);
        rc = err_set(err, ERR_IO, "cannot start the HTTP thread");
        goto out;
    }
    h->thread_started = true;
out:
    if (rc)
        http_stop(&h);
    *out = h;
    return rc;
}

void http_stop(struct http **h)
{
    if (!*h)
        return;
    if ((*h)->thread_started) {
        atomic_store(&(*h)->stop, true);
        pthread_join((*h)->thread, NULL);
    }
    pictures_free(&(*h)->pictures);
    free(*h);
    *h = NULL;
}

int http_port(const struct http *h)
{
    return h->port;
}

uint64_t http_beat(const struct http *h)
{
    return atomic_load(&h->beat);
}

void http_counts(const struct http *h, struct http_counts *counts)
{
    for (int i = 0; i < 6; i++)
        counts->requests[i] = atomic_load(&h->requests[i]);
    counts->connections = atomic_load(&h->peers.connections);
    counts->accepted = atomic_load(&h->peers.accepted);
    counts->overstayed = atomic_load(&h->peers.overstayed);
    counts->beyond = atomic_load(&h->peers.beyond);
}
