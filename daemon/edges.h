/*
 * edges.h - the two servers in front of the core, started and stopped together
 *
 * Threads: main alone.
 */
#pragma once

#include "api/server/http.h"
#include "api/server/ws.h"
#include "daemon/core.h"

struct edges;

/* Could edges_start() read origins, certificate, key and token file? Listens nowhere. Returns: 0;
 * the errors of edges_start() */
MUST_CHECK int edges_check(const struct config *config, struct err *err);
/* In: listening sockets, -1 = make our own. Returns the errors of auth, http and ws. */
MUST_CHECK int edges_start(struct edges **e, const struct config *config, struct core *core,
                           int http_fd, int stream_fd, struct err *err);
/* Accepts no more streams. */
void edges_drain(struct edges *e);
/* Call it after core_stop(), when no thread of the core may call the edges. */
void edges_stop(struct edges **e);

/* Reads the token file and the certificate again; on an error nothing changes. */
MUST_CHECK int edges_reload(struct edges *e, const struct config *fresh, struct err *err);
/* The addresses for clients, "http://..." and "ws://..." (https, wss with TLS); each [96]. */
void edges_addresses(const struct edges *e, char *http, char *stream, size_t cap);
/* The page's address [112] for a browser on this machine or, if the server listens on all
 * addresses, on another one. */
void edges_page(const struct edges *e, char *url, size_t cap);
/* clock_us() of the older sign of life of the two edges; call it often. */
uint64_t edges_alive_us(struct edges *e, const char **thread);

/* The counters of both edges as Prometheus text; returns its length, even beyond cap. */
size_t edges_metrics(const struct http *http, const struct ws *ws, char *buf, size_t cap);
