#include "api/server/auth.h"

#include "api/server/ticket.h"
#include "proto/lock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct entry {
    uint8_t hash[TOKEN_HASH_BYTES];
    bool used;
    time_t expires; /* 0 = never */
    struct quota quota;
    /* token-file name whose line must exist for a session's token; "" = none */
    char owner[API_NAME_CAP];
    struct auth_who who;
};

struct auth {
    struct lock lock; /* guards all members below */
    bool open_to_all;
    atomic_uint generation;
    char *path;
    struct entry *file;    /* [n_file] */
    struct entry *session; /* [AUTH_SESSION_TOKENS], the first n_session may be in use */
    int n_file, n_session;
    struct ticket_box *tickets; /* has a lock of its own */
};

const char *auth_bearer(const char *header, size_t *len)
{
    const char *token;
    size_t n;

    *len = 0;
    if (strncasecmp(header, "Bearer", 6) != 0 || (header[6] != ' ' && header[6] != '\t'))
        return "";
    token = header + 6 + strspn(header + 6, " \t");
    n = strcspn(token, " \t,");
    if (n == 0 || token[n + strspn(token + n, " \t")] != '\0')
        return "";
    *len = n;
    return token;
}

/* ------------------------------------------------------------------------------- the token file */

static int read_tokens(const char *path, const struct quota *quota, struct entry *entries, int *n,
                       struct err *err)
{
    char *text = malloc(TOKEN_FILE_BYTES), *cursor = text;
    struct token_line t;
    int rc, got = 0, number = 0;

    *n = 0;
    if (!text)
        return err_set(err, ERR_MEMORY, "out of memory");
    rc = token_file_read(path, text, err);
    while (!rc && (got = token_file_next(&cursor, &number, path, &t, err)) > 0) {
        struct entry *e = &entries[*n];

        if (*n == TOKEN_LINES_MAX) {
            rc = err_at(err, ERR_LIMIT, path, "more than %d tokens", TOKEN_LINES_MAX);
            break;
        }
        ++*n;
        memcpy(e->hash, t.sha256, sizeof e->hash);
        e->used = true;
        e->expires = t.expires;
        e->who.scope = (enum auth_scope)t.scope;
        snprintf(e->who.name, sizeof e->who.name, "%s", t.name);
        e->quota = e->who.scope == AUTH_ADMIN ? quota_none : *quota;
        rc = quota_read(&e->quota, t.quotas, err);
    }
    explicit_bzero(text, TOKEN_FILE_BYTES);
    free(text);
    return rc ? rc : got;
}

int auth_reload(struct auth *a, const struct quota *quota, struct err *err)
{
    struct entry *fresh, *old;
    int n = 0, rc;

    if (a->open_to_all)
        return 0;
    fresh = calloc(TOKEN_LINES_MAX, sizeof *fresh);
    if (!fresh)
        return err_set(err, ERR_MEMORY, "out of memory");
    rc = read_tokens(a->path, quota, fresh, &n, err);
    if (rc) {
        free(fresh);
        return rc;
    }
    lock_take(&a->lock);
    old = a->file;
    a->file = fresh;
    a->n_file = n;
    atomic_fetch_add(&a->generation, 1);
    lock_give(&a->lock);
    free(old);
    return 0;
}

void auth_tell_tenants(struct auth *a, const struct core_ops *ops, struct core *core)
{
    struct api_tenant *tenants = calloc(TOKEN_LINES_MAX, sizeof *tenants);
    int n;

    if (!tenants)
        return; /* keeps the earlier quotas */
    lock_take(&a->lock);
    n = a->n_file;
    for (int i = 0; i < n; i++) {
        memcpy(tenants[i].name, a->file[i].who.name, sizeof tenants[i].name);
        tenants[i].quota = a->file[i].quota;
    }
    lock_give(&a->lock);
    ops->tenants_set(core, tenants, n);
    free(tenants);
}

/* ------------------------------------------------------------------------------- life */

int auth_open(struct auth **out, const struct api_config *config, struct err *err)
{
    struct auth *a = calloc(1, sizeof *a);
    int rc = 0;

    *out = NULL;
    if (!a)
        return err_set(err, ERR_MEMORY, "out of memory");
    lock_init(&a->lock, LOCK_AUTH);
    a->open_to_all = config->auth_mode == API_AUTH_NONE;
    a->session = calloc(AUTH_SESSION_TOKENS, sizeof *a->session);
    a->tickets = ticket_box_new();
    a->path = strdup(config->token_file ? config->token_file : "");
    if (!a->session || !a->path || !a->tickets)
        rc = err_set(err, ERR_MEMORY, "out of memory");
    else if (!a->open_to_all && !a->path[0])
        rc = err_set(err, ERR_INPUT, "tokens are asked for, but no token file is configured");
    else
        rc = auth_reload(a, &config->quota, err);
    if (rc) {
        auth_close(&a);
        return rc;
    }
    *out = a;
    return 0;
}

void auth_close(struct auth **a)
{
    if (!*a)
        return;
    lock_destroy(&(*a)->lock);
    free((*a)->file);
    free((*a)->session);
    free((*a)->path);
    ticket_box_free(&(*a)->tickets);
    free(*a);
    *a = NULL;
}

bool auth_open_to_all(const struct auth *a)
{
    return a->open_to_all;
}

/* ------------------------------------------------------------------------------- questions */

/* Returns the index of the token, -1 if none; always reads all entries. */
static int entry_find(const struct entry *entries, int n, const uint8_t hash[TOKEN_HASH_BYTES])
{
    int found = -1;

    for (int i = 0; i < n; i++)
        if (token_equal(entries[i].hash, hash) && entries[i].used)
            found = i;
    return found;
}

/* Under the lock: tells whether the line of the token file exists that a session's token depends
 * on. */
static bool owner_stands(const struct auth *a, const struct entry *e)
{
    if (!e->owner[0])
        return true;
    for (int i = 0; i < a->n_file; i++)
        if (strcmp(a->file[i].who.name, e->owner) == 0)
            return !a->file[i].expires || a->file[i].expires > time(NULL);
    return false;
}

/* Under the lock. */
static const struct entry *find_any(const struct auth *a, const uint8_t hash[TOKEN_HASH_BYTES])
{
    int in_file = entry_find(a->file, a->n_file, hash),
        in_session = entry_find(a->session, a->n_session, hash);

    if (in_file >= 0)
        return &a->file[in_file];
    return in_session >= 0 && owner_stands(a, &a->session[in_session]) ? &a->session[in_session]
                                                                       : NULL;
}

unsigned auth_generation(const struct auth *a)
{
    return atomic_load(&a->generation);
}

bool auth_holds(struct auth *a, const struct auth_who *who)
{
    bool holds;

    lock_take(&a->lock);
    holds = a->open_to_all || find_any(a, who->sha256);
    lock_give(&a->lock);
    return holds;
}

int auth_check(struct auth *a, const char *token, size_t len, struct auth_who *who, struct err *err)
{
    uint8_t hash[TOKEN_HASH_BYTES];
    const struct entry *e;

    memset(who, 0, sizeof *who);
    if (a->open_to_all) {
        who->scope = AUTH_ADMIN;
        strcpy(who->name, "anyone");
        return 0;
    }
    if (!token)
        return err_set(err, ERR_DENIED, "a bearer token is required");
    if (len == 0 || len > TOKEN_MAX || !token_hash(token, len, hash))
        return err_set(err, ERR_DENIED, "the token is not valid");
    lock_take(&a->lock);
    e = find_any(a, hash);
    if (e && e->expires && e->expires <= time(NULL))
        e = NULL;
    if (e) {
        *who = e->who;
        memcpy(who->sha256, hash, sizeof who->sha256);
    }
    lock_give(&a->lock);
    return e ? 0 : err_set(err, ERR_DENIED, "the token is not valid");
}

int auth_check_ticket(struct auth *a, const char *text, size_t len, struct auth_who *who,
                      struct err *err)
{
    struct ticket t;

    memset(who, 0, sizeof *who);
    if (!text)
        return err_set(err, ERR_DENIED, "a ticket is required");
    if (len == 0 || len > TOKEN_MAX || !token_hash(text, len, who->sha256) ||
        !ticket_find(a->tickets, who->sha256, ticket_now_s(), &t))
        return err_set(err, ERR_DENIED,
                       "the ticket is not valid: it was used, has expired, or never was");
    who->scope = (enum auth_scope)t.scope;
    strcpy(who->name, "ticket");
    memcpy(who->session, t.session, sizeof who->session);
    return 0;
}

struct ticket_box *auth_tickets(struct auth *a)
{
    return a->tickets;
}

int auth_may(const struct auth_who *who, enum auth_right right, const char *id, struct err *err)
{
    bool bound = who->session[0] != '\0', may = false;
    bool on_session = right == AUTH_READ || right == AUTH_FEED || right == AUTH_DELETE;

    if (bound && on_session && strcmp(who->session, id) != 0)
        return err_set(err, ERR_NOT_FOUND, "no such session");
    switch (right) {
    case AUTH_NONE:
    case AUTH_ANY:
    case AUTH_READ:
        may = true;
        break;
    case AUTH_GLOBAL:
        may = !bound;
        break;
    case AUTH_CREATE:
        may = !bound && who->scope >= AUTH_INGEST;
        break;
    case AUTH_TICKET: /* auth_check_ticket() has decided */
        break;
    case AUTH_FEED:
        may = who->scope >= AUTH_INGEST;
        break;
    case AUTH_DELETE:
        may = who->scope == AUTH_ADMIN || (bound && who->scope == AUTH_INGEST);
        break;
    }
    return may ? 0
               : err_set(err, ERR_DENIED, "a token of scope %s%s may not do this",
                         token_scope_name((int)who->scope), bound ? ", bound to a session," : "");
}

int auth_adopt(struct auth *a, const struct api_token *kept, struct err *err)
{
    struct entry *e = NULL;

    if (!kept->session[0] || !memchr(kept->session, '\0', sizeof kept->session) ||
        (kept->scope != AUTH_VIEW && kept->scope != AUTH_INGEST))
        return err_set(err, ERR_INPUT, "this is no token of a session");
    lock_take(&a->lock);
    for (int i = 0; i < AUTH_SESSION_TOKENS && !e; i++)
        if (!a->session[i].used) {
            e = &a->session[i];
            if (i == a->n_session)
                a->n_session++;
        }
    if (e) {
        memset(e, 0, sizeof *e);
        memcpy(e->hash, kept->sha256, sizeof e->hash);
        e->who.scope = (enum auth_scope)kept->scope;
        strcpy(e->who.name, "session");
        strcpy(e->who.session, kept->session);
        snprintf(e->owner, sizeof e->owner, "%s", kept->owner);
        e->used = true;
    }
    lock_give(&a->lock);
    if (!e)
        return err_set(err, ERR_BUSY, "too many session tokens are held, delete sessions");
    return 0;
}

int auth_issue(struct auth *a, const char *id, enum auth_scope scope, const char *owner,
               char token[TOKEN_CAP], struct api_token *kept, struct err *err)
{
    int rc = token_make(token, err);

    memset(kept, 0, sizeof *kept);
    if (rc)
        return rc;
    snprintf(kept->session, sizeof kept->session, "%s", id);
    snprintf(kept->owner, sizeof kept->owner, "%s", a->open_to_all ? "" : owner);
    kept->scope = (int)scope;
    if (!token_hash(token, strlen(token), kept->sha256))
        return err_set(err, ERR_IO, "SHA-256 failed");
    return auth_adopt(a, kept, err);
}

static bool is_among(const uint8_t hash[TOKEN_HASH_BYTES], const struct api_token *kept, int n)
{
    for (int i = 0; i < n; i++)
        if (token_equal(kept[i].sha256, hash))
            return true;
    return false;
}

int auth_kept(struct auth *a, const char *id, struct api_token *kept, int cap)
{
    int n = 0;

    lock_take(&a->lock);
    for (int i = 0; i < a->n_session && n < cap; i++) {
        const struct entry *e = &a->session[i];

        if (!e->used || strcmp(e->who.session, id) != 0)
            continue;
        kept[n] = (struct api_token){.scope = (int)e->who.scope};
        memcpy(kept[n].session, e->who.session, sizeof kept[n].session);
        memcpy(kept[n].owner, e->owner, sizeof kept[n].owner);
        memcpy(kept[n++].sha256, e->hash, sizeof e->hash);
    }
    lock_give(&a->lock);
    return n;
}

void auth_keep_only(struct auth *a, const char *id, const struct api_token *kept, int n)
{
    ticket_forget_session(a->tickets, id);
    lock_take(&a->lock);
    for (int i = 0; i < a->n_session; i++)
        if (a->session[i].used && strcmp(a->session[i].who.session, id) == 0 &&
            !is_among(a->session[i].hash, kept, n))
            memset(&a->session[i], 0, sizeof a->session[i]);
    while (a->n_session > 0 && !a->session[a->n_session - 1].used)
        a->n_session--;
    if (n) /* otherwise the session is gone, and its streams with it */
        atomic_fetch_add(&a->generation, 1);
    lock_give(&a->lock);
}

void auth_forget_session(struct auth *a, const char *id)
{
    auth_keep_only(a, id, NULL, 0);
}
