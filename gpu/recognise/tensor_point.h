/*
 * tensor_point.h - a pair, its basis, and the area of a triangle in each voxel (tensor.h)
 */
#pragma once

#include "gpu/recognise/surface_point.h"
#include "gpu/recognise/tensor.h"

#include <stdbool.h>

#define TENSOR_POLYGON 9        /* a triangle that six planes cut */
#define TENSOR_FINE 4194304.0f  /* unit of summed areas: 2^-22 of a voxel's side squared */
#define TENSOR_COARSE_SHIFT 14  /* from that unit to 1/256 */
#define TENSOR_WINDOW_PX_MAX 28 /* reach of the search for partners */
#define TENSOR_MESHED 3 /* of 4 squares around a pixel, those with triangles in a whole mesh */
#define TENSOR_OPPOSITE (-0.9f) /* cosine: the mean of such normals says little */
#define TENSOR_ROOT 64 /* roots of areas are compared, in units of 1/128 of a voxel's side */
#define TENSOR_BIN_STEP 0.0625f /* width of a bin in sqrt(1 - cosine), about 5 degrees */

GPU_HD static inline uint32_t tensor_hash(uint32_t a, uint32_t b)
{
    uint32_t h = a * 0x9e3779b1u ^ b * 0x85ebca6bu;
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return h ^ h >> 16;
}

GPU_HD static inline float tensor_unit(const struct surface *s, const struct tensor_params *p)
{
    return p->unit_m > 0.0f ? p->unit_m : s->limits->resolution_m;
}

/* (O7) The square around a pixel that is searched for its partner, row by row. */
struct tensor_search {
    struct vec3 a, m;          /* the pixel's point and normal */
    float nearest2, farthest2; /* squares of distances, metres squared */
    int x, y, reach, step;     /* the square's middle; pixels */
    uint32_t side;             /* the square's, in steps */
};

GPU_HD static inline bool tensor_search_open(struct tensor_search *q, const struct surface *s,
                                             const struct tensor_params *p, uint32_t at)
{
    float unit = tensor_unit(s, p), least = p->least * unit, most = p->most * unit;
    float f = s->K.fx > s->K.fy ? s->K.fx : s->K.fy, px;

    q->x = (int)(at % (uint32_t)s->w);
    q->y = (int)(at / (uint32_t)s->w);
    q->a = s->point[at];
    q->m = s->normal[at];
    if (!(q->a.z > 0.0f) || !(vec3_norm2(q->m) > 0.0f) || !(unit > 0.0f))
        return false;
    px = most * f / q->a.z;
    q->reach = px < (float)TENSOR_WINDOW_PX_MAX ? (int)px + 1 : TENSOR_WINDOW_PX_MAX;
    q->step = q->reach > TENSOR_WINDOW_PX_MAX / 2 ? 2 : 1;
    q->side = (uint32_t)(2 * q->reach / q->step + 1);
    q->nearest2 = least * least;
    q->farthest2 = most * most;
    return true;
}

GPU_HD static inline uint32_t tensor_search_pixel(const struct tensor_search *q,
                                                  const struct surface *s, uint32_t k)
{
    int u = q->x - q->reach + (int)(k % q->side) * q->step;
    int v = q->y - q->reach + (int)(k / q->side) * q->step;

    return u < 0 || v < 0 || u >= s->w || v >= s->h ? UINT32_MAX
                                                    : (uint32_t)v * (uint32_t)s->w + (uint32_t)u;
}

/* The cosine between the normals of the pixel and of the square's k-th pixel; TENSOR_BIN_COS_0:
 * that is no partner. */
GPU_HD static inline float tensor_search_cosine(const struct tensor_search *q,
                                                const struct surface *s, uint32_t k)
{
    uint32_t to = tensor_search_pixel(q, s, k);
    struct vec3 d;
    float d2, cosine;

    if (to == UINT32_MAX || !(s->point[to].z > 0.0f))
        return TENSOR_BIN_COS_0;
    d = vec3_sub(s->point[to], q->a);
    d2 = vec3_norm2(d);
    if (d2 < q->nearest2 || d2 > q->farthest2 || !(vec3_norm2(s->normal[to]) > 0.0f))
        return TENSOR_BIN_COS_0;
    cosine = surface_dot(s->normal[to], q->m);
    return cosine < TENSOR_OPPOSITE || !(surface_dot(vec3_sub(s->normal[to], q->m), d) > 0.0f)
               ? TENSOR_BIN_COS_0
               : cosine;
}

/* (O8) The i-th pixel of a square that is tried; UINT32_MAX: it is beyond the picture. */
GPU_HD static inline uint32_t tensor_lot(const struct surface *s, const struct tensor_params *p,
                                         uint32_t cell, uint32_t i)
{
    uint32_t side = (uint32_t)p->cell_px, wide = ((uint32_t)s->w + side - 1) / side;
    uint32_t lot = tensor_hash(p->seed + i, cell) % (side * side);
    uint32_t x = cell % wide * side + lot % side, y = cell / wide * side + lot / side;

    return x >= (uint32_t)s->w || y >= (uint32_t)s->h ? UINT32_MAX : y * (uint32_t)s->w + x;
}

/* (O7) Of the four squares of pixels around a pixel, how many have a triangle of the mesh. */
GPU_HD static inline int tensor_meshed(const struct surface *s, int x, int y)
{
    int n = 0;
    for (int v = y > 0 ? y - 1 : 0; v <= y; v++)
        for (int u = x > 0 ? x - 1 : 0; u <= x; u++)
            n += s->mesh[v * s->w + u] != 0;
    return n;
}

/* (O7) The straight line from a to b in steps of a pixel, 1 at least where the two differ. */
GPU_HD static inline int tensor_steps(const struct surface *s, uint32_t a, uint32_t b)
{
    int dx = (int)(b % (uint32_t)s->w) - (int)(a % (uint32_t)s->w);
    int dy = (int)(b / (uint32_t)s->w) - (int)(a / (uint32_t)s->w);
    int across = dx < 0 ? -dx : dx, down = dy < 0 ? -dy : dy;

    return across > down ? across : down;
}

/* (O7) Is the mesh whole around the pixel nearest to i / n of the way from a to b? */
GPU_HD static inline int tensor_whole(const struct surface *s, uint32_t a, uint32_t b, int i, int n)
{
    int x = (int)(a % (uint32_t)s->w), y = (int)(a / (uint32_t)s->w);
    int dx = (int)(b % (uint32_t)s->w) - x, dy = (int)(b / (uint32_t)s->w) - y;
    int u = x + (2 * dx * i + (dx < 0 ? -n : n)) / (2 * n);
    int v = y + (2 * dy * i + (dy < 0 ? -n : n)) / (2 * n);

    return tensor_meshed(s, u, v) >= TENSOR_MESHED;
}

/* (O7) Is the mesh whole around each pixel of the line? */
GPU_HD static inline int tensor_joined(const struct surface *s, uint32_t a, uint32_t b)
{
    int n = tensor_steps(s, a, b);

    for (int i = 0; i <= n; i++)
        if (!tensor_whole(s, a, b, i, n))
            return 0;
    return 1;
}

/* (O8) Is it a pair of the wanted kind, apart or not? */
GPU_HD static inline int tensor_is(uint64_t pair, int apart)
{
    return pair != TENSOR_NO_PAIR && ((uint32_t)pair & TENSOR_APART ? 1 : 0) == apart;
}

/* (O8) Which of m pairs is the i-th of n taken ones. */
GPU_HD static inline uint32_t tensor_pick(uint32_t i, uint32_t n, uint32_t m)
{
    return m <= n ? i : (uint32_t)((uint64_t)i * m / n);
}

GPU_HD static inline struct vec3 tensor_unit_vector(struct vec3 a)
{
    return surface_scale(a, 1.0f / sqrtf(vec3_norm2(a)));
}

/* Bins are of equal width in sqrt(1 - cosine) = sqrt(2) sin(angle / 2). */
GPU_HD static inline uint32_t tensor_bin(float cosine)
{
    float key = (sqrtf(1.0f - cosine) - sqrtf(1.0f - TENSOR_BIN_COS_0)) / TENSOR_BIN_STEP;
    int bin = key > 0.0f ? (int)key : 0;
    return (uint32_t)(bin < TENSOR_BINS ? bin : TENSOR_BINS - 1);
}

/* (O9) All of a tensor but its entries. */
GPU_HD static inline void tensor_basis(struct tensor *t, const struct surface *s, uint64_t pair)
{
    uint32_t a = (uint32_t)(pair >> 32), b = (uint32_t)pair & ~TENSOR_APART;
    struct vec3 p = s->point[a], q = s->point[b], n = s->normal[a], m = s->normal[b];
    struct vec3 z = tensor_unit_vector(vec3_make(n.x + m.x, n.y + m.y, n.z + m.z));
    struct vec3 x = tensor_unit_vector(surface_cross(n, m)), y = surface_cross(z, x);
    const float r[9] = {x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z};

    for (int i = 0; i < 9; i++)
        t->T_cb.r[i] = r[i];
    t->T_cb.t[0] = (p.x + q.x) * 0.5f;
    t->T_cb.t[1] = (p.y + q.y) * 0.5f;
    t->T_cb.t[2] = (p.z + q.z) * 0.5f;
    t->cosine = surface_dot(n, m);
    t->bin = tensor_bin(t->cosine);
    t->pixel[0] = a;
    t->pixel[1] = b;
    t->n = 0;
}

/* The window that is searched for a tensor's surface, and the transform from camera to grid. */
struct tensor_grid {
    const struct surface *s;
    struct rigid T_bc;
    float per_m; /* voxels a metre */
    int x0, y0;  /* the window's first pixel, which may lie outside the picture */
};

GPU_HD static inline struct tensor_grid tensor_grid(const struct tensor *t, const struct surface *s,
                                                    const struct tensor_params *p)
{
    uint32_t w = (uint32_t)s->w, a = t->pixel[0], b = t->pixel[1];
    struct tensor_grid g;
    g.s = s;
    g.T_bc = rigid_inverse(&t->T_cb);
    g.per_m = 1.0f / (p->voxel * tensor_unit(s, p));
    g.x0 = (int)((a % w + b % w) / 2) - TENSOR_WINDOW / 2;
    g.y0 = (int)((a / w + b / w) / 2) - TENSOR_WINDOW / 2;
    return g;
}

/* A point of the camera in voxels from the grid's corner. */
GPU_HD static inline struct vec3 tensor_place(const struct tensor_grid *g, struct vec3 p)
{
    struct vec3 q = rigid_apply(&g->T_bc, p);
    return vec3_make(q.x * g->per_m + TENSOR_SIDE * 0.5f, q.y * g->per_m + TENSOR_SIDE * 0.5f,
                     q.z * g->per_m + TENSOR_SIDE * 0.5f);
}

/* The corners of a triangle of the mesh. */
GPU_HD static inline void tensor_triangle(struct vec3 v[3], const struct tensor_grid *g, int x,
                                          int y, int far)
{
    const struct vec3 *p = g->s->point + (size_t)y * (size_t)g->s->w + (size_t)x;
    v[0] = tensor_place(g, far ? p[g->s->w + 1] : p[0]);
    v[1] = tensor_place(g, p[1]);
    v[2] = tensor_place(g, p[g->s->w]);
}

GPU_HD static inline float tensor_axis(const struct vec3 *v, int axis)
{
    return axis == 0 ? v->x : axis == 1 ? v->y : v->z;
}

/* Is a triangle's box within the grid, at least in part? */
GPU_HD static inline int tensor_touches(const struct vec3 v[3])
{
    for (int axis = 0; axis < 3; axis++) {
        float a = tensor_axis(&v[0], axis), b = tensor_axis(&v[1], axis),
              c = tensor_axis(&v[2], axis);
        if ((a < 0.0f && b < 0.0f && c < 0.0f) ||
            (a > TENSOR_SIDE && b > TENSOR_SIDE && c > TENSOR_SIDE))
            return 0;
    }
    return 1;
}

/* A pixel's triangles within the grid: bits of enum surface_mesh. i, j: from the
 * window's first pixel. */
GPU_HD static inline int tensor_present(const struct tensor_grid *g, int i, int j)
{
    int x = g->x0 + i, y = g->y0 + j, mesh, present = 0;
    struct vec3 v[3];

    if (x < 0 || y < 0 || x + 1 >= g->s->w || y + 1 >= g->s->h)
        return 0;
    mesh = g->s->mesh[(size_t)y * (size_t)g->s->w + (size_t)x];
    for (int far = 0; far < 2; far++) {
        if (!(mesh & (far ? SURFACE_FAR : SURFACE_NEAR)))
            continue;
        tensor_triangle(v, g, x, y, far);
        if (tensor_touches(v))
            present |= far ? SURFACE_FAR : SURFACE_NEAR;
    }
    return present;
}

/* Rows of the window, a bit a pixel, of the two kinds of triangles. */
struct tensor_rows {
    uint64_t near[TENSOR_WINDOW], far[TENSOR_WINDOW];
};

/* (O10) Growing begins with the triangles around both points of the pair; these are row j's. */
GPU_HD static inline uint64_t tensor_seed(const struct tensor_grid *g, const struct tensor *t,
                                          int j)
{
    uint64_t row = 0;
    for (int k = 0; k < 2; k++) {
        int x = (int)(t->pixel[k] % (uint32_t)g->s->w) - g->x0;
        int y = (int)(t->pixel[k] / (uint32_t)g->s->w) - g->y0;
        for (int i = x - 1; i <= x; i++)
            if ((j == y || j == y - 1) && i >= 0 && i < TENSOR_WINDOW)
                row |= 1ull << i;
    }
    return row;
}

/*
 * (O10) One step of growing in row j: a triangle joins if it shares an edge with a joined one. A
 * near one shares its diagonal with the far one of its pixel, its left edge with the far one to the
 * left and its upper edge with the far one above.
 * Returns: 1: the row grew
 */
GPU_HD static inline int tensor_grow(struct tensor_rows *grown, const struct tensor_rows *present,
                                     int j)
{
    uint64_t near = grown->near[j], far = grown->far[j], was_near, was_far;
    uint64_t above = j > 0 ? grown->far[j - 1] : 0;
    uint64_t below = j + 1 < TENSOR_WINDOW ? grown->near[j + 1] : 0;

    do {
        was_near = near;
        was_far = far;
        near |= present->near[j] & (far | far << 1 | above);
        far |= present->far[j] & (near | near >> 1 | below);
    } while (near != was_near || far != was_far);
    was_near = grown->near[j];
    was_far = grown->far[j];
    grown->near[j] = near;
    grown->far[j] = far;
    return near != was_near || far != was_far;
}

struct tensor_polygon {
    struct vec3 v[TENSOR_POLYGON];
    int n;
};

/* The part of a polygon at sign * (coordinate - bound) >= 0 (Sutherland and Hodgman). */
GPU_HD static inline void tensor_cut(struct tensor_polygon *to, const struct tensor_polygon *from,
                                     int axis, float bound, float sign)
{
    to->n = 0;
    for (int i = 0; i < from->n; i++) {
        struct vec3 a = from->v[i], b = from->v[i + 1 < from->n ? i + 1 : 0];
        float da = sign * (tensor_axis(&a, axis) - bound);
        float db = sign * (tensor_axis(&b, axis) - bound);
        if (da >= 0.0f && to->n < TENSOR_POLYGON)
            to->v[to->n++] = a;
        if ((da >= 0.0f) != (db >= 0.0f) && to->n < TENSOR_POLYGON) {
            float k = da / (da - db);
            to->v[to->n++] =
                vec3_make(a.x + k * (b.x - a.x), a.y + k * (b.y - a.y), a.z + k * (b.z - a.z));
        }
    }
}

GPU_HD static inline float tensor_area(const struct tensor_polygon *p)
{
    struct vec3 sum = {0, 0, 0};
    for (int i = 1; i + 1 < p->n; i++) {
        struct vec3 c = surface_cross(vec3_sub(p->v[i], p->v[0]), vec3_sub(p->v[i + 1], p->v[0]));
        sum = vec3_make(sum.x + c.x, sum.y + c.y, sum.z + c.z);
    }
    return 0.5f * sqrtf(vec3_norm2(sum));
}

/* The first and the last layer of voxels along an axis that a polygon reaches; layers below
 * 0 are -1, those beyond the grid TENSOR_SIDE. */
GPU_HD static inline void tensor_layers(int *first, int *last, const struct tensor_polygon *p,
                                        int axis)
{
    float lo = tensor_axis(&p->v[0], axis), hi = lo;
    for (int i = 1; i < p->n; i++) {
        float a = tensor_axis(&p->v[i], axis);
        lo = a < lo ? a : lo;
        hi = a > hi ? a : hi;
    }
    *first = lo < 0.0f ? -1 : lo >= TENSOR_SIDE ? TENSOR_SIDE : (int)lo;
    *last = hi < 0.0f ? -1 : hi >= TENSOR_SIDE ? TENSOR_SIDE : (int)hi;
}

/* The part of a polygon in a layer; the polygon reaches layers first to last. */
GPU_HD static inline void tensor_slice(struct tensor_polygon *to, const struct tensor_polygon *from,
                                       int axis, int layer, int first, int last)
{
    struct tensor_polygon half;
    const struct tensor_polygon *p = from;
    if (first < layer) {
        tensor_cut(&half, from, axis, (float)layer, 1.0f);
        p = &half;
    }
    if (last > layer)
        tensor_cut(to, p, axis, (float)(layer + 1), -1.0f);
    else
        *to = *p;
}

/* An area in units of TENSOR_FINE. */
GPU_HD static inline uint32_t tensor_fine(float area)
{
    return (uint32_t)(area * TENSOR_FINE + 0.5f);
}

/*
 * (O11) Adds a triangle's area in each voxel of the grid by TENSOR_ADD(uint32_t *sum, uint32_t
 * area), since threads of a block may share the sums.
 * In/out:  sum [TENSOR_VOXELS], x fastest
 */
#define TENSOR_CLIP_DEFINE(name, TENSOR_ADD)                                     \
    GPU_HD static inline void name(uint32_t *sum, const struct vec3 v[3])        \
    {                                                                            \
        struct tensor_polygon whole, slab, bar, part;                            \
        int x0, x1, y0, y1, z0, z1;                                              \
                                                                                 \
        for (int i = 0; i < 3; i++)                                              \
            whole.v[i] = v[i];                                                   \
        whole.n = 3;                                                             \
        tensor_layers(&x0, &x1, &whole, 0);                                      \
        for (int x = x0 < 0 ? 0 : x0; x <= x1 && x < TENSOR_SIDE; x++) {         \
            tensor_slice(&slab, &whole, 0, x, x0, x1);                           \
            if (slab.n < 3)                                                      \
                continue;                                                        \
            tensor_layers(&y0, &y1, &slab, 1);                                   \
            for (int y = y0 < 0 ? 0 : y0; y <= y1 && y < TENSOR_SIDE; y++) {     \
                tensor_slice(&bar, &slab, 1, y, y0, y1);                         \
                if (bar.n < 3)                                                   \
                    continue;                                                    \
                tensor_layers(&z0, &z1, &bar, 2);                                \
                for (int z = z0 < 0 ? 0 : z0; z <= z1 && z < TENSOR_SIDE; z++) { \
                    tensor_slice(&part, &bar, 2, z, z0, z1);                     \
                    TENSOR_ADD(&sum[(z * TENSOR_SIDE + y) * TENSOR_SIDE + x],    \
                               tensor_fine(tensor_area(&part)));                 \
                }                                                                \
            }                                                                    \
        }                                                                        \
    }

/* (O11) The value of a voxel from its sum of areas. */
GPU_HD static inline uint32_t tensor_value(uint32_t sum)
{
    uint32_t value = (sum >> TENSOR_COARSE_SHIFT) + (sum >> (TENSOR_COARSE_SHIFT - 1) & 1);
    return value < TENSOR_VALUE_MAX ? value : TENSOR_VALUE_MAX;
}

/*
 * (O20) Is a voxel without surface hidden? It is if measured surface lies before its middle by a
 * voxel's side, or if it is outside the picture. Where nothing was measured it is not.
 */
GPU_HD static inline int tensor_hidden(const struct tensor_grid *g, const struct tensor *t,
                                       uint32_t voxel)
{
    const struct surface *s = g->s;
    const uint32_t side = TENSOR_SIDE;
    float m = 1.0f / g->per_m, half = 0.5f - TENSOR_SIDE * 0.5f, u, v, z;
    struct vec3 p =
        vec3_make(((float)(voxel % side) + half) * m, ((float)(voxel / side % side) + half) * m,
                  ((float)(voxel / (side * side)) + half) * m);

    p = rigid_apply(&t->T_cb, p);
    if (!(p.z > SURFACE_LEAST_M))
        return 1;
    u = s->K.fx * p.x / p.z + s->K.cx + 0.5f;
    v = s->K.fy * p.y / p.z + s->K.cy + 0.5f;
    if (!(u >= 0.0f && v >= 0.0f && u < (float)s->w && v < (float)s->h))
        return 1;
    z = s->point[(int)v * s->w + (int)u].z;
    return z > 0.0f && z < p.z - m;
}

/* (O12) The root of a value, 256 at most, which is compared. */
GPU_HD static inline uint32_t tensor_root(uint32_t value)
{
    return (uint32_t)(sqrtf((float)(value * TENSOR_ROOT)) + 0.5f);
}
