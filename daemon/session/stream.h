/*
 * stream.h - one WebSocket client of a session: the stream half of core_ops
 *
 * Threads: the WebSocket edge's one thread makes all calls; other threads reach the client's outbox
 *          through the session alone.
 */
#ifndef RECOND_DAEMON_STREAM_H
#define RECOND_DAEMON_STREAM_H

#include "daemon/core.h"

/* The comments stand with struct core_ops in api/api.h. */
MUST_CHECK int stream_open(struct core *c, const char *id, enum control_role role, void *cookie,
                           struct stream **s, struct err *err);
MUST_CHECK int stream_start(struct stream *s, const struct control_start *start, struct err *err);
MUST_CHECK int stream_frame(struct stream *s, const uint8_t *msg, size_t len, struct err *err);
MUST_CHECK int stream_control(struct stream *s, const struct control_message *m, struct err *err);
enum stream_kind stream_next(struct stream *s, const uint8_t **msg, size_t *len);
void stream_close(struct stream *s);

#endif
