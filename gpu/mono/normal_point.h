/*
 * normal_point.h - the direction that a point's surface faces: seen by a pixel, averaged over
 * frames
 *
 * A point's normal is a mean of unit vectors in 16 bits an axis, weighted like positions; zero if
 * no frame saw one.
 * Maths:   MATH.md (N1)-(N3)
 */
#pragma once

#include "gpu/base/point.h"
#include "proto/geom/octa.h"

#define NORMAL_REACH 3 /* pixels to each side */
#define NORMAL_STEP 4  /* step of octa.h codes: finer ones carry noise and cost a byte a point */
#define NORMAL_ONE 32767.0f

/* The input of a normal: the depth that a frame fuses, and the positions of its pixels. */
struct normal_map {
    const float *usable;      /* [h][w] 0 = none */
    const struct vec3 *world; /* [h][w] where usable */
    int w, h;
    struct vec3 eye; /* the camera */
};

GPU_HD static inline struct normal_map
normal_map_make(const float *usable, const struct vec3 *world, int w, int h, const struct camera *c)
{
    struct normal_map m;
    m.usable = usable;
    m.world = world;
    m.w = w;
    m.h = h;
    m.eye = vec3_make(c->T_wc.t[0], c->T_wc.t[1], c->T_wc.t[2]);
    return m;
}

/* The last of the usable pixels in a row from `at`, NORMAL_REACH or `room` steps away at most. */
GPU_HD static inline int normal_far(const struct normal_map *m, int at, int step, int room)
{
    int n = room < NORMAL_REACH ? room : NORMAL_REACH;
    for (; n > 0 && m->usable[at + step] > 0.0f; n--)
        at += step;
    return at;
}

/* (N1) The step along the surface in x (dx = 1) or y (dy = 1). */
GPU_HD static inline struct vec3 normal_step(const struct normal_map *m, int x, int y, int dx,
                                             int dy)
{
    int at = y * m->w + x, stride = dy * m->w + dx;
    int before = normal_far(m, at, -stride, dx ? x : y);
    int behind = normal_far(m, at, stride, dx ? m->w - 1 - x : m->h - 1 - y);
    return vec3_sub(m->world[behind], m->world[before]);
}

/* (N1) The unit normal that a usable pixel sees, towards the camera; zero = none. */
GPU_HD static inline struct vec3 normal_at(const struct normal_map *m, uint32_t pixel)
{
    int x = (int)(pixel % (uint32_t)m->w), y = (int)(pixel / (uint32_t)m->w);
    struct vec3 a = normal_step(m, x, y, 1, 0), b = normal_step(m, x, y, 0, 1);
    struct vec3 to_eye = vec3_sub(m->eye, m->world[pixel]);
    struct vec3 n = vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
    float length = sqrtf(vec3_norm2(n));
    if (!(length > 0.0f && length < INFINITY))
        return vec3_make(0.0f, 0.0f, 0.0f);
    if (n.x * to_eye.x + n.y * to_eye.y + n.z * to_eye.z < 0.0f)
        length = -length;
    return vec3_make(n.x / length, n.y / length, n.z / length);
}

GPU_HD static inline int16_t normal_round(float v)
{
    return (int16_t)(v + (v < 0.0f ? -0.5f : 0.5f));
}

/* (N2) Updates a point of weight w (0 = new) by an observation of weight w0. */
GPU_HD static inline void normal_fuse(struct point_normal *to, struct vec3 seen, float w, float w0)
{
    const float n[3] = {seen.x, seen.y, seen.z};
    if (vec3_norm2(seen) > 0.0f)
        for (int i = 0; i < 3; i++)
            to->n[i] = normal_round((w * (float)to->n[i] + w0 * (NORMAL_ONE * n[i])) / (w + w0));
}

/* (N3) The code that clients get. */
GPU_HD static inline uint16_t normal_code(const struct point_normal *n)
{
    return octa_encode(vec3_make((float)n->n[0], (float)n->n[1], (float)n->n[2]), NORMAL_STEP);
}
