/*
 * ws_handshake.h - from the library's first word about a connection to the upgrade, or to no
 *
 * Part of ws.c: takes the headers out of libwebsockets, lets ws_peer.c judge them, and answers who
 * is turned away in whole sentences, through TLS where the edge speaks it.
 * Threads: the service that the peer belongs to.
 */
#ifndef RECOND_API_WS_HANDSHAKE_H
#define RECOND_API_WS_HANDSHAKE_H

#include "api/server/ws_peer.h"

struct lws;

/* A few bytes into an empty socket: what does not fit at once is not worth waiting for. */
void ws_handshake_send(int fd, const char *text, size_t len);

/* Each returns what the library's callback has to: 0 = go on, -1 = close. */

/*
 * ws_handshake_before - the library is about to look at an upgrade
 *
 * It closes what it cannot upgrade without a word; so the word comes before it tries. Its verdict
 * is asked for here (HTTP_CONFIRM_UPGRADE) and always left to it: other answers have freed memory
 * twice.
 */
MUST_CHECK int ws_handshake_before(struct ws_peer *p, struct lws *wsi);
/* Whose request the proxy in front says that this is; false: it does not say. */
bool ws_handshake_address(struct lws *wsi, uint8_t addr[16]);
/* One connection too many of that address. */
MUST_CHECK int ws_handshake_crowd(struct ws_peer *p, struct lws *wsi);
/* Path, origin, token, session: may it become a stream? */
MUST_CHECK int ws_handshake_admit(struct ws_peer *p, struct lws *wsi);
/* A request that asks for no upgrade. */
MUST_CHECK int ws_handshake_plain(struct ws_peer *p, struct lws *wsi);

#endif
