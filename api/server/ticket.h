/*
 * ticket.h - one-time tickets: what a link or a picture code carries in place of a token
 *
 * A ticket opens one session with one scope, once, and only for a while; POST
 * /v1/tickets/exchange gives a token of the session for it. A link may be seen by others later,
 * in a history or a chat: then it is worth nothing any more. Tickets are kept in memory alone, by
 * their SHA-256, so an end of the process voids them.
 * Threads: all calls lock; any thread. Times are seconds of a clock that does not jump.
 */
#ifndef RECOND_API_TICKET_H
#define RECOND_API_TICKET_H

#include "api/api.h"
#include "api/token.h"

#define TICKETS_MAX 1024
#define TICKETS_OF_SESSION 16 /* tickets of a session; one more drops the oldest */
#define TICKET_LASTS_S 600
#define TICKET_LASTS_MAX_S 86400

struct ticket_box;

struct ticket {
    char session[API_ID_CAP];
    int scope; /* enum auth_scope */
};

/* NULL: no memory */
struct ticket_box *ticket_box_new(void);
void ticket_box_free(struct ticket_box **b);

/*
 * ticket_make - a fresh ticket
 *
 * Out:     text, the only copy there ever is: the caller wipes it when it has been told
 * Returns: 0; ERR_BUSY: too many are open; ERR_IO: no randomness
 */
MUST_CHECK int ticket_make(struct ticket_box *b, const struct ticket *what, int64_t now_s,
                           int lasts_s, char text[TOKEN_CAP], struct err *err);
/* Tells whether this ticket exists and has not expired. */
bool ticket_find(struct ticket_box *b, const uint8_t hash[TOKEN_HASH_BYTES], int64_t now_s,
                 struct ticket *what);
/* The same, and removes the ticket: of two requests at once one gets it. */
bool ticket_take(struct ticket_box *b, const uint8_t hash[TOKEN_HASH_BYTES], int64_t now_s,
                 struct ticket *what);
/* Drops all tickets of a session that is gone or has new tokens. */
void ticket_forget_session(struct ticket_box *b, const char *id);
/* Seconds of the clock that tickets expire by. */
int64_t ticket_now_s(void);

#endif
