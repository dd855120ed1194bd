/*
 * ws_conn.h - a connection of the stream edge, from its first byte to its last
 *
 * Its request is read and judged (ws_request.h), then frames go to the peer (ws_frame.h,
 * ws_peer.h), and what the peer has to say leaves through the link (ws_link.h). While the peer is
 * full the rest of a read is kept, and the socket is not read.
 *
 *   REQUEST --101--> OPEN --close frame--> LEAVING (what still comes is thrown away until the
 *      `--refusal------------------------>          client hangs up, or WS_CONN_LEAVE_MS)
 *
 * Threads: the service that the connection belongs to.
 */
#ifndef RECOND_API_WS_CONN_H
#define RECOND_API_WS_CONN_H

#include "api/server/ws_frame.h"
#include "api/server/ws_link.h"
#include "api/server/ws_peer.h"
#include "api/server/ws_slots.h"

#define WS_CONN_LEAVE_MS 1000
/* bytes read from one client before other clients are read */
#define WS_CONN_READ_BYTES (WS_PEER_WASTE_MAX / 2)

enum ws_conn_phase { WS_CONN_REQUEST, WS_CONN_OPEN, WS_CONN_LEAVING };

struct ws_conn {
    struct ws_peer *peer;
    int slot;
    struct ws_link link;
    enum ws_conn_phase phase;
    int64_t left_ms;
    char *head; /* [WS_REQUEST_MAX], until the request is whole */
    size_t head_len;
    struct ws_frame_reader frames;
    uint8_t *held; /* [held_len] bytes, read while the peer was full */
    size_t held_len;
    bool first;     /* no byte has come yet */
    bool more;      /* more is to be sent than fits one round */
    uint32_t asked; /* events that epoll was asked for */
};

/* Buffers that the connections of one service share. */
struct ws_conn_room {
    struct ws_slots *slots;
    uint8_t *rx; /* [WS_CONN_READ_BYTES] */
    uint8_t *tx; /* [tx_cap], one message on its way out */
    size_t tx_cap;
    bool met; /* a request, perhaps with a token, was read since the stack was wiped */
};

/* ssl: NULL = plain. The connection owns descriptor and ssl from here on. */
void ws_conn_open(struct ws_conn *c, struct ws_peer *peer, int slot, int fd, void *ssl);
/* Closes the socket and frees the slot, which may belong to another thread from then on. */
void ws_conn_close(struct ws_conn *c, struct ws_conn_room *room);

/* Each returns false if the connection is over and must be closed. */

/* There may be room to send or, if `readable`, bytes that have come. */
MUST_CHECK bool ws_conn_turn(struct ws_conn *c, struct ws_conn_room *room, bool readable,
                             int64_t now_ms);
/* The peer may have something to send, or room for held bytes. */
MUST_CHECK bool ws_conn_speak(struct ws_conn *c, struct ws_conn_room *room, int64_t now_ms);
/* Deadlines. */
MUST_CHECK bool ws_conn_tick(struct ws_conn *c, struct ws_conn_room *room, int64_t now_ms);
/* Returns true if the peer floods us and must be cut. */
MUST_CHECK bool ws_conn_floods(struct ws_conn *c, int64_t now_ms);

/* The events of epoll for which the connection waits now. */
uint32_t ws_conn_wants(const struct ws_conn *c);

#endif
