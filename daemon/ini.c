#include "daemon/ini.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdint.h>
#include <string.h>

#define LINE_MAX_BYTES 190

struct reading {
    FILE *file;
    const char *path;
    int line, failed;
    ini_pair *pair;
    void *ctx;
    struct err *err;
};

static int ini_fail(struct reading *r, const char *text)
{
    char where[ERR_WHERE_CAP];

    if (!r->failed) {
        snprintf(where, sizeof(where), "%s:%d", r->path, r->line);
        r->failed = err_at(r->err, ERR_INPUT, where, "%s", text);
    }
    return r->failed;
}

/* Handles one line of libinih, which reports no line numbers to its handler, splits long lines in
 * two and joins an indented line to the value above; so we count, measure and strip lines. */
static char *next_line(char *str, int num, void *stream)
{
    struct reading *r = stream;
    int n = 0, c;

    if (r->failed)
        return NULL;
    r->line++;
    while ((c = getc(r->file)) != EOF && c != '\n') {
        if (n == 0 && (c == ' ' || c == '\t'))
            continue;
        if (c == '\0' || (iscntrl(c) && c != '\t' && c != '\r')) {
            ini_fail(r, "a control character, the file is text");
            return NULL;
        }
        if (n >= LINE_MAX_BYTES || n >= num - 2) {
            ini_fail(r, "the line is longer than 190 bytes");
            return NULL;
        }
        str[n++] = (char)c;
    }
    if (c == EOF && n == 0)
        return NULL;
    str[n++] = '\n';
    str[n] = '\0';
    return str;
}

static int on_pair(void *user, const char *section, const char *name, const char *value)
{
    struct reading *r = user;
    struct err *err = r->err;

    if (r->failed)
        return 0;
    r->failed = r->pair(r->ctx, section, name, value, err);
    if (r->failed && err)
        snprintf(err->where, sizeof(err->where), "%s:%d", r->path, r->line);
    return r->failed == 0;
}

static int read_stream(FILE *file, const char *path, ini_pair *pair, void *ctx, struct err *err)
{
    struct reading r = {.file = file, .path = path, .pair = pair, .ctx = ctx, .err = err};
    int bad = ini_parse_stream(next_line, &r, on_pair, &r);

    if (r.failed)
        return r.failed;
    if (ferror(file))
        return err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
    if (bad > 0) {
        r.line = bad;
        return ini_fail(&r, "neither [section], key = value nor a comment");
    }
    return bad ? err_set(err, ERR_MEMORY, "no memory to read %s", path) : 0;
}

int ini_read(const char *path, ini_pair *pair, void *ctx, struct err *err)
{
    FILE *file = fopen(path, "re");
    int rc;

    if (!file)
        return err_at(err, ERR_IO, path, "cannot be opened: %s", strerror(errno));
    rc = read_stream(file, path, pair, ctx, err);
    fclose(file);
    return rc;
}

int ini_read_bytes(const char *name, const char *data, size_t len, ini_pair *pair, void *ctx,
                   struct err *err)
{
    FILE *file = len ? fmemopen((void *)(uintptr_t)data, len, "r") : fopen("/dev/null", "re");
    int rc;

    if (!file)
        return err_set(err, ERR_MEMORY, "no memory to read %s", name);
    rc = read_stream(file, name, pair, ctx, err);
    fclose(file);
    return rc;
}
