/* Reads PLY files that cannot be trusted: the header is bounded, and what it announces is compared
 * with the size of the file before anything is allocated. */
#include "proto/cloud/ply.h"

#include "proto/array.h"
#include "proto/cloud/ply_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BUFFER_BYTES 65536u /* larger than a record: a property has at most 8 bytes */
#define WORD_BYTES 64       /* characters of a number as text */
#define GREY 160            /* grey of points without colours */

struct input {
    const char *path;
    FILE *f;
    enum ply_layout_format format;
    uint64_t left; /* bytes of the file that are not in buf yet */
    size_t at, n;  /* positions in buf: the next byte, the end */
    uint8_t buf[BUFFER_BYTES];
};

static int ends(const struct input *in, struct err *err)
{
    return err_set(err, ERR_INPUT, "%s: the file is shorter than its header says", in->path);
}

static uint64_t left(const struct input *in)
{
    return in->left + (in->n - in->at);
}

/* Reads more bytes; returns whether there were any. A read error counts as the end of the file. */
static int read_on(struct input *in)
{
    size_t got;

    memmove(in->buf, in->buf + in->at, in->n - in->at);
    in->n -= in->at;
    in->at = 0;
    got = fread(in->buf + in->n, 1, sizeof in->buf - in->n, in->f);
    in->left = got < in->left ? in->left - got : 0;
    in->n += got;
    return got > 0;
}

/* Returns the next n <= BUFFER_BYTES bytes and steps over them; NULL if the file ends first. */
static const uint8_t *ply_read_next(struct input *in, size_t n)
{
    while (in->n - in->at < n)
        if (!read_on(in))
            return NULL;
    in->at += n;
    return in->buf + in->at - n;
}

static int skip(struct input *in, uint64_t n, struct err *err)
{
    if (n > left(in))
        return ends(in, err);
    while (n > in->n - in->at) {
        n -= in->n - in->at;
        in->at = in->n;
        if (!read_on(in))
            return ends(in, err);
    }
    in->at += (size_t)n;
    return 0;
}

/* ------------------------------------------------------------------------- values */

static double from_bytes(const uint8_t *p, int type, int big)
{
    uint32_t n = ply_layout_bytes(type), half;
    uint64_t bits = 0;
    double d;
    float f;

    for (uint32_t i = 0; i < n; i++)
        bits |= (uint64_t)p[big ? n - 1 - i : i] << 8 * i;
    switch (type) {
    case PLY_LAYOUT_I8:
        return (int8_t)bits;
    case PLY_LAYOUT_I16:
        return (int16_t)bits;
    case PLY_LAYOUT_I32:
        return (int32_t)bits;
    case PLY_LAYOUT_F32:
        half = (uint32_t)bits;
        memcpy(&f, &half, sizeof f);
        return (double)f;
    case PLY_LAYOUT_F64:
        memcpy(&d, &bits, sizeof d);
        return d;
    default:
        return (double)bits;
    }
}

static int is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int next_word(struct input *in, char *word, struct err *err)
{
    size_t n = 0;

    for (;;) {
        if (in->at == in->n && !read_on(in))
            break;
        if (is_space(in->buf[in->at])) {
            if (n)
                break;
            in->at++;
            continue;
        }
        if (n == WORD_BYTES - 1)
            return err_set(err, ERR_INPUT, "%s: a number of more than %d letters", in->path,
                           WORD_BYTES - 1);
        word[n++] = (char)in->buf[in->at++];
    }
    word[n] = 0;
    return n ? 0 : ends(in, err);
}

static int from_text(struct input *in, int type, double *v, struct err *err)
{
    static const double low[] = {-128, 0, -32768, 0, -2147483648.0, 0},
                        high[] = {127, 255, 32767, 65535, 2147483647.0, 4294967295.0};
    char word[WORD_BYTES], *end;
    int rc = next_word(in, word, err);

    if (rc)
        return rc;
    *v = strtod(word, &end);
    if (*end ||
        (type < PLY_LAYOUT_F32 && !(*v >= low[type] && *v <= high[type] && *v == floor(*v))))
        return err_set(err, ERR_INPUT, "%s: \"%.40s\" is no number of its type", in->path, word);
    return 0;
}

static int next_value(struct input *in, int type, double *v, struct err *err)
{
    const uint8_t *p;

    if (in->format == PLY_LAYOUT_ASCII)
        return from_text(in, type, v, err);
    p = ply_read_next(in, ply_layout_bytes(type));
    if (!p)
        return ends(in, err);
    *v = from_bytes(p, type, in->format == PLY_LAYOUT_BIG_ENDIAN);
    return 0;
}

/* Skips a list. The loop ends in any case, because a list that is longer than the rest of the file
 * ends with the file. */
static int skip_list(struct input *in, const struct ply_layout_property *p, struct err *err)
{
    double n, ignored;
    int rc = next_value(in, p->count, &n, err);

    if (rc)
        return rc;
    if (n < 0)
        return err_set(err, ERR_INPUT, "%s: a list of %.0f values", in->path, n);
    if (in->format != PLY_LAYOUT_ASCII)
        return skip(in, (uint64_t)n * ply_layout_bytes(p->type), err);
    for (double i = 0; i < n && rc == 0; i++)
        rc = from_text(in, p->type, &ignored, err);
    return rc;
}

/* ------------------------------------------------------------------------- points */

/* Rounds to float. Values from FLT_MAX plus half a step on become infinite. */
static float to_float(double v)
{
    const double end = 0x1.ffffffp127;

    if (v >= end)
        return INFINITY;
    return v <= -end ? -INFINITY : (float)v;
}

static uint8_t to_colour(double v, int type)
{
    if (type == PLY_LAYOUT_U16)
        v /= 257;
    else if (type >= PLY_LAYOUT_F32)
        v *= 255;
    return v >= 255 ? 255 : v > 0 ? (uint8_t)lround(v) : 0; /* a NaN is 0 */
}

static void ply_read_keep(struct ply_cloud *out, size_t i, const struct ply_layout_property *p,
                          double v)
{
    if (p->field == PLY_LAYOUT_CONFIDENCE)
        out->confidence[i] = (uint8_t)v;
    else if (p->field >= PLY_LAYOUT_RED)
        out->rgb[3 * i + (size_t)(p->field - PLY_LAYOUT_RED)] = to_colour(v, p->type);
    else
        out->xyz[3 * i + (size_t)p->field] = to_float(v);
}

/* Reads one record value by value and keeps the point unless out is NULL. */
static int ply_read_walk(struct ply_cloud *out, size_t i, struct input *in,
                         const struct ply_layout_property *p, int n, struct err *err)
{
    double v;
    int rc = 0;

    for (int k = 0; k < n && rc == 0; k++) {
        rc = p[k].count >= 0 ? skip_list(in, &p[k], err) : next_value(in, p[k].type, &v, err);
        if (rc == 0 && out && p[k].field >= 0)
            ply_read_keep(out, i, &p[k], v);
    }
    return rc;
}

/* Skips the elements before the points. The loop ends with the file, because each record takes at
 * least a byte. */
static int pass(struct input *in, const struct ply_layout *l, const struct ply_layout_element *e,
                struct err *err)
{
    int rc = 0;

    if (e->n_properties == 0)
        return 0;
    if (in->format != PLY_LAYOUT_ASCII && !e->lists)
        return e->n > left(in) / e->stride ? ends(in, err) : skip(in, e->n * e->stride, err);
    for (uint64_t i = 0; i < e->n && rc == 0; i++)
        rc = ply_read_walk(NULL, 0, in, l->property + e->first, e->n_properties, err);
    return rc;
}

/* Checks that the file can hold as many points. A number as text takes at least a digit and a
 * space. */
static int check_size(const struct input *in, const struct ply_layout_element *e, struct err *err)
{
    uint64_t least =
        in->format == PLY_LAYOUT_ASCII ? 2 * (uint64_t)e->n_properties : (uint64_t)e->stride;

    if (e->n > (left(in) + (in->format == PLY_LAYOUT_ASCII)) / least)
        return err_set(err, ERR_INPUT,
                       "%s: %llu points of at least %llu bytes announced, the file is shorter",
                       in->path, (unsigned long long)e->n, (unsigned long long)least);
    return 0;
}

static int read_points(struct ply_cloud *out, struct input *in, const struct ply_layout *l,
                       struct err *err)
{
    const struct ply_layout_element *e = &l->element[l->points];
    const struct ply_layout_property *p = l->property + e->first;
    size_t n = (size_t)e->n;
    int rc = check_size(in, e, err);

    if (rc)
        return rc;
    out->xyz = malloc((n ? n : 1) * 3 * sizeof *out->xyz);
    out->rgb = malloc((n ? n : 1) * 3);
    if (l->has_confidence)
        out->confidence = malloc(n ? n : 1);
    if (!out->xyz || !out->rgb || (l->has_confidence && !out->confidence))
        return err_set(err, ERR_MEMORY, "%s: no memory for %zu points", in->path, n);
    memset(out->rgb, GREY, n * 3);
    for (; out->n < n && rc == 0; out->n += rc == 0) {
        const uint8_t *record;

        if (in->format == PLY_LAYOUT_ASCII || e->lists) {
            rc = ply_read_walk(out, out->n, in, p, e->n_properties, err);
            continue;
        }
        record = ply_read_next(in, e->stride);
        if (!record)
            rc = ends(in, err);
        for (int k = 0; k < e->n_properties && rc == 0; k++) {
            if (p[k].field >= 0)
                ply_read_keep(out, out->n, &p[k],
                              from_bytes(record, p[k].type, in->format == PLY_LAYOUT_BIG_ENDIAN));
            record += ply_layout_bytes(p[k].type);
        }
    }
    return rc;
}

/* ------------------------------------------------------------------------- faces */

/* Turns a list of corners into a fan of triangles around the first one. */
static int read_corners(struct ply_cloud *out, size_t *cap, struct input *in,
                        const struct ply_layout_property *p, struct err *err)
{
    double n, v = 0, first = 0, last = 0;
    int rc = next_value(in, p->count, &n, err);

    for (double i = 0; i < n && rc == 0; i++) {
        rc = next_value(in, p->type, &v, err);
        if (rc)
            break;
        if (!(v >= 0 && v < (double)out->n))
            return err_set(err, ERR_INPUT, "%s: a face has the corner %.0f, there are %zu points",
                           in->path, v, out->n);
        if (i >= 2) {
            if (out->n_corners == 3u * PLY_TRIANGLES_MAX)
                return err_set(err, ERR_LIMIT, "%s: more than %d triangles", in->path,
                               PLY_TRIANGLES_MAX);
            if (array_grow(&out->corner, cap, out->n_corners + 3, sizeof *out->corner))
                return err_set(err, ERR_MEMORY, "%s: no memory for triangles", in->path);
            out->corner[out->n_corners++] = (uint32_t)first;
            out->corner[out->n_corners++] = (uint32_t)last;
            out->corner[out->n_corners++] = (uint32_t)v;
        }
        first = i == 0 ? v : first;
        last = v;
    }
    return rc;
}

static int read_faces(struct ply_cloud *out, struct input *in, const struct ply_layout *l,
                      struct err *err)
{
    const struct ply_layout_element *e = &l->element[l->faces];
    const struct ply_layout_property *p = l->property + e->first;
    size_t cap = 0;
    int rc = 0;

    if (l->faces < l->points)
        return err_set(err, ERR_UNSUPPORTED, "%s: faces stand before the points", in->path);
    for (int i = l->points + 1; i < l->faces && rc == 0; i++)
        rc = pass(in, l, &l->element[i], err);
    for (uint64_t i = 0; i < e->n && rc == 0; i++)
        for (int k = 0; k < e->n_properties && rc == 0; k++)
            rc = p[k].field == PLY_LAYOUT_CORNERS ? read_corners(out, &cap, in, &p[k], err)
                                                  : ply_read_walk(NULL, 0, in, &p[k], 1, err);
    return rc;
}

/* ------------------------------------------------------------------------- files */

/* In: size of the file; -1 = it is not a regular one. */
static int read_body(struct ply_cloud *out, const struct ply_layout *l, const char *path, FILE *f,
                     off_t size, bool faces, struct err *err)
{
    struct input *in = malloc(sizeof *in);
    off_t at = ftello(f);
    int rc = 0;

    if (!in)
        return err_set(err, ERR_MEMORY, "no memory to read %s", path);
    in->path = path;
    in->f = f;
    in->format = l->format;
    in->at = in->n = 0;
    if (at < 0 || size < 0)
        rc = err_set(err, ERR_IO, "%s is not a plain file", path);
    else
        in->left = size > at ? (uint64_t)(size - at) : 0;
    for (int i = 0; i < l->points && rc == 0; i++)
        rc = pass(in, l, &l->element[i], err);
    if (rc == 0)
        rc = read_points(out, in, l, err);
    if (rc == 0 && faces && l->faces >= 0)
        rc = read_faces(out, in, l, err);
    free(in);
    return rc;
}

static int points_read(struct ply_cloud *out, const char *path, FILE *f, off_t size, bool faces,
                    struct err *err)
{
    struct ply_layout l;
    int rc = ply_layout_read(&l, path, f, err);

    if (!rc)
        rc = read_body(out, &l, path, f, size, faces, err);
    if (rc) {
        ply_cloud_free(out);
        return rc;
    }
    out->has_colour = l.has_colour;
    out->has_hash = l.has_hash;
    out->hash = l.hash;
    memcpy(out->up, l.up, sizeof out->up);
    return 0;
}

int ply_read_file(const char *path, struct ply_cloud *out, struct err *err)
{
    FILE *f = fopen(path, "rbe");
    struct stat st;
    int rc;

    *out = (struct ply_cloud){0};
    if (!f)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(errno));
    rc = points_read(out, path, f, fstat(fileno(f), &st) || !S_ISREG(st.st_mode) ? -1 : st.st_size,
                  false, err);
    fclose(f);
    return rc;
}

int ply_read_mesh(const uint8_t *bytes, size_t len, const char *name, struct ply_cloud *out,
                  struct err *err)
{
    /* The stream is only read. */
    FILE *f = len ? fmemopen((void *)(uintptr_t)bytes, len, "rb") : NULL;
    int rc;

    *out = (struct ply_cloud){0};
    if (!f)
        return len ? err_set(err, ERR_MEMORY, "no memory to read %s", name)
                   : err_set(err, ERR_INPUT, "%s is no PLY file", name);
    rc = points_read(out, name, f, (off_t)len, true, err);
    fclose(f);
    return rc;
}

void ply_cloud_free(struct ply_cloud *p)
{
    free(p->xyz);
    free(p->rgb);
    free(p->confidence);
    free(p->corner);
    *p = (struct ply_cloud){0};
}
