/*
 * ws.c - the stream edge; the only file of the server that knows libwebsockets
 *
 * Several service threads run the library, each with a context of its own; a connection stays with
 * the one that had the fewest when it came. Unmasking a frame and encoding its blocks cost the
 * better part of a millisecond (tests/bench/bench_daemon_edge.c), so one thread does not carry a
 * host full of sessions. The first accepts on our own listening socket, watched by the library as a
 * plain file, and hands each connection over, so that socket activation and binding are the same
 * path. Other threads only ever call lws_cancel_service(). What messages mean is decided in
 * ws_peer.c.
 *
 * A peer belongs to the service of its slot (ws_slots.h) from the moment that the acceptor gives
 * the slot away until that service gives it back. A service never looks at the peers of another,
 * so there is no lock.
 */
#include "api/server/ws.h"

#include "api/server/listen.h"
#include "api/wipe.h"
#include "api/server/tls.h"
#include "api/server/ws_handshake.h"
#include "api/server/ws_peer.h"
#include "api/server/ws_slots.h"
#include "proto/array.h"

/* OpenSSL, which comes with it, has a type of this name; we have a constant. */
#define ERR_STATE openssl_err_state
#include <libwebsockets.h>
#undef ERR_STATE
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 50
#define LOOK_MS 2  /* a busy service looks this often for peers that flood it ... */
#define LOOK_AT 16 /* ... at so many of its peers in turn */
#define ACCEPT_AT_ONCE 16
#define RX_CHUNK \
    (WS_PEER_WASTE_MAX / 2) /* read from one client before the others have their turn */
#define BURST 32            /* messages to one client before the others have their turn */

struct service { /* a thread; only atomics are touched by others */
    struct ws *ws;
    int index;
    struct lws_context *lws;
    struct lws_vhost *vhost;
    pthread_t thread;
    bool started;
    struct lws_protocols protocols[3];
    void *ssl_ctx;     /* SSL_CTX of the vhost, with TLS */
    atomic_bool renew; /* a new certificate is to be used */
    lws_sorted_usec_list_t tick;
    int64_t ticked_ms, looked_ms;
    int look_next; /* peer */
    uint8_t *tx;   /* [tx_cap], LWS_PRE bytes and one message being handed to the library */
    size_t tx_cap;
    atomic_bool wake;
    atomic_uint_fast64_t alive_ms;
};

struct ws {
    struct ws_peer_env env;
    struct api_config config;
    struct service services[WS_SLOTS_SERVICES_MAX];
    int n_services;
    struct lws *listener; /* NULL again when it stopped */
    bool listens;         /* the library has the socket and will close it */
    int port, fd;
    /* closed for a moment to refuse a connection when descriptors have run out */
    int spare_fd;
    struct ws_peer *peers; /* [config.max_connections] */
    struct ws_slots *slots;
    atomic_bool stop, drain;
    atomic_uint_fast64_t accepted;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------------------- accepting */

static void adopt(struct service *v, int at, int fd)
{
    struct ws *w = v->ws;
    struct ws_peer *p = &w->peers[at];
    struct lws *wsi;

    ws_peer_open(p, &w->env, fd, now_ms());
    wsi = lws_adopt_socket_vhost(v->vhost, p->fd); /* closes fd when it fails */
    if (!wsi) {
        p->phase = WS_PEER_FREE;
        ws_slots_leave(w->slots, at);
        return;
    }
    p->wsi = wsi;
    lws_set_opaque_user_data(wsi, p);
    atomic_fetch_add(&w->accepted, 1);
}

static void hand_over(struct ws *w, int fd)
{
    char answer[WS_PEER_ANSWER_MAX];
    uint8_t addr[16] = {0};
    int on = 1, service;

    listen_peer(fd, addr);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    service = ws_slots_take(w->slots, addr,
                            w->config.behind_proxy ? INT_MAX : w->config.max_per_address, fd);
    if (service < 0) {
        if (!w->config.tls) /* else there is no handshake to say it in */
            ws_handshake_send(fd, answer, ws_peer_refuse(answer, 503, "too many connections"));
        atomic_fetch_add(&w->env.refused, 1);
        close(fd);
        return;
    }
    atomic_store(&w->services[service].wake, true);
    lws_cancel_service(w->services[service].lws);
}

static void on_listener(struct ws *w)
{
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        int fd = listen_accept(w->fd, &w->spare_fd);
        if (fd < 0)
            return;
        hand_over(w, fd);
    }
}

static void stop_listening(struct ws *w)
{
    if (w->listener)
        lws_set_timeout(w->listener, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
    w->listener = NULL;
}

/* ------------------------------------------------------------------------------- messages */

static int on_receive(struct ws_peer *p, struct lws *wsi, const uint8_t *data, size_t len)
{
    ws_peer_receive(p, data, len, lws_remaining_packet_payload(wsi), lws_is_first_fragment(wsi),
                    lws_is_final_fragment(wsi), lws_frame_is_binary(wsi), now_ms());
    if (ws_peer_full(p))
        lws_rx_flow_control(wsi, 0); /* until on_tick() or send_one() finds room */
    if (lws_is_final_fragment(wsi) || p->phase == WS_PEER_CLOSING)
        lws_callback_on_writable(wsi);
    return 0;
}

static int close_with(const struct ws_peer *p, struct lws *wsi)
{
    const char *why = p->close_reason ? p->close_reason : "";

    lws_close_reason(wsi, (enum lws_close_status)p->close_code, (unsigned char *)(uintptr_t)why,
                     strlen(why));
    return -1;
}

/* Send one message with at most one lws_write(), as the library copies what the socket does not
 * take. Returns 1; 2: it was a block; 0: there was nothing to send; -1: close. */
static int send_one(struct service *v, struct ws_peer *p, struct lws *wsi)
{
    struct ws *w = v->ws;
    const uint8_t *msg = NULL;
    size_t len = 0;
    bool was_full = ws_peer_full(p);
    enum stream_kind kind;

    if (p->ping_due && p->phase != WS_PEER_CLOSING) {
        p->ping_due = false;
        memcpy(v->tx + LWS_PRE, "ping", 4); /* the library does not report an empty pong */
        return lws_write(wsi, v->tx + LWS_PRE, 4, LWS_WRITE_PING) < 0 ? -1 : 1;
    }
    kind = ws_peer_next(p, &msg, &len);
    if (kind == STREAM_CLOSE)
        return close_with(p, wsi);
    if (kind == STREAM_NONE)
        return 0;
    if (array_grow(&v->tx, &v->tx_cap, LWS_PRE + len, 1))
        return -1;
    memcpy(v->tx + LWS_PRE, msg, len);
    if (lws_write(wsi, v->tx + LWS_PRE, len,
                  kind == STREAM_BINARY ? LWS_WRITE_BINARY : LWS_WRITE_TEXT) < 0)
        return -1;
    atomic_fetch_add(&w->env.messages_out, 1);
    atomic_fetch_add(&w->env.bytes_out, len);
    if (was_full && !ws_peer_full(p))
        lws_rx_flow_control(wsi, 1);
    return kind == STREAM_BINARY ? 2 : 1;
}

/* TCP_CORK on: what is written from now on leaves together. Off: it leaves at once. */
static void cork(const struct ws_peer *p, int on)
{
    setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

/* The blocks of a frame are many and small. The first leaves at once; the others leave together, as
 * many as the socket takes, because encoding them takes a while. */
static int on_writable(struct service *v, struct ws_peer *p, struct lws *wsi)
{
    bool first = true;
    int sent = 1;

    cork(p, 1);
    for (int i = 0; i < BURST && sent > 0; i++) {
        sent = send_one(v, p, wsi);
        if (sent > 0 && lws_send_pipe_choked(wsi))
            break;
        if (sent == 2 && first) {
            first = false;
            cork(p, 0);
            cork(p, 1);
        }
    }
    cork(p, 0);
    if (sent > 0)
        lws_callback_on_writable(wsi);
    return sent < 0 ? -1 : 0;
}

static void on_wake(struct service *v)
{
    struct ws *w = v->ws;
    int fd;

    if (v->index == 0 && atomic_load(&w->drain))
        stop_listening(w);
    /* Handshakes that have begun keep the old certificate. The new one was checked when it was
     * read; if the library still refuses it, the old one stays. */
    if (atomic_exchange(&v->renew, false) && !tls_apply(w->config.tls, v->ssl_ctx))
        atomic_fetch_add(&w->env.broken, 1);
    if (!atomic_exchange(&v->wake, false))
        return;
    for (int i = 0; i < w->config.max_connections; i++) {
        struct ws_peer *p = &w->peers[i];
        if (ws_slots_service(w->slots, i) != v->index)
            continue;
        fd = ws_slots_arrive(w->slots, i);
        if (fd >= 0)
            adopt(v, i, fd);
        if (atomic_load(&p->woken) && atomic_exchange(&p->woken, false) &&
            p->phase == WS_PEER_STARTED && p->wsi)
            lws_callback_on_writable(p->wsi);
    }
}

/* The library reports it once or twice; after the first time the slot may be another thread's. */
static void on_gone(struct service *v, struct ws_peer *p, struct lws *wsi)
{
    lws_set_opaque_user_data(wsi, NULL);
    if (p->phase != WS_PEER_HANDSHAKE)
        ws_peer_log(p, "closed");
    ws_peer_close(p);
    ws_slots_leave(v->ws->slots, (int)(p - v->ws->peers));
}

/* Behind a proxy the address that counts comes with the headers. */
static int on_handshake(struct ws *w, struct ws_peer *p, struct lws *wsi)
{
    uint8_t addr[16];

    if (w->config.behind_proxy && !p->answered && ws_handshake_address(wsi, addr)) {
        memcpy(p->addr, addr, sizeof addr);
        if (!ws_slots_name(w->slots, (int)(p - w->peers), addr, w->config.max_per_address))
            return ws_handshake_refuse(p, wsi, 503, "too many connections");
    }
    return ws_handshake_admit(p, wsi);
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len)
{
    struct service *v = lws_context_user(lws_get_context(wsi));
    struct ws *w = v->ws;
    struct ws_peer *p = lws_get_opaque_user_data(wsi);

    if (reason == LWS_CALLBACK_RAW_RX_FILE) {
        on_listener(w);
        return 0;
    }
    if (reason == LWS_CALLBACK_EVENT_WAIT_CANCELLED) {
        on_wake(v);
        return 0;
    }
    if (reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS) {
        v->ssl_ctx = user;
        return 0;
    }
    if (!p)
        return 0;
    switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return on_handshake(w, p, wsi);
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return ws_handshake_before(p, wsi);
    case LWS_CALLBACK_HTTP:
        return ws_handshake_refuse(p, wsi, 426, "this port speaks WebSocket only");
    case LWS_CALLBACK_ESTABLISHED:
        ws_peer_opened(p, now_ms());
        ws_peer_log(p, "opened");
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return on_receive(p, wsi, in, len);
    case LWS_CALLBACK_RECEIVE_PONG:
        p->heard_ms = now_ms();
        return 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        return ws_peer_said_close(p, in, len) ? 0 : close_with(p, wsi);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return on_writable(v, p, wsi);
    case LWS_CALLBACK_CLOSED:
    case LWS_CALLBACK_WSI_DESTROY:
        on_gone(v, p, wsi);
        return 0;
    default:
        return 0;
    }
}

/* ------------------------------------------------------------------------------- deadlines */

static void on_tick(lws_sorted_usec_list_t *sul);

/* The library sleeps for whole milliseconds and polls without a pause for the rest of a tick, half
 * a millisecond of a processor each time. A tick is set so that next to nothing is left. */
static void set_tick(struct service *v)
{
    int64_t left_ms = v->ticked_ms + TICK_MS - now_ms();

    lws_sul_schedule(v->lws, 0, &v->tick, on_tick, left_ms > 0 ? 1000 * left_ms + 20 : 0);
}

static void on_tick(lws_sorted_usec_list_t *sul)
{
    struct service *v = lws_container_of(sul, struct service, tick);
    struct ws *w = v->ws;
    struct listen_health health;
    int64_t now = now_ms();
    bool was_full;

    for (int i = 0; i < w->config.max_connections; i++) {
        struct ws_peer *p = &w->peers[i];
        if (ws_slots_service(w->slots, i) != v->index || p->phase == WS_PEER_FREE || !p->wsi)
            continue;
        health = listen_health(p->fd);
        was_full = ws_peer_full(p);
        if (ws_peer_weigh(p, health.received, now) ||
            ws_peer_tick(p, health.unacknowledged_ms, now))
            lws_set_timeout(p->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
        else if (p->ping_due || p->phase == WS_PEER_CLOSING)
            lws_callback_on_writable(p->wsi);
        if (was_full && !ws_peer_full(p))
            lws_rx_flow_control(p->wsi, 1);
    }
    v->ticked_ms = now;
    set_tick(v);
}

/* The library answers pings by itself, as fast as they come. A flood of them would keep this thread
 * and a processor busy until the next tick, while other connections wait. */
static void look_for_floods(struct service *v, int64_t now)
{
    struct ws *w = v->ws;
    int looked = 0;

    if (now - v->looked_ms < LOOK_MS)
        return;
    v->looked_ms = now;
    for (int i = 0; i < w->config.max_connections && looked < LOOK_AT; i++) {
        struct ws_peer *p = &w->peers[v->look_next];
        if (ws_slots_service(w->slots, v->look_next) == v->index && p->phase != WS_PEER_FREE &&
            p->wsi) {
            looked++;
            if (ws_peer_weigh(p, listen_health(p->fd).received, now))
                lws_set_timeout(p->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
        }
        v->look_next = (v->look_next + 1) % w->config.max_connections;
    }
}

/* ------------------------------------------------------------------------------- life */

static void *run(void *arg)
{
    struct service *v = arg;
    int64_t now;

    while (!atomic_load(&v->ws->stop)) {
        set_tick(v);
        if (lws_service(v->lws, 0) < 0)
            break;
        now = now_ms();
        look_for_floods(v, now);
        atomic_store(&v->alive_ms, (uint64_t)now);
    }
    return NULL;
}

static int start_library(struct service *v, struct err *err)
{
    /* The library neither pings nor hangs up: ws_peer_tick() decides both. */
    static const lws_retry_bo_t patience = {.secs_since_valid_ping = 0xfffe,
                                            .secs_since_valid_hangup = 0xffff};
    struct lws_context_creation_info info = {0};
    struct ws *w = v->ws;

    if (array_grow(&v->tx, &v->tx_cap, LWS_PRE + (64 << 10), 1))
        return err_set(err, ERR_MEMORY, "out of memory");
    /* protocols[0] gets clients that ask for no subprotocol; the handshake refuses them. */
    v->protocols[0] = (struct lws_protocols){.name = "none", .callback = on_event};
    v->protocols[1] = (struct lws_protocols){.name = CONTROL_SUBPROTOCOL,
                                             .callback = on_event,
                                             .rx_buffer_size = RX_CHUNK,
                                             .tx_packet_size = DELTA_MESSAGE_MAX};
    lws_set_log_level(0, NULL);
    lws_set_allocator(wipe_realloc); /* it frees headers that hold tokens */
    info.port = CONTEXT_PORT_NO_LISTEN_SERVER;
    info.protocols = v->protocols;
    info.user = v;
    info.pt_serv_buf_size = RX_CHUNK;
    info.timeout_secs = (unsigned)w->config.header_timeout_s + 1;
    info.retry_and_idle_policy = &patience;
    info.fd_limit_per_thread = (unsigned)w->config.max_connections + 16;
    info.options = LWS_SERVER_OPTION_DISABLE_IPV6;
    if (w->config.tls) {
        info.options |=
            LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX;
        info.alpn = "http/1.1";
        info.provided_client_ssl_ctx = tls_client(w->config.tls);
    }
    v->lws = lws_create_context(&info);
    v->vhost = v->lws ? lws_get_vhost_by_name(v->lws, "default") : NULL;
    if (!v->vhost)
        return err_set(err, ERR_IO, "libwebsockets does not start");
    if (w->config.tls && (!v->ssl_ctx || !tls_apply(w->config.tls, v->ssl_ctx)))
        return err_set(err, ERR_IO, "libwebsockets does not take the certificate");
    return 0;
}

static int start_services(struct ws *w, struct err *err)
{
    lws_sock_file_fd_type listener = {.filefd = w->fd};
    int rc = 0;

    for (int i = 0; i < w->n_services && rc == 0; i++)
        rc = start_library(&w->services[i], err);
    if (rc)
        return rc;
    w->listener = lws_adopt_descriptor_vhost(w->services[0].vhost, LWS_ADOPT_RAW_FILE_DESC,
                                             listener, CONTROL_SUBPROTOCOL, NULL);
    if (!w->listener)
        return err_set(err, ERR_IO, "libwebsockets does not watch the listening socket");
    w->listens = true;
    /* The acceptor starts last, so that the others run when it hands connections over. */
    for (int i = w->n_services - 1; i >= 0; i--) {
        struct service *v = &w->services[i];
        atomic_store(&v->alive_ms, (uint64_t)now_ms());
        if (pthread_create(&v->thread, NULL, run, v) != 0)
            return err_set(err, ERR_IO, "cannot start a WebSocket thread");
        v->started = true;
    }
    return 0;
}

int ws_start(struct ws **out, const struct api_config *config, struct auth *auth, struct err *err)
{
    struct ws *w = calloc(1, sizeof *w);
    int rc;

    *out = NULL;
    if (!w)
        return err_set(err, ERR_MEMORY, "out of memory");
    w->config = *config;
    w->env.config = &w->config;
    w->env.auth = auth;
    w->fd = -1;
    w->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    w->n_services = ws_slots_services();
    for (int i = 0; i < w->n_services; i++) {
        w->services[i].ws = w;
        w->services[i].index = i;
    }
    w->peers = calloc((size_t)config->max_connections, sizeof *w->peers);
    rc = w->peers ? ws_slots_new(&w->slots, config->max_connections, w->n_services, err)
                  : err_set(err, ERR_MEMORY, "out of memory");
    if (!rc)
        rc = listen_open(
            config->ws_host, config->ws_port, config->ws_fd,
            listen_loopback_only(auth_open_to_all(auth), !config->tls, config->behind_proxy),
            &w->fd, &w->port, err);
    if (!rc)
        rc = start_services(w, err);
    if (rc)
        ws_stop(&w);
    *out = w;
    return rc;
}

void ws_drain(struct ws *w)
{
    atomic_store(&w->drain, true);
    lws_cancel_service(w->services[0].lws);
}

void ws_renew(struct ws *w)
{
    for (int i = 0; i < w->n_services; i++) {
        atomic_store(&w->services[i].renew, true);
        lws_cancel_service(w->services[i].lws);
    }
}

void ws_stop(struct ws **out)
{
    struct ws *w = *out;

    if (!w)
        return;
    *out = NULL;
    atomic_store(&w->stop, true);
    for (int i = 0; i < w->n_services; i++) {
        if (!w->services[i].started)
            continue;
        lws_cancel_service(w->services[i].lws);
        pthread_join(w->services[i].thread, NULL);
    }
    if (!w->listens && w->fd >= 0 && w->fd != w->config.ws_fd)
        close(w->fd);
    for (int i = 0; i < w->n_services; i++) {
        if (w->services[i].lws) /* closes the listening socket and all connections */
            lws_context_destroy(w->services[i].lws);
        free(w->services[i].tx);
    }
    if (w->spare_fd >= 0)
        close(w->spare_fd);
    free(w->peers);
    if (w->slots)
        ws_slots_free(&w->slots);
    free(w);
}

int ws_port(const struct ws *w)
{
    return w->port;
}

uint64_t ws_beat(const struct ws *w)
{
    uint64_t oldest = UINT64_MAX;

    for (int i = 0; i < w->n_services; i++) {
        uint64_t t = atomic_load(&w->services[i].alive_ms);
        oldest = t < oldest ? t : oldest;
    }
    return oldest;
}

void ws_wake(struct ws *w, void *cookie)
{
    struct ws_peer *p = cookie;
    int service = ws_slots_service(w->slots, (int)(p - w->peers));

    if (service < 0)
        return;
    atomic_store(&p->woken, true);
    if (!atomic_exchange(&w->services[service].wake, true))
        lws_cancel_service(w->services[service].lws);
}

void ws_counts(const struct ws *w, struct ws_counts *counts)
{
    counts->connections = (uint64_t)ws_slots_taken(w->slots);
    counts->accepted = atomic_load(&w->accepted);
    counts->refused = atomic_load(&w->env.refused);
    counts->overstayed = atomic_load(&w->env.overstayed);
    counts->broken = atomic_load(&w->env.broken);
    counts->messages_in = atomic_load(&w->env.messages_in);
    counts->messages_out = atomic_load(&w->env.messages_out);
    counts->bytes_in = atomic_load(&w->env.bytes_in);
    counts->bytes_out = atomic_load(&w->env.bytes_out);
}
