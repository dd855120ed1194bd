/*
 * hypothesis_point.h - compares one point of an object with a picture's surface
 */
#pragma once

#include "gpu/recognise/hypothesis.h"
#include "gpu/recognise/surface_point.h"

#define HYPOTHESIS_WINDOW 3 /* pixels to each side that are searched for a point's partner */

enum hypothesis_sight {
    HYPOTHESIS_AWAY, /* it faces away from the camera, or lies outside the picture */
    HYPOTHESIS_SUPPORTED,
    HYPOTHESIS_HIDDEN,
    HYPOTHESIS_CONTRADICTED,
    HYPOTHESIS_UNKNOWN /* nothing was measured there, or it is undecided */
};

/* A point of the object where a pose puts it. */
struct hypothesis_point {
    struct vec3 p, normal;
    int x, y; /* its pixel */
    int faces;
};

GPU_HD static inline struct vec3 hypothesis_turn(const struct rigid *T, struct vec3 n)
{
    return vec3_make(T->r[0] * n.x + T->r[1] * n.y + T->r[2] * n.z,
                     T->r[3] * n.x + T->r[4] * n.y + T->r[5] * n.z,
                     T->r[6] * n.x + T->r[7] * n.y + T->r[8] * n.z);
}

/* (O15) Where a point of the object is, and whether the camera may see it. */
GPU_HD static inline struct hypothesis_point hypothesis_place(const struct surface *s,
                                                              const struct rigid *T_co,
                                                              const struct object_point *o,
                                                              const struct hypothesis_params *p)
{
    struct hypothesis_point h;
    float u, v, far;
    h.p = rigid_apply(T_co, o->p);
    h.normal = hypothesis_turn(T_co, o->normal);
    h.faces = 0;
    h.x = h.y = 0;
    far = sqrtf(vec3_norm2(h.p));
    if (!(h.p.z > SURFACE_LEAST_M && far < SURFACE_MOST_M) ||
        !(-surface_dot(h.p, h.normal) > p->facing * far))
        return h;
    u = s->K.fx * h.p.x / h.p.z + s->K.cx + 0.5f;
    v = s->K.fy * h.p.y / h.p.z + s->K.cy + 0.5f;
    if (!(u >= 0.0f && v >= 0.0f && u < (float)s->w && v < (float)s->h))
        return h;
    h.x = (int)u;
    h.y = (int)v;
    h.faces = 1;
    return h;
}

/* (O15) The point's own pixel, if it shows something within `gate` whose normal is alike; else -1.
 */
GPU_HD static inline int hypothesis_own(const struct surface *s, const struct hypothesis_point *h,
                                        float gate, float alike)
{
    int at = h->y * s->w + h->x;
    return h->faces && s->point[at].z > 0.0f &&
                   vec3_norm2(vec3_sub(s->point[at], h->p)) < gate * gate &&
                   surface_dot(s->normal[at], h->normal) > alike
               ? at
               : -1;
}

/* (O15) The pixel whose point is nearest, within `gate` and with a normal whose cosine with the
 * point's is above `alike`; -1: there is none. */
GPU_HD static inline int hypothesis_partner(const struct surface *s,
                                            const struct hypothesis_point *h, float gate,
                                            float alike)
{
    float nearest = gate * gate;
    int found = -1;
    for (int v = h->y - HYPOTHESIS_WINDOW; v <= h->y + HYPOTHESIS_WINDOW; v++)
        for (int u = h->x - HYPOTHESIS_WINDOW; u <= h->x + HYPOTHESIS_WINDOW; u++) {
            int at = v * s->w + u;
            float d2;
            if (u < 0 || v < 0 || u >= s->w || v >= s->h || !(s->point[at].z > 0.0f))
                continue;
            d2 = vec3_norm2(vec3_sub(s->point[at], h->p));
            if (!(d2 < nearest) || !(surface_dot(s->normal[at], h->normal) > alike))
                continue;
            nearest = d2;
            found = at;
        }
    return found;
}

/* (O17) The picture's verdict on a point. *at: the pixel that supports it. */
GPU_HD static inline enum hypothesis_sight hypothesis_see(int *at, const struct surface *s,
                                                          const struct hypothesis_point *h,
                                                          const struct hypothesis_params *p)
{
    float z;
    if (!h->faces)
        return HYPOTHESIS_AWAY;
    *at = hypothesis_partner(s, h, p->close_m, p->alike);
    if (*at >= 0)
        return HYPOTHESIS_SUPPORTED;
    z = s->point[h->y * s->w + h->x].z;
    /* near surface that faces another way: an edge, or the end of the object */
    if (!(z > 0.0f) || hypothesis_partner(s, h, p->close_m, -2.0f) >= 0)
        return HYPOTHESIS_UNKNOWN;
    return z < h->p.z - p->hides_m ? HYPOTHESIS_HIDDEN : HYPOTHESIS_CONTRADICTED;
}
