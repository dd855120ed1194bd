#include "daemon/edges.h"

#include "api/server/tls.h"
#include "daemon/clock.h"
#include "daemon/descriptors.h"
#include "daemon/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ORIGINS_MAX 16
#define LIVES 2 /* threads of the edges that the watchdog checks */

struct thread_life {
    uint64_t beat, alive_us; /* the last count, and when it changed */
};

struct edges {
    struct config config;
    struct core *core;
    struct auth *auth;
    struct tls *tls; /* NULL = plain text */
    struct http *http;
    struct ws *ws;
    char origin_text[CONFIG_TEXT_CAP];
    const char *origins[ORIGINS_MAX + 1];
    struct thread_life lives[LIVES];
};

static void on_wake(void *edge, void *cookie)
{
    ws_wake(((struct edges *)edge)->ws, cookie);
}

static void on_session_gone(void *edge, const char *id)
{
    auth_forget_session(((struct edges *)edge)->auth, id);
}

static size_t on_metrics(void *edge, char *buf, size_t cap)
{
    const struct edges *e = edge;

    return e->http ? edges_metrics(e->http, e->ws, buf, cap) : 0;
}

size_t edges_metrics(const struct http *http, const struct ws *ws, char *buf, size_t cap)
{
    struct metrics_text t = {.buf = buf, .cap = cap};
    struct http_counts h;
    struct ws_counts w;

    http_counts(http, &h);
    ws_counts(ws, &w);
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } rows[] = {
        {"recond_http_connections", "gauge", "REST connections open", h.connections},
        {"recond_http_accepted_total", "counter", "REST connections accepted", h.accepted},
        {"recond_http_overstayed_total", "counter", "REST connections closed at their deadline",
         h.overstayed},
        {"recond_http_beyond_limit_total", "counter",
         "REST connections that came when all places were taken", h.beyond},
        {"recond_ws_connections", "gauge", "WebSocket connections open", w.connections},
        {"recond_ws_accepted_total", "counter", "WebSocket connections accepted", w.accepted},
        {"recond_ws_refused_total", "counter", "WebSocket handshakes refused", w.refused},
        {"recond_ws_overstayed_total", "counter", "WebSocket connections closed at a deadline",
         w.overstayed},
        {"recond_ws_broken_total", "counter",
         "WebSocket connections closed for breaking the protocol", w.broken},
        {"recond_ws_messages_in_total", "counter", "WebSocket messages received", w.messages_in},
        {"recond_ws_messages_out_total", "counter", "WebSocket messages sent", w.messages_out},
        {"recond_ws_bytes_in_total", "counter", "Payload bytes received", w.bytes_in},
        {"recond_ws_bytes_out_total", "counter", "Payload bytes sent", w.bytes_out},
    };

    metrics_family(&t, "recond_http_requests_total", "counter",
                   "Requests answered, by class of status");
    for (int i = 2; i < 6; i++)
        metrics_print(&t, "recond_http_requests_total{class=\"%dxx\"} %llu\n", i,
                      (unsigned long long)h.requests[i]);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        metrics_value(&t, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    return t.len;
}

static int split_origins(struct edges *e, struct err *err)
{
    char *save = NULL;
    int n = 0;

    memcpy(e->origin_text, e->config.auth.origins, sizeof(e->origin_text));
    for (char *o = strtok_r(e->origin_text, " ", &save); o; o = strtok_r(NULL, " ", &save)) {
        if (n == ORIGINS_MAX)
            return err_at(err, ERR_LIMIT, "auth.origins", "names more than %d origins",
                          ORIGINS_MAX);
        e->origins[n++] = o;
    }
    return 0;
}

static int open_tls(struct edges *e, struct err *err)
{
    const char *cert = e->config.tls.cert_file;

    return cert[0] ? tls_open(&e->tls, cert, e->config.tls.key_file, err) : 0;
}

int edges_check(const struct config *config, struct err *err)
{
    const struct api_config api = {
        .auth_mode = config->auth.mode == CONFIG_AUTH_TOKEN ? API_AUTH_TOKEN : API_AUTH_NONE,
        .token_file = config->auth.token_file};
    struct edges e = {.config = *config};
    int rc = split_origins(&e, err);

    if (rc == 0)
        rc = open_tls(&e, err);
    if (rc == 0)
        rc = auth_open(&e.auth, &api, err);
    if (rc == 0)
        auth_close(&e.auth);
    tls_close(&e.tls);
    return rc;
}

static void fill_config(struct api_config *a, const struct edges *e, struct core *core, int http_fd,
                        int stream_fd)
{
    const struct config *c = &e->config;

    *a = (struct api_config){
        .ops = &core_ops,
        .core = core,
        .http_host = c->http.listen,
        .ws_host = c->stream.listen,
        .http_port = c->http.port,
        .ws_port = c->stream.port,
        .http_fd = http_fd,
        .ws_fd = stream_fd,
        .public_ws_url = c->stream.public_url,
        .auth_mode = c->auth.mode == CONFIG_AUTH_TOKEN ? API_AUTH_TOKEN : API_AUTH_NONE,
        .token_file = c->auth.token_file,
        .quota = c->quota,
        .origins = e->origins,
        .max_body_bytes = c->http.max_body_bytes,
        .max_task_bytes = c->objects.request_bytes,
        .max_message_bytes = c->limits.max_frame_bytes,
        .max_connections = c->limits.connections,
        .max_per_address = c->limits.per_address,
        .header_timeout_s = c->http.header_timeout_s,
        .message_timeout_s = c->stream.message_timeout_s,
        .ping_s = c->stream.ping_s,
        .hangup_s = c->stream.hangup_s,
        .tls = e->tls,
        .behind_proxy = c->service.behind_proxy,
        .version = RECOND_VERSION,
        .log = log_edge,
        .audit = log_audit,
    };
}

/* A session whose token is lost stays reachable with the tokens of the token file. */
static void on_kept_token(void *ctx, const struct api_token *kept)
{
    struct edges *e = ctx;
    struct err err = {0};

    if (auth_adopt(e->auth, kept, &err))
        LOG_AT(LOG_WARNING, "a token of session %s is void: %s", kept->session, err.text);
}

/* The libraries size tables by the limit, so we raise it before they start. */
static void want_descriptors(const struct config *c)
{
    unsigned long long needed = descriptors_needed(c), have = descriptors_raise(needed);

    if (have < needed)
        LOG_AT(LOG_WARNING,
               "%llu file descriptors are allowed, limits.connections = %d and limits.sessions = "
               "%d may need %llu: connections beyond them are turned away",
               have, c->limits.connections, c->limits.sessions, needed);
}

int edges_start(struct edges **edges, const struct config *config, struct core *core, int http_fd,
                int stream_fd, struct err *err)
{
    static const struct edge_ops ops = {on_wake, on_session_gone};
    struct edges *e = calloc(1, sizeof(*e));
    struct api_config a;
    int rc;

    *edges = e;
    if (!e)
        return err_set(err, ERR_MEMORY, "no memory for the servers");
    e->config = *config;
    e->core = core;
    for (int i = 0; i < LIVES; i++)
        e->lives[i].alive_us = clock_us();
    want_descriptors(config);
    rc = split_origins(e, err);
    if (rc == 0)
        rc = open_tls(e, err);
    fill_config(&a, e, core, http_fd, stream_fd);
    core_set_edges(core, &ops, e, on_metrics);
    if (rc == 0)
        rc = auth_open(&e->auth, &a, err);
    if (rc == 0)
        auth_tell_tenants(e->auth, &core_ops, core);
    if (rc == 0)
        a.ops->tokens_each(core, on_kept_token, e);
    if (rc == 0)
        rc = ws_start(&e->ws, &a, e->auth, err);
    if (rc == 0) {
        a.ws_port = ws_port(e->ws); /* stream URLs name the port that was bound */
        rc = http_start(&e->http, &a, e->auth, err);
    }
    if (rc)
        edges_stop(edges);
    return rc;
}

void edges_drain(struct edges *e)
{
    ws_drain(e->ws);
}

void edges_stop(struct edges **edges)
{
    struct edges *e = *edges;

    if (!e)
        return;
    if (e->http)
        http_stop(&e->http);
    if (e->ws)
        ws_stop(&e->ws);
    core_set_edges(e->core, NULL, NULL, NULL);
    if (e->auth)
        auth_close(&e->auth);
    tls_close(&e->tls);
    free(e);
    *edges = NULL;
}

int edges_reload(struct edges *e, const struct config *fresh, struct err *err)
{
    int rc = e->tls ? tls_stage(e->tls, err) : 0;

    if (rc == 0)
        rc = auth_reload(e->auth, &fresh->quota, err);
    if (rc == 0)
        auth_tell_tenants(e->auth, &core_ops, e->core);
    /* token file and certificate are both good: only now anything changes */
    if (rc == 0 && e->tls) {
        tls_switch(e->tls);
        ws_renew(e->ws);
    }
    return rc;
}

static void edges_address(char *buf, size_t cap, const char *scheme, const char *host, int port)
{
    const char *open = strchr(host, ':') ? "[" : "", *close = open[0] ? "]" : "";

    snprintf(buf, cap, "%s://%s%s%s:%d", scheme, open, host, close, port);
}

void edges_addresses(const struct edges *e, char *http, char *stream, size_t cap)
{
    edges_address(http, cap, e->tls ? "https" : "http", e->config.http.listen, http_port(e->http));
    edges_address(stream, cap, e->tls ? "wss" : "ws", e->config.stream.listen, ws_port(e->ws));
}

void edges_page(const struct edges *e, char *url, size_t cap)
{
    const char *host = e->config.http.listen;
    bool all = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    char name[64], base[96];

    name[0] = '\0';
    if (all && gethostname(name, sizeof name - 1) == 0 && name[0]) {
        name[sizeof name - 1] = '\0';
        host = name;
    }
    edges_address(base, sizeof base, e->tls ? "https" : "http", host, http_port(e->http));
    snprintf(url, cap, "%s/", base);
}

uint64_t edges_alive_us(struct edges *e, const char **thread)
{
    static const char *const names[LIVES] = {"HTTP edge", "WebSocket edge"};
    uint64_t beats[LIVES] = {http_beat(e->http), ws_beat(e->ws)};
    uint64_t now_us = clock_us();
    int last = 0;

    for (int i = 0; i < LIVES; i++) {
        struct thread_life *life = &e->lives[i];

        if (beats[i] != life->beat)
            life->alive_us = now_us;
        life->beat = beats[i];
        if (life->alive_us < e->lives[last].alive_us)
            last = i;
    }
    *thread = names[last];
    return e->lives[last].alive_us;
}
