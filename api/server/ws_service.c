/*
 * ws_service.c - a thread of the stream edge: accepts, and moves bytes between library and peers
 *
 * The library decodes and shortens what a request names before it tells (`//`, `/x/../`, `%61`), so
 * that a proxy in front, which judges what it sees, could be led past. A connection is therefore
 * handed to the library only when its first line has come and is spelled as it is meant
 * (ws_target.h). With TLS the line cannot be seen before.
 */
#include "api/server/ws_internal.h"

#include "api/server/listen.h"
#include "api/wipe.h"
#include "api/server/tls.h"
#include "api/server/ws_handshake.h"
#include "api/server/ws_target.h"
#include "proto/array.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
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

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------------------- accepting */

static void leave(struct ws *w, struct ws_peer *p)
{
    ws_peer_close(p);
    ws_slots_leave(w->slots, (int)(p - w->peers));
}

static void give_to_library(struct ws_service *v, struct ws_peer *p)
{
    struct lws *wsi = lws_adopt_socket_vhost(v->vhost, p->fd); /* closes fd when it fails */

    if (!wsi) {
        leave(v->ws, p);
        return;
    }
    p->wsi = wsi;
    lws_set_opaque_user_data(wsi, p);
}

/* A connection that the library has not got. */
static void drop(struct ws *w, struct ws_peer *p)
{
    close(p->fd);
    leave(w, p);
}

static void adopt(struct ws_service *v, int at, int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.u32 = (uint32_t)at};
    struct ws *w = v->ws;
    struct ws_peer *p = &w->peers[at];

    ws_peer_open(p, &w->env, fd, now_ms());
    atomic_fetch_add(&w->accepted, 1);
    if (w->config.tls)
        give_to_library(v, p);
    else if (epoll_ctl(v->waiting, EPOLL_CTL_ADD, fd, &event) != 0)
        drop(w, p);
}

static void refuse_target(struct ws *w, struct ws_peer *p)
{
    char answer[WS_PEER_ANSWER_MAX], rest[WS_TARGET_LINE_MAX];

    while (recv(p->fd, rest, sizeof rest, MSG_DONTWAIT) > 0)
        ; /* closing with bytes unread would take the answer back */
    explicit_bzero(rest, sizeof rest);
    p->close_reason = "the path is not spelled plainly";
    ws_handshake_send(p->fd, answer, ws_peer_refuse(answer, 400, p->close_reason));
    atomic_fetch_add(&w->env.refused, 1);
    ws_peer_log(p, "refused");
    drop(w, p);
}

static void look_at_target(struct ws_service *v, struct ws_peer *p, bool over)
{
    char line[WS_TARGET_LINE_MAX];
    ssize_t n = recv(p->fd, line, sizeof line, MSG_PEEK | MSG_DONTWAIT);
    enum ws_target target = n > 0 ? ws_target_judge(line, (size_t)n) : WS_TARGET_MORE;

    explicit_bzero(line, sizeof line); /* a token may be behind the first line */
    if (target == WS_TARGET_BAD) {
        refuse_target(v->ws, p);
    } else if (target == WS_TARGET_GOOD) {
        epoll_ctl(v->waiting, EPOLL_CTL_DEL, p->fd, NULL);
        give_to_library(v, p);
    } else if (over || n == 0) {
        drop(v->ws, p);
    }
}

static void on_waiting(struct ws_service *v)
{
    struct epoll_event events[ACCEPT_AT_ONCE];
    int n = epoll_wait(v->waiting, events, ACCEPT_AT_ONCE, 0);

    for (int i = 0; i < n; i++)
        look_at_target(v, &v->ws->peers[events[i].data.u32],
                       events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
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
static int send_one(struct ws_service *v, struct ws_peer *p, struct lws *wsi)
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
static int on_writable(struct ws_service *v, struct ws_peer *p, struct lws *wsi)
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

static void on_wake(struct ws_service *v)
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
static void on_gone(struct ws_service *v, struct ws_peer *p, struct lws *wsi)
{
    lws_set_opaque_user_data(wsi, NULL);
    if (p->phase != WS_PEER_HANDSHAKE)
        ws_peer_log(p, "closed");
    leave(v->ws, p);
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
    struct ws_service *v = lws_context_user(lws_get_context(wsi));
    struct ws *w = v->ws;
    struct ws_peer *p = lws_get_opaque_user_data(wsi);

    if (reason == LWS_CALLBACK_RAW_RX_FILE) {
        if (v->index == 0 && wsi == w->listener)
            on_listener(w);
        else
            on_waiting(v);
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
    v->met = v->met || reason == LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION ||
             reason == LWS_CALLBACK_HTTP_CONFIRM_UPGRADE || reason == LWS_CALLBACK_HTTP;
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
static void set_tick(struct ws_service *v)
{
    int64_t left_ms = v->ticked_ms + TICK_MS - now_ms();

    lws_sul_schedule(v->lws, 0, &v->tick, on_tick, left_ms > 0 ? 1000 * left_ms + 20 : 0);
}

static void on_tick(lws_sorted_usec_list_t *sul)
{
    struct ws_service *v = lws_container_of(sul, struct ws_service, tick);
    struct ws *w = v->ws;
    struct listen_health health;
    int64_t now = now_ms();
    bool was_full;

    for (int i = 0; i < w->config.max_connections; i++) {
        struct ws_peer *p = &w->peers[i];
        if (ws_slots_service(w->slots, i) != v->index || p->phase == WS_PEER_FREE)
            continue;
        if (!p->wsi) {
            if (ws_peer_tick(p, 0, now))
                drop(w, p);
            continue;
        }
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
static void look_for_floods(struct ws_service *v, int64_t now)
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

void *ws_service_run(void *service)
{
    struct ws_service *v = service;
    int64_t now;

    while (!atomic_load(&v->ws->stop)) {
        set_tick(v);
        if (lws_service(v->lws, 0) < 0)
            break;
        if (v->met)
            wipe_stack();
        v->met = false;
        now = now_ms();
        look_for_floods(v, now);
        atomic_store(&v->alive_ms, (uint64_t)now);
    }
    return NULL;
}

int ws_service_open(struct ws_service *v, struct err *err)
{
    /* The library neither pings nor hangs up: ws_peer_tick() decides both. */
    static const lws_retry_bo_t patience = {.secs_since_valid_ping = 0xfffe,
                                            .secs_since_valid_hangup = 0xffff};
    struct lws_context_creation_info info = {0};
    lws_sock_file_fd_type waiting;
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
    v->waiting = waiting.filefd = epoll_create1(EPOLL_CLOEXEC);
    if (v->waiting < 0 || !lws_adopt_descriptor_vhost(v->vhost, LWS_ADOPT_RAW_FILE_DESC, waiting,
                                                      CONTROL_SUBPROTOCOL, NULL))
        return err_set(err, ERR_IO, "libwebsockets does not watch connections that wait");
    if (w->config.tls && (!v->ssl_ctx || !tls_apply(w->config.tls, v->ssl_ctx)))
        return err_set(err, ERR_IO, "libwebsockets does not take the certificate");
    return 0;
}
