#include "api/auth.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
/* OpenSSL has a type of this name, we have a constant. */
#define ERR_STATE openssl_err_state
#include <openssl/crypto.h>
#include <openssl/evp.h>
#undef ERR_STATE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HASH_BYTES 32
#define TOKEN_BYTES 16
#define FILE_MAX_BYTES (64 << 10)

struct entry {
    uint8_t hash[HASH_BYTES];
    bool used;
    time_t expires; /* 0 = never */
    struct auth_who who;
};

struct auth {
    pthread_mutex_t lock; /* guards all below */
    bool open_to_all;
    char *path;
    struct entry *file;    /* [n_file] */
    struct entry *session; /* [AUTH_SESSION_TOKENS], the first n_session may be in use */
    int n_file, n_session;
};

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char *const scope_names[] = {"view", "ingest", "admin"};

/* ------------------------------------------------------------------------------- encodings */

static bool hash_token(const char *token, size_t len, uint8_t hash[HASH_BYTES])
{
    unsigned n = 0;
    return EVP_Digest(token, len, hash, &n, EVP_sha256(), NULL) == 1 && n == HASH_BYTES;
}

static void base64url_encode(char *out, const uint8_t *in, size_t n)
{
    uint32_t bits = 0;
    int have = 0;

    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | in[i];
        for (have += 8; have >= 6; have -= 6)
            *out++ = base64url[bits >> (have - 6) & 63];
    }
    if (have > 0)
        *out++ = base64url[bits << (6 - have) & 63];
    *out = '\0';
}

size_t auth_base64url_decode(const char *text, size_t len, char *out, size_t cap)
{
    uint32_t bits = 0;
    int have = 0;
    size_t n = 0;

    if (len % 4 == 1)
        return 0;
    for (size_t i = 0; i < len; i++) {
        const char *at = text[i] ? strchr(base64url, text[i]) : NULL;
        if (!at)
            return 0;
        bits = bits << 6 | (uint32_t)(at - base64url);
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (n == cap)
                return 0;
            out[n++] = (char)(bits >> have & 255);
        }
    }
    return bits & ((1u << have) - 1) ? 0
                                     : n; /* left-over bits must be zero: one spelling per token */
}

const char *auth_bearer(const char *header, size_t *len)
{
    const char *token;
    size_t n;

    *len = 0;
    if (strncasecmp(header, "Bearer", 6) != 0 || (header[6] != ' ' && header[6] != '\t'))
        return NULL;
    token = header + 6 + strspn(header + 6, " \t");
    n = strcspn(token, " \t,");
    if (n == 0 || token[n + strspn(token + n, " \t")] != '\0')
        return NULL;
    *len = n;
    return token;
}

/* ------------------------------------------------------------------------------- the token file */

/* "2026-12-31" or "2026-12-31T23:59:59Z" */
static bool parse_expiry(const char *text, time_t *out)
{
    struct tm tm = {0};
    const char *end = strptime(text, strlen(text) == 10 ? "%Y-%m-%d" : "%Y-%m-%dT%H:%M:%SZ", &tm);

    if (!end || *end)
        return false;
    *out = timegm(&tm);
    return *out > 0;
}

static bool parse_hash(const char *hex, uint8_t hash[HASH_BYTES])
{
    if (strlen(hex) != 2 * HASH_BYTES || strspn(hex, "0123456789abcdefABCDEF") != 2 * HASH_BYTES)
        return false;
    for (int i = 0; i < HASH_BYTES; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        hash[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

/* name scope sha256-hex [expiry]; the text of a wrong field is not repeated, it may be a token */
static int parse_line(char *line, const char *where, struct entry *e, struct err *err)
{
    char *save = NULL, *field[5] = {0};
    int n = 0, scope = 0;

    for (char *f = strtok_r(line, " \t\r", &save); f && n < 5; f = strtok_r(NULL, " \t\r", &save))
        field[n++] = f;
    if (n < 3 || n > 4)
        return err_at(err, ERR_INPUT, where, "%d fields, must be: name scope sha256-hex [expiry]",
                      n);
    memset(e, 0, sizeof *e);
    if (strlen(field[0]) >= sizeof e->who.name)
        return err_at(err, ERR_INPUT, where, "the name is longer than %zu bytes",
                      sizeof e->who.name - 1);
    for (const char *p = field[0]; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
            return err_at(err, ERR_INPUT, where, "a name has letters, digits, '.', '_', '-' only");
    strcpy(e->who.name, field[0]);
    while (scope < 3 && strcmp(field[1], scope_names[scope]) != 0)
        scope++;
    if (scope == 3)
        return err_at(err, ERR_INPUT, where, "the scope must be admin, ingest or view");
    e->who.scope = (enum auth_scope)scope;
    if (!parse_hash(field[2], e->hash))
        return err_at(err, ERR_INPUT, where, "the third field must be a SHA-256, 64 hex digits");
    if (n == 4 && !parse_expiry(field[3], &e->expires))
        return err_at(err, ERR_INPUT, where,
                      "the expiry must look like 2026-12-31 or 2026-12-31T23:59:59Z");
    e->used = true;
    return 0;
}

static int read_text(const char *path, char *text, size_t cap, struct err *err)
{
    struct stat st;
    size_t n = 0;
    ssize_t got = 0;
    int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return err_at(err, ERR_IO, path, "cannot open the token file: %s", strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        rc = err_at(err, ERR_INPUT, path, "the token file is not a regular file");
    else if (st.st_mode & 077)
        rc = err_at(err, ERR_INPUT, path,
                    "the token file is open to group or others (mode %03o), must be 0600",
                    (unsigned)st.st_mode & 0777);
    while (!rc && n < cap && (got = read(fd, text + n, cap - n)) > 0)
        n += (size_t)got;
    if (!rc && got < 0)
        rc = err_at(err, ERR_IO, path, "cannot read the token file: %s", strerror(errno));
    if (!rc && (n == cap || memchr(text, '\0', n)))
        rc = err_at(err, ERR_INPUT, path, "the token file is too long or no text");
    if (!rc)
        text[n] = '\0';
    close(fd);
    return rc;
}

static int read_tokens(const char *path, struct entry *entries, int *n, struct err *err)
{
    char *text = malloc(FILE_MAX_BYTES);
    int rc, number = 0;

    *n = 0;
    if (!text)
        return err_set(err, ERR_MEMORY, "out of memory");
    rc = read_text(path, text, FILE_MAX_BYTES, err);
    for (char *line = text, *next; !rc && line; line = next) {
        char where[ERR_WHERE_CAP];
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line += strspn(line, " \t\r");
        snprintf(where, sizeof where, "%.60s:%d", path, ++number);
        if (!*line || *line == '#')
            continue;
        if (*n == AUTH_FILE_TOKENS)
            rc = err_at(err, ERR_LIMIT, where, "more than %d tokens", AUTH_FILE_TOKENS);
        else
            rc = parse_line(line, where, &entries[(*n)++], err);
    }
    OPENSSL_cleanse(text, FILE_MAX_BYTES);
    free(text);
    return rc;
}

int auth_reload(struct auth *a, struct err *err)
{
    struct entry *fresh, *old;
    int n = 0, rc;

    if (a->open_to_all)
        return 0;
    fresh = calloc(AUTH_FILE_TOKENS, sizeof *fresh);
    if (!fresh)
        return err_set(err, ERR_MEMORY, "out of memory");
    rc = read_tokens(a->path, fresh, &n, err);
    if (rc) {
        free(fresh);
        return rc;
    }
    pthread_mutex_lock(&a->lock);
    old = a->file;
    a->file = fresh;
    a->n_file = n;
    pthread_mutex_unlock(&a->lock);
    free(old);
    return 0;
}

/* ------------------------------------------------------------------------------- life */

int auth_open(struct auth **out, const struct api_config *config, struct err *err)
{
    struct auth *a = calloc(1, sizeof *a);
    int rc = 0;

    *out = NULL;
    if (!a)
        return err_set(err, ERR_MEMORY, "out of memory");
    pthread_mutex_init(&a->lock, NULL);
    a->open_to_all = config->auth_mode == API_AUTH_NONE;
    a->session = calloc(AUTH_SESSION_TOKENS, sizeof *a->session);
    a->path = strdup(config->token_file ? config->token_file : "");
    if (!a->session || !a->path)
        rc = err_set(err, ERR_MEMORY, "out of memory");
    else if (!a->open_to_all && !a->path[0])
        rc = err_set(err, ERR_INPUT, "tokens are asked for, but no token file is configured");
    else
        rc = auth_reload(a, err);
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
    pthread_mutex_destroy(&(*a)->lock);
    free((*a)->file);
    free((*a)->session);
    free((*a)->path);
    free(*a);
    *a = NULL;
}

bool auth_open_to_all(const struct auth *a)
{
    return a->open_to_all;
}

/* ------------------------------------------------------------------------------- questions */

/* The index of the match, -1 if none; looks at all entries in any case. */
static int find(const struct entry *entries, int n, const uint8_t hash[HASH_BYTES])
{
    int found = -1;

    for (int i = 0; i < n; i++)
        if (CRYPTO_memcmp(entries[i].hash, hash, HASH_BYTES) == 0 && entries[i].used)
            found = i;
    return found;
}

int auth_check(struct auth *a, const char *token, size_t len, struct auth_who *who, struct err *err)
{
    uint8_t hash[HASH_BYTES];
    const struct entry *e = NULL;
    int in_file, in_session;

    memset(who, 0, sizeof *who);
    if (a->open_to_all) {
        who->scope = AUTH_ADMIN;
        strcpy(who->name, "anyone");
        return 0;
    }
    if (!token)
        return err_set(err, ERR_DENIED, "a bearer token is required");
    if (len == 0 || len > AUTH_TOKEN_MAX || !hash_token(token, len, hash))
        return err_set(err, ERR_DENIED, "the token is not valid");
    pthread_mutex_lock(&a->lock);
    in_file = find(a->file, a->n_file, hash);
    in_session = find(a->session, a->n_session, hash);
    if (in_file >= 0)
        e = &a->file[in_file];
    else if (in_session >= 0)
        e = &a->session[in_session];
    if (e && e->expires && e->expires <= time(NULL))
        e = NULL;
    if (e)
        *who = e->who;
    pthread_mutex_unlock(&a->lock);
    return e ? 0 : err_set(err, ERR_DENIED, "the token is not valid");
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
    case AUTH_FEED:
        may = who->scope >= AUTH_INGEST;
        break;
    case AUTH_DELETE:
        may = who->scope == AUTH_ADMIN || (bound && who->scope == AUTH_INGEST);
        break;
    }
    return may ? 0
               : err_set(err, ERR_DENIED, "a token of scope %s%s may not do this",
                         scope_names[who->scope], bound ? ", bound to a session," : "");
}

int auth_issue(struct auth *a, const char *id, enum auth_scope scope, char token[AUTH_TOKEN_CAP],
               struct err *err)
{
    uint8_t secret[TOKEN_BYTES], hash[HASH_BYTES];
    struct entry *e = NULL;

    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        return err_set(err, ERR_IO, "no randomness from the system");
    base64url_encode(token, secret, sizeof secret);
    OPENSSL_cleanse(secret, sizeof secret);
    if (!hash_token(token, strlen(token), hash))
        return err_set(err, ERR_IO, "SHA-256 failed");
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < AUTH_SESSION_TOKENS && !e; i++)
        if (!a->session[i].used) {
            e = &a->session[i];
            if (i == a->n_session)
                a->n_session++;
        }
    if (e) {
        memset(e, 0, sizeof *e);
        memcpy(e->hash, hash, sizeof hash);
        e->who.scope = scope;
        strcpy(e->who.name, "session");
        snprintf(e->who.session, sizeof e->who.session, "%s", id);
        e->used = true;
    }
    pthread_mutex_unlock(&a->lock);
    if (!e)
        return err_set(err, ERR_BUSY, "too many session tokens are held, delete sessions");
    return 0;
}

void auth_forget_session(struct auth *a, const char *id)
{
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < a->n_session; i++)
        if (a->session[i].used && strcmp(a->session[i].who.session, id) == 0)
            memset(&a->session[i], 0, sizeof a->session[i]);
    while (a->n_session > 0 && !a->session[a->n_session - 1].used)
        a->n_session--;
    pthread_mutex_unlock(&a->lock);
}
