/*
 * client_talk.h - the client's side of a stream's protocol, without a socket
 *
 * It speaks docs/PROTOCOL.md over any number of connections: frames are kept from
 * client_talk_send() until their ack, the mirror and the revision of its last `sync` outlive a
 * connection. The owner of the connection calls client_talk_connect() for each new one, hands in
 * what arrives, and sends what client_talk_next() gives.
 *
 * Invariants, which tests/fuzz/fuzz_client_resume.c checks against a server that sends anything:
 *          a frame is never sent after its ack, and twice on one connection only where the server
 *          answered `later`; but for such frames seq only rises on one connection; at most the
 *          server's window is unanswered; a frame that client_talk_send() took is either answered
 *          or still kept.
 * Threads: none inside.
 */
#ifndef RECOND_API_CLIENT_TALK_H
#define RECOND_API_CLIENT_TALK_H

#include "api/client/client.h"

struct client_talk;

/* Members of the configuration that belong to the connection (url, token, time-outs) are not
 * used. */
MUST_CHECK int client_talk_new(struct client_talk **t, const struct client_stream_config *config,
                               struct err *err);
void client_talk_free(struct client_talk **t);

/* A new connection takes the place of the last one: `start` is sent first, then the frames without
 * an answer. */
void client_talk_connect(struct client_talk *t);

/*
 * client_talk_receive - one message of the server
 * Returns: 0; else the connection must be closed: ERR_INPUT, ERR_LIMIT: the server broke the
 *          protocol; ERR_END: a block does not fit, the next connection does without the mirror;
 *          ERR_MEMORY
 */
MUST_CHECK int client_talk_receive(struct client_talk *t, bool binary, const uint8_t *msg,
                                   size_t len, struct err *err);

struct client_talk_message { /* borrowed until the next call */
    const uint8_t *bytes;
    size_t len;
    bool binary;
};
/* Returns the next message to send: 0; ERR_END: nothing to send now; ERR_LIMIT. */
MUST_CHECK int client_talk_next(struct client_talk *t, struct client_talk_message *m,
                                struct err *err);
bool client_talk_has_more(const struct client_talk *t);

/*
 * client_talk_ended - why the connection is over, where rc is how the socket ended (ERR_IO, ERR_END
 * ...)
 *
 * Out:     err is replaced where the server gave a reason
 * Returns: the code of that reason: ERR_END after `bye`; an `error` before `ready` by its status
 */
int client_talk_ended(const struct client_talk *t, int rc, struct err *err);
/* Tells whether a new connection can go on where one ended with rc. It cannot after `bye` with
 * `disconnect`. */
bool client_talk_resumable(const struct client_talk *t, int rc);

/* Tells whether frames were answered `later` and all others are answered. For *for_ms from then on
 * nothing may be sent; client_talk_go_on() ends the pause. */
bool client_talk_held(const struct client_talk *t, uint32_t *for_ms);
void client_talk_go_on(struct client_talk *t);

/* A number that grows with each answer and each new revision of the cloud, but not with `ready`. */
uint64_t client_talk_progress(const struct client_talk *t);
bool client_talk_started(const struct client_talk *t); /* `ready` came on this connection */

/* These do the same as the functions client_stream_... of client.h. */
int client_talk_window(const struct client_talk *t);
MUST_CHECK int client_talk_send(struct client_talk *t, const struct frame *f, struct err *err);
MUST_CHECK int client_talk_camera(struct client_talk *t, const struct cameras_entry *camera,
                                  struct err *err);
MUST_CHECK int client_talk_end(struct client_talk *t, struct err *err);
uint64_t client_talk_next_seq(const struct client_talk *t);
int client_talk_unanswered(const struct client_talk *t);
void client_talk_pace(const struct client_talk *t, float *rate, int *jpeg);
const struct cloud *client_talk_cloud(const struct client_talk *t);
const struct control_ready *client_talk_ready(const struct client_talk *t);
const struct control_bye *client_talk_bye(const struct client_talk *t);
/* Milliseconds for which the server asked to stay away, by `bye` or `error`; 0 = it did not ask. */
uint32_t client_talk_retry_ms(const struct client_talk *t);
/* Tells whether the cloud has changed since the last call. */
bool client_talk_cloud_changed(struct client_talk *t);
struct client_stream_stats *client_talk_stats(struct client_talk *t);

#endif
