/* session_clients.h - the clients of a session: those that watch it and those that feed it */
#ifndef RECOND_DAEMON_SESSION_CLIENTS_H
#define RECOND_DAEMON_SESSION_CLIENTS_H

#include "daemon/session/outbox.h"
#include "daemon/session/pace.h"
#include "daemon/session/session.h"

/* One WebSocket client of the session; made and freed by core_stream.c. */
struct session_client {
    uint64_t serial; /* names the client in frames; never used again */
    enum control_role role;
    enum frame_pose_convention convention; /* of poses to it and from it */
    bool started;                          /* said `start`; under the session's lock */
    /* it is told the result of every n-th used frame, 0 = of none; set before it starts */
    uint32_t result_every;
    int source; /* of an ingest client that has started, else -1 */
    void *cookie;
    struct outbox *outbox;
    /* under the session's lock */
    struct pace_link link;
    float told_rate; /* of what is of use, the last that it was told; 0 = nothing yet */
    int told_jpeg;
};

/* Clients that watch and those that send frames have their own places, so that neither lock out the
 * others. Returns 0; ERR_BUSY: all places of its role are taken; ERR_STATE: the session is gone. */
MUST_CHECK int session_attach(struct session *s, struct session_client *c, struct err *err);
void session_detach(struct session *s, struct session_client *c);
/* ERR_BUSY while its journal is being replayed: what it made of its frames is not all there yet. To
 * ask puts it before the sessions that no client has asked for. */
MUST_CHECK int session_is_back(struct session *s, struct err *err);
bool session_asked_for(const struct session *s);
/*
 * session_start - the client said `start`
 *
 * A second client that sends frames of a source replaces the first, whose connection is likely half
 * dead; it is told `bye`. A session that is closed is fed no more, but frames that are sent again
 * are told their verdicts.
 * In:      source: its name, of a client that sends frames
 * Out:     c->source; *at: what is known of it
 * Returns: 0; ERR_BUSY: as session_is_back(); ERR_LIMIT, ERR_MEMORY: as sources_join()
 */
MUST_CHECK int session_start(struct session *s, struct session_client *c, const char *source,
                             struct api_source *at, struct err *err);
/* A message went to a client. */
void session_sent(struct session *s, const struct outbox_sent *sent);

#endif
