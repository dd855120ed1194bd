/*
 * ws_service.c - a thread of the stream edge: accepts, sleeps, and gives connections their turns
 *
 * Level-triggered epoll: an event says that something may be there, and a connection that has
 * nothing finds that out by itself. So an event that is left over from a connection whose slot has
 * been given away does no harm.
 */
#include "api/server/ws_internal.h"

#include "api/server/listen.h"
#include "api/server/tls.h"
#include "api/wipe.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 50
#define CHECK_MS 2  /* interval in which a busy service checks peers for floods ... */
#define CHECK_PEERS 16 /* ... so many of its peers each time */
#define ACCEPT_AT_ONCE 16
#define EVENTS_AT_ONCE 64
#define TX_BYTES (64u << 10)
/* Ids of events that belong to no connection. */
#define THE_BELL UINT32_MAX
#define THE_LISTENER (UINT32_MAX - 1)

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------------- connections */

static void conn_end(struct ws_service *v, struct ws_conn *c)
{
    ws_conn_close(c, &v->room);
}

/* After serving a connection: closes it, or tells epoll what it waits for. */
static void conn_settle(struct ws_service *v, struct ws_conn *c, bool stays)
{
    uint32_t wants = stays ? ws_conn_wants(c) : 0;
    struct epoll_event event = {.events = wants, .data.u32 = (uint32_t)c->slot};

    if (stays && wants == c->asked)
        return;
    if (!stays || epoll_ctl(v->epoll, EPOLL_CTL_MOD, c->link.fd, &event) != 0) {
        conn_end(v, c);
        return;
    }
    c->asked = wants;
}

static void adopt(struct ws_service *v, int at, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)at};
    struct ws *w = v->ws;
    struct ws_conn *c = &w->conns[at];
    void *ssl = w->config.tls ? tls_accept(v->ssl_ctx, fd) : NULL;

    ws_peer_open(&w->peers[at], &w->env, fd, now_ms());
    ws_conn_open(c, &w->peers[at], at, fd, ssl);
    c->asked = EPOLLIN;
    atomic_fetch_add(&w->accepted, 1);
    if ((w->config.tls && !ssl) || epoll_ctl(v->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        conn_end(v, c);
}

/* Returns the service's own connection in a slot; NULL: there is none. */
static struct ws_conn *own(struct ws_service *v, int at)
{
    struct ws *w = v->ws;

    return ws_slots_service(w->slots, at) == v->index && w->conns[at].peer ? &w->conns[at] : NULL;
}

static void on_connection(struct ws_service *v, int at, uint32_t events)
{
    struct ws_conn *c = own(v, at);
    bool gone = events & (EPOLLERR | EPOLLHUP);

    if (!c)
        return;
    /* It is no longer read, so epoll would report it for ever. */
    if (gone && !(ws_conn_wants(c) & EPOLLIN))
        conn_settle(v, c, false);
    else
        conn_settle(v, c, ws_conn_turn(c, &v->room, gone || (events & EPOLLIN), now_ms()));
}

/* ------------------------------------------------------------------------- accepting */

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
        if (!w->config.tls) { /* otherwise there is no handshake to say it in */
            size_t len = ws_peer_refuse(answer, 503, "too many connections");
            (void)!send(fd, answer, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        atomic_fetch_add(&w->env.refused, 1);
        close(fd);
        return;
    }
    atomic_store(&w->services[service].wake, true);
    ws_service_ring(&w->services[service]);
}

static void on_listener(struct ws *w)
{
    for (int i = 0; i < ACCEPT_AT_ONCE && w->fd >= 0; i++) {
        int fd = listen_accept(w->fd, &w->spare_fd);
        if (fd < 0)
            return;
        hand_over(w, fd);
    }
}

/* Registers once; epoll forgets closed descriptors. */
static void stop_listening(struct ws *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

int ws_service_listen(struct ws_service *v, struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = THE_LISTENER};

    if (epoll_ctl(v->epoll, EPOLL_CTL_ADD, v->ws->fd, &event) != 0)
        return err_set(err, ERR_IO, "the listening socket is not watched: %s", strerror(errno));
    v->ws->listens = true;
    return 0;
}

/* ------------------------------------------------------------ requests of other threads */

void ws_service_ring(struct ws_service *v)
{
    if (v->bell >= 0)
        (void)!eventfd_write(v->bell, 1);
}

static void on_bell(struct ws_service *v)
{
    struct ws *w = v->ws;
    eventfd_t rings;

    (void)!eventfd_read(v->bell, &rings);
    if (v->index == 0 && atomic_load(&w->drain))
        stop_listening(w);
    /* Handshakes that have begun keep the old certificate. The new one was checked when it was
     * read; if OpenSSL still refuses it, the old one stays. */
    if (atomic_exchange(&v->renew, false) && !tls_apply(w->config.tls, v->ssl_ctx))
        atomic_fetch_add(&w->env.broken, 1);
    if (!atomic_exchange(&v->wake, false))
        return;
    for (int i = 0; i < w->config.max_connections; i++) {
        struct ws_peer *p = &w->peers[i];
        struct ws_conn *c;
        int fd;

        if (ws_slots_service(w->slots, i) != v->index)
            continue;
        fd = ws_slots_arrive(w->slots, i);
        if (fd >= 0)
            adopt(v, i, fd);
        c = own(v, i);
        if (c && atomic_load(&p->woken) && atomic_exchange(&p->woken, false) &&
            p->phase == WS_PEER_STARTED)
            conn_settle(v, c, ws_conn_turn(c, &v->room, false, now_ms()));
    }
}

/* ------------------------------------------------------------------------- deadlines */

static void service_tick(struct ws_service *v, int64_t now)
{
    if (now - v->ticked_ms < TICK_MS)
        return;
    v->ticked_ms = now;
    for (int i = 0; i < v->ws->config.max_connections; i++) {
        struct ws_conn *c = own(v, i);

        if (c)
            conn_settle(v, c, ws_conn_tick(c, &v->room, now));
    }
}

/* Pings are answered as fast as they come. A flood of them would keep this thread and a processor
 * busy until the next tick, while other connections wait. */
static void floods_check(struct ws_service *v, int64_t now)
{
    struct ws *w = v->ws;
    int checked = 0;

    if (now - v->checked_ms < CHECK_MS)
        return;
    v->checked_ms = now;
    for (int i = 0; i < w->config.max_connections && checked < CHECK_PEERS; i++) {
        struct ws_conn *c = own(v, v->check_next);

        if (c) {
            checked++;
            if (ws_conn_floods(c, now))
                conn_end(v, c);
        }
        v->check_next = (v->check_next + 1) % w->config.max_connections;
    }
}

/* ------------------------------------------------------------------------- life */

void ws_service_turn(struct ws_service *v, int max_ms)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int64_t left_ms = v->ticked_ms + TICK_MS - now_ms(), now;
    int n = epoll_wait(v->epoll, events, EVENTS_AT_ONCE,
                       left_ms < 0        ? 0
                       : left_ms < max_ms ? (int)left_ms
                                          : max_ms);

    for (int i = 0; i < n; i++) {
        if (events[i].data.u32 == THE_BELL)
            on_bell(v);
        else if (events[i].data.u32 == THE_LISTENER)
            on_listener(v->ws);
        else
            on_connection(v, (int)events[i].data.u32, events[i].events);
    }
    now = now_ms();
    service_tick(v, now);
    floods_check(v, now);
    if (v->room.met)
        wipe_stack();
    v->room.met = false;
    atomic_store(&v->alive_ms, (uint64_t)now);
}

void *ws_service_run(void *service)
{
    struct ws_service *v = service;

    while (!atomic_load(&v->ws->stop))
        ws_service_turn(v, TICK_MS);
    return NULL;
}

int ws_service_open(struct ws_service *v, struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = THE_BELL};
    struct ws *w = v->ws;

    v->room.slots = w->slots;
    v->room.rx = malloc(WS_CONN_READ_BYTES);
    v->room.tx = malloc(TX_BYTES);
    if (!v->room.rx || !v->room.tx)
        return err_set(err, ERR_MEMORY, "out of memory");
    v->room.tx_cap = TX_BYTES;
    v->epoll = epoll_create1(EPOLL_CLOEXEC);
    v->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (v->epoll < 0 || v->bell < 0 || epoll_ctl(v->epoll, EPOLL_CTL_ADD, v->bell, &event) != 0)
        return err_set(err, ERR_IO, "a WebSocket thread cannot wait: %s", strerror(errno));
    if (w->config.tls && !(v->ssl_ctx = tls_server(w->config.tls)))
        return err_set(err, ERR_IO, "OpenSSL does not take the certificate");
    return 0;
}

void ws_service_close(struct ws_service *v)
{
    for (int i = 0; v->ws->slots && i < v->ws->config.max_connections; i++) {
        struct ws_conn *c = own(v, i);
        if (c)
            conn_end(v, c);
    }
    tls_server_free(&v->ssl_ctx);
    if (v->epoll >= 0)
        close(v->epoll);
    if (v->bell >= 0)
        close(v->bell);
    free(v->room.rx);
    free(v->room.tx);
}
