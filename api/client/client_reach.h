/*
 * client_reach.h - how much of a session's cloud a mirror holds: what `resume` names
 *
 * All up to a `sync`; then, where the server's blocks come in order, up to a block on the way to
 * the next one (docs/PROTOCOL.md, "Resume").
 */
#ifndef RECOND_CLIENT_REACH_H
#define RECOND_CLIENT_REACH_H

#include "proto/wire/control.h"

struct client_reach {
    bool any; /* the mirror holds what `at` says; false: it begins anew */
    struct control_reach at, best;
    uint64_t best_revision; /* most blocks that the cloud has ever had */
};

/* Record a received message. They return whether the client is further than ever before; what is
 * only repeated after a lost connection is no progress. */
bool client_reach_sync(struct client_reach *r, uint64_t revision);
/* msg is a put, patch or delete that the mirror took; ready is that of this connection. */
bool client_reach_block(struct client_reach *r, const struct control_ready *ready,
                        const uint8_t *msg);
bool client_reach_revision(struct client_reach *r, uint64_t revision);

/* The mirror is empty, and perhaps of another epoch. */
void client_reach_clear(struct client_reach *r, bool other_epoch);

#endif
