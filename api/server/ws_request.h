/*
 * ws_request.h - the request that opens a stream, RFC 6455 section 4.2
 *
 * Strict, so that a proxy in front and this server see the same request: lines end with CR LF, no
 * line is folded, a header name has the characters that it may have, a path is spelled in one way.
 */
#ifndef RECOND_API_WS_REQUEST_H
#define RECOND_API_WS_REQUEST_H

#include "api/server/ws_peer.h"

#define WS_REQUEST_MAX 8192      /* bytes of the request line and all headers */
#define WS_REQUEST_LIST_MAX 1024 /* bytes of the offered subprotocols in all headers */
#define WS_REQUEST_ANSWER_MAX 256

struct ws_request {
    struct ws_peer_handshake handshake;
    const char *key, *version, *upgrade, *forwarded; /* NULL = absent */
    bool connection_upgrade, body;
    char protocols[WS_REQUEST_LIST_MAX];
    int status; /* status of the refusal, 0 = none */
    const char *why;
};

/* The length of a head with its empty line; 0: it is incomplete. */
size_t ws_request_length(const char *bytes, size_t len);

/*
 * ws_request_read - is this a request for a stream?
 *
 * In/out:  head [len], with the empty line; cut into strings, to which the request points
 * Out:     q: status and why, where it is refused; q holds tokens and is the caller's to wipe
 */
void ws_request_read(struct ws_request *q, char *head, size_t len);

/* Writes the answer to an admitted request; returns its length. 0: SHA-1 failed. */
MUST_CHECK size_t ws_request_accept(const struct ws_request *q, char answer[WS_REQUEST_ANSWER_MAX]);

#endif
