/*
 * control.h - text messages of the stream: JSON objects with an `op`
 *
 * control.schema.json lists the messages with their members, docs/PROTOCOL.md says what they mean.
 * Limits:  CONTROL_TEXT_MAX bytes, object at top level, depth 8, valid UTF-8, no duplicate keys;
 *          unknown members and words of features are ignored, unknown ops are ERR_UNSUPPORTED:
 *          a server answers them with `error`, a client passes over them.
 */
#ifndef RECOND_PROTO_CONTROL_H
#define RECOND_PROTO_CONTROL_H

#include "proto/wire/control_answer.h"

/* Returns 0; ERR_INPUT with where = JSON pointer of the bad member; ERR_UNSUPPORTED: an op that
 * this build does not know; ERR_LIMIT. Fills *m only on 0. */
MUST_CHECK int control_parse(struct control_message *m, const char *text, size_t len,
                             struct err *err);

/* Writes m as JSON into buf and allocates nothing. Returns the length without the NUL, 0 if cap is
 * too small. */
size_t control_write(char *buf, size_t cap, const struct control_message *m);

bool control_source_valid(const char *name);
/* Tells whether a client with this reach holds the block, which changed last at `revision`. */
bool control_reaches(const struct control_reach *r, uint64_t revision,
                     const struct cloud_name *name);

#endif
