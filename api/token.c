#include "api/token.h"

#include "api/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
/* OpenSSL has a type of this name, we have a constant. */
#define ERR_STATE openssl_err_state
#include <openssl/crypto.h>
#include <openssl/evp.h>
#undef ERR_STATE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_BYTES 16

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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

size_t token_base64url_decode(const char *text, size_t len, char *out, size_t cap)
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
    /* left-over bits must be zero: one spelling per token */
    return bits & ((1u << have) - 1) ? 0 : n;
}

int token_make(char token[TOKEN_CAP], struct err *err)
{
    uint8_t secret[SECRET_BYTES];

    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        return err_set(err, ERR_IO, "no randomness from the system");
    base64url_encode(token, secret, sizeof secret);
    explicit_bzero(secret, sizeof secret);
    return 0;
}

bool token_hash(const char *token, size_t len, uint8_t sha256[TOKEN_HASH_BYTES])
{
    unsigned n = 0;
    return EVP_Digest(token, len, sha256, &n, EVP_sha256(), NULL) == 1 && n == TOKEN_HASH_BYTES;
}

bool token_equal(const uint8_t a[TOKEN_HASH_BYTES], const uint8_t b[TOKEN_HASH_BYTES])
{
    return CRYPTO_memcmp(a, b, TOKEN_HASH_BYTES) == 0;
}

const char *token_scope_name(int scope)
{
    static const char *const names[] = {"view", "ingest", "admin"};
    return scope >= 0 && scope < 3 ? names[scope] : NULL;
}

int token_scope(const char *name)
{
    for (int i = 0; token_scope_name(i); i++)
        if (strcmp(token_scope_name(i), name) == 0)
            return i;
    return -1;
}

bool token_name_ok(const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
            return false;
    return n > 0 && n < TOKEN_NAME_CAP;
}

bool token_expiry(const char *text, time_t *expires)
{
    struct tm tm = {0};
    int day;
    const char *end = strptime(text, strlen(text) == 10 ? "%Y-%m-%d" : "%Y-%m-%dT%H:%M:%SZ", &tm);

    if (!end || *end)
        return false;
    day = tm.tm_mday;
    *expires = timegm(&tm);
    return *expires > 0 && tm.tm_mday == day; /* the 31st of a short month has become another day */
}

static bool parse_hash(const char *hex, uint8_t sha256[TOKEN_HASH_BYTES])
{
    size_t digits = 2 * TOKEN_HASH_BYTES;

    if (strlen(hex) != digits || strspn(hex, "0123456789abcdefABCDEF") != digits)
        return false;
    for (int i = 0; i < TOKEN_HASH_BYTES; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        sha256[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

static int parse_line(char *line, const char *where, struct token_line *t, struct err *err)
{
    char *save = NULL, *field[6] = {0}, *quotas = NULL;
    struct quota checked = quota_none;
    struct err why = {0};
    int n = 0;

    for (char *f = strtok_r(line, " \t\r", &save); f && n < 6; f = strtok_r(NULL, " \t\r", &save))
        field[n++] = f;
    if (n > 3 && n < 6 && strchr(field[n - 1], '='))
        quotas = field[--n];
    if (n < 3 || n > 4)
        return err_at(err, ERR_INPUT, where,
                      "%d fields, must be: name scope sha256-hex [expiry] [quotas]", n);
    memset(t, 0, sizeof *t);
    if (strlen(field[0]) >= sizeof t->name)
        return err_at(err, ERR_INPUT, where, "the name is longer than %zu bytes",
                      sizeof t->name - 1);
    if (!token_name_ok(field[0]))
        return err_at(err, ERR_INPUT, where, "a name has letters, digits, '.', '_', '-' only");
    strcpy(t->name, field[0]);
    t->scope = token_scope(field[1]);
    if (t->scope < 0)
        return err_at(err, ERR_INPUT, where, "the scope must be admin, ingest or view");
    if (!parse_hash(field[2], t->sha256))
        return err_at(err, ERR_INPUT, where, "the third field must be a SHA-256, 64 hex digits");
    if (n == 4 && !token_expiry(field[3], &t->expires))
        return err_at(err, ERR_INPUT, where,
                      "the expiry must look like 2026-12-31 or 2026-12-31T23:59:59Z");
    if (quotas && quota_read(&checked, quotas, &why))
        return err_at(err, ERR_INPUT, where,
                      "quotas must be as `reconctl token new --quotas` writes them");
    snprintf(t->quotas, sizeof t->quotas, "%s", quotas ? quotas : "");
    return 0;
}

size_t token_line_write(char line[TOKEN_LINE_CAP], const struct token_line *t)
{
    size_t n =
        (size_t)snprintf(line, TOKEN_LINE_CAP, "%s %s ", t->name, token_scope_name(t->scope));
    struct tm tm;

    for (int i = 0; i < TOKEN_HASH_BYTES; i++)
        n += (size_t)snprintf(line + n, TOKEN_LINE_CAP - n, "%02x", t->sha256[i]);
    if (t->expires && gmtime_r(&t->expires, &tm))
        n += strftime(line + n, TOKEN_LINE_CAP - n, " %Y-%m-%dT%H:%M:%SZ", &tm);
    if (t->quotas[0])
        n += (size_t)snprintf(line + n, TOKEN_LINE_CAP - n, " %s", t->quotas);
    return n;
}

static bool is_credential(const char *path)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    size_t n = folder ? strlen(folder) : 0;

    return n > 0 && strncmp(path, folder, n) == 0 && path[n] == '/' && !strstr(path + n, "/../");
}

static int check_mode(const char *path, mode_t mode, struct err *err)
{
    mode_t forbidden = is_credential(path) ? 037 : 077;

    if (!S_ISREG(mode))
        return err_at(err, ERR_INPUT, path, "the token file is not a regular file");
    if (mode & forbidden)
        return err_at(err, ERR_INPUT, path,
                      "the token file is open to group or others (mode %03o), must be 0600",
                      (unsigned)mode & 0777);
    return 0;
}

int token_file_read(const char *path, char *text, struct err *err)
{
    struct stat st;
    size_t n = 0;
    int rc, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return err_at(err, ERR_IO, path, "cannot open the token file: %s", strerror(errno));
    if (fstat(fd, &st) != 0)
        rc = err_at(err, ERR_IO, path, "cannot look at the token file: %s", strerror(errno));
    else
        rc = check_mode(path, st.st_mode, err);
    if (!rc && file_read(fd, text, TOKEN_FILE_BYTES, &n))
        rc = err_at(err, ERR_IO, path, "cannot read the token file: %s", strerror(errno));
    if (!rc && (n == TOKEN_FILE_BYTES || memchr(text, '\0', n)))
        rc = err_at(err, ERR_INPUT, path, "the token file is too long or no text");
    if (!rc)
        text[n] = '\0';
    close(fd);
    return rc;
}

int token_file_next(char **cursor, int *number, const char *path, struct token_line *t,
                    struct err *err)
{
    while (*cursor && **cursor) {
        char where[ERR_WHERE_CAP], *line = *cursor, *end = strchr(line, '\n');
        int rc;

        *cursor = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        ++*number;
        line += strspn(line, " \t\r");
        if (!*line || *line == '#')
            continue;
        snprintf(where, sizeof where, "%.60s:%d", path, *number);
        rc = parse_line(line, where, t, err);
        return rc ? rc : 1;
    }
    return 0;
}
