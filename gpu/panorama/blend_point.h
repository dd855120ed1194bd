/*
 * blend_point.h - the update of a voxel by a pair's distances of surfaces in its direction
 *
 * Field:   32 bits a voxel: the lower half has the sum of weights, 4096 for a sure pixel at near_m;
 *          the upper one the signed distance of the voxel before a surface, in 16383ths of reach_m.
 * Voxel:   as in voxel_point.h, but the highest byte is the weight of its colour, in 128ths of the
 *          field's.
 * Maths:   MATH.md (Y6), (Y7)
 * Twins:   arithmetic alone, so host and device say the same bits
 * nvcc reads this header.
 */
#pragma once

#include "gpu/panorama/range_point.h"

#define BLEND_ONE 16383 /* reach_m */
#define BLEND_WEIGHT 4096.0f
#define BLEND_FREE 0.15f /* factor of the weight of free space far before a surface */
#define BLEND_ENOUGH 100 /* least weight of an opaque voxel */
#define BLEND_FAR 11.0f  /* largest distance in use, in apart_m */

/* What a view tells about a place. */
struct blend_word {
    int before; /* distance before a surface, in 16383ths of reach_m */
    int weight; /* 0: the view tells nothing */
};

/* (Y6) How far a voxel at distance rho and height z is before the surface; *distance: the
 * surface's. */
GPU_HD static inline float blend_before(float place, float rho, float z, float *distance)
{
    float high = z < 0.0f ? -z : z;
    if (place > 0.0f) {
        *distance = place;
        return place - rho;
    }
    *distance = high > 0.0f ? -place * rho / high : 0.0f;
    return -place - high;
}

/* (Y6) What pixel p tells about a voxel in its direction. */
GPU_HD static inline struct blend_word blend_say(const struct voxel_cylinder *c,
                                                 struct range_pixel p, float rho, float z)
{
    struct blend_word word = {0, 0};
    float distance, before, share, weight, slope = z / rho, nearer;
    if (p.place == 0.0f)
        return word;
    before = blend_before(p.place, rho, z, &distance);
    if (!(before >= -c->reach_m &&
          distance * sqrtf(1.0f + slope * slope) <= BLEND_FAR * c->apart_m))
        return word;
    nearer = 0.7f * c->near_m;
    share = c->near_m / (distance > nearer ? distance : nearer);
    weight = BLEND_WEIGHT * share * share * share * sqrtf(share);
    weight *= (float)p.sure / (16.0f * (float)RANGE_SURE);
    if (before > c->reach_m) {
        before = c->reach_m;
        weight *= BLEND_FREE;
    }
    word.before = (int)(before / c->reach_m * (float)BLEND_ONE);
    word.weight = (int)weight;
    return word;
}

/* The pixel of the cylinder that shows a place of the world. Returns 0: no pixel shows it. */
GPU_HD static inline int blend_find(const struct voxel_cylinder *c, struct vec3 world, float *rho,
                                    float *z, size_t *pixel)
{
    const float *a = c->axes;
    struct vec3 q = vec3_sub(world, c->at);
    float x = a[0] * q.x + a[1] * q.y + a[2] * q.z, y = a[3] * q.x + a[4] * q.y + a[5] * q.z, row;
    int u;
    *z = a[6] * q.x + a[7] * q.y + a[8] * q.z;
    *rho = sqrtf(x * x + y * y);
    if (!(*rho<BLEND_FAR * c->apart_m && * rho> 0.25f * c->apart_m))
        return 0;
    row = (*z / *rho - c->low) * c->px;
    if (!(row >= 0.0f && row < (float)c->h))
        return 0;
    u = (int)((lens_atan2(y, x) + LENS_PI) * c->px);
    u = u < 0 ? 0 : u < c->w ? u : c->w - 1;
    *pixel = (size_t)(int)row * (size_t)c->w + (size_t)u;
    return 1;
}

/* (Y7) Adds a word to the field. */
GPU_HD static inline uint32_t blend_mean(uint32_t field, struct blend_word word)
{
    int held = (int)(field & 0xffffu), before = (int)(int16_t)(uint16_t)(field >> 16);
    int weight = word.weight < 65535 ? word.weight : 65535, sum = held + weight;
    before = (before * held + word.before * weight) / sum;
    return (uint32_t)(uint16_t)(int16_t)before << 16 | (uint32_t)(sum < 65535 ? sum : 65535);
}

/*
 * blend_voxel - a voxel and its field after a view (Y7)
 *
 * Returns: the voxel; *field changes with it
 */
GPU_HD static inline uint32_t blend_voxel(const struct voxel_view *view,
                                          const struct range_pixel *range,
                                          const struct voxel_ray *ray, struct vec3 world, int k,
                                          uint32_t voxel, uint32_t *field)
{
    const struct voxel_cylinder *c = &view->cylinder;
    struct blend_word word;
    float rho, z;
    size_t pixel;
    uint32_t colour, told;
    int before, u, v;
    if (!blend_find(c, world, &rho, &z, &pixel))
        return voxel;
    word = blend_say(c, range[pixel], rho, z);
    if (word.weight == 0)
        return voxel;
    *field = blend_mean(*field, word);
    before = (int)(int16_t)(uint16_t)(*field >> 16);
    if ((*field & 0xffffu) < BLEND_ENOUGH || before > c->band || before < -c->band)
        return 0;
    told = (uint32_t)word.weight / 128u;
    told = told < 255u ? told : 255u;
    if ((voxel & VOXEL_COLOUR) && (word.before >= BLEND_ONE || told < voxel >> 24))
        return voxel;
    if (!voxel_project(&view->eye[0], view->field_cos, voxel_at(ray, k), &u, &v))
        return voxel;
    colour = voxel_colour(&view->eye[0], u, v);
    return (colour ? colour : 0x010101u) | told << 24;
}
