/*
 * auth.h - bearer tokens, and what their holders may do
 *
 * A token is opaque text; only its SHA-256 is kept. Two kinds:
 *   file tokens     lines of the token file, hold for every session
 *   session tokens  auth_issue() makes them, 128 random bits in base64url, hold for one
 *                   session, void after auth_forget_session() and without the line of the token
 *                   that the session was made with
 *
 *   right            admin   file ingest   file view   session ingest   session view
 *   AUTH_ANY           x          x            x             x               x
 *   AUTH_GLOBAL        x          x            x             -               -
 *   AUTH_CREATE        x          x            -             -               -
 *   AUTH_READ          x          x            x         its own         its own
 *   AUTH_FEED          x          x            -         its own             -
 *   AUTH_DELETE        x          -            -         its own             -
 *
 * A session token that asks for another session is told ERR_NOT_FOUND, as if that session did not
 * exist.
 * Threads: all calls lock; any thread.
 */
#ifndef RECOND_API_AUTH_H
#define RECOND_API_AUTH_H

#include "api/api.h"
#include "api/token.h"

#define AUTH_SESSION_TOKENS 8192

enum auth_scope { AUTH_VIEW, AUTH_INGEST, AUTH_ADMIN };
enum auth_right {
    AUTH_NONE,
    AUTH_ANY,
    AUTH_GLOBAL,
    AUTH_CREATE,
    AUTH_READ,
    AUTH_FEED,
    AUTH_DELETE,
    AUTH_TICKET /* a ticket (ticket.h) in place of a token; auth_check_ticket() checks it */
};

struct auth;
struct ticket_box;

MUST_CHECK int auth_open(struct auth **a, const struct api_config *config, struct err *err);
void auth_close(struct auth **a);
/* Reads the token file again (SIGHUP); on an error the old tokens stay. quota: for lines without
 * one. */
MUST_CHECK int auth_reload(struct auth *a, const struct quota *quota, struct err *err);
/* Announces the present tokens to the core, which need not know sessions yet. */
void auth_tell_tenants(struct auth *a, const struct core_ops *ops, struct core *core);
/* Accepts a session's token of an earlier run, as core_ops.tokens_each tells it. Returns 0;
 * ERR_BUSY: the table is full; ERR_INPUT: no session, or a scope that no session's token has. */
MUST_CHECK int auth_adopt(struct auth *a, const struct api_token *kept, struct err *err);
/* Copies the tokens of a session, at most cap of them; returns their number. */
int auth_kept(struct auth *a, const char *id, struct api_token *kept, int cap);
/* From now on only these tokens of a session hold, and none of its tickets. */
void auth_keep_only(struct auth *a, const char *id, const struct api_token *kept, int n);
/* edge_ops.session_gone */
void auth_forget_session(struct auth *a, const char *id);

struct auth_who {
    enum auth_scope scope;
    /* name of the line in the token file, for logs; "session" for issued tokens */
    char name[API_NAME_CAP];
    char session[API_ID_CAP]; /* the one session for which it holds; "" = all */
    uint8_t sha256[TOKEN_HASH_BYTES];
};

/* A number that changes when tokens may have been revoked: the file was read, or a session has new
 * ones. */
unsigned auth_generation(const struct auth *a);
/* Tells whether the token of auth_check() still exists, expired or not. */
bool auth_holds(struct auth *a, const struct auth_who *who);

/*
 * auth_check - whose token is this?
 *
 * Compares the hash with every entry, whether or not one has matched, in constant time.
 * In:      token [len], NULL = none came
 * Returns: 0; ERR_DENIED: none, unknown or expired (one text for all but the first)
 */
MUST_CHECK int auth_check(struct auth *a, const char *token, size_t len, struct auth_who *who,
                          struct err *err);

/* Checks a ticket. It stays good: the handler takes it, by its hash. Returns what auth_check()
 * does. */
MUST_CHECK int auth_check_ticket(struct auth *a, const char *text, size_t len, struct auth_who *who,
                                 struct err *err);
/* The open tickets; borrowed. */
struct ticket_box *auth_tickets(struct auth *a);

/* Returns 0; ERR_DENIED; ERR_NOT_FOUND: the token belongs to another session (id may be ""). */
MUST_CHECK int auth_may(const struct auth_who *who, enum auth_right right, const char *id,
                        struct err *err);

/*
 * auth_issue - a fresh token for one session
 *
 * In:      owner: name of the token that the session was made with; "" = it needs none
 * Out:     token, the only copy there ever is: the caller wipes it when it has been told;
 *          kept, what core_ops.tokens_keep and, after a restart, auth_adopt() take
 * Returns: 0; ERR_BUSY: the table is full; ERR_IO: no randomness
 */
MUST_CHECK int auth_issue(struct auth *a, const char *id, enum auth_scope scope, const char *owner,
                          char token[TOKEN_CAP], struct api_token *kept, struct err *err);

/* No tokens are required (loopback). */
bool auth_open_to_all(const struct auth *a);

/* Finds the token in "Bearer xyz"; "" and 0 for any other scheme or form. */
const char *auth_bearer(const char *header, size_t *len);

#endif
