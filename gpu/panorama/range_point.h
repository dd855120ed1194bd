/*
 * range_point.h - distances of the surfaces that a pair of pictures shows, in all directions
 *
 * Both pictures are mapped to a cylinder about the line through their cameras. A surface at
 * distance rho from that line is apart_m px / rho rows lower in the second picture than in the
 * first, in the same column: the disparity, here in quarters of a row.
 * Labels:  k < n_stand: a surface that stands along the axis, at disparities (k + 1) / 2 up to
 *          n_half / 2 and from there on whole ones; behind those a level one, level_m
 *          (2 + k - n_stand) above or below the first camera. Along a column the distance of a
 *          standing surface does not change, along both axes the height of a level one does not.
 * Maths:   MATH.md (Y1)-(Y5) <- semi-global matching (Hirschmueller 2008)
 * Twins:   arithmetic alone, so host and device say the same bits
 * nvcc reads this header.
 */
#pragma once

#include "gpu/panorama/voxel_point.h"

#define RANGE_SIDE_MAX 1024 /* columns */
#define RANGE_SIDE_STEP 64  /* columns are a multiple of it */
#define RANGE_LABELS_MAX 288
#define RANGE_SHOWN 0x1000000u /* flag of a pixel of the cylinder that its picture shows */
#define RANGE_FLAT 80          /* price of a step from one label to the next along a path (Y4) */
#define RANGE_ROUND 30         /* the same where colours change by RANGE_SHADED levels */
#define RANGE_SHADED 10 /* difference of the second rows above and below, sum of three colours */
#define RANGE_EDGE 2000 /* price of any other step where colours do not change */
#define RANGE_COLOUR_MOST 120 /* half levels, of all three colours together */
#define RANGE_SLOPE_MOST 60
#define RANGE_BLIND 60  /* cost where the second picture shows nothing */
#define RANGE_NEVER 200 /* cost of a label that a row cannot have */
#define RANGE_PATHS 4
#define RANGE_SURE 300 /* sums of paths at which a pixel has the greatest sureness */
#define RANGE_PLAIN 2  /* sixteenths of sureness where colours do not change */
#define RANGE_NOISE 8  /* levels of all three colours that count as no change */
#define RANGE_OTHER 8  /* quarters of a row: labels farther off compete with the best one */
#define RANGE_HIDDEN \
    5 /* quarters of a row: a surface nearer by more hides a pixel from the second camera */

/* A surface's place by its label: its distance from the axis; negative: the distance of a level one
 * above or below the first camera; 0: none. */
struct range_pixel {
    float place;
    uint32_t sure; /* how much more the next best label costs */
};

GPU_HD static inline size_t range_pixels(const struct voxel_cylinder *c)
{
    return (size_t)c->w * (size_t)c->h;
}

/* Slope of the middle of a row. */
GPU_HD static inline float range_slope(const struct voxel_cylinder *c, int v)
{
    return c->low + ((float)v + 0.5f) / c->px;
}

/* (Y1) The direction of a pixel of the cylinder, in the world; at distance 1 from the axis. */
GPU_HD static inline struct vec3 range_ray(const struct voxel_cylinder *c, int u, int v)
{
    const float *a = c->axes;
    float x, y, z = range_slope(c, v);
    lens_sincos(((float)u + 0.5f) / c->px - LENS_PI, &y, &x);
    return vec3_make(x * a[0] + y * a[3] + z * a[6], x * a[1] + y * a[4] + z * a[7],
                     x * a[2] + y * a[5] + z * a[8]);
}

/* (Y2) A pixel of a picture on the cylinder: r | g << 8 | b << 16 | RANGE_SHOWN, or 0. */
GPU_HD static inline uint32_t range_look(const struct voxel_view *view, int eye, int u, int v)
{
    const struct voxel_eye *e = &view->eye[eye];
    const float *r = e->T_cw.r;
    struct vec3 d = range_ray(&view->cylinder, u, v);
    int u256, v256;
    d = vec3_make(r[0] * d.x + r[1] * d.y + r[2] * d.z, r[3] * d.x + r[4] * d.y + r[5] * d.z,
                  r[6] * d.x + r[7] * d.y + r[8] * d.z);
    if (!voxel_project(e, view->field_cos, d, &u256, &v256))
        return 0;
    return voxel_colour(e, u256, v256) | RANGE_SHOWN;
}

/* The largest disparity, in rows. */
GPU_HD static inline int range_most(const struct voxel_cylinder *c)
{
    return c->n_half / 2 + c->n_stand - c->n_half;
}

/* Disparity of a label in a row, in quarters; 0: the row cannot have it. */
GPU_HD static inline int range_disparity4(const struct voxel_cylinder *c, int v, int label)
{
    float slope = range_slope(c, v) * c->px, rows;
    if (label < c->n_half)
        return 2 * (label + 1);
    if (label < c->n_stand)
        return 2 * c->n_half + 4 * (label + 1 - c->n_half);
    rows = (slope < 0.0f ? -slope : slope) * c->apart_m /
           (c->level_m * (float)(label - c->n_stand + 2));
    return rows >= 1.0f && rows <= (float)range_most(c) ? (int)(4.0f * rows + 0.5f) : 0;
}

/* A colour between rows, in quarters, `weight` of the second. */
GPU_HD static inline int range_between(uint32_t a, uint32_t b, int weight, int shift)
{
    return (int)(a >> shift & 255u) * (4 - weight) + (int)(b >> shift & 255u) * weight;
}

/*
 * range_cost - the cost of a disparity (Y3): colours differ, or change differently across rows
 *
 * In:      first, second [h][w] of range_look(); v in 1 ... h - 2
 */
GPU_HD static inline int range_cost(const struct voxel_cylinder *c, const uint32_t *first,
                                    const uint32_t *second, int u, int v, int disparity4)
{
    int at4 = 4 * v - disparity4, row = at4 >> 2, rest = at4 & 3, colour = 0, slope = 0;
    size_t w = (size_t)c->w;
    const uint32_t *p = first + (size_t)v * w + (size_t)u, *q;
    if (at4 < 4 || row + 2 >= c->h)
        return RANGE_BLIND;
    q = second + (size_t)row * w + (size_t)u;
    if (!(q[0] & q[w] & RANGE_SHOWN))
        return RANGE_BLIND;
    for (int shift = 0; shift < 24; shift += 8) {
        int a = 4 * (int)(p[0] >> shift & 255u) - range_between(q[0], q[w], rest, shift);
        int b = 4 * ((int)(p[w] >> shift & 255u) - (int)((p - w)[0] >> shift & 255u)) -
                (range_between(q[w], q[2 * w], rest, shift) -
                 range_between((q - w)[0], q[0], rest, shift));
        colour += a < 0 ? -a : a;
        slope += b < 0 ? -b : b;
    }
    colour >>= 1;
    slope >>= 1;
    return (colour < RANGE_COLOUR_MOST ? colour : RANGE_COLOUR_MOST) +
           (slope < RANGE_SLOPE_MOST ? slope : RANGE_SLOPE_MOST);
}

/* The cost of a label of a pixel of the cylinder. */
GPU_HD static inline int range_cost_of(const struct voxel_cylinder *c, const uint32_t *first,
                                       const uint32_t *second, int u, int v, int label)
{
    int disparity4;
    if (!(first[(size_t)v * (size_t)c->w + (size_t)u] & RANGE_SHOWN) || v < 1 || v >= c->h - 1)
        return RANGE_BLIND / 2;
    disparity4 = range_disparity4(c, v, label);
    return disparity4 ? range_cost(c, first, second, u, v, disparity4) : RANGE_NEVER;
}

/* (Y4) Price of a change of surface between two neighbours: little where colours change. */
GPU_HD static inline uint32_t range_edge(uint32_t a, uint32_t b)
{
    int sum = 0;
    uint32_t price;
    for (int shift = 0; shift < 24; shift += 8) {
        int d = (int)(a >> shift & 255u) - (int)(b >> shift & 255u);
        sum += d < 0 ? -d : d;
    }
    price = RANGE_EDGE * 8u / (8u + (uint32_t)sum);
    return price < RANGE_FLAT + 2 ? RANGE_FLAT + 2 : price;
}

/* The change of colours across rows about a pixel, in levels of all three together; 0 at the upper
 * and lower end. */
GPU_HD static inline int range_change(const struct voxel_cylinder *c, const uint32_t *look,
                                      size_t pixel)
{
    size_t far = 2 * (size_t)c->w;
    const uint32_t *p = look + pixel;
    int sum = 0;
    if (pixel < far || pixel + far >= range_pixels(c))
        return 0;
    for (int shift = 0; shift < 24; shift += 8) {
        int d = (int)((p - far)[0] >> shift & 255u) - (int)(p[far] >> shift & 255u);
        sum += d < 0 ? -d : d;
    }
    return sum;
}

/* (Y4) Price of a step to the next label: less where colours show a round surface. */
GPU_HD static inline uint32_t range_flat(const struct voxel_cylinder *c, const uint32_t *look,
                                         size_t pixel)
{
    return range_change(c, look, pixel) < RANGE_SHADED ? RANGE_FLAT : RANGE_ROUND;
}

/* (Y4) The sum of one label along a path, from the previous pixel's sums of the label, of its
 * neighbours and the least of all. */
GPU_HD static inline uint32_t range_step(uint32_t same, uint32_t below, uint32_t above,
                                         uint32_t least, uint32_t edge, uint32_t flat,
                                         uint32_t cost)
{
    uint32_t beside = (below < above ? below : above) + flat;
    uint32_t sum = same < beside ? same : beside;
    sum = sum < least + edge ? sum : least + edge;
    return sum - least + cost;
}

/* Lines of a path: paths 0 and 1 go along rows, both ways, 2 and 3 along columns. */
GPU_HD static inline int range_lines(const struct voxel_cylinder *c, int path)
{
    return path < 2 ? c->h : c->w;
}

/* Steps of a line before its first pixel: a row is a circle, so it begins a quarter earlier. */
GPU_HD static inline int range_lead(const struct voxel_cylinder *c, int path)
{
    return path < 2 ? c->w / 4 : 0;
}

/* Pixel number `step` of a line, from -range_lead() on. */
GPU_HD static inline size_t range_at(const struct voxel_cylinder *c, int path, int line, int step)
{
    int u, v;
    if (path < 2) {
        u = path == 0 ? (step + c->w) % c->w : (2 * c->w - 1 - step) % c->w;
        v = line;
    } else {
        u = line;
        v = path == 2 ? step : c->h - 1 - step;
    }
    return (size_t)v * (size_t)c->w + (size_t)u;
}

/* Steps of a line from 0 on. */
GPU_HD static inline int range_steps(const struct voxel_cylinder *c, int path)
{
    return path < 2 ? c->w : c->h;
}

/* The second picture's row for a pixel of the first one; negative: none. */
GPU_HD static inline int range_row(int v, int disparity4)
{
    return disparity4 > 0 ? v - ((disparity4 + 2) >> 2) : -1;
}

/*
 * range_sure - how sure a pixel is of its label (Y5)
 *
 * In:      more: how much more the next best label costs. What the paths brought there from
 *          elsewhere counts for RANGE_PLAIN of 16 parts, if colours do not change across rows here.
 */
GPU_HD static inline uint32_t range_sure(const struct voxel_cylinder *c, const uint32_t *look,
                                         size_t pixel, uint32_t more)
{
    int share = range_change(c, look, pixel) - RANGE_NOISE;
    share = RANGE_PLAIN + (share < 0 ? 0 : share) / 2;
    more = more < RANGE_SURE ? more : RANGE_SURE;
    return more * (uint32_t)(share < 16 ? share : 16);
}

/* (Y5) The place of the best label's surface, interpolated by the sums of the neighbouring labels.
 */
GPU_HD static inline float range_place(const struct voxel_cylinder *c, const uint16_t *sums,
                                       int best)
{
    int level = best >= c->n_stand, first = level ? c->n_stand : 0;
    int last = (level ? c->n_labels : c->n_stand) - 1;
    float at = (float)(best - first), half = (float)c->n_half, more;
    if (best > first && best < last) {
        int a = sums[best - 1] - sums[best], b = sums[best + 1] - sums[best];
        more = (float)(a > b ? a : b);
        if (more > 0.0f)
            at += 0.5f * (float)(a - b) / more;
    }
    if (level)
        return -(at + 2.0f) * c->level_m;
    at += 1.0f;
    return c->apart_m * c->px / (at <= half ? 0.5f * at : at - 0.5f * half);
}
