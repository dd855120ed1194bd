/* Reading PLY files of anyone: the header is bounded, the size is checked before anything is
 * allocated. */
#include "proto/ply.h"

#include "proto/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES 256
#define HEADER_LINES_MAX 256
#define PROPERTIES_MAX 64
#define CHUNK 4096u

enum field { FIELD_X, FIELD_Y, FIELD_Z, FIELD_RED, FIELD_GREEN, FIELD_BLUE, FIELDS };

struct layout {
    uint64_t n;
    uint32_t stride;
    int at[FIELDS]; /* offset in a point, -1 = not there */
    int n_properties, n_elements, in_vertex, is_binary;
    int has_hash;
    uint64_t hash;
};

static const char *const field_names[FIELDS] = {"x", "y", "z", "red", "green", "blue"};

static int size_of(const char *type)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = {{"char", 1},  {"uchar", 1},   {"int8", 1},   {"uint8", 1},
                 {"short", 2}, {"ushort", 2},  {"int16", 2},  {"uint16", 2},
                 {"int", 4},   {"uint", 4},    {"int32", 4},  {"uint32", 4},
                 {"float", 4}, {"float32", 4}, {"double", 8}, {"float64", 8}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0)
            return types[i].bytes;
    return 0;
}

static int is_expected(int field, const char *type)
{
    if (field <= FIELD_Z)
        return strcmp(type, "float") == 0 || strcmp(type, "float32") == 0;
    return strcmp(type, "uchar") == 0 || strcmp(type, "uint8") == 0;
}

static int read_property(struct layout *l, const char *path, const char *line, struct err *err)
{
    char type[32], name[64];
    int bytes;

    if (!l->in_vertex)
        return 0; /* of an element behind the points, which is not read */
    if (sscanf(line, "property %31s %63s", type, name) != 2 || !(bytes = size_of(type)))
        return err_set(err, ERR_INPUT, "%s: \"%.60s\" is no property of a point", path, line);
    if (++l->n_properties > PROPERTIES_MAX)
        return err_set(err, ERR_LIMIT, "%s: more than %d properties", path, PROPERTIES_MAX);
    for (int f = 0; f < FIELDS; f++) {
        if (strcmp(name, field_names[f]) != 0)
            continue;
        if (!is_expected(f, type) || l->at[f] >= 0)
            return err_set(err, ERR_UNSUPPORTED, "%s: %s must be there once, as %s", path, name,
                           f <= FIELD_Z ? "float" : "uchar");
        l->at[f] = (int)l->stride;
    }
    l->stride += (uint32_t)bytes;
    return 0;
}

static int read_element(struct layout *l, const char *path, const char *line, struct err *err)
{
    unsigned long long n;
    char name[64], rest;

    if (sscanf(line, "element %63s %19llu%c", name, &n, &rest) != 2)
        return err_set(err, ERR_INPUT, "%s: \"%.60s\" is no element", path, line);
    l->in_vertex = strcmp(name, "vertex") == 0;
    if (l->in_vertex != (l->n_elements++ == 0))
        return err_set(err, ERR_UNSUPPORTED, "%s: the points must come first, and once", path);
    if (l->in_vertex)
        l->n = n;
    return 0;
}

static int read_line(struct layout *l, const char *path, const char *line, struct err *err)
{
    unsigned long long hash;

    if (sscanf(line, "comment recond hash %16llx", &hash) == 1) {
        l->has_hash = 1;
        l->hash = hash;
        return 0;
    }
    if (strncmp(line, "comment", 7) == 0 || strncmp(line, "obj_info", 8) == 0)
        return 0;
    if (strcmp(line, "format binary_little_endian 1.0") == 0) {
        l->is_binary = 1;
        return 0;
    }
    if (strncmp(line, "format ", 7) == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: \"%.60s\", only binary_little_endian 1.0 is read",
                       path, line);
    if (strncmp(line, "element ", 8) == 0)
        return read_element(l, path, line, err);
    if (strncmp(line, "property ", 9) == 0)
        return read_property(l, path, line, err);
    return err_set(err, ERR_INPUT, "%s: \"%.60s\" in the header", path, line);
}

/* One line without its end; 0 when the file ends first or the line is too long. */
static int next_line(FILE *f, char *line)
{
    size_t n;

    if (!fgets(line, LINE_MAX_BYTES, f))
        return 0;
    n = strlen(line);
    if (n == 0 || line[n - 1] != '\n')
        return 0;
    line[--n] = 0;
    if (n && line[n - 1] == '\r')
        line[n - 1] = 0;
    return 1;
}

static int read_header(struct layout *l, const char *path, FILE *f, struct err *err)
{
    char line[LINE_MAX_BYTES];
    int rc;

    if (!next_line(f, line) || strcmp(line, "ply") != 0)
        return err_set(err, ERR_INPUT, "%s is no PLY file", path);
    for (int i = 0; i < HEADER_LINES_MAX; i++) {
        if (!next_line(f, line))
            return err_set(err, ERR_INPUT, "%s: the header does not end", path);
        if (strcmp(line, "end_header") == 0) {
            if (!l->is_binary || !l->n_elements)
                return err_set(err, ERR_INPUT, "%s: the header names no format or no points", path);
            for (int k = 0; k < FIELDS; k++)
                if (l->at[k] < 0)
                    return err_set(err, ERR_INPUT, "%s: points have no %s", path, field_names[k]);
            return 0;
        }
        rc = read_line(l, path, line, err);
        if (rc)
            return rc;
    }
    return err_set(err, ERR_LIMIT, "%s: a header of more than %d lines", path, HEADER_LINES_MAX);
}

static int check_size(const struct layout *l, const char *path, FILE *f, struct err *err)
{
    long at = ftell(f);
    struct stat st;

    if (at < 0 || fstat(fileno(f), &st) || !S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "%s is not a plain file", path);
    if (l->n > ((uint64_t)st.st_size - (uint64_t)at) / l->stride)
        return err_set(err, ERR_INPUT, "%s: %llu points of %u bytes announced, the file is shorter",
                       path, (unsigned long long)l->n, (unsigned)l->stride);
    return 0;
}

static void take(struct ply_cloud *out, size_t i, const struct layout *l, const uint8_t *point)
{
    for (int k = 0; k < 3; k++) {
        struct bytes_reader r = bytes_reader(point + l->at[FIELD_X + k], sizeof(float));

        out->xyz[3 * i + (size_t)k] = bytes_get_f32(&r);
        out->rgb[3 * i + (size_t)k] = point[l->at[FIELD_RED + k]];
    }
}

static int read_points(struct ply_cloud *out, const struct layout *l, const char *path, FILE *f,
                       struct err *err)
{
    uint8_t *chunk = malloc((size_t)CHUNK * l->stride);
    int rc = 0;

    out->xyz = malloc((l->n ? l->n : 1) * 3 * sizeof *out->xyz);
    out->rgb = malloc((l->n ? l->n : 1) * 3);
    if (!chunk || !out->xyz || !out->rgb) {
        rc = err_set(err, ERR_MEMORY, "%s: no memory for %llu points", path,
                     (unsigned long long)l->n);
        goto out;
    }
    while (out->n < l->n) {
        size_t m = l->n - out->n < CHUNK ? l->n - out->n : CHUNK;

        if (fread(chunk, l->stride, m, f) != m) {
            rc = err_set(err, ERR_IO, "%s: ends inside its points", path);
            goto out;
        }
        for (size_t i = 0; i < m; i++)
            take(out, out->n + i, l, chunk + i * l->stride);
        out->n += m;
    }
out:
    free(chunk);
    return rc;
}

int ply_read_file(const char *path, struct ply_cloud *out, struct err *err)
{
    struct layout l = {.at = {-1, -1, -1, -1, -1, -1}};
    FILE *f = fopen(path, "rbe");
    int rc;

    *out = (struct ply_cloud){0};
    if (!f)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(errno));
    rc = read_header(&l, path, f, err);
    if (!rc)
        rc = check_size(&l, path, f, err);
    if (!rc)
        rc = read_points(out, &l, path, f, err);
    if (rc)
        ply_cloud_free(out);
    out->has_hash = rc ? 0 : l.has_hash;
    out->hash = rc ? 0 : l.hash;
    fclose(f);
    return rc;
}

void ply_cloud_free(struct ply_cloud *p)
{
    free(p->xyz);
    free(p->rgb);
    *p = (struct ply_cloud){0};
}
