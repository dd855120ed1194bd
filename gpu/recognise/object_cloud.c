/* object_cloud.c - makes a mesh to enrol from points on a surface, a patch for each */
#include "gpu/recognise/object.h"
#include "gpu/recognise/surface_point.h"

#include "proto/array.h"
#include "proto/geom/tree.h"

#include <stdlib.h>

#define AROUND 24            /* neighbours that may cut a patch */
#define REACH 8              /* a patch reaches as far as this neighbour */
#define CORNERS (6 + AROUND) /* a cut adds one, but for what rounding does to thin ones */

/* A cloud's points, and the patches made from them. */
struct patches {
    struct cloud_params params;
    const struct object_point *point; /* [n] */
    size_t n;
    struct tree *tree;
    float usual;           /* reach */
    float low[3], high[3]; /* box that holds all patches */
    float *xyz;            /* [n_corners][3] */
    uint32_t *corner;      /* [n_triangles][3] */
    size_t n_corners, n_triangles, cap_xyz, cap_corner;
};

static void patches_free(struct patches *s)
{
    tree_free(&s->tree);
    free(s->xyz);
    free(s->corner);
}

static struct vec3 along(struct vec3 p, struct vec3 d, float t)
{
    return vec3_make(p.x + t * d.x, p.y + t * d.y, p.z + t * d.z);
}

/* Finds a point's neighbours, itself among them. Returns how many; *reach is at most `most`. */
static int around(const struct patches *s, size_t i, uint32_t id[AROUND + 1], float *reach,
                  float most)
{
    const struct vec3 *p = &s->point[i].p;
    const double q[3] = {(double)p->x, (double)p->y, (double)p->z};
    double d2[AROUND + 1];
    int n = tree_neighbours(s->tree, q, INFINITY, AROUND + 1, id, d2);

    *reach = (float)sqrt(d2[n > REACH ? REACH : n - 1]);
    *reach = *reach < most ? *reach : most;
    return n;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Makes the tree, the usual reach, and the points' box widened by half that reach. */
static int object_cloud_measure(struct patches *s, struct err *err)
{
    float *place = malloc(s->n * 3 * sizeof *place), *reach = malloc(s->n * sizeof *reach);
    uint32_t id[AROUND + 1];
    int rc = 0;

    if (!place || !reach)
        rc = err_set(err, ERR_MEMORY, "no memory for the surface of %zu points", s->n);
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        float p[3] = {s->point[i].p.x, s->point[i].p.y, s->point[i].p.z};
        for (size_t k = 0; k < 3; k++) {
            place[3 * i + k] = p[k];
            s->low[k] = i == 0 || p[k] < s->low[k] ? p[k] : s->low[k];
            s->high[k] = i == 0 || p[k] > s->high[k] ? p[k] : s->high[k];
        }
    }
    if (rc == 0)
        rc = tree_new(&s->tree, place, s->n, 3, err);
    for (size_t i = 0; i < s->n && rc == 0; i++)
        (void)around(s, i, id, &reach[i], INFINITY);
    if (rc == 0) {
        qsort(reach, s->n, sizeof *reach, by_size);
        s->usual = reach[s->n / 2];
    }
    for (int k = 0; k < 3; k++) {
        s->low[k] -= 0.25f * s->usual;
        s->high[k] += 0.25f * s->usual;
    }
    free(place);
    free(reach);
    return rc;
}

/* Keeps what lies behind a plane (Sutherland and Hodgman). Returns the number of corners. */
static int cut(struct vec3 corner[CORNERS], int n, struct vec3 on, struct vec3 normal)
{
    struct vec3 out[CORNERS];
    int kept = 0;

    for (int i = 0; i < n && kept + 2 <= CORNERS; i++) {
        struct vec3 a = corner[i], b = corner[(i + 1) % n];
        float da = surface_dot(vec3_sub(a, on), normal), db = surface_dot(vec3_sub(b, on), normal);
        if (da <= 0)
            out[kept++] = a;
        if ((da < 0 && db > 0) || (da > 0 && db < 0))
            out[kept++] = along(a, vec3_sub(b, a), da / (da - db));
    }
    for (int i = 0; i < kept; i++)
        corner[i] = out[i];
    return kept;
}

/* Two directions across a normal, all of length 1 and right-handed with it. */
static void axes(struct vec3 n, struct vec3 *x, struct vec3 *y)
{
    *x = fabsf(n.z) < 0.8f ? vec3_make(-n.y, n.x, 0) : vec3_make(0, -n.z, n.y);
    *x = surface_scale(*x, 1.0f / sqrtf(vec3_norm2(*x)));
    *y = surface_cross(n, *x);
}

/* A square, whose corners run counter-clockwise as the normal looks back at them. */
static int square(struct vec3 corner[CORNERS], const struct object_point *from, float reach)
{
    static const float side[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    struct vec3 x, y;

    axes(from->normal, &x, &y);
    for (int i = 0; i < 4; i++)
        corner[i] = along(along(from->p, x, reach * side[i][0]), y, reach * side[i][1]);
    return 4;
}

/* (O19) The normal of the plane through a point that fits its neighbours on the same side of all
 * edges best; published normals are coarse (N3). */
static struct vec3 level(const struct patches *s, const struct object_point *own,
                         const uint32_t *id, int near)
{
    struct vec3 n = own->normal, x, y;
    float xx = 0, xy = 0, yy = 0, xh = 0, yh = 0, det, a, b;

    axes(n, &x, &y);
    for (int j = 0; j < near; j++) {
        const struct object_point *other = &s->point[id[j]];
        struct vec3 d = vec3_sub(other->p, own->p);
        float u = surface_dot(d, x), v = surface_dot(d, y), h = surface_dot(d, n), w;
        if (surface_dot(n, other->normal) < s->params.crease ||
            fabsf(h) > s->params.steep * sqrtf(u * u + v * v))
            continue;
        w = 1.0f / (u * u + v * v + 1e-12f);
        xx += w * u * u;
        xy += w * u * v;
        yy += w * v * v;
        xh += w * u * h;
        yh += w * v * h;
    }
    xx += s->params.prior; /* the published normal */
    yy += s->params.prior;
    det = xx * yy - xy * xy;
    a = (yy * xh - xy * yh) / det;
    b = (xx * yh - xy * xh) / det;
    n = along(along(n, x, -a), y, -b);
    return surface_scale(n, 1.0f / sqrtf(vec3_norm2(n)));
}

/* (O19) A point's patch: a square less the parts beyond an edge or nearer to a neighbour on the
 * point's side of it. */
static int patch(struct vec3 corner[CORNERS], const struct patches *s, size_t i)
{
    struct object_point own = s->point[i];
    uint32_t id[AROUND + 1];
    float reach;
    int near = around(s, i, id, &reach, s->params.stray * s->usual), n;

    own.normal = level(s, &own, id, near);
    n = square(corner, &own, reach);
    for (int j = 0; j < near && n > 0; j++) {
        const struct object_point *other = &s->point[id[j]];
        struct vec3 d = vec3_sub(other->p, own.p);
        if (vec3_norm2(other->normal) == 0 || vec3_norm2(d) == 0)
            continue;
        if (surface_dot(own.normal, other->normal) >= s->params.crease)
            n = cut(corner, n, along(own.p, d, s->params.share), d);
        else if (surface_dot(d, other->normal) > 0)
            n = cut(corner, n, other->p, other->normal);
    }
    return n;
}

static int object_cloud_put(struct patches *s, const struct vec3 *corner, int n, struct err *err)
{
    size_t triangles = n < 3 ? 0 : (size_t)n - 2;

    if (array_grow(&s->xyz, &s->cap_xyz, 3 * (s->n_corners + (size_t)n), sizeof *s->xyz) ||
        array_grow(&s->corner, &s->cap_corner, 3 * (s->n_triangles + triangles), sizeof *s->corner))
        return err_set(err, ERR_MEMORY, "no memory for the surface of %zu points", s->n);
    for (size_t k = 0; k < triangles; k++) {
        uint32_t *to = s->corner + 3 * s->n_triangles++;
        to[0] = (uint32_t)s->n_corners;
        to[1] = (uint32_t)(s->n_corners + k + 1);
        to[2] = (uint32_t)(s->n_corners + k + 2);
    }
    for (int k = 0; k < n; k++) {
        float *to = s->xyz + 3 * s->n_corners++;
        to[0] = fminf(fmaxf(corner[k].x, s->low[0]), s->high[0]);
        to[1] = fminf(fmaxf(corner[k].y, s->low[1]), s->high[1]);
        to[2] = fminf(fmaxf(corner[k].z, s->low[2]), s->high[2]);
    }
    return 0;
}

int object_add_cloud(struct object *o, const struct object_point *point, size_t n,
                     const struct surface_params *sp, const struct tensor_params *tp,
                     struct err *err)
{
    struct patches s = {.point = point, .n = n};
    struct surface_params coarse = *sp;
    struct vec3 corner[CORNERS];
    struct object_mesh mesh;
    size_t facing = 0;
    int rc = 0;

    params_fill(&s.params, &recognise_params_cloud, NULL, NULL);
    coarse.normal_px = s.params.normal_px;
    for (size_t i = 0; i < n; i++)
        facing += vec3_norm2(point[i].normal) > 0;
    if (n > OBJECT_CLOUD_MAX)
        rc = err_set(err, ERR_LIMIT, "%zu points are too many for an object: %d may be", n,
                     OBJECT_CLOUD_MAX);
    else if (facing < OBJECT_CLOUD_MIN)
        rc = err_set(err, ERR_INPUT,
                     "%zu points of a surface are too few for an object: it takes %d", facing,
                     OBJECT_CLOUD_MIN);
    if (rc == 0)
        rc = object_cloud_measure(&s, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (vec3_norm2(point[i].normal) > 0)
            rc = object_cloud_put(&s, corner, patch(corner, &s, i), err);
    mesh = (struct object_mesh){s.xyz, s.n_corners, s.corner, s.n_triangles, 1};
    if (rc == 0)
        rc = object_add_mesh(o, &mesh, &coarse, tp, err);
    if (rc == 0)
        o->is_coarse = 1;
    patches_free(&s);
    return rc;
}
