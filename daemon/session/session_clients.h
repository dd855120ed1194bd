/* session_clients.h - clients that watch a session and clients that feed it */
#pragma once

#include "daemon/session/outbox.h"
#include "daemon/session/pace.h"
#include "daemon/session/session.h"

/* One WebSocket client of the session; made and freed by core_stream.c. */
struct session_client {
    uint64_t serial; /* names the client in frames; never used again */
    enum control_role role;
    enum frame_pose_convention convention; /* its convention of poses */
    bool started;                          /* it sent `start`; guarded by the session's lock */
    /* it gets the result of every n-th used frame, 0 = of none; set before it starts */
    uint32_t result_every;
    int source; /* source of a feeding client that has started, else -1 */
    void *cookie;
    struct outbox *outbox;
    /* guarded by the session's lock */
    struct pace_link link;
    float told_rate; /* the last rate that it was told; 0 = none yet */
    int told_jpeg;
};

/* Adds a client. Watching and feeding clients are counted apart, so that neither lock out the
 * others. Returns 0; ERR_BUSY: all places of its role are taken; ERR_STATE: the session is gone. */
MUST_CHECK int session_attach(struct session *s, struct session_client *c, struct err *err);
void session_detach(struct session *s, struct session_client *c);
/* ERR_BUSY while its journal is being replayed. Asking gives it precedence. */
MUST_CHECK int session_is_back(struct session *s, struct err *err);
bool session_asked_for(const struct session *s);
/*
 * session_start - the client said `start`
 *
 * A second client that sends frames of a source replaces the first, whose connection is probably
 * dead; it is told `bye`. A closed session takes no frames, but frames that are sent again get
 * their verdicts.
 * In:      source: its name, of a client that sends frames
 * Out:     c->source; *at: its last numbers
 * Returns: 0; ERR_BUSY: as session_is_back(); ERR_LIMIT, ERR_MEMORY: as sources_join()
 */
MUST_CHECK int session_start(struct session *s, struct session_client *c, const char *source,
                             struct api_source *at, struct err *err);
/* Counts a message that went to a client. */
void session_sent(struct session *s, const struct outbox_sent *sent);
