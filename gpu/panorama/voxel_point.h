/*
 * voxel_point.h - a volume of voxels and the update of one of them by a pair of pictures
 *
 * Volume:  n[0] x n[1] columns of n[2] voxels; axis n[2] is the world's axis `up`, n[0] and n[1]
 *          are the two that follow it in the order x, y, z, x. Voxel k of column (i, j) is number
 *          (j n[0] + i) n[2] + k.
 * Voxel:   32 bits: colour r | g << 8 | b << 16, 0 = transparent, and in the highest byte the
 *          visibility with which it was last updated.
 * Column:  data of one column: the places of its voxels in both cameras, its visibility.
 * Maths:   MATH.md (O1)-(O6) <- catadioptric voxel reconstruction on a GPU, eq. 1 and algorithm 1
 * Twins:   arithmetic alone, so host and device say the same bits
 * nvcc reads this header.
 */
#pragma once

#include "gpu/gpu.h"

#define VOXEL_VISIBLE 255 /* visibility with nothing in front */
#define VOXEL_COLOUR 0xffffffu

/* One of the two cameras, and its picture. */
struct voxel_eye {
    struct rigid T_cw;
    struct intrinsics K;
    struct lens lens;
    int w, h;
    const uint32_t *rgb; /* [h][w] r | g << 8 | b << 16 */
};

/* The cylinder about the line through both cameras that their pictures are mapped to (Y1). */
struct voxel_cylinder {
    int w, h;            /* columns all around, rows */
    int n_half, n_stand; /* labels of standing surfaces: those half a row apart, and all */
    int n_labels;        /* all labels: those of level surfaces come last */
    int stride;          /* labels from one pixel to the next, a multiple of 16 */
    float axes[9];       /* rows: the directions of angle 0 and of a quarter turn, the axis */
    struct vec3 at;      /* place of the first camera */
    float apart_m;       /* distance to the second camera along the axis */
    float px, low;       /* columns a radian, rows a unit of slope; the slope where row 0 begins */
    float near_m, level_m; /* distance at which a pixel has weight one; between two level labels */
    float reach_m;         /* range before and behind a surface that its distance updates */
    int band;              /* a voxel is opaque up to this distance, in 16383ths of reach_m */
};

struct voxel_view {
    struct gpu_volume volume;
    uint32_t paired; /* enum gpu_paired: only a pair updates the volume */
    int n_pictures; /* number of the first pictures of eye[] that came with the item and are used */
    int patch;      /* consistency by distances along the cylinder's rays, instead of (O3)-(O8) */
    struct voxel_cylinder cylinder;
    struct voxel_eye eye[2];
    float field_cos; /* cosine of the largest angle of a used ray to the axis */
    int threshold2;  /* least squared distance of different colours */
    int ground[2];   /* the column below the cameras */
};

/* The voxels of a column in a camera: voxel k is at from + (k + 1/2) step. */
struct voxel_ray {
    struct vec3 from, step;
};

GPU_HD static inline uint32_t voxel_columns(const struct gpu_volume *v)
{
    return (uint32_t)v->n[0] * (uint32_t)v->n[1];
}

/* Turns a place of the volume, in steps of its axes, into one of the world. */
GPU_HD static inline struct vec3 voxel_world(const struct gpu_volume *v, float i, float j, float k)
{
    float at[3];
    at[(v->up + 1) % 3] = i;
    at[(v->up + 2) % 3] = j;
    at[v->up] = k;
    return vec3_make(v->min_m[0] + at[0] * v->voxel_m, v->min_m[1] + at[1] * v->voxel_m,
                     v->min_m[2] + at[2] * v->voxel_m);
}

/* (O1) */
GPU_HD static inline struct voxel_ray voxel_ray_make(const struct gpu_volume *v,
                                                     const struct voxel_eye *e, int i, int j)
{
    struct voxel_ray ray;
    ray.from = rigid_apply(&e->T_cw, voxel_world(v, (float)i + 0.5f, (float)j + 0.5f, 0.0f));
    ray.step = vec3_make(e->T_cw.r[v->up] * v->voxel_m, e->T_cw.r[3 + v->up] * v->voxel_m,
                         e->T_cw.r[6 + v->up] * v->voxel_m);
    return ray;
}

/* (O2) The column that a place of the world lies in, which may be outside the volume. */
GPU_HD static inline void voxel_ground(const struct gpu_volume *v, struct vec3 p, int ground[2])
{
    float at[3];
    at[0] = (p.x - v->min_m[0]) / v->voxel_m;
    at[1] = (p.y - v->min_m[1]) / v->voxel_m;
    at[2] = (p.z - v->min_m[2]) / v->voxel_m;
    ground[0] = (int)floorf(at[(v->up + 1) % 3]);
    ground[1] = (int)floorf(at[(v->up + 2) % 3]);
}

/*
 * voxel_visibility - how well column (i, j) is seen from the ground below the cameras (O3)
 *
 * In:      occupied [n[1]][n[0]]: not 0 where a column has an opaque voxel
 * Returns: 255 less the occupied columns strictly between the two on Bresenham's line, 0 at least
 */
GPU_HD static inline int voxel_visibility(const struct gpu_volume *v, const uint8_t *occupied,
                                          const int ground[2], int i, int j)
{
    int x = ground[0], y = ground[1];
    int dx = i > x ? i - x : x - i, dy = j > y ? j - y : y - j;
    int sx = i > x ? 1 : -1, sy = j > y ? 1 : -1;
    int rest = dx - dy, twice, n = dx > dy ? dx : dy, hidden = 0;
    for (int step = 1; step < n && hidden < VOXEL_VISIBLE; step++) {
        twice = 2 * rest;
        if (twice > -dy) {
            rest -= dy;
            x += sx;
        }
        if (twice < dx) {
            rest += dx;
            y += sy;
        }
        hidden += occupied[(size_t)y * (size_t)v->n[0] + (size_t)x] != 0;
    }
    return VOXEL_VISIBLE - hidden;
}

/* (O4) The pixel of a place of the camera, in 256ths. Returns 0: the picture lacks one of the four
 * pixels around. */
GPU_HD static inline int voxel_project(const struct voxel_eye *e, float field_cos, struct vec3 p,
                                       int *u256, int *v256)
{
    float u, v;
    if (!(p.z >= field_cos * sqrtf(vec3_norm2(p))) || !lens_project(&e->lens, e->K, p, &u, &v))
        return 0;
    if (!(u >= 0.0f && u <= (float)(e->w - 1) && v >= 0.0f && v <= (float)(e->h - 1)))
        return 0;
    *u256 = (int)(u * 256.0f + 0.5f);
    *v256 = (int)(v * 256.0f + 0.5f);
    return 1;
}

/* Between two colours, weight in 256ths of the second; rounded. */
GPU_HD static inline uint32_t voxel_mix(uint32_t a, uint32_t b, uint32_t weight)
{
    uint32_t rb = (a & 0xff00ffu) * (256u - weight) + (b & 0xff00ffu) * weight + 0x800080u;
    uint32_t g = (a >> 8 & 0xffu) * (256u - weight) + (b >> 8 & 0xffu) * weight + 0x80u;
    return (rb >> 8 & 0xff00ffu) | (g & 0xff00u);
}

/* (O5) The colour at a pixel, between its four neighbours: along the rows, then across. */
GPU_HD static inline uint32_t voxel_colour(const struct voxel_eye *e, int u256, int v256)
{
    int x = u256 >> 8, y = v256 >> 8;
    int right = x + 1 < e->w ? 1 : 0, below = y + 1 < e->h ? e->w : 0;
    const uint32_t *p = e->rgb + (size_t)y * (size_t)e->w + (size_t)x;
    uint32_t wu = (uint32_t)u256 & 255u;
    return voxel_mix(voxel_mix(p[0], p[right], wu), voxel_mix(p[below], p[below + right], wu),
                     (uint32_t)v256 & 255u);
}

/* (O6) Squared distance of two colours, eq. 1 of the paper. */
GPU_HD static inline int voxel_distance2(uint32_t a, uint32_t b)
{
    int r = (int)(a & 255u) - (int)(b & 255u);
    int g = (int)(a >> 8 & 255u) - (int)(b >> 8 & 255u);
    int l = (int)(a >> 16 & 255u) - (int)(b >> 16 & 255u);
    return r * r + g * g + l * l;
}

/* An opaque voxel's colour is never 0, which means transparent. */
GPU_HD static inline uint32_t voxel_mean(uint32_t a, uint32_t b)
{
    uint32_t rb = ((a & 0xff00ffu) + (b & 0xff00ffu) + 0x10001u) >> 1 & 0xff00ffu;
    uint32_t g = ((a & 0xff00u) + (b & 0xff00u) + 0x100u) >> 1 & 0xff00u;
    return rb | g ? rb | g : 0x010101u;
}

GPU_HD static inline struct vec3 voxel_at(const struct voxel_ray *ray, int k)
{
    float s = (float)k + 0.5f;
    return vec3_make(ray->from.x + s * ray->step.x, ray->from.y + s * ray->step.y,
                     ray->from.z + s * ray->step.z);
}

/* What both pictures tell about voxel k of a column by the distance of their colours. Returns 0: a
 * picture does not show it; 1: *colour, 0 where it is transparent. */
GPU_HD static inline int voxel_test(const struct voxel_view *view, const struct voxel_ray ray[2],
                                    int k, uint32_t *colour)
{
    int u0, v0, u1, v1;
    uint32_t a, b;
    if (!voxel_project(&view->eye[0], view->field_cos, voxel_at(&ray[0], k), &u0, &v0) ||
        !voxel_project(&view->eye[1], view->field_cos, voxel_at(&ray[1], k), &u1, &v1))
        return 0;
    a = voxel_colour(&view->eye[0], u0, v0);
    b = voxel_colour(&view->eye[1], u1, v1);
    *colour = voxel_distance2(a, b) < view->threshold2 ? voxel_mean(a, b) : 0;
    return 1;
}

/*
 * voxel_update - a voxel after an iteration of a view (O7)
 *
 * In:      before: the column's visibility in the previous iteration, -1 in a view's first; now:
 *          the present one. If this view has already updated a voxel, the voxel has `before`: its
 *          colours were tested and stay, only its visibility changes.
 */
GPU_HD static inline uint32_t voxel_update(const struct voxel_view *view,
                                           const struct voxel_ray ray[2], int k, uint32_t voxel,
                                           int before, int now)
{
    int held = (int)(voxel >> 24);
    uint32_t colour;
    if (held != before && held > now)
        return voxel;
    if (!voxel_test(view, ray, k, &colour))
        return voxel;
    if (held == before)
        colour = voxel & VOXEL_COLOUR;
    return colour | (uint32_t)now << 24;
}
