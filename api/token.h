/*
 * token.h - bearer tokens and the file that names them; recond reads it, `reconctl token` writes it
 *
 * A line of the file is `name scope sha256-hex [expiry] [quotas]`; empty ones and those that begin
 * with '#' are passed over. The file never holds a token, only its SHA-256. No text of a wrong line
 * is ever repeated in an error: it may be a token that was pasted at the wrong place.
 * Threads: all calls are pure but for the file they are told.
 */
#ifndef RECOND_API_TOKEN_H
#define RECOND_API_TOKEN_H

#include "api/quota.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define TOKEN_CAP 24  /* a new token: 22 characters and NUL */
#define TOKEN_MAX 256 /* longest token that is checked */
#define TOKEN_HASH_BYTES 32
#define TOKEN_NAME_CAP 64
#define TOKEN_LINE_CAP 352
#define TOKEN_LINES_MAX 256 /* of a file */
#define TOKEN_FILE_BYTES (64 << 10)
/* name in $CREDENTIALS_DIRECTORY that LoadCredential= shall use */
#define TOKEN_CREDENTIAL "recond.tokens"

struct token_line {
    char name[TOKEN_NAME_CAP];
    int scope; /* enum auth_scope */
    uint8_t sha256[TOKEN_HASH_BYTES];
    time_t expires;              /* time at which it expires, in seconds; 0 = never */
    char quotas[QUOTA_TEXT_CAP]; /* text for quota_read(); "" = as configured */
};

/* 128 random bits as base64url. Returns 0; ERR_IO: no randomness. */
MUST_CHECK int token_make(char token[TOKEN_CAP], struct err *err);
/* Returns false only if libcrypto fails. */
MUST_CHECK bool token_hash(const char *token, size_t len, uint8_t sha256[TOKEN_HASH_BYTES]);
/* Compares in a time that does not depend on where they differ. */
bool token_equal(const uint8_t a[TOKEN_HASH_BYTES], const uint8_t b[TOKEN_HASH_BYTES]);
/* Decodes base64url without padding into out; returns the length, 0 if the text is invalid or does
 * not fit. */
size_t token_base64url_decode(const char *text, size_t len, char *out, size_t cap);

/* The name of a scope: "view", "ingest", "admin"; NULL past the end. */
const char *token_scope_name(int scope);
/* The scope of a name; -1 = none. */
int token_scope(const char *name);
/* Checks a name: 1 to 63 letters, digits, '.', '_', '-', which a log line can hold. */
bool token_name_ok(const char *name);
/* Reads "2026-12-31" (its first second, UTC) or "2026-12-31T23:59:59Z". */
MUST_CHECK bool token_expiry(const char *text, time_t *expires);

/* Writes the line without line end. Returns its length. */
size_t token_line_write(char line[TOKEN_LINE_CAP], const struct token_line *t);

/*
 * token_file_read - the whole file as text
 *
 * The file must be readable by its owner alone; one below $CREDENTIALS_DIRECTORY may be readable by
 * its group: there the group's bits are the mask of the access list that names our user.
 * Out:     text [TOKEN_FILE_BYTES], NUL-terminated; the caller wipes it
 * Returns: 0; ERR_IO: not readable; ERR_INPUT: no regular file, its mode, too long, no text
 */
MUST_CHECK int token_file_read(const char *path, char *text, struct err *err);
/*
 * token_file_next - the next line that names a token
 *
 * In/out:  cursor, what token_file_read() left, moved on and cut into lines; *number counts lines
 * Returns: 1; 0 at the end; ERR_INPUT with where = path:line
 */
MUST_CHECK int token_file_next(char **cursor, int *number, const char *path, struct token_line *t,
                               struct err *err);

#endif
