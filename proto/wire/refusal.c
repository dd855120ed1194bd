#include "proto/wire/refusal.h"

#include <stdio.h>
#include <string.h>

enum { POLICY = 1008, TRY_LATER = 1013 }; /* limit of RFC 6455, 7.4.1 */

/* clang-format off */
static const struct {
    const char *type;
    int status, close;
    uint32_t retry_ms;
    const char *title;
} rows[REFUSAL_KINDS] = {
    [REFUSAL_MALFORMED] = {"malformed", 400, 0, 0, "This is no message of the protocol"},
    [REFUSAL_UNAUTHORIZED] = {"unauthorized", 401, POLICY, 0, "A valid token is required"},
    [REFUSAL_FORBIDDEN] = {"forbidden", 403, POLICY, 0, "The token does not reach so far"},
    [REFUSAL_NOT_FOUND] = {"not_found", 404, POLICY, 0, "No such session"},
    [REFUSAL_NO_START] = {"no_start", 408, POLICY, 1000, "The stream did not start"},
    [REFUSAL_CONFLICT] = {"conflict", 409, 0, 0, "Not in this state"},
    [REFUSAL_VIEW_ONLY] = {"view_only", 409, 0, 0, "A viewer sends no frames"},
    [REFUSAL_FIELDS] = {"invalid_fields", 422, 0, 0, "Fields are wrong"},
    [REFUSAL_FLOOD] = {"flood", 429, POLICY, 1000, "Too many frames at once"},
    [REFUSAL_INTERNAL] = {"internal", 500, TRY_LATER, 2000, "The server failed"},
    [REFUSAL_UNKNOWN_OP] = {"unknown_op", 501, 0, 0, "Not by this server"},
    [REFUSAL_BUSY] = {"busy", 503, TRY_LATER, 5000, "No room now"},
    [REFUSAL_UNAVAILABLE] = {"unavailable", 503, TRY_LATER, 5000, "The server cannot do this now"},
};
/* clang-format on */

enum refusal_kind refusal_of(int err_code)
{
    switch (err_code) {
    case ERR_INPUT:
    case ERR_LIMIT:
        return REFUSAL_FIELDS;
    case ERR_BUSY:
        return REFUSAL_BUSY;
    case ERR_STATE:
        return REFUSAL_CONFLICT;
    case ERR_NOT_FOUND:
        return REFUSAL_NOT_FOUND;
    case ERR_DENIED:
        return REFUSAL_FORBIDDEN;
    case ERR_UNSUPPORTED:
        return REFUSAL_UNKNOWN_OP;
    case ERR_MEMORY:
    case ERR_DEVICE:
        return REFUSAL_UNAVAILABLE;
    }
    return REFUSAL_INTERNAL;
}

void refusal_write(struct control_error *e, enum refusal_kind kind, const char *detail,
                   const char *pointer)
{
    memset(e, 0, sizeof *e);
    e->status = rows[kind].status;
    e->retry_ms = rows[kind].retry_ms;
    snprintf(e->type, sizeof e->type, "%s", rows[kind].type);
    snprintf(e->title, sizeof e->title, "%s", rows[kind].title);
    snprintf(e->detail, sizeof e->detail, "%s", detail);
    snprintf(e->pointer, sizeof e->pointer, "%s", pointer);
}

int refusal_close(enum refusal_kind kind)
{
    return rows[kind].close;
}

const char *refusal_title(enum refusal_kind kind)
{
    return rows[kind].title;
}

bool refusal_ends(const struct control_error *e)
{
    for (int i = 0; i < REFUSAL_KINDS; i++)
        if (strcmp(rows[i].type, e->type) == 0)
            return rows[i].close != 0;
    return false;
}
