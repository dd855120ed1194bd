/*
 * ws_handshake.h - a connection from its first bytes to the upgrade or the refusal
 *
 * Part of ws_service.c: takes the headers out of libwebsockets, lets ws_peer.c judge them, and
 * answers a refused client with a sentence, through TLS where the edge speaks it.
 * Threads: the service that the peer belongs to.
 */
#ifndef RECOND_API_WS_HANDSHAKE_H
#define RECOND_API_WS_HANDSHAKE_H

#include "api/server/ws_peer.h"

struct lws;

/* Write a few bytes into an empty socket. What does not fit at once is dropped. */
void ws_handshake_send(int fd, const char *text, size_t len);

/* Each returns what the library's callback has to: 0 = go on, -1 = close. */

/*
 * ws_handshake_before - the library is about to look at an upgrade
 *
 * The library closes a connection that it cannot upgrade and says nothing, so the refusal is sent
 * here, before it tries (HTTP_CONFIRM_UPGRADE). The verdict is always left to the library: other
 * answers made it free memory twice.
 */
MUST_CHECK int ws_handshake_before(struct ws_peer *p, struct lws *wsi);
/* The client's address as the proxy in front tells it; false: it tells none. */
bool ws_handshake_address(struct lws *wsi, uint8_t addr[16]);
/* Path, origin, token, session: may it become a stream? */
MUST_CHECK int ws_handshake_admit(struct ws_peer *p, struct lws *wsi);
/* Answers with a problem document instead. */
MUST_CHECK int ws_handshake_refuse(struct ws_peer *p, struct lws *wsi, int status,
                                   const char *detail);

#endif
