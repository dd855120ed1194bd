#include "api/client/client_ws.h"

#include "api/client/client_retry.h"
#include "proto/array.h"
#include "proto/lock.h"

/* libwebsockets.h includes openssl/types.h, which has a type with the name of a code of
 * proto/err.h. */
#define ERR_STATE OPENSSL_ERR_STATE
#include <libwebsockets.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#undef ERR_STATE

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes read from the socket at once; struct client_ws puts messages together. */
#define CHUNK_BYTES 65536
/* Descriptors of one context: the socket, the wake pipe, look-ups while connecting. */
#define CONTEXT_FDS 16
/* A peer that acknowledges but sends nothing is given up after STALL times hangup_ms. */
#define STALL 10
#define RETRY_AFTER_MAX_S 86400

/* Contexts are made and freed under this lock, because libwebsockets sets up TLS for the whole
 * process then. */
static struct lock context_lock = LOCK_INITIALIZER(LOCK_CLIENT_WS);

struct url {
    char host[128], path[256], authority[160];
    int port;
    bool tls;
};

struct client_ws {
    struct client_ws_config config;
    struct url url;
    char *token;
    struct lws_context *context;
    struct lws *wsi;
    void *ssl_ctx; /* of the context, wss:// alone */
    lws_sorted_usec_list_t timer, health;
    struct lws_protocols protocols[2];
    bool timed_out, happened, open, closed, paused, ping_due;
    /* times of the last bytes from the peer, of our last ping, of the last on_health() */
    lws_usec_t heard_us, pinged_us, checked_us;
    uint32_t retry_after_ms;
    int rc; /* reason of the end; 0 = open */
    struct err err;
    uint8_t *in; /* message being put together */
    size_t in_len, in_cap;
    bool in_binary;
    uint8_t *out; /* LWS_PRE bytes of room, then the message being sent */
    size_t out_cap;
};

/* ------------------------------------------------------------------------------------ url */

static int parse_port(const char *text, size_t len, int *port, struct err *err)
{
    long value = 0;

    if (len == 0 || len > 5)
        return err_set(err, ERR_INPUT, "the port of the stream URL is not a number in 1...65535");
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return err_set(err, ERR_INPUT, "the port of the stream URL is not a number");
        value = value * 10 + (text[i] - '0');
    }
    if (value < 1 || value > 65535)
        return err_set(err, ERR_INPUT, "port %ld of the stream URL is not in 1...65535", value);
    *port = (int)value;
    return 0;
}

static int parse_url(struct url *u, const char *text, struct err *err)
{
    const char *rest = text, *path, *end, *colon;
    size_t host_len;

    *u = (struct url){.port = 80};
    if (strncmp(text, "ws://", 5) == 0) {
        rest += 5;
    } else if (strncmp(text, "wss://", 6) == 0) {
        rest += 6;
        u->tls = true;
        u->port = 443;
    } else {
        return err_set(err, ERR_INPUT, "stream URL '%.80s' does not begin with ws:// or wss://",
                       text);
    }
    path = rest + strcspn(rest, "/");
    if ((size_t)(path - rest) >= sizeof u->authority || strlen(path) >= sizeof u->path)
        return err_set(err, ERR_LIMIT, "stream URL is too long");
    memcpy(u->authority, rest, (size_t)(path - rest));
    snprintf(u->path, sizeof u->path, "%s", *path ? path : "/");
    end = path;
    if (*rest == '[') { /* [::1]:8080 */
        rest++;
        colon = memchr(rest, ']', (size_t)(end - rest));
        if (!colon)
            return err_set(err, ERR_INPUT, "stream URL has '[' without ']'");
        host_len = (size_t)(colon - rest);
        colon = colon + 1 < end && colon[1] == ':' ? colon + 1 : NULL;
    } else {
        colon = memchr(rest, ':', (size_t)(end - rest));
        host_len = (size_t)((colon ? colon : end) - rest);
    }
    if (host_len == 0 || host_len >= sizeof u->host)
        return err_set(err, ERR_INPUT, "stream URL '%.80s' names no host", text);
    memcpy(u->host, rest, host_len);
    return colon ? parse_port(colon + 1, (size_t)(end - colon - 1), &u->port, err) : 0;
}

/* ------------------------------------------------------------------------------------ events */

/* Only the first reason is kept, because later ones follow from it. */
static void ws_finish(struct client_ws *w, int rc, const struct err *err)
{
    w->happened = true;
    w->closed = true;
    if (w->rc)
        return;
    w->rc = rc;
    w->err = *err;
}

static void finish_text(struct client_ws *w, int code, const char *what, const void *in, size_t len)
{
    struct err err;
    int n = len > 160 ? 160 : (int)len;

    if (in && n > 0)
        err_set(&err, code, "%s: %.*s", what, n, (const char *)in);
    else
        err_set(&err, code, "%s", what);
    ws_finish(w, code, &err);
}

static uint32_t read_retry_after(struct lws *wsi)
{
    char text[16];
    char *end;
    long seconds;

    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP_RETRY_AFTER) <= 0)
        return 0;
    seconds = strtol(text, &end, 10); /* the caller ignores a Retry-After that is a date */
    if (*end || seconds < 0)
        return 0;
    return 1000 * (uint32_t)(seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S);
}

/* The upgrade was answered with a status other than 101. */
static void on_refused(struct client_ws *w, struct lws *wsi, const void *in, size_t len)
{
    unsigned status = wsi ? lws_http_client_http_response(wsi) : 0;
    struct err err;
    int code;

    if (status == 0 || status == 101) {
        snprintf(err.text, sizeof err.text, "cannot connect to %s", w->url.authority);
        finish_text(w, ERR_IO, err.text, in, len);
        return;
    }
    w->retry_after_ms = status == 429 || status == 503 ? read_retry_after(wsi) : 0;
    code = client_retry_code((int)status);
    err_set(&err, code, "%s refused the stream with HTTP status %u", w->url.authority, status);
    ws_finish(w, code, &err);
}

static int add_token(struct client_ws *w, struct lws *wsi, void *in, size_t len)
{
    unsigned char **p = in, *end = *p + len;
    char value[300];
    int n;

    if (!w->token)
        return 0;
    n = snprintf(value, sizeof value, "Bearer %s", w->token);
    return lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, (unsigned char *)value,
                                        n, p, end);
}

/* A server that chose no subprotocol does not speak ours, even if it accepted the upgrade. */
static int check_subprotocol(struct client_ws *w, struct lws *wsi)
{
    char chosen[64] = "";

    if (lws_hdr_copy(wsi, chosen, sizeof chosen, WSI_TOKEN_PROTOCOL) <= 0 ||
        strcmp(chosen, w->config.subprotocol) != 0) {
        finish_text(w, ERR_UNSUPPORTED, "the server does not speak the subprotocol",
                    w->config.subprotocol, strlen(w->config.subprotocol));
        return -1;
    }
    return 0;
}

static int buffer_reserve(uint8_t **buf, size_t *cap, size_t need, struct err *err)
{
    return array_grow(buf, cap, need, 1)
               ? err_set(err, ERR_MEMORY, "no memory for a message of %zu bytes", need)
               : 0;
}

static int receive(struct client_ws *w, struct lws *wsi, const void *in, size_t len)
{
    size_t max;
    struct err err;
    int rc;

    if (lws_is_first_fragment(wsi)) {
        w->in_len = 0;
        w->in_binary = lws_frame_is_binary(wsi);
    }
    max = w->in_binary ? w->config.max_binary_bytes : w->config.max_text_bytes;
    if (w->in_len + len > max) {
        rc = err_set(&err, ERR_LIMIT, "the server sent a message of more than %zu bytes", max);
        goto out;
    }
    rc = buffer_reserve(&w->in, &w->in_cap, w->in_len + len, &err);
    if (rc)
        goto out;
    if (len)
        memcpy(w->in + w->in_len, in, len);
    w->in_len += len;
    if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi))
        return 0;
    w->happened = true;
    rc = w->config.on_message(w->config.ctx, w->in_binary, w->in, w->in_len, &err);
    w->in_len = 0;
out:
    if (rc)
        ws_finish(w, rc, &err);
    return rc ? -1 : 0;
}

static void on_peer_close(struct client_ws *w, const uint8_t *in, size_t len)
{
    struct err err;
    unsigned code = len >= 2 ? (unsigned)in[0] << 8 | in[1] : 1005;

    if (len > 2)
        err_set(&err, ERR_END, "the server closed the stream (%u): %.*s", code,
                len > 125 ? 123 : (int)len - 2, (const char *)in + 2);
    else
        err_set(&err, ERR_END, "the server closed the stream (%u)", code);
    ws_finish(w, ERR_END, &err);
}

/* Returns for how long the peer's kernel has not acknowledged sent bytes; 0 = nothing is
 * unacknowledged. */
static int64_t owed_ms(struct lws *wsi)
{
    struct tcp_info info;
    socklen_t len = sizeof info;

    memset(&info, 0, sizeof info);
    if (getsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
        return 0;
    if (info.tcpi_unacked == 0 && info.tcpi_probes == 0)
        return 0;
    return info.tcpi_last_ack_recv < info.tcpi_last_data_recv ? info.tcpi_last_ack_recv
                                                              : info.tcpi_last_data_recv;
}

/* Timers run before arrived bytes are read, and the caller may have been busy elsewhere, so silence
 * only counts between two calls that came in time. */
static void on_health(lws_sorted_usec_list_t *timer)
{
    struct client_ws *w = lws_container_of(timer, struct client_ws, health);
    lws_usec_t now_us = lws_now_usecs(), every_us = (lws_usec_t)w->config.ping_ms * 500;
    lws_usec_t ping_us = (lws_usec_t)w->config.ping_ms * 1000;
    lws_usec_t hangup_us = (lws_usec_t)w->config.hangup_ms * 1000;

    lws_sul_schedule(w->context, 0, &w->health, on_health, every_us);
    if (!w->open || w->closed || !w->wsi)
        return;
    if (now_us - w->checked_us > 3 * every_us) /* client_ws_run() was not called for a while */
        w->heard_us += now_us - w->checked_us - every_us;
    w->checked_us = now_us;
    if (now_us - w->heard_us >= ping_us && now_us - w->pinged_us >= ping_us) {
        w->ping_due = true;
        w->pinged_us = now_us;
        lws_callback_on_writable(w->wsi);
    }
    if (now_us - w->heard_us < hangup_us)
        return;
    if (owed_ms(w->wsi) < w->config.hangup_ms && now_us - w->heard_us < STALL * hangup_us)
        return;
    finish_text(w, ERR_IO, "the server does not answer any more", NULL, 0);
    lws_cancel_service(w->context);
}

static void on_established(struct client_ws *w)
{
    w->open = w->happened = true;
    w->heard_us = w->pinged_us = w->checked_us = lws_now_usecs();
    if (w->config.ping_ms > 0 && w->config.hangup_ms > 0)
        lws_sul_schedule(w->context, 0, &w->health, on_health, (lws_usec_t)w->config.ping_ms * 500);
    w->config.on_open(w->config.ctx);
}

static int write_ping(struct client_ws *w, struct lws *wsi)
{
    uint8_t room[LWS_PRE];

    w->ping_due = false;
    lws_callback_on_writable(wsi);
    return lws_write(wsi, room + LWS_PRE, 0, LWS_WRITE_PING) < 0 ? -1 : 0;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len)
{
    struct client_ws *w = wsi ? lws_context_user(lws_get_context(wsi)) : NULL;
    struct err err;
    int rc;

    if (!w)
        return 0;
    switch ((int)reason) {
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_CLIENT_VERIFY_CERTS:
        w->ssl_ctx = user;
        return 0;
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return add_token(w, wsi, in, len);
    case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
        return check_subprotocol(w, wsi);
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        on_established(w);
        return 0;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        w->wsi = NULL;
        on_refused(w, wsi, in, len);
        return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
        w->heard_us = lws_now_usecs();
        return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE:
        w->heard_us = lws_now_usecs();
        return receive(w, wsi, in, len);
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        if (w->closed)
            return -1;
        if (w->ping_due)
            return write_ping(w, wsi);
        rc = w->config.on_writable(w->config.ctx, &err);
        if (rc)
            ws_finish(w, rc, &err);
        return rc ? -1 : 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        on_peer_close(w, in, len);
        return 0;
    case LWS_CALLBACK_CLIENT_CLOSED:
        w->wsi = NULL;
        finish_text(w, ERR_IO, "the connection was lost", NULL, 0);
        return 0;
    default:
        return 0;
    }
}

/* Timers run before lws_service() waits, and that wait may be long: this cuts it short. */
static void on_timer(lws_sorted_usec_list_t *timer)
{
    struct client_ws *w = lws_container_of(timer, struct client_ws, timer);

    w->timed_out = true;
    lws_cancel_service(w->context);
}

/* ------------------------------------------------------------------------------------ interface */

static bool is_address(const char *host)
{
    struct in6_addr any;

    return inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1;
}

/* Demands TLS 1.2 at least and, where the URL names an address, that address in the certificate:
 * libwebsockets compares certificates with names alone. */
static bool set_up_tls(SSL_CTX *ctx, const char *host)
{
    return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
           (!is_address(host) || X509_VERIFY_PARAM_set1_ip_asc(SSL_CTX_get0_param(ctx), host) == 1);
}

static int connect_start(struct client_ws *w, const char *ca_file, struct err *err)
{
    /* Pings are sent by on_health(), because those of libwebsockets take no account of
     * acknowledgements. */
    static const lws_retry_bo_t no_pings = {.secs_since_valid_ping = 0xfffe,
                                            .secs_since_valid_hangup = 0xffff};
    struct lws_context_creation_info info = {0};
    struct lws_client_connect_info to = {0};

    w->protocols[0] = (struct lws_protocols){
        .name = w->config.subprotocol, .callback = on_event, .rx_buffer_size = CHUNK_BYTES};
    lws_set_log_level(0, NULL);
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.protocols = w->protocols;
    info.gid = (gid_t)-1;
    info.uid = (uid_t)-1;
    info.user = w;
    info.pt_serv_buf_size = CHUNK_BYTES;
    info.fd_limit_per_thread = CONTEXT_FDS;
    info.timeout_secs = (unsigned)w->config.connect_timeout_s;
    info.connect_timeout_secs = (unsigned)w->config.connect_timeout_s;
    info.options = w->url.tls ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0;
    info.retry_and_idle_policy = &no_pings;
    info.client_ssl_ca_filepath = ca_file;
    lock_take(&context_lock);
    w->context = lws_create_context(&info);
    lock_give(&context_lock);
    if (!w->context && ca_file)
        return err_at(err, ERR_INPUT, ca_file, "holds no certificates in PEM");
    if (!w->context)
        return err_set(err, ERR_MEMORY, "libwebsockets gives no context");
    if (w->url.tls && !(w->ssl_ctx && set_up_tls(w->ssl_ctx, w->url.host)))
        return err_set(err, ERR_IO, "OpenSSL cannot be set up for %s", w->url.authority);
    to.context = w->context;
    to.address = w->url.host;
    to.port = w->url.port;
    to.path = w->url.path;
    to.host = w->url.authority;
    to.protocol = w->config.subprotocol;
    to.local_protocol_name = w->config.subprotocol;
    to.ietf_version_or_minus_one = -1;
    to.ssl_connection = w->url.tls ? LCCSCF_USE_SSL : 0;
    if (w->url.tls && is_address(w->url.host)) /* set_up_tls() makes OpenSSL compare the address */
        to.ssl_connection |= LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK;
    to.pwsi = &w->wsi;
    if (!lws_client_connect_via_info(&to) && !w->rc)
        on_refused(w, NULL, NULL, 0);
    return 0;
}

int client_ws_open(struct client_ws **out, const struct client_ws_config *config, struct err *err)
{
    struct client_ws *w = calloc(1, sizeof *w);
    int rc;

    *out = NULL;
    if (!w)
        return err_set(err, ERR_MEMORY, "no memory for a connection");
    w->config = *config;
    w->config.url = w->config.token = w->config.ca_file = NULL; /* the caller may free them */
    rc = parse_url(&w->url, config->url, err);
    if (rc)
        goto out;
    if (config->token && *config->token) {
        if (strlen(config->token) > 256 || strpbrk(config->token, "\r\n")) {
            rc = err_set(err, ERR_INPUT, "a token has at most 256 characters and no line end");
            goto out;
        }
        w->token = strdup(config->token);
        if (!w->token) {
            rc = err_set(err, ERR_MEMORY, "no memory for a connection");
            goto out;
        }
    }
    rc = connect_start(w, config->ca_file, err);
out:
    if (rc)
        client_ws_close(&w);
    *out = w;
    return rc;
}

void client_ws_close(struct client_ws **p)
{
    struct client_ws *w = *p;

    if (!w)
        return;
    if (w->context) {
        lock_take(&context_lock);
        lws_context_destroy(w->context);
        lock_give(&context_lock);
    }
    if (w->token)
        explicit_bzero(w->token, strlen(w->token));
    free(w->token);
    free(w->in);
    free(w->out);
    free(w);
    *p = NULL;
}

int client_ws_run(struct client_ws *w, int timeout_ms, struct err *err)
{
    struct timespec pause = {.tv_sec = timeout_ms / 1000,
                             .tv_nsec = (long)(timeout_ms % 1000) * 1000000};

    if (w->paused) {
        nanosleep(&pause, NULL);
        return 0;
    }
    w->happened = w->timed_out = false;
    lws_sul_schedule(w->context, 0, &w->timer, on_timer,
                     timeout_ms > 0 ? (lws_usec_t)timeout_ms * 1000 : 1);
    while (!w->closed && !w->happened && !w->timed_out) {
        if (lws_service(w->context, 0) < 0)
            finish_text(w, ERR_IO, "libwebsockets stopped", NULL, 0);
    }
    lws_sul_cancel(&w->timer);
    if (w->closed && err)
        *err = w->err;
    return w->closed ? w->rc : 0;
}

uint32_t client_ws_retry_after_ms(const struct client_ws *w)
{
    return w->retry_after_ms;
}

void client_ws_want_write(struct client_ws *w)
{
    if (w->open && w->wsi && !w->closed)
        lws_callback_on_writable(w->wsi);
}

int client_ws_write(struct client_ws *w, const uint8_t *msg, size_t len, bool binary,
                    struct err *err)
{
    int n, rc;

    if (!w->wsi)
        return err_set(err, ERR_IO, "the connection is closed");
    rc = buffer_reserve(&w->out, &w->out_cap, LWS_PRE + len, err);
    if (rc)
        return rc;
    memcpy(w->out + LWS_PRE, msg, len);
    n = lws_write(w->wsi, w->out + LWS_PRE, len, binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT);
    if (n < (int)len)
        return err_set(err, ERR_IO, "the connection was lost while writing");
    w->happened = true;
    return 0;
}

void client_ws_pause(struct client_ws *w, bool paused)
{
    w->paused = paused;
}
