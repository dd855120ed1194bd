#include "api/server/ws_conn.h"

#include "api/server/listen.h"
#include "api/server/tls.h"
#include "api/server/ws_request.h"
#include "api/wipe.h"
#include "proto/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define BURST 32              /* messages to one client before other clients get theirs */
#define PONGS_MAX (16u << 10) /* bytes that may wait to leave; a ping beyond them gets no answer */

void ws_conn_open(struct ws_conn *c, struct ws_peer *peer, int slot, int fd, void *ssl)
{
    *c = (struct ws_conn){.peer = peer, .slot = slot, .first = true};
    ws_link_open(&c->link, fd, ssl);
}

static void conn_forget(struct ws_conn *c)
{
    wipe_free(c->head);
    free(c->held);
    c->head = NULL;
    c->held = NULL;
    c->head_len = c->held_len = 0;
}

void ws_conn_close(struct ws_conn *c, struct ws_conn_room *room)
{
    if (c->peer->phase != WS_PEER_HANDSHAKE)
        ws_peer_log(c->peer, "closed");
    conn_forget(c);
    ws_link_close(&c->link);
    ws_peer_close(c->peer);
    c->peer = NULL;
    ws_slots_leave(room->slots, c->slot);
}

/* Tells whether everything was sent or handed to the link. */
static void conn_leave(struct ws_conn *c, int64_t now_ms)
{
    c->phase = WS_CONN_LEAVING;
    c->left_ms = now_ms;
    c->more = false;
    conn_forget(c);
    if (ws_link_waiting(&c->link) == 0)
        ws_link_finish(&c->link);
}

/* ------------------------------------------------------------------------- the request */

static bool conn_refuse(struct ws_conn *c, int status, const char *why, int64_t now_ms)
{
    char answer[WS_PEER_ANSWER_MAX];
    struct ws_peer *p = c->peer;
    bool ok = ws_link_write(&c->link, answer, ws_peer_refuse(answer, status, why));

    p->close_reason = why;
    atomic_fetch_add(&p->env->refused, 1);
    ws_peer_log(p, "refused");
    conn_leave(c, now_ms);
    return ok;
}

/* Answers plain HTTP on a port that speaks TLS in plain HTTP. */
static bool refuse_plain(struct ws_conn *c, int64_t now_ms)
{
    tls_leave(&c->link.ssl);
    return conn_refuse(c, 400, "a port that speaks TLS is asked by wss://", now_ms);
}

/* Behind a proxy the client's address comes with the request. Returns false if the address has its
 * share of connections. */
static bool has_place(struct ws_conn *c, const struct ws_request *q, struct ws_conn_room *room)
{
    const struct api_config *config = c->peer->env->config;
    uint8_t addr[16];

    if (!config->behind_proxy || !q->forwarded || !listen_forwarded(q->forwarded, addr))
        return true;
    memcpy(c->peer->addr, addr, sizeof addr);
    return ws_slots_name(room->slots, c->slot, addr, config->max_per_address);
}

/* The head is whole. */
static bool on_request(struct ws_conn *c, struct ws_conn_room *room, int64_t now_ms)
{
    char answer[WS_PEER_ANSWER_MAX];
    struct ws_request q;
    size_t len;
    bool ok;

    room->met = true;
    ws_request_read(&q, c->head, c->head_len);
    if (q.status == 0 && !has_place(c, &q, room)) {
        q.status = 503;
        q.why = "too many connections";
    }
    if (q.status) {
        ok = conn_refuse(c, q.status, q.why, now_ms);
    } else if ((len = ws_peer_admit(c->peer, &q.handshake, answer)) > 0) {
        ok = ws_link_write(&c->link, answer, len);
        ws_peer_log(c->peer, "refused");
        conn_leave(c, now_ms);
    } else {
        len = ws_request_accept(&q, answer);
        ok = len > 0 && ws_link_write(&c->link, answer, len);
        conn_forget(c);
        c->phase = WS_CONN_OPEN;
        ws_peer_opened(c->peer, now_ms);
        ws_peer_log(c->peer, "opened");
    }
    explicit_bzero(&q, sizeof q);
    return ok;
}

/* Out: *used, the bytes of the request */
static bool take_request(struct ws_conn *c, struct ws_conn_room *room, const uint8_t *data,
                         size_t len, size_t *used, int64_t now_ms)
{
    size_t had = c->head_len, n = len < WS_REQUEST_MAX - had ? len : WS_REQUEST_MAX - had, whole;

    *used = len;
    if (!c->head)
        c->head = malloc(WS_REQUEST_MAX);
    if (!c->head)
        return false;
    memcpy(c->head + had, data, n);
    c->head_len += n;
    whole = ws_request_length(c->head, c->head_len);
    if (whole == 0 && c->head_len == WS_REQUEST_MAX)
        return conn_refuse(c, 400, "the request line and headers are too long", now_ms);
    if (whole == 0)
        return true;
    explicit_bzero(c->head + whole, c->head_len - whole);
    c->head_len = whole;
    *used = whole - had;
    return on_request(c, room, now_ms);
}

/* ------------------------------------------------------------------------- frames */

static bool send_control(struct ws_conn *c, enum ws_frame_op op, const void *data, size_t len)
{
    uint8_t frame[WS_FRAME_HEAD_MAX + WS_FRAME_CONTROL_MAX];
    size_t head = ws_frame_head(frame, op, len);

    memcpy(frame + head, data, len);
    return ws_link_write(&c->link, frame, head + len);
}

static bool on_control(struct ws_conn *c, const struct ws_frame *f, int64_t now_ms)
{
    c->peer->heard_ms = now_ms;
    if (f->op == WS_FRAME_PING)
        return ws_link_waiting(&c->link) > PONGS_MAX ||
               send_control(c, WS_FRAME_PONG, f->data, f->len);
    if (f->op == WS_FRAME_CLOSE && ws_peer_said_close(c->peer, f->data, f->len)) {
        bool ok = send_control(c, WS_FRAME_CLOSE, f->data, f->len);

        conn_leave(c, now_ms);
        return ok;
    }
    return true;
}

static bool conn_keep(struct ws_conn *c, const uint8_t *data, size_t len)
{
    c->held = malloc(len);
    if (!c->held)
        return false;
    memcpy(c->held, data, len);
    c->held_len = len;
    return true;
}

static bool take_frames(struct ws_conn *c, uint8_t *data, size_t len, int64_t now_ms)
{
    struct ws_peer *p = c->peer;
    struct ws_frame f;

    while (len > 0 && c->phase == WS_CONN_OPEN && p->phase != WS_PEER_CLOSING) {
        size_t used;

        if (ws_peer_full(p))
            return conn_keep(c, data, len);
        used = ws_frame_read(&c->frames, &f, data, len);
        data += used;
        len -= used;
        if (f.event == WS_FRAME_PART)
            ws_peer_receive(p, f.data, f.len, f.remaining, f.first, f.final, f.binary, now_ms);
        else if (f.event == WS_FRAME_BROKEN)
            ws_peer_break(p, f.why, now_ms);
        else if (f.event == WS_FRAME_CONTROL && !on_control(c, &f, now_ms))
            return false;
    }
    return true;
}

static bool conn_resume(struct ws_conn *c, int64_t now_ms)
{
    uint8_t *held = c->held;
    size_t len = c->held_len;
    bool ok;

    c->held = NULL;
    c->held_len = 0;
    ok = take_frames(c, held, len, now_ms);
    free(held);
    return ok;
}

/* ------------------------------------------------------------------------- sending */

static bool send_close(struct ws_conn *c, int64_t now_ms)
{
    const struct ws_peer *p = c->peer;
    const char *why = p->close_reason ? p->close_reason : "";
    size_t len = strnlen(why, WS_FRAME_CONTROL_MAX - 2);
    uint8_t payload[WS_FRAME_CONTROL_MAX] = {(uint8_t)(p->close_code >> 8), (uint8_t)p->close_code};
    bool ok;

    memcpy(payload + 2, why, len);
    ok = send_control(c, WS_FRAME_CLOSE, payload, 2 + len);
    conn_leave(c, now_ms);
    return ok;
}

/* Returns 1; 2: it was a block; 0: there was nothing to send; -1: the connection is broken. */
static int conn_send(struct ws_conn *c, struct ws_conn_room *room, int64_t now_ms)
{
    struct ws_peer *p = c->peer;
    const uint8_t *msg = NULL;
    enum stream_kind kind;
    size_t len = 0, head;

    if (p->ping_due && p->phase != WS_PEER_CLOSING) {
        p->ping_due = false;
        return send_control(c, WS_FRAME_PING, "ping", 4) ? 1 : -1;
    }
    kind = ws_peer_next(p, &msg, &len);
    if (kind == STREAM_CLOSE)
        return send_close(c, now_ms) ? 0 : -1;
    if (kind == STREAM_NONE)
        return 0;
    if (array_grow(&room->tx, &room->tx_cap, WS_FRAME_HEAD_MAX + len, 1))
        return -1;
    head = ws_frame_head(room->tx, kind == STREAM_BINARY ? WS_FRAME_BINARY : WS_FRAME_TEXT, len);
    memcpy(room->tx + head, msg, len);
    if (!ws_link_write(&c->link, room->tx, head + len))
        return -1;
    atomic_fetch_add(&p->env->messages_out, 1);
    atomic_fetch_add(&p->env->bytes_out, len);
    return kind == STREAM_BINARY ? 2 : 1;
}

/* The blocks of a frame are many and small. The first leaves at once; the others leave together, as
 * many as the socket takes, because encoding them takes a while. */
static bool send_burst(struct ws_conn *c, struct ws_conn_room *room, int64_t now_ms)
{
    bool first = true;
    int sent = 1;

    ws_link_cork(&c->link, true);
    for (int i = 0; i < BURST && sent > 0 && ws_link_waiting(&c->link) == 0; i++) {
        sent = conn_send(c, room, now_ms);
        if (sent == 2 && first) {
            first = false;
            ws_link_cork(&c->link, false);
            ws_link_cork(&c->link, true);
        }
    }
    ws_link_cork(&c->link, false);
    c->more = sent > 0;
    return sent >= 0;
}

bool ws_conn_speak(struct ws_conn *c, struct ws_conn_room *room, int64_t now_ms)
{
    while (c->phase == WS_CONN_OPEN) {
        if (!send_burst(c, room, now_ms))
            return false;
        if (c->phase != WS_CONN_OPEN || !c->held || ws_peer_full(c->peer))
            break;
        if (!conn_resume(c, now_ms))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------- turns */

static bool stalled(const struct ws_conn *c)
{
    return c->phase == WS_CONN_OPEN && (c->held || ws_peer_full(c->peer));
}

/* Reads once, because other connections wait. */
static bool conn_read(struct ws_conn *c, struct ws_conn_room *room, int64_t now_ms)
{
    size_t used = 0, len;
    bool ok = true;
    long n;

    if (c->first && c->link.ssl && listen_speaks_plainly(c->link.fd))
        return refuse_plain(c, now_ms);
    c->first = false;
    n = ws_link_read(&c->link, room->rx, WS_CONN_READ_BYTES);
    if (n <= 0)
        return n == 0;
    len = (size_t)n;
    if (c->phase == WS_CONN_REQUEST) {
        ok = take_request(c, room, room->rx, len, &used, now_ms);
        explicit_bzero(room->rx, used);
    }
    return ok && (c->phase != WS_CONN_OPEN || take_frames(c, room->rx + used, len - used, now_ms));
}

bool ws_conn_turn(struct ws_conn *c, struct ws_conn_room *room, bool readable, int64_t now_ms)
{
    bool waited = ws_link_waiting(&c->link) > 0;

    if (waited && !ws_link_flush(&c->link))
        return false;
    if (waited && c->phase == WS_CONN_LEAVING && ws_link_waiting(&c->link) == 0) {
        c->left_ms = now_ms;
        ws_link_finish(&c->link);
    }
    if ((readable || c->link.due_out) && !stalled(c) && !conn_read(c, room, now_ms))
        return false;
    return ws_conn_speak(c, room, now_ms);
}

bool ws_conn_tick(struct ws_conn *c, struct ws_conn_room *room, int64_t now_ms)
{
    struct listen_health health = listen_health(c->link.fd);
    struct ws_peer *p = c->peer;

    if (ws_peer_weigh(p, health.received, now_ms) ||
        ws_peer_tick(p, health.unacknowledged_ms, now_ms))
        return false;
    if (c->phase == WS_CONN_LEAVING)
        return ws_link_waiting(&c->link) > 0 || now_ms - c->left_ms < WS_CONN_LEAVE_MS;
    return !(p->ping_due || p->phase == WS_PEER_CLOSING || c->held) ||
           ws_conn_speak(c, room, now_ms);
}

bool ws_conn_floods(struct ws_conn *c, int64_t now_ms)
{
    return ws_peer_weigh(c->peer, listen_health(c->link.fd).received, now_ms);
}

uint32_t ws_conn_wants(const struct ws_conn *c)
{
    bool out = ws_link_waiting(&c->link) > 0 || c->more || c->link.due_out;

    return (stalled(c) ? 0 : (uint32_t)EPOLLIN) | (out ? (uint32_t)EPOLLOUT : 0);
}
