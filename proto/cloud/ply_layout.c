#include "proto/cloud/ply_layout.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 6 /* words of a line that count; we need none behind them */

static const struct {
    const char *name, *sized;
    uint32_t bytes;
} types[PLY_LAYOUT_TYPES] = {
    {"char", "int8", 1}, {"uchar", "uint8", 1}, {"short", "int16", 2},   {"ushort", "uint16", 2},
    {"int", "int32", 4}, {"uint", "uint32", 4}, {"float", "float32", 4}, {"double", "float64", 8},
};

static const struct {
    const char *name;
    int field;
} fields[] = {
    {"x", PLY_LAYOUT_X},
    {"y", PLY_LAYOUT_Y},
    {"z", PLY_LAYOUT_Z},
    {"red", PLY_LAYOUT_RED},
    {"green", PLY_LAYOUT_GREEN},
    {"blue", PLY_LAYOUT_BLUE},
    {"diffuse_red", PLY_LAYOUT_RED},
    {"diffuse_green", PLY_LAYOUT_GREEN},
    {"diffuse_blue", PLY_LAYOUT_BLUE},
    {"confidence", PLY_LAYOUT_CONFIDENCE},
};

static const char *const field_names[PLY_LAYOUT_FIELDS] = {"x",     "y",    "z",         "red",
                                                           "green", "blue", "confidence"};

uint32_t ply_layout_bytes(int type)
{
    return types[type].bytes;
}

static int type_of(const char *word)
{
    for (int i = 0; i < PLY_LAYOUT_TYPES; i++)
        if (strcmp(word, types[i].name) == 0 || strcmp(word, types[i].sized) == 0)
            return i;
    return -1;
}

/* Reads a header and knows the number of its line. */
struct reader {
    struct ply_layout *l;
    const char *path;
    FILE *f;
    char line[PLY_LAYOUT_LINE_BYTES], split[PLY_LAYOUT_LINE_BYTES];
    char *word[WORDS_MAX];
    int n_words;
    int at[PLY_LAYOUT_FIELDS]; /* property of the points, -1 = none yet */
    int in_faces;              /* the element that is being read is "face" */
};

static int wrong(const struct reader *r, const char *what, struct err *err)
{
    return err_set(err, ERR_INPUT, "%s: \"%.60s\" %s", r->path, r->line, what);
}

/* Reads one line without its end and splits it into words. Returns 0 where the file ends first, the
 * line is too long or holds a NUL. */
static int ply_layout_next_line(struct reader *r)
{
    char *rest = NULL;
    size_t n;

    if (!fgets(r->line, sizeof r->line, r->f))
        return 0;
    n = strlen(r->line);
    if (n == 0 || r->line[n - 1] != '\n')
        return 0;
    r->line[--n] = 0;
    if (n && r->line[n - 1] == '\r')
        r->line[n - 1] = 0;
    strcpy(r->split, r->line);
    r->n_words = 0;
    for (char *w = strtok_r(r->split, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest)) {
        if (r->n_words < WORDS_MAX)
            r->word[r->n_words] = w;
        r->n_words++;
    }
    return 1;
}

static int read_format(struct reader *r, struct err *err)
{
    static const char *const names[] = {
        [PLY_LAYOUT_ASCII] = "ascii",
        [PLY_LAYOUT_LITTLE_ENDIAN] = "binary_little_endian",
        [PLY_LAYOUT_BIG_ENDIAN] = "binary_big_endian",
    };

    if (r->n_words != 3 || r->l->format != PLY_LAYOUT_NONE)
        return wrong(r, "is no format, or a second one", err);
    for (int i = PLY_LAYOUT_ASCII; i <= PLY_LAYOUT_BIG_ENDIAN; i++)
        if (strcmp(r->word[1], names[i]) == 0 && strcmp(r->word[2], "1.0") == 0)
            r->l->format = (enum ply_layout_format)i;
    if (r->l->format == PLY_LAYOUT_NONE)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: \"%.60s\", known are ascii, binary_little_endian and "
                       "binary_big_endian 1.0",
                       r->path, r->line);
    return 0;
}

static int read_element(struct reader *r, struct err *err)
{
    struct ply_layout *l = r->l;
    struct ply_layout_element *e;
    unsigned long long n = 0;
    char rest;

    if (r->n_words != 3 || r->word[2][0] < '0' || r->word[2][0] > '9' ||
        sscanf(r->word[2], "%19llu%c", &n, &rest) != 1)
        return wrong(r, "is no element", err);
    if (l->n_elements == PLY_LAYOUT_ELEMENTS_MAX)
        return err_set(err, ERR_LIMIT, "%s: more than %d elements", r->path,
                       PLY_LAYOUT_ELEMENTS_MAX);
    if (strcmp(r->word[1], "vertex") == 0) {
        if (l->points >= 0)
            return err_set(err, ERR_UNSUPPORTED, "%s: has points twice", r->path);
        l->points = l->n_elements;
    }
    r->in_faces = strcmp(r->word[1], "face") == 0;
    e = &l->element[l->n_elements++];
    *e = (struct ply_layout_element){.n = n, .first = l->n_properties};
    return 0;
}

/* Tells whether colours may have this type: those with a full scale of 255, 65535 or 1. */
static int is_colour(int type)
{
    return type == PLY_LAYOUT_U8 || type == PLY_LAYOUT_U16 || type >= PLY_LAYOUT_F32;
}

/* Reads a face's list of corners; the first such list counts. */
static void take_corners(struct ply_layout *l, struct ply_layout_property *p, const char *name)
{
    if (l->faces < 0 && p->count >= 0 && p->type < PLY_LAYOUT_F32 &&
        (strcmp(name, "vertex_indices") == 0 || strcmp(name, "vertex_index") == 0)) {
        p->field = PLY_LAYOUT_CORNERS;
        l->faces = l->n_elements - 1;
    }
}

/* Remembers a property of the points that we want. */
static int take_field(struct reader *r, struct ply_layout_property *p, const char *name,
                      struct err *err)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(name, fields[i].name) == 0)
            p->field = fields[i].field;
    if (p->field == PLY_LAYOUT_CONFIDENCE && (p->count >= 0 || p->type != PLY_LAYOUT_U8))
        p->field = -1; /* other programs use the name for something else */
    if (p->field < 0)
        return 0;
    if (p->count >= 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: %s is a list", r->path, name);
    if (r->at[p->field] >= 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: points have %s twice", r->path,
                       field_names[p->field]);
    if (p->field >= PLY_LAYOUT_RED && p->field <= PLY_LAYOUT_BLUE && !is_colour(p->type))
        return err_set(err, ERR_UNSUPPORTED, "%s: %s is %s; colours are uchar, ushort or float",
                       r->path, name, types[p->type].name);
    r->at[p->field] = r->l->n_properties;
    return 0;
}

static int read_property(struct reader *r, struct err *err)
{
    struct ply_layout *l = r->l;
    struct ply_layout_property p = {.type = -1, .count = -1, .field = -1};
    struct ply_layout_element *e;
    int rc = 0;

    if (l->n_elements == 0)
        return wrong(r, "stands before any element", err);
    e = &l->element[l->n_elements - 1];
    if (r->n_words == 5 && strcmp(r->word[1], "list") == 0) {
        p.count = type_of(r->word[2]);
        p.type = type_of(r->word[3]);
        if (p.count < 0 || p.count >= PLY_LAYOUT_F32)
            return wrong(r, "has a length that is no whole number", err);
    } else if (r->n_words == 3) {
        p.type = type_of(r->word[1]);
    }
    if (p.type < 0)
        return wrong(r, "is no property", err);
    if (l->n_properties == PLY_LAYOUT_PROPERTIES_MAX)
        return err_set(err, ERR_LIMIT, "%s: more than %d properties", r->path,
                       PLY_LAYOUT_PROPERTIES_MAX);
    if (l->n_elements - 1 == l->points)
        rc = take_field(r, &p, r->word[r->n_words - 1], err);
    else if (r->in_faces)
        take_corners(l, &p, r->word[r->n_words - 1]);
    l->property[l->n_properties++] = p;
    e->n_properties++;
    e->lists += p.count >= 0;
    e->stride += types[p.count >= 0 ? p.count : p.type].bytes;
    return rc;
}

static int read_line(struct reader *r, struct err *err)
{
    unsigned long long hash;
    char up[3];

    if (sscanf(r->line, "comment recond hash %16llx", &hash) == 1) {
        r->l->has_hash = 1;
        r->l->hash = hash;
        return 0;
    }
    if (sscanf(r->line, "comment recond up %2[-+xyz]", up) == 1 && strlen(up) == 2 &&
        strchr("+-", up[0]) && strchr("xyz", up[1]))
        strcpy(r->l->up, up);
    if (r->n_words == 0 || strcmp(r->word[0], "comment") == 0 ||
        strcmp(r->word[0], "obj_info") == 0)
        return 0;
    if (strcmp(r->word[0], "format") == 0)
        return read_format(r, err);
    if (strcmp(r->word[0], "element") == 0)
        return read_element(r, err);
    if (strcmp(r->word[0], "property") == 0)
        return read_property(r, err);
    return wrong(r, "in the header", err);
}

static int ply_layout_check(const struct reader *r, struct err *err)
{
    if (r->l->format == PLY_LAYOUT_NONE || r->l->points < 0)
        return err_set(err, ERR_INPUT, "%s: the header names no format or no points", r->path);
    for (int k = PLY_LAYOUT_X; k <= PLY_LAYOUT_Z; k++)
        if (r->at[k] < 0)
            return err_set(err, ERR_INPUT, "%s: points have no %s", r->path, field_names[k]);
    r->l->has_colour =
        r->at[PLY_LAYOUT_RED] >= 0 && r->at[PLY_LAYOUT_GREEN] >= 0 && r->at[PLY_LAYOUT_BLUE] >= 0;
    r->l->has_confidence = r->at[PLY_LAYOUT_CONFIDENCE] >= 0;
    return 0;
}

int ply_layout_read(struct ply_layout *l, const char *path, FILE *f, struct err *err)
{
    struct reader r = {.l = l, .path = path, .f = f};
    int rc;

    *l = (struct ply_layout){.points = -1, .faces = -1};
    for (int k = 0; k < PLY_LAYOUT_FIELDS; k++)
        r.at[k] = -1;
    if (!ply_layout_next_line(&r) || strcmp(r.line, "ply") != 0)
        return err_set(err, ERR_INPUT, "%s is no PLY file", path);
    for (int i = 0; i < PLY_LAYOUT_LINES_MAX; i++) {
        if (!ply_layout_next_line(&r))
            return err_set(err, ERR_INPUT, "%s: the header does not end", path);
        if (strcmp(r.line, "end_header") == 0)
            return ply_layout_check(&r, err);
        rc = read_line(&r, err);
        if (rc)
            return rc;
    }
    return err_set(err, ERR_LIMIT, "%s: a header of more than %d lines", path,
                   PLY_LAYOUT_LINES_MAX);
}
