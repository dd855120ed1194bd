/*
 * json_write.h - JSON goes straight into a caller's buffer
 *
 * Nothing is allocated and the buffer's end is never passed; the caller asks once at the end
 * (json_finish) whether all fitted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
