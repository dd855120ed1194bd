#include "proto/cloud/mesh.h"

#include "proto/array.h"
#include "proto/cloud/ply.h"

#include <stdlib.h>
#include <string.h>

#define NAME "the mesh" /* name of the file in errors */
#define FLAT 1e-10      /* least area of a triangle, as a share of its longest side squared */

void mesh_free(struct mesh *m)
{
    free(m->xyz);
    free(m->corner);
    *m = (struct mesh){0};
}

/* ------------------------------------------------------------------------- PLY */

static int read_ply(struct mesh *m, const uint8_t *bytes, size_t len, struct err *err)
{
    struct ply_cloud ply;
    int rc = ply_read_mesh(bytes, len, NAME, &ply, err);

    if (rc == 0 && ply.n > MESH_POINTS_MAX)
        rc =
            err_set(err, ERR_LIMIT, NAME " has %zu points, %d are allowed", ply.n, MESH_POINTS_MAX);
    if (rc == 0 && ply.n_corners == 0)
        rc = err_set(err, ERR_INPUT, NAME " has no faces");
    if (rc == 0) {
        *m = (struct mesh){ply.n, ply.n_corners / 3, ply.xyz, ply.corner, 0};
        ply.xyz = NULL;
        ply.corner = NULL;
    }
    ply_cloud_free(&ply);
    return rc;
}

/* ------------------------------------------------------------------------- OBJ */

struct obj {
    struct mesh *m;
    const uint8_t *bytes;
    size_t len, at;
    size_t line; /* from 1 on */
    size_t cap_xyz, cap_corner;
    char text[MESH_LINE_BYTES];
};

/* Returns 1; 0 at the end; ERR_LIMIT; ERR_INPUT: a NUL. */
static int mesh_next_line(struct obj *o, struct err *err)
{
    const uint8_t *from = o->bytes + o->at, *end;
    size_t left = o->len - o->at, n;

    if (left == 0)
        return 0;
    end = memchr(from, '\n', left);
    n = end ? (size_t)(end - from) : left;
    o->at += n + (end != NULL);
    o->line++;
    if (n >= sizeof o->text)
        return err_set(err, ERR_LIMIT, NAME ": line %zu is longer than %d bytes", o->line,
                       MESH_LINE_BYTES - 1);
    if (memchr(from, 0, n))
        return err_set(err, ERR_INPUT, NAME " is neither PLY nor OBJ");
    memcpy(o->text, from, n);
    o->text[n] = '\0';
    return 1;
}

static int wrong(const struct obj *o, const char *what, struct err *err)
{
    return err_set(err, ERR_INPUT, NAME ": line %zu, \"%.40s\", %s", o->line, o->text, what);
}

static int read_point(struct obj *o, struct err *err)
{
    char *p = o->text + 1, *end;

    if (o->m->n_points == MESH_POINTS_MAX)
        return err_set(err, ERR_LIMIT, NAME " has more than %d points", MESH_POINTS_MAX);
    if (array_grow(&o->m->xyz, &o->cap_xyz, 3 * (o->m->n_points + 1), sizeof *o->m->xyz))
        return err_set(err, ERR_MEMORY, "no memory for " NAME);
    for (int k = 0; k < 3; k++) {
        o->m->xyz[3 * o->m->n_points + (size_t)k] = strtof(p, &end);
        if (end == p)
            return wrong(o, "has no three coordinates", err);
        p = end;
    }
    o->m->n_points++;
    return 0;
}

static int add_triangle(struct obj *o, const uint32_t corner[3], struct err *err)
{
    struct mesh *m = o->m;

    if (m->n_triangles == MESH_TRIANGLES_MAX)
        return err_set(err, ERR_LIMIT, NAME " has more than %d triangles", MESH_TRIANGLES_MAX);
    if (array_grow(&m->corner, &o->cap_corner, 3 * (m->n_triangles + 1), sizeof *m->corner))
        return err_set(err, ERR_MEMORY, "no memory for " NAME);
    memcpy(m->corner + 3 * m->n_triangles++, corner, 3 * sizeof *corner);
    return 0;
}

/* Corners are written a, a/b, a//c or a/b/c; `a` alone counts. */
static int read_face(struct obj *o, struct err *err)
{
    char *rest = NULL, *end;
    uint32_t corner[3];
    int n = 0, rc = 0;
    char split[MESH_LINE_BYTES];

    strcpy(split, o->text + 1);
    for (char *w = strtok_r(split, " \t\r", &rest); w && rc == 0;
         w = strtok_r(NULL, " \t\r", &rest)) {
        long i = strtol(w, &end, 10);
        if (end == w || (*end && *end != '/'))
            return wrong(o, "has a corner that is no number", err);
        i = i < 0 ? i + (long)o->m->n_points : i - 1;
        if (i < 0 || (size_t)i >= o->m->n_points)
            return wrong(o, "has a corner that is no point before it", err);
        corner[n < 2 ? n : 2] = (uint32_t)i;
        if (++n >= 3) {
            rc = add_triangle(o, corner, err);
            corner[1] = corner[2];
        }
    }
    return rc;
}

/* Tells whether the line begins with this word. */
static int is(const char *line, const char *word)
{
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\t');
}

static int read_obj(struct mesh *m, const uint8_t *bytes, size_t len, struct err *err)
{
    struct obj *o = calloc(1, sizeof *o);
    int rc = o ? 0 : err_set(err, ERR_MEMORY, "no memory for " NAME), more = 0;

    if (o) {
        o->m = m;
        o->bytes = bytes;
        o->len = len;
    }
    while (rc == 0 && (more = mesh_next_line(o, err)) == 1) {
        if (is(o->text, "v"))
            rc = read_point(o, err);
        else if (is(o->text, "f"))
            rc = read_face(o, err);
    }
    free(o);
    if (rc == 0)
        rc = more;
    if (rc == 0 && m->n_triangles == 0)
        rc = err_set(err, ERR_INPUT, NAME " is neither PLY nor OBJ, or has no faces");
    return rc;
}

/* ------------------------------------------------------------------------- either */

static int scale_points(struct mesh *m, float scale, struct err *err)
{
    for (size_t i = 0; i < 3 * m->n_points; i++) {
        m->xyz[i] *= scale;
        if (!isfinite(m->xyz[i]))
            return err_set(err, ERR_INPUT, NAME ": point %zu is not finite", i / 3);
    }
    return 0;
}

static int has_area(const struct mesh *m, const uint32_t corner[3])
{
    const float *a = m->xyz + 3 * (size_t)corner[0], *b = m->xyz + 3 * (size_t)corner[1],
                *c = m->xyz + 3 * (size_t)corner[2];
    double u[3], v[3], w[3], uu = 0, vv = 0, ww = 0, longest, cross2 = 0;

    for (int k = 0; k < 3; k++) {
        u[k] = (double)b[k] - (double)a[k];
        v[k] = (double)c[k] - (double)a[k];
        w[k] = v[k] - u[k];
        uu += u[k] * u[k];
        vv += v[k] * v[k];
        ww += w[k] * w[k];
    }
    for (int k = 0; k < 3; k++) {
        double x = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
        cross2 += x * x;
    }
    longest = fmax(uu, fmax(vv, ww));
    return sqrt(cross2) > 2 * FLAT * longest;
}

static int drop_flat(struct mesh *m, struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n_triangles; i++) {
        if (!has_area(m, m->corner + 3 * i))
            continue;
        memmove(m->corner + 3 * n++, m->corner + 3 * i, 3 * sizeof *m->corner);
    }
    m->flat = m->n_triangles - n;
    m->n_triangles = n;
    if (n == 0)
        return err_set(err, ERR_INPUT, NAME " has %zu triangles, none of which has an area",
                       m->flat);
    return 0;
}

int mesh_read(struct mesh *m, const uint8_t *bytes, size_t len, float scale, struct err *err)
{
    int is_ply = len >= 4 && memcmp(bytes, "ply", 3) == 0 && (bytes[3] == '\n' || bytes[3] == '\r');
    int rc;

    *m = (struct mesh){0};
    rc = is_ply ? read_ply(m, bytes, len, err) : read_obj(m, bytes, len, err);
    if (rc == 0)
        rc = scale_points(m, scale, err);
    if (rc == 0)
        rc = drop_flat(m, err);
    if (rc)
        mesh_free(m);
    return rc;
}
