/*
 * landmark_search_point.h - the reprojection error of one place, and a landmark's state between
 * rounds
 *
 * Maths:   MATH.md (T1)-(T5)
 */
#pragma once

#include "gpu/track/landmark_search.h"

#include <string.h>

#define LANDMARK_SEARCH_NEAR_M 1e-3f  /* nearer than this is not in front of a camera */
#define LANDMARK_SEARCH_FINE_PX 1e-3f /* a cube that looks smaller than this is searched no more */
#define LANDMARK_SEARCH_NO_CLAIM 0xffffffffffffffffull

/* The cube in which places are tried, longer along the mean ray to the landmark. */
struct landmark_search_box {
    struct vec3 ray; /* unit length, or 0 */
    float s;         /* half side, metres; 0 = none */
    float longer;    /* stretch - 1 */
};

/*
 * One camera's view of places z + s n: x, y, w are linear in the noise n. x and y are pixels times
 * depth, relative to the observation; the error is |(x, y)| / w.
 */
struct landmark_search_row {
    float x[4], y[4], w[4]; /* three factors of n, then the constant */
};

/* A landmark between two rounds. */
struct landmark_search_state {
    struct vec3 p;
    struct landmark_search_box box; /* box of the next round */
    float residual;                 /* sum of errors at p, pixels */
    float unit_m;                   /* metres that span a pixel at the landmark's depth */
    uint32_t n;
    uint64_t claim; /* smallest claim of the round: the residual's bits, then the place's number */
};

/* (T1) A hash of the number of a hypothesis and an axis; 24 of its bits as -1 ... 1. */
GPU_HD static inline float landmark_search_unit(uint32_t j, uint32_t axis)
{
    uint32_t h = 3u * j + axis + 0x9e3779b9u;
    if (j == 0)
        return 0.0f; /* the prior itself */
    h = (h ^ (h >> 16)) * 0x21f0aaadu;
    h = (h ^ (h >> 15)) * 0x735a2d97u;
    h ^= h >> 15;
    return (float)((int32_t)(h >> 8) - 0x800000) * (1.0f / 8388608.0f);
}

GPU_HD static inline float landmark_search_row_at(const float c[4], float nx, float ny, float nz)
{
    return c[3] + c[0] * nx + c[1] * ny + c[2] * nz;
}

/* (T2) Three factors of the noise, from those of the unit cube. */
GPU_HD static inline void landmark_search_row_box(float *out, const double *in,
                                                  const struct landmark_search_box *b)
{
    double along = in[0] * (double)b->ray.x + in[1] * (double)b->ray.y + in[2] * (double)b->ray.z;
    along *= (double)b->longer;
    out[0] = (float)((double)b->s * (in[0] + along * (double)b->ray.x));
    out[1] = (float)((double)b->s * (in[1] + along * (double)b->ray.y));
    out[2] = (float)((double)b->s * (in[2] + along * (double)b->ray.z));
}

/* The row of a box around place p, in double, since x0 is a difference of large numbers. */
GPU_HD static inline struct landmark_search_row
landmark_search_row_make(const struct landmark_search_camera *c,
                         const struct landmark_search_observation *o, struct vec3 p,
                         const struct landmark_search_box *b)
{
    const float *r = c->T_cw.r, *t = c->T_cw.t;
    double dx = (double)c->K.cx - (double)o->x, dy = (double)c->K.cy - (double)o->y, at[3];
    double x[3], y[3], w[3];
    struct landmark_search_row row;
    for (int i = 0; i < 3; i++) {
        at[i] = (double)r[3 * i] * (double)p.x + (double)r[3 * i + 1] * (double)p.y +
                (double)r[3 * i + 2] * (double)p.z + (double)t[i];
        x[i] = (double)c->K.fx * (double)r[i] + dx * (double)r[6 + i];
        y[i] = (double)c->K.fy * (double)r[3 + i] + dy * (double)r[6 + i];
        w[i] = (double)r[6 + i];
    }
    landmark_search_row_box(row.x, x, b);
    landmark_search_row_box(row.y, y, b);
    landmark_search_row_box(row.w, w, b);
    row.x[3] = (float)((double)c->K.fx * at[0] + dx * at[2]);
    row.y[3] = (float)((double)c->K.fy * at[1] + dy * at[2]);
    row.w[3] = (float)at[2];
    return row;
}

/* (T3) Reprojection error of the place n of the cube; *nearest becomes the smallest depth. */
GPU_HD static inline float landmark_search_error(const struct landmark_search_row *r, float nx,
                                                 float ny, float nz, float *nearest)
{
    float x = landmark_search_row_at(r->x, nx, ny, nz),
          y = landmark_search_row_at(r->y, nx, ny, nz);
    float w = landmark_search_row_at(r->w, nx, ny, nz);
    *nearest = w < *nearest ? w : *nearest;
    return sqrtf(x * x + y * y) / w;
}

GPU_HD static inline int landmark_search_is_less(float a, float b)
{
    return a < b; /* false for NaN */
}

/* The claim of a place: the smallest has the smallest residual, then the smallest number. Bits of
 * non-negative floats order as the floats do. */
GPU_HD static inline uint64_t landmark_search_claim(float residual, uint32_t j)
{
    uint32_t b;
    memcpy(&b, &residual, sizeof b);
    return (uint64_t)b << 32 | j;
}

/* The place of hypothesis j. */
GPU_HD static inline struct vec3 landmark_search_place(const struct landmark_search_state *st,
                                                       const float *noise, uint32_t j)
{
    const struct landmark_search_box *b = &st->box;
    float x = noise[j], y = noise[LANDMARK_SEARCH_HYPOTHESES + j],
          z = noise[2 * LANDMARK_SEARCH_HYPOTHESES + j];
    float along = (x * b->ray.x + y * b->ray.y + z * b->ray.z) * b->longer;
    return vec3_make(st->p.x + b->s * (x + along * b->ray.x),
                     st->p.y + b->s * (y + along * b->ray.y),
                     st->p.z + b->s * (z + along * b->ray.z));
}

/* Metres of a pixel at an observation's depth. */
GPU_HD static inline float landmark_search_unit_m(const struct landmark_search_row *r,
                                                  const struct landmark_search_camera *c)
{
    return r->w[3] / sqrtf(c->K.fx * c->K.fy);
}

/* The ray from a camera to a place, in the world. */
GPU_HD static inline struct vec3 landmark_search_ray(const struct landmark_search_camera *c,
                                                     struct vec3 p)
{
    const float *r = c->T_cw.r;
    struct vec3 q = rigid_apply(&c->T_cw, p);
    return vec3_make(r[0] * q.x + r[3] * q.y + r[6] * q.z, r[1] * q.x + r[4] * q.y + r[7] * q.z,
                     r[2] * q.x + r[5] * q.y + r[8] * q.z);
}

/* The direction of the rays' sum: of unit length, or 0. */
GPU_HD static inline struct vec3 landmark_search_mean_ray(struct vec3 sum)
{
    float n = sqrtf(vec3_norm2(sum));
    return n > 0.0f && n < INFINITY ? vec3_make(sum.x / n, sum.y / n, sum.z / n)
                                    : vec3_make(0.0f, 0.0f, 0.0f);
}

/* (T2) The change of an observation's error, pixels, when the place moves a metre along the ray; r
 * is the unit cube's row. */
GPU_HD static inline float landmark_search_slope(const struct landmark_search_row *r,
                                                 struct vec3 ray)
{
    float w = r->w[0] * ray.x + r->w[1] * ray.y + r->w[2] * ray.z;
    float x = r->x[0] * ray.x + r->x[1] * ray.y + r->x[2] * ray.z - r->x[3] / r->w[3] * w;
    float y = r->y[0] * ray.x + r->y[1] * ray.y + r->y[2] * ray.z - r->y[3] / r->w[3] * w;
    return sqrtf(x * x + y * y) / r->w[3];
}

/* (T2) Makes the first box, whose ray is known. `residual`, `unit_sum` and `slope_sum` are sums
 * over the observations. */
GPU_HD static inline void landmark_search_begin(struct landmark_search_state *st, float residual,
                                                float unit_sum, float slope_sum,
                                                const struct landmark_search_params *p)
{
    float n = (float)st->n, stretch;
    st->residual = residual;
    st->unit_m = unit_sum / n;
    stretch = n / (slope_sum * st->unit_m);
    stretch = stretch < p->stretch ? stretch : p->stretch;
    st->box.longer = stretch > 1.0f ? stretch - 1.0f : 0.0f;
    st->box.s = st->n > 0 && residual < INFINITY ? p->reach * (residual / n) * st->unit_m : 0.0f;
    st->claim = LANDMARK_SEARCH_NO_CLAIM;
    if (!(st->box.s > 0.0f && st->box.s < 1e6f))
        st->box.s = 0.0f;
}

/* (T5) Moves the landmark to a round's winner; its residual was measured at its own place.
 */
GPU_HD static inline void landmark_search_take(struct landmark_search_state *st, struct vec3 place,
                                               float residual, float edge, float shrink)
{
    int better = landmark_search_is_less(residual, st->residual);
    if (better) {
        st->p = place;
        st->residual = residual;
    }
    if (!better || edge < 0.5f)
        st->box.s *= shrink;
    if (!(st->box.s >= LANDMARK_SEARCH_FINE_PX * st->unit_m))
        st->box.s = 0.0f;
    st->claim = LANDMARK_SEARCH_NO_CLAIM;
}

/* How far from the centre of its cube a place lies: 1 is on its side. */
GPU_HD static inline float landmark_search_edge(const float *noise, uint32_t j)
{
    float most = 0.0f;
    for (int i = 0; i < 3; i++) {
        float a = fabsf(noise[(uint32_t)i * LANDMARK_SEARCH_HYPOTHESES + j]);
        most = a > most ? a : most;
    }
    return most;
}
