/*
 * ws_peer.h - one WebSocket connection as a state machine, without a socket
 *
 * ws_conn.c moves bytes; what they mean is decided here, so that it can be tested and fuzzed in
 * process: the handshake, message assembly with its limits, strikes, deadlines, what is sent next.
 *
 *   HANDSHAKE --admit--> OPEN --start--> STARTED --fail, bye--> CLOSING
 *
 * A peer is a slot of a fixed table and is used again by later connections. Its receive buffer
 * comes with a binary message and goes when none has come for WS_PEER_REST_MS, or the connection
 * ends.
 * Threads: the thread of the stream edge that the peer belongs to (ws_slots.h); `woken` any.
 */
#ifndef RECOND_API_WS_PEER_H
#define RECOND_API_WS_PEER_H

#include "api/server/auth.h"

#include <stdatomic.h>

#define WS_PEER_START_MS 5000 /* time from the handshake to `start` */
#define WS_PEER_REST_MS 5000  /* time without a binary message after which its buffer is freed */
#define WS_PEER_FRAGMENTS_MAX 16384 /* time of one message */
#define WS_PEER_STRIKES_MAX 2       /* the second message that is no message ends the connection */
#define WS_PEER_OWN_MAX 1024        /* bytes of a control message of the edge itself */
#define WS_PEER_ANSWER_MAX 2048     /* bytes of the answer to a refused handshake */
/* bytes without a message that are allowed, beside as many as have one */
#define WS_PEER_WASTE_PER_S (32 << 10)
/* Bytes of that kind at once. Half of it may be held while the peer is full, a quarter may be an
 * incomplete TLS record. */
#define WS_PEER_WASTE_MAX (64 << 10)
#define WS_PEER_PIECES_PER_S \
    32768                        /* fragments and unfragmented messages; more wait in the socket */
#define WS_PEER_TEXTS_PER_S 1024 /* control messages; more wait as well */
#define WS_PEER_AT_ONCE 16       /* share of a second's allowance that may come at once: 1/16 */
/* a peer that is silent for so many hang-up times is gone, even if its TCP answers */
#define WS_PEER_STALL 10

enum ws_peer_phase {
    WS_PEER_FREE,
    WS_PEER_HANDSHAKE,
    WS_PEER_OPEN,
    WS_PEER_STARTED,
    /* nothing more is accepted; `own` is still sent, then the close frame */
    WS_PEER_CLOSING
};

/* Data that all peers share; ws.c owns it. */
struct ws_peer_env {
    const struct api_config *config;
    struct auth *auth;
    atomic_uint_fast64_t refused, overstayed, broken, messages_in, messages_out, bytes_in,
        bytes_out;
};

struct ws_peer {
    struct ws_peer_env *env;
    enum ws_peer_phase phase;
    int fd;
    struct auth_who who;
    unsigned generation; /* auth_generation() when the token was checked */
    uint8_t addr[16];    /* address of the client, of listen_peer() */
    char id[API_ID_CAP];
    struct stream *stream;
    int64_t phase_ms, heard_ms, pinged_ms;
    int64_t message_ms, closing_ms;                /* time when it began; 0 = it has not */
    uint64_t message_bytes;                        /* bytes that came as parts of messages */
    uint64_t weighed_bytes, weighed_message_bytes; /* the same at the last ws_peer_weigh() */
    int64_t weighed_ms, waste;
    int64_t used_us, used_ms; /* allowance of pieces, texts and frames, at used_ms */
    uint8_t *rx;              /* [config->max_message_bytes] */
    size_t rx_len;
    int64_t rx_ms; /* time when the last binary message began */
    int fragments, strikes;
    bool binary, in_message, answered;
    char text[CONTROL_TEXT_MAX];
    char own[WS_PEER_OWN_MAX]; /* waits to be sent before the core's messages */
    size_t own_len;
    int close_code; /* close code; 0 = the connection stays open */
    const char *close_reason;
    bool ping_due;
    atomic_bool woken; /* last: the only member that other threads touch */
};

/* One line about the connection, with the reason if it was closed for one. */
void ws_peer_log(const struct ws_peer *p, const char *event);

/* The upgrade request; NULL = absent. */
struct ws_peer_handshake {
    const char *path, *query, *host, *origin, *protocols, *authorization;
    bool repeated; /* a header that may come once came twice */
};

void ws_peer_open(struct ws_peer *p, struct ws_peer_env *env, int fd, int64_t now_ms);
/* The connection is gone: ends the stream and frees the slot's resources. */
void ws_peer_close(struct ws_peer *p);

/*
 * ws_peer_admit - may this connection become a stream?
 *
 * Out:     answer: a whole HTTP response when it may not
 * Returns: 0; else the length of the answer
 */
MUST_CHECK size_t ws_peer_admit(struct ws_peer *p, const struct ws_peer_handshake *h,
                                char answer[WS_PEER_ANSWER_MAX]);
/* The response to a request that is refused before its handshake is checked. */
size_t ws_peer_refuse(char answer[WS_PEER_ANSWER_MAX], int status, const char *detail);
void ws_peer_opened(struct ws_peer *p, int64_t now_ms);

/* One piece of a message: len bytes are here, `remaining` more of the same WebSocket frame are
 * announced. */
void ws_peer_receive(struct ws_peer *p, const uint8_t *data, size_t len, size_t remaining,
                     bool first, bool final, bool binary, int64_t now_ms);

/* The received bytes are no frame of RFC 6455: the connection ends. */
void ws_peer_break(struct ws_peer *p, const char *why, int64_t now_ms);
/* The payload of the client's close frame. Returns false if it breaks the protocol; close_code is
 * set. */
bool ws_peer_said_close(struct ws_peer *p, const uint8_t *payload, size_t len);

/* Returns what to send now: the edge's own message, then the core's. STREAM_CLOSE: close_code is
 * set. */
enum stream_kind ws_peer_next(struct ws_peer *p, const uint8_t **msg, size_t *len);
/* Returns true if reading must pause: the edge has an unsent message of its own, or there have been
 * too many pieces, texts or frames. Ask again after ws_peer_next() and ws_peer_tick(). */
bool ws_peer_full(const struct ws_peer *p);

/*
 * ws_peer_tick - deadlines, several times a second
 *
 * In:      dead_ms: how long the peer's kernel has left sent data unacknowledged, 0 = it answers
 * Returns: true: cut the connection now, its client is gone
 */
MUST_CHECK bool ws_peer_tick(struct ws_peer *p, int64_t dead_ms, int64_t now_ms);

/*
 * ws_peer_weigh - is this peer flooding us with what is no message?
 *
 * Pings and pongs cost us work and carry nothing. Their bytes may be WS_PEER_WASTE_PER_S a second
 * and, beyond that, as many as the bytes of messages with the heads of their fragments.
 * In:      received: all bytes that were taken out of the socket, 0 = not known
 * Returns: true: cut the connection now
 */
MUST_CHECK bool ws_peer_weigh(struct ws_peer *p, uint64_t received, int64_t now_ms);

#endif
