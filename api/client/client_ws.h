/*
 * client_ws.h - one WebSocket connection to a server, whole messages in and out (libwebsockets)
 *
 * This module knows no protocol: that of a stream is in client_talk.c. Everything happens inside
 * client_ws_run() on the caller's thread; different connections may be served by different threads.
 *
 * Half-open connections: a peer from which nothing came for ping_ms is pinged. It counts as gone
 * when its TCP has acknowledged nothing for hangup_ms, or when it acknowledges but has sent nothing
 * for ten times that. Silence alone does not count, because on a slow connection a ping waits
 * behind everything that was sent before it.
 */
#ifndef RECOND_API_CLIENT_WS_H
#define RECOND_API_CLIENT_WS_H

#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_ws;

struct client_ws_config {
    const char *url;         /* ws://host[:port]/path or wss://, copied */
    const char *token;       /* bearer token, NULL or "" = none, copied */
    const char *ca_file;     /* PEM of authorities, NULL = the system's, copied */
    const char *subprotocol; /* subprotocol that the server must choose; a literal */
    /* bound of a message; longer ones end the connection */
    size_t max_text_bytes, max_binary_bytes;
    int connect_timeout_s;
    int ping_ms, hangup_ms;
    void *ctx;
    void (*on_open)(void *ctx);
    /* msg is borrowed; a result other than 0 ends the connection with err's text */
    int (*on_message)(void *ctx, bool binary, const uint8_t *msg, size_t len, struct err *err);
    /* the socket takes one message: call client_ws_write() at most once */
    int (*on_writable)(void *ctx, struct err *err);
};

MUST_CHECK int client_ws_open(struct client_ws **w, const struct client_ws_config *config,
                              struct err *err);
void client_ws_close(struct client_ws **w);

/*
 * client_ws_run - let the connection work until something happened, at most timeout_ms
 *
 * Returns: 0; ERR_END: the peer closed it (its reason in err); ERR_DENIED, ERR_NOT_FOUND, ERR_BUSY,
 *          ERR_INPUT: the upgrade was answered with 401/403, 404/410, 429/503, another status;
 *          ERR_IO: no connection, or it broke; else what on_message or on_writable returned
 */
MUST_CHECK int client_ws_run(struct client_ws *w, int timeout_ms, struct err *err);

/* The Retry-After of a refusal with 429 or 503, in milliseconds; 0 = there was none. */
uint32_t client_ws_retry_after_ms(const struct client_ws *w);

/* Asks for on_writable(). */
void client_ws_want_write(struct client_ws *w);

/* Sends a copy of one message, because masking would change a message that may have to be sent
 * again. Call it only inside on_writable(). */
MUST_CHECK int client_ws_write(struct client_ws *w, const uint8_t *msg, size_t len, bool binary,
                               struct err *err);

/* Stops and starts the connection: while it is paused, client_ws_run() only waits. Flow control of
 * libwebsockets is not used, because bytes that it has buffered would wait for other traffic. */
void client_ws_pause(struct client_ws *w, bool paused);

#endif
