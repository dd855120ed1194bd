/*
 * json.h - JSON in and out, bounded
 *
 * Reading wraps jansson (json.c is the only file that includes it) and adds what it lacks: depth
 * and size limits before anything is allocated, an object at top level, no duplicate keys, no NUL
 * anywhere. The json_get_* functions read typed members and note what is wrong with a JSON pointer
 * (RFC 6901) to the field, so that a request is answered with all of its errors at once. An absent
 * member leaves *out as it was and is no error; `null` is a value of the wrong type.
 *
 * Writing goes straight into a caller's buffer, allocates nothing and never passes its end; the
 * caller asks once at the end (json_finish) whether all fitted.
 */
#ifndef RECOND_PROTO_JSON_H
#define RECOND_PROTO_JSON_H

#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------- documents */

struct json; /* A value inside a document, borrowed from it; the root owns the document. */

enum json_kind {
    JSON_KIND_NONE, /* absent */
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_INTEGER,
    JSON_KIND_REAL,
    JSON_KIND_TEXT,
    JSON_KIND_LIST,
    JSON_KIND_MAP
};

/*
 * json_parse - check and read a whole text
 *
 * In:      text [len], need not end with NUL; max_depth: maps and lists inside each other, 1 = the
 *          top alone
 * Out:     *doc, json_free() it
 * Returns: 0; ERR_INPUT: no JSON, bad UTF-8 (where = "utf8"), NUL, a duplicate key, a top level
 *          that is no object; ERR_LIMIT: too deep; ERR_MEMORY
 */
MUST_CHECK int json_parse(struct json **doc, const char *text, size_t len, int max_depth,
                          struct err *err);
void json_free(struct json **doc);

enum json_kind json_kind(const struct json *v); /* kind of v; JSON_KIND_NONE for NULL */
size_t json_count(const struct json *v); /* number of members of a map or items of a list, else 0 */
const struct json *json_member(const struct json *map, const char *key); /* or NULL */
const struct json *json_item(const struct json *list, size_t i);         /* or NULL */
/* Returns the key and value of a map's i-th member in the text's order, or NULL past the end.
 * O(i). */
const char *json_key(const struct json *map, size_t i, const struct json **value);
const char *json_text(const struct json *v); /* the text, "" for other kinds */
double json_f64(const struct json *v);       /* the number, 0 for other kinds */
int64_t json_i64(const struct json *v);      /* the integer, 0 for other kinds */

/* Tells whether this is valid UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). */
bool json_utf8(const char *text, size_t len);

/* ------------------------------------------------------------------------------- typed members */

#define JSON_ISSUES_MAX 8

struct json_issue {
    char pointer[ERR_WHERE_CAP];
    char detail[112];
};

/* The errors in a document: the first few are kept, all are counted. */
struct json_issues {
    int n;
    struct json_issue at[JSON_ISSUES_MAX];
};

/* A map inside a document and where it stands. */
struct json_at {
    const struct json *map;
    char pointer[ERR_WHERE_CAP];
    struct json_issues *issues;
};

struct json_at json_at(const struct json *root, struct json_issues *issues);

/* All of these return true if the member is there and right, and write *out only then. */
bool json_get_map(const struct json_at *at, const char *key, struct json_at *child);
bool json_get_text(const struct json_at *at, const char *key, char *out, size_t cap);
bool json_get_bool(const struct json_at *at, const char *key, bool *out);
bool json_get_int(const struct json_at *at, const char *key, int *out, int min, int max);
bool json_get_u64(const struct json_at *at, const char *key, uint64_t *out, uint64_t min,
                  uint64_t max);
bool json_get_f32(const struct json_at *at, const char *key, float *out, double min, double max);
/* A list of n numbers with absolute values up to `most`. */
bool json_get_f32s(const struct json_at *at, const char *key, float *out, size_t n, double most);
/* A word of names[0...], NULL-terminated; *out is its index. */
bool json_get_choice(const struct json_at *at, const char *key, int *out, const char *const *names);

/* Notes an error if the member is missing. */
void json_require(const struct json_at *at, const char *key);
/* Notes every member whose key is not in keys[0...], NULL-terminated. */
void json_only(const struct json_at *at, const char *const *keys);
/* Notes an error. Returns false. */
bool json_note(const struct json_at *at, const char *key, const char *fmt, ...) ERR_PRINTF(3, 4);
/* The first issue as an err (ERR_INPUT), or 0. */
int json_issues_err(const struct json_issues *issues, struct err *err);

/* ------------------------------------------------------------------------------- writing */

#define JSON_WRITE_DEPTH_MAX 16

struct json_writer {
    char *buf;
    size_t cap, len;
    int depth;
    bool bad;                           /* the text did not fit, or was nested wrongly */
    bool started[JSON_WRITE_DEPTH_MAX]; /* this level has a member already */
    char closer[JSON_WRITE_DEPTH_MAX];
};

struct json_writer json_writer(char *buf, size_t cap);
/* key is NULL inside lists and at the top. */
void json_open_map(struct json_writer *w, const char *key);
void json_open_list(struct json_writer *w, const char *key);
void json_close(struct json_writer *w);
/* bad UTF-8 becomes U+FFFD */
void json_put_text(struct json_writer *w, const char *key, const char *text);
void json_put_u64(struct json_writer *w, const char *key, uint64_t v);
void json_put_i64(struct json_writer *w, const char *key, int64_t v);
/* the shortest form that reads back; NaN: null */
void json_put_f32(struct json_writer *w, const char *key, float v);
/* nine decimals: a tenth of a millimetre in degrees; NaN: null */
void json_put_degrees(struct json_writer *w, const char *key, double v);
void json_put_bool(struct json_writer *w, const char *key, bool v);
void json_put_null(struct json_writer *w, const char *key);
void json_put_hex64(struct json_writer *w, const char *key, uint64_t v); /* 16 hex digits */
/* a time as "2026-01-31T12:00:00.000Z" */
void json_put_time(struct json_writer *w, const char *key, double unix_s);
/* Returns the length without the NUL, which is always written; 0 if the text did not fit or a level
 * is still open. */
size_t json_finish(struct json_writer *w);

#endif
