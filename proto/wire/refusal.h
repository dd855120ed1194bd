/*
 * refusal.h - what an `error` of the stream means: its type, and what becomes of the connection
 *
 * One row a type; PROTOCOL.md, "Ends and errors", is the same table for people. Types are never
 * used again for something else. An `error` that closes the connection and has a retry_ms asks the
 * client to come again after that time and to resume; one that closes without it is final.
 */
#ifndef RECOND_PROTO_REFUSAL_H
#define RECOND_PROTO_REFUSAL_H

#include "proto/wire/control.h"

enum refusal_kind {
    REFUSAL_MALFORMED, /* the second error of this type closes the connection */
    REFUSAL_UNAUTHORIZED,
    REFUSAL_FORBIDDEN,
    REFUSAL_NOT_FOUND,
    REFUSAL_NO_START,
    REFUSAL_CONFLICT,
    REFUSAL_VIEW_ONLY,
    REFUSAL_FIELDS,
    REFUSAL_FLOOD,
    REFUSAL_INTERNAL,
    REFUSAL_UNKNOWN_OP,
    REFUSAL_BUSY,
    REFUSAL_UNAVAILABLE,
    REFUSAL_KINDS
};

/* The error type of the stream for an error of the core. */
enum refusal_kind refusal_of(int err_code);
/* The whole message; texts longer than their members are cut. */
void refusal_write(struct control_error *e, enum refusal_kind kind, const char *detail,
                   const char *pointer);
/* The close code of RFC 6455 that follows an error of this kind at once; 0 = the connection
 * stays. */
int refusal_close(enum refusal_kind kind);
const char *refusal_title(enum refusal_kind kind);
/* Tells whether a received `error` ends the connection. One of an unknown type does not. */
bool refusal_ends(const struct control_error *e);

#endif
