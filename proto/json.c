#include "proto/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------------------------- text checks */

/* Returns the length (1...4) of the well-formed sequence at s, 0 if there is none (RFC 3629,
 * section 4). */
static size_t utf8_sequence(const unsigned char *s, size_t left)
{
    unsigned char lo = 0x80, hi = 0xbf;
    size_t n;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (left < n)
        return 0;
    if (s[0] == 0xe0)
        lo = 0xa0;
    else if (s[0] == 0xed)
        hi = 0x9f;
    else if (s[0] == 0xf0)
        lo = 0x90;
    else if (s[0] == 0xf4)
        hi = 0x8f;
    if (s[1] < lo || s[1] > hi)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return n;
}

bool json_utf8(const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = utf8_sequence((const unsigned char *)text + i, len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

/* jansson bounds the depth by a constant of its own, and only while it allocates. This function
 * counts before anything is allocated. */
static int check_shape(const char *text, size_t len, int max_depth, struct err *err)
{
    int depth = 0;
    bool in_text = false;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '\0')
            return err_set(err, ERR_INPUT, "a NUL byte at offset %zu", i);
        if (in_text && c == '\\')
            i++;
        else if (c == '"')
            in_text = !in_text;
        else if (!in_text && (c == '{' || c == '['))
            depth++;
        else if (!in_text && (c == '}' || c == ']'))
            depth--;
        if (depth > max_depth)
            return err_set(err, ERR_LIMIT, "nested deeper than %d levels", max_depth);
    }
    return 0;
}

/* ------------------------------------------------------------------------------- documents */

static const json_t *node(const struct json *v)
{
    return (const json_t *)(const void *)v;
}

static const struct json *value(const json_t *t)
{
    return (const struct json *)(const void *)t;
}

int json_parse(struct json **doc, const char *text, size_t len, int max_depth, struct err *err)
{
    json_error_t why;
    json_t *root;
    int rc;

    *doc = NULL;
    if (!json_utf8(text, len))
        return err_at(err, ERR_INPUT, "utf8", "not valid UTF-8");
    rc = check_shape(text, len, max_depth, err);
    if (rc)
        return rc;
    root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!root) {
        if (json_error_code(&why) == json_error_out_of_memory)
            return err_set(err, ERR_MEMORY, "out of memory");
        return err_set(err, ERR_INPUT, "not JSON: %s (line %d, column %d)", why.text, why.line,
                       why.column);
    }
    if (!json_is_object(root)) {
        json_decref(root);
        return err_set(err, ERR_INPUT, "the top level must be an object");
    }
    *doc = (struct json *)(void *)root;
    return 0;
}

void json_free(struct json **doc)
{
    json_decref((json_t *)(void *)*doc);
    *doc = NULL;
}

enum json_kind json_kind(const struct json *v)
{
    if (!v)
        return JSON_KIND_NONE;
    switch (json_typeof(node(v))) {
    case JSON_OBJECT:
        return JSON_KIND_MAP;
    case JSON_ARRAY:
        return JSON_KIND_LIST;
    case JSON_STRING:
        return JSON_KIND_TEXT;
    case JSON_INTEGER:
        return JSON_KIND_INTEGER;
    case JSON_REAL:
        return JSON_KIND_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return JSON_KIND_BOOL;
    case JSON_NULL:
        return JSON_KIND_NULL;
    }
    return JSON_KIND_NONE;
}

size_t json_count(const struct json *v)
{
    return json_kind(v) == JSON_KIND_LIST ? json_array_size(node(v)) : json_object_size(node(v));
}

const struct json *json_member(const struct json *map, const char *key)
{
    return value(json_object_get(node(map), key));
}

const struct json *json_item(const struct json *list, size_t i)
{
    return value(json_array_get(node(list), i));
}

const char *json_key(const struct json *map, size_t i, const struct json **out)
{
    json_t *t = (json_t *)(uintptr_t)node(map); /* jansson's iterators want it mutable */
    void *it = json_object_iter(t);

    while (it && i-- > 0)
        it = json_object_iter_next(t, it);
    if (!it)
        return NULL;
    if (out)
        *out = value(json_object_iter_value(it));
    return json_object_iter_key(it);
}

const char *json_text(const struct json *v)
{
    const char *s = json_string_value(node(v));
    return s ? s : "";
}

double json_f64(const struct json *v)
{
    return json_number_value(node(v));
}

int64_t json_i64(const struct json *v)
{
    return json_integer_value(node(v));
}

/* ------------------------------------------------------------------------------- typed members */

struct json_at json_at(const struct json *root, struct json_issues *issues)
{
    struct json_at at = {.map = root, .issues = issues};
    return at;
}

/* Appends a key to a JSON pointer (RFC 6901): '~' and '/' are written ~0 and ~1. The text is cut at
 * the end of the array. */
static void pointer_append(char *pointer, size_t cap, const char *key)
{
    size_t n = strlen(pointer);

    if (n + 1 < cap)
        pointer[n++] = '/';
    for (; *key && n + 2 < cap; key++) {
        if (*key == '~' || *key == '/') {
            pointer[n++] = '~';
            pointer[n++] = *key == '~' ? '0' : '1';
        } else {
            pointer[n++] = *key;
        }
    }
    /* A cut through a multi-byte character would make the answer invalid UTF-8. */
    while (*key && n > 0 && !json_utf8(pointer, n))
        n--;
    pointer[n] = '\0';
}

bool json_note(const struct json_at *at, const char *key, const char *fmt, ...)
{
    struct json_issues *issues = at->issues;
    va_list args;

    if (issues->n < JSON_ISSUES_MAX) {
        struct json_issue *issue = &issues->at[issues->n];
        memcpy(issue->pointer, at->pointer, sizeof issue->pointer);
        if (key)
            pointer_append(issue->pointer, sizeof issue->pointer, key);
        va_start(args, fmt);
        vsnprintf(issue->detail, sizeof issue->detail, fmt, args);
        va_end(args);
    }
    issues->n++;
    return false;
}

int json_issues_err(const struct json_issues *issues, struct err *err)
{
    if (issues->n == 0)
        return 0;
    return err_at(err, ERR_INPUT, issues->at[0].pointer, "%s", issues->at[0].detail);
}

bool json_get_map(const struct json_at *at, const char *key, struct json_at *child)
{
    const struct json *v = json_member(at->map, key);

    if (!v)
        return false;
    if (json_kind(v) != JSON_KIND_MAP)
        return json_note(at, key, "must be an object");
    *child = *at;
    child->map = v;
    pointer_append(child->pointer, sizeof child->pointer, key);
    return true;
}

bool json_get_text(const struct json_at *at, const char *key, char *out, size_t cap)
{
    const struct json *v = json_member(at->map, key);

    if (!v)
        return false;
    if (json_kind(v) != JSON_KIND_TEXT)
        return json_note(at, key, "must be a string");
    if (strlen(json_text(v)) >= cap)
        return json_note(at, key, "must have at most %zu bytes", cap - 1);
    strcpy(out, json_text(v));
    return true;
}

bool json_get_bool(const struct json_at *at, const char *key, bool *out)
{
    const struct json *v = json_member(at->map, key);

    if (!v)
        return false;
    if (json_kind(v) != JSON_KIND_BOOL)
        return json_note(at, key, "must be true or false");
    *out = json_is_true(node(v));
    return true;
}

bool json_get_int(const struct json_at *at, const char *key, int *out, int min, int max)
{
    const struct json *v = json_member(at->map, key);

    if (!v)
        return false;
    if (json_kind(v) != JSON_KIND_INTEGER || json_i64(v) < min || json_i64(v) > max)
        return json_note(at, key, "must be an integer from %d to %d", min, max);
    *out = (int)json_i64(v);
    return true;
}

bool json_get_u64(const struct json_at *at, const char *key, uint64_t *out, uint64_t min,
                  uint64_t max)
{
    const struct json *v = json_member(at->map, key);

    if (!v)
        return false;
    if (json_kind(v) != JSON_KIND_INTEGER || json_i64(v) < 0 || (uint64_t)json_i64(v) < min ||
        (uint64_t)json_i64(v) > max)
        return json_note(at, key, "must be an integer from %" PRIu64 " to %" PRIu64, min, max);
    *out = (uint64_t)json_i64(v);
    return true;
}

bool json_get_f32(const struct json_at *at, const char *key, float *out, double min, double max)
{
    const struct json *v = json_member(at->map, key);
    enum json_kind kind = json_kind(v);

    if (!v)
        return false;
    if ((kind != JSON_KIND_INTEGER && kind != JSON_KIND_REAL) ||
        !(json_f64(v) >= min && json_f64(v) <= max))
        return json_note(at, key, "must be a number from %g to %g", min, max);
    *out = (float)json_f64(v);
    return true;
}

bool json_get_f32s(const struct json_at *at, const char *key, float *out, size_t n, double most)
{
    const struct json *list = json_member(at->map, key);

    if (!list)
        return false;
    if (json_kind(list) != JSON_KIND_LIST || json_count(list) != n)
        return json_note(at, key, "must be a list of %zu numbers", n);
    for (size_t i = 0; i < n; i++) {
        const struct json *item = json_item(list, i);

        if ((json_kind(item) != JSON_KIND_REAL && json_kind(item) != JSON_KIND_INTEGER) ||
            !(fabs(json_f64(item)) <= most))
            return json_note(at, key, "must be numbers of at most %g", most);
        out[i] = (float)json_f64(item);
    }
    return true;
}

bool json_get_choice(const struct json_at *at, const char *key, int *out, const char *const *names)
{
    const struct json *v = json_member(at->map, key);
    char list[80] = "";

    if (!v)
        return false;
    for (int i = 0; names[i]; i++) {
        if (json_kind(v) == JSON_KIND_TEXT && strcmp(json_text(v), names[i]) == 0) {
            *out = i;
            return true;
        }
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s\"%s\"", i ? ", " : "", names[i]);
    }
    return json_note(at, key, "must be one of %s", list);
}

void json_require(const struct json_at *at, const char *key)
{
    if (!json_member(at->map, key))
        json_note(at, key, "is required");
}

void json_only(const struct json_at *at, const char *const *keys)
{
    json_t *t = (json_t *)(uintptr_t)node(at->map);

    for (void *it = json_object_iter(t); it; it = json_object_iter_next(t, it)) {
        const char *key = json_object_iter_key(it);
        int i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            json_note(at, key, "is not known here");
    }
}

/* ------------------------------------------------------------------------------- writing */

struct json_writer json_writer(char *buf, size_t cap)
{
    struct json_writer w = {.buf = buf, .cap = cap, .bad = cap == 0};
    return w;
}

/* One byte of the buffer stays free for the NUL. */
static void put_bytes(struct json_writer *w, const char *s, size_t n)
{
    if (w->bad || n >= w->cap - w->len) {
        w->bad = true;
        return;
    }
    memcpy(w->buf + w->len, s, n);
    w->len += n;
}

static void put_quoted(struct json_writer *w, const char *text)
{
    size_t left = strlen(text);
    char escape[8];

    put_bytes(w, "\"", 1);
    while (left > 0 && !w->bad) {
        size_t n = utf8_sequence((const unsigned char *)text, left);
        unsigned char c = (unsigned char)text[0];
        if (n == 0) {
            put_bytes(w, "\xef\xbf\xbd", 3); /* U+FFFD */
            n = 1;
        } else if (c == '"' || c == '\\') {
            snprintf(escape, sizeof escape, "\\%c", c);
            put_bytes(w, escape, 2);
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            put_bytes(w, escape, 6);
        } else {
            put_bytes(w, text, n);
        }
        text += n;
        left -= n;
    }
    put_bytes(w, "\"", 1);
}

/* Writes the comma and the key that go before a value. */
static void put_head(struct json_writer *w, const char *key)
{
    if (w->depth > 0) {
        if (w->started[w->depth - 1])
            put_bytes(w, ",", 1);
        w->started[w->depth - 1] = true;
        if ((w->closer[w->depth - 1] == '}') != (key != NULL))
            w->bad = true;
    } else if (w->len > 0 || key) {
        w->bad = true;
    }
    if (key) {
        put_quoted(w, key);
        put_bytes(w, ":", 1);
    }
}

static void put_open(struct json_writer *w, const char *key, const char *opener, char closer)
{
    put_head(w, key);
    put_bytes(w, opener, 1);
    if (w->depth == JSON_WRITE_DEPTH_MAX) {
        w->bad = true;
        return;
    }
    w->started[w->depth] = false;
    w->closer[w->depth++] = closer;
}

void json_open_map(struct json_writer *w, const char *key)
{
    put_open(w, key, "{", '}');
}

void json_open_list(struct json_writer *w, const char *key)
{
    put_open(w, key, "[", ']');
}

void json_close(struct json_writer *w)
{
    if (w->depth == 0) {
        w->bad = true;
        return;
    }
    w->depth--;
    put_bytes(w, &w->closer[w->depth], 1);
}

void json_put_text(struct json_writer *w, const char *key, const char *text)
{
    put_head(w, key);
    put_quoted(w, text);
}

static void put_format(struct json_writer *w, const char *key, const char *fmt, ...)
    ERR_PRINTF(3, 4);
static void put_format(struct json_writer *w, const char *key, const char *fmt, ...)
{
    char text[48];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_head(w, key);
    if (n < 0 || (size_t)n >= sizeof text)
        w->bad = true;
    else
        put_bytes(w, text, (size_t)n);
}

void json_put_u64(struct json_writer *w, const char *key, uint64_t v)
{
    put_format(w, key, "%" PRIu64, v);
}

void json_put_i64(struct json_writer *w, const char *key, int64_t v)
{
    put_format(w, key, "%" PRId64, v);
}

void json_put_f32(struct json_writer *w, const char *key, float v)
{
    char text[32];

    if (!isfinite(v)) {
        json_put_null(w, key);
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
        if (strtof(text, NULL) == v)
            break;
    }
    put_format(w, key, "%s", text);
}

void json_put_degrees(struct json_writer *w, const char *key, double v)
{
    if (isfinite(v))
        put_format(w, key, "%.9f", v);
    else
        json_put_null(w, key);
}

void json_put_bool(struct json_writer *w, const char *key, bool v)
{
    put_format(w, key, "%s", v ? "true" : "false");
}

void json_put_null(struct json_writer *w, const char *key)
{
    put_format(w, key, "null");
}

void json_put_hex64(struct json_writer *w, const char *key, uint64_t v)
{
    put_format(w, key, "\"%016" PRIx64 "\"", v);
}

void json_put_time(struct json_writer *w, const char *key, double unix_s)
{
    double whole = floor(unix_s);
    time_t t = (time_t)whole;
    struct tm tm;
    char text[32];

    /* the format holds years below 10000 */
    if (!(unix_s >= 0 && unix_s < 253402300800.0) || !gmtime_r(&t, &tm)) {
        json_put_null(w, key);
        return;
    }
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    put_format(w, key, "\"%s.%03dZ\"", text, (int)((unix_s - whole) * 1000.0));
}

size_t json_finish(struct json_writer *w)
{
    if (w->cap > 0)
        w->buf[w->bad ? 0 : w->len] = '\0';
    return w->bad || w->depth > 0 ? 0 : w->len;
}
