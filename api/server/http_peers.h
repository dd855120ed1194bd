/*
 * http_peers.h - the connections of the REST edge: their places and deadlines
 *
 * A connection takes one of `places`. When all are taken it gets one of HTTP_PEERS_SPARE that are
 * there for probes and metrics: for a second, for one request, and only until the next connection
 * needs it, so a probe that sends its request at once is answered whatever the others do.
 * Threads: the edge's own; counters any.
 */
#ifndef RECOND_API_HTTP_PEERS_H
#define RECOND_API_HTTP_PEERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HTTP_PEERS_SPARE 32
#define HTTP_PEERS_SPARE_MS 1000
/* Connections of spare places that were told to go, and that the library has not closed yet. */
#define HTTP_PEERS_CLOSING 96

struct http_peer {
    struct http_peer *next, **self;
    int fd;
    uint8_t addr[16]; /* as listen_peer() has it */
    int64_t deadline_ms;
    bool answering, spare;
};

struct http_peers {
    struct http_peer *first; /* the newest */
    int places, taken;
    int64_t swept_ms;
    atomic_uint_fast64_t connections, accepted, overstayed, beyond;
};

/* NULL: out of memory. */
struct http_peer *http_peers_add(struct http_peers *t, int fd, int64_t now_ms, int64_t header_ms);
/* It may stay for ms from now on, in a spare place HTTP_PEERS_SPARE_MS at most. */
void http_peers_allow(struct http_peer *p, int64_t now_ms, int64_t ms);
void http_peers_remove(struct http_peers *t, struct http_peer *p);
/* Shuts what has stayed beyond its deadline; idle_too: and what is not being answered. */
void http_peers_sweep(struct http_peers *t, int64_t now_ms, bool idle_too);

#endif
