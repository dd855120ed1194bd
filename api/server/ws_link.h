/*
 * ws_link.h - the bytes of one connection: a socket, with or without TLS, and what waits to leave
 *
 * What the socket does not take at once is kept and goes first.
 * Threads: the service that the connection belongs to.
 */
#ifndef RECOND_API_WS_LINK_H
#define RECOND_API_WS_LINK_H

#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_link {
    int fd;
    void *ssl;    /* NULL = plain */
    bool due_out; /* TLS has to write before it can read */
    uint8_t *out; /* [out_cap], of which [out_at, out_len) waits to leave */
    size_t out_at, out_len, out_cap;
};

/* ssl: of tls_accept(), NULL = plain; the link owns both from here on. */
void ws_link_open(struct ws_link *l, int fd, void *ssl);
void ws_link_close(struct ws_link *l);

/* Returns how many bytes came; 0: none now; -1: the other side is gone. */
MUST_CHECK long ws_link_read(struct ws_link *l, void *buf, size_t cap);
/* Both return false when the connection is broken or there is no memory. */
MUST_CHECK bool ws_link_write(struct ws_link *l, const void *data, size_t len);
MUST_CHECK bool ws_link_flush(struct ws_link *l);
/* Number of bytes that wait to leave. */
size_t ws_link_waiting(const struct ws_link *l);

/* on: written bytes leave together; off: at once. */
void ws_link_cork(const struct ws_link *l, bool on);
/* Shuts down writing and tells the other side. */
void ws_link_finish(struct ws_link *l);

#endif
