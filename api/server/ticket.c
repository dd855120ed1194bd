#include "api/server/ticket.h"

#include "proto/lock.h"

#include <stdlib.h>
#include <string.h>

struct row {
    uint8_t hash[TOKEN_HASH_BYTES];
    bool used;
    int64_t made_s, expires_s;
    struct ticket what;
};

struct ticket_box {
    struct lock lock;
    struct row rows[TICKETS_MAX];
};

struct ticket_box *ticket_box_new(void)
{
    struct ticket_box *b = calloc(1, sizeof *b);

    if (b)
        lock_init(&b->lock, LOCK_TICKET);
    return b;
}

void ticket_box_free(struct ticket_box **b)
{
    if (!*b)
        return;
    lock_destroy(&(*b)->lock);
    free(*b);
    *b = NULL;
}

int64_t ticket_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t); /* this clock runs while the host sleeps */
    return t.tv_sec;
}

/* Under the lock: finds the place of a new ticket; NULL: none is free. Expired ones are dropped; a
 * session with its full number of tickets loses the oldest. */
static struct row *row_for_session(struct ticket_box *b, const char *session, int64_t now_s)
{
    struct row *unused = NULL, *oldest = NULL;
    int n = 0;

    for (int i = 0; i < TICKETS_MAX; i++) {
        struct row *row = &b->rows[i];

        if (row->used && row->expires_s <= now_s)
            memset(row, 0, sizeof *row);
        if (!row->used) {
            unused = unused ? unused : row;
        } else if (strcmp(row->what.session, session) == 0) {
            n++;
            oldest = oldest && oldest->made_s <= row->made_s ? oldest : row;
        }
    }
    return n >= TICKETS_OF_SESSION ? oldest : unused;
}

int ticket_make(struct ticket_box *b, const struct ticket *what, int64_t now_s, int lasts_s,
                char text[TOKEN_CAP], struct err *err)
{
    uint8_t hash[TOKEN_HASH_BYTES];
    struct row *row;
    int rc = token_make(text, err);

    if (rc)
        return rc;
    if (!token_hash(text, strlen(text), hash))
        return err_set(err, ERR_IO, "SHA-256 failed");
    lock_take(&b->lock);
    row = row_for_session(b, what->session, now_s);
    if (row) {
        *row = (struct row){
            .used = true, .made_s = now_s, .expires_s = now_s + lasts_s, .what = *what};
        memcpy(row->hash, hash, sizeof row->hash);
    }
    lock_give(&b->lock);
    return row ? 0 : err_set(err, ERR_BUSY, "too many tickets are open");
}

/* Under the lock; always reads all rows. */
static struct row *row_find(struct ticket_box *b, const uint8_t hash[TOKEN_HASH_BYTES],
                            int64_t now_s)
{
    struct row *found = NULL;

    for (int i = 0; i < TICKETS_MAX; i++)
        if (token_equal(b->rows[i].hash, hash) && b->rows[i].used)
            found = &b->rows[i];
    return found && found->expires_s > now_s ? found : NULL;
}

static bool ticket_valid(struct ticket_box *b, const uint8_t hash[TOKEN_HASH_BYTES], int64_t now_s,
                         bool take, struct ticket *what)
{
    struct row *row;

    lock_take(&b->lock);
    row = row_find(b, hash, now_s);
    if (row)
        *what = row->what;
    if (row && take)
        memset(row, 0, sizeof *row);
    lock_give(&b->lock);
    return row != NULL;
}

bool ticket_find(struct ticket_box *b, const uint8_t hash[TOKEN_HASH_BYTES], int64_t now_s,
                 struct ticket *what)
{
    return ticket_valid(b, hash, now_s, false, what);
}

bool ticket_take(struct ticket_box *b, const uint8_t hash[TOKEN_HASH_BYTES], int64_t now_s,
                 struct ticket *what)
{
    return ticket_valid(b, hash, now_s, true, what);
}

void ticket_forget_session(struct ticket_box *b, const char *id)
{
    lock_take(&b->lock);
    for (int i = 0; i < TICKETS_MAX; i++)
        if (b->rows[i].used && strcmp(b->rows[i].what.session, id) == 0)
            memset(&b->rows[i], 0, sizeof b->rows[i]);
    lock_give(&b->lock);
}
