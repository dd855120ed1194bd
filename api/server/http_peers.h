/*
 * http_peers.h - the connections of the REST edge: their places and deadlines
 *
 * A connection takes one of `places`. If all are taken, it gets one of HTTP_PEERS_SPARE places for
 * probes and metrics: for a second, for one request, and only until the next connection needs it. A
 * probe that sends its request at once is therefore always answered.
 * Threads: the edge's own; counters any.
 */
#ifndef RECOND_API_HTTP_PEERS_H
#define RECOND_API_HTTP_PEERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HTTP_PEERS_SPARE 32
#define HTTP_PEERS_SPARE_MS 1000
/* Connections of spare places that were shut down and that the library has not closed yet. */
#define HTTP_PEERS_CLOSING 96

struct http_peer {
    struct http_peer *next, **self;
    int fd;
    uint8_t addr[16]; /* address of listen_peer() */
    int64_t deadline_ms;
    bool answering, spare;
};

struct http_peers {
    struct http_peer *first; /* the newest */
    int places, taken;
    int64_t swept_ms;
    atomic_uint_fast64_t connections, accepted, overstayed, beyond;
};

/* Returns NULL if memory is short. */
struct http_peer *http_peers_add(struct http_peers *t, int fd, int64_t now_ms, int64_t header_ms);
/* Lets the connection stay for ms from now on, in a spare place for HTTP_PEERS_SPARE_MS at most. */
void http_peers_allow(struct http_peer *p, int64_t now_ms, int64_t ms);
void http_peers_remove(struct http_peers *t, struct http_peer *p);
/* Shuts connections beyond their deadline; idle_too: also those that are not being answered. */
void http_peers_sweep(struct http_peers *t, int64_t now_ms, bool idle_too);

#endif
