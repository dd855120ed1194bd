#include "api/server/http_peers.h"

#include "api/server/listen.h"

#include <stdlib.h>
#include <sys/socket.h>

/* Shuts the connection down; the library sees the end and closes it. */
static void shut(struct http_peer *p)
{
    p->deadline_ms = INT64_MAX;
    shutdown(p->fd, SHUT_RDWR);
}

/* Closes the oldest connection in a spare place if none is free. */
static void peers_make_room(struct http_peers *t)
{
    struct http_peer *oldest = NULL;
    int n = 0;

    for (struct http_peer *p = t->first; p; p = p->next)
        if (p->spare && p->deadline_ms != INT64_MAX) {
            n++;
            oldest = p;
        }
    if (n >= HTTP_PEERS_SPARE)
        shut(oldest);
}

struct http_peer *http_peers_add(struct http_peers *t, int fd, int64_t now_ms, int64_t header_ms)
{
    struct http_peer *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->fd = fd;
    listen_peer(fd, p->addr);
    p->spare = t->taken >= t->places;
    if (p->spare) {
        peers_make_room(t);
        atomic_fetch_add(&t->beyond, 1);
    }
    t->taken += !p->spare;
    http_peers_allow(p, now_ms, header_ms);
    p->next = t->first;
    p->self = &t->first;
    if (p->next)
        p->next->self = &p->next;
    t->first = p;
    atomic_fetch_add(&t->connections, 1);
    atomic_fetch_add(&t->accepted, 1);
    return p;
}

void http_peers_allow(struct http_peer *p, int64_t now_ms, int64_t ms)
{
    p->deadline_ms = now_ms + (p->spare && ms > HTTP_PEERS_SPARE_MS ? HTTP_PEERS_SPARE_MS : ms);
}

void http_peers_remove(struct http_peers *t, struct http_peer *p)
{
    *p->self = p->next;
    if (p->next)
        p->next->self = p->self;
    t->taken -= !p->spare;
    atomic_fetch_sub(&t->connections, 1);
    free(p);
}

void http_peers_sweep(struct http_peers *t, int64_t now_ms, bool idle_too)
{
    for (struct http_peer *p = t->first; p; p = p->next) {
        if (p->deadline_ms > now_ms && !(idle_too && !p->answering))
            continue;
        if (p->deadline_ms <= now_ms)
            atomic_fetch_add(&t->overstayed, 1);
        shut(p);
    }
    t->swept_ms = now_ms;
}
