/*
 * edges.h - the two servers in front of the core, started and stopped together
 *
 * Threads: main alone.
 */
#ifndef RECOND_DAEMON_EDGES_H
#define RECOND_DAEMON_EDGES_H

#include "api/server/http.h"
#include "api/server/ws.h"
#include "daemon/core.h"

struct edges;

/* Can what the edges need be read: origins, certificate and key, token file? Listens nowhere.
 * Returns: 0; what edges_start() would say */
MUST_CHECK int edges_check(const struct config *config, struct err *err);
/* In: listening sockets of the service manager, -1 = make our own. Returns what auth, http and ws
 * say. */
MUST_CHECK int edges_start(struct edges **e, const struct config *config, struct core *core,
                           int http_fd, int stream_fd, struct err *err);
/* Streams are accepted no more. */
void edges_drain(struct edges *e);
/* After core_stop(): no thread of the core may be about to call them. */
void edges_stop(struct edges **e);

/* Read the token file and the certificate again; on an error nothing changes. */
MUST_CHECK int edges_reload(struct edges *e, const struct config *fresh, struct err *err);
/* Where clients find them, "http://..." and "ws://..." (https, wss with TLS); each [96]. */
void edges_addresses(const struct edges *e, char *http, char *stream, size_t cap);
/* What a person opens in a browser on this machine, or, if we listen on all its addresses, on
 * another one: the page's address; [112]. */
void edges_page(const struct edges *e, char *url, size_t cap);
/* clock_us() at which the edge that has been quiet for longest was last seen alive; call it
 * often. */
uint64_t edges_alive_us(struct edges *e, const char **thread);

/* The counters of both edges as Prometheus text; returns its length, or the length needed if larger
 * than cap. */
size_t edges_metrics(const struct http *http, const struct ws *ws, char *buf, size_t cap);

#endif
