/*
 * surface_point.h - the surface at one pixel (surface.h)
 *
 * Only + - * / and roots are used, which round alike on the host and on a device.
 */
#pragma once

#include "gpu/recognise/surface.h"

#define SURFACE_UNIT 1048576.0f /* of sums: 2^-20 */
#define SURFACE_LEAST_M 1e-3f   /* nearer depth does not count */
#define SURFACE_MOST_M 64.0f    /* farther depth does not count */
#define SURFACE_LONG 16.0f      /* every edge is shorter */
#define SURFACE_NEWTON 12

GPU_HD static inline float surface_dot(struct vec3 a, struct vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

GPU_HD static inline struct vec3 surface_cross(struct vec3 a, struct vec3 b)
{
    return vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

GPU_HD static inline struct vec3 surface_scale(struct vec3 a, float s)
{
    return vec3_make(a.x * s, a.y * s, a.z * s);
}

/* A depth that counts, else 0. */
GPU_HD static inline float surface_depth(float z)
{
    return z > SURFACE_LEAST_M && z < SURFACE_MOST_M ? z : 0.0f;
}

/* exp(-x) for x >= 0: (1 / (1 + y + y^2/2 + y^3/6 + y^4/24))^16, y = x/16. */
GPU_HD static inline float surface_decay(float x)
{
    float y = x * 0.0625f;
    float p = 1.0f / (1.0f + y * (1.0f + y * (0.5f + y * (1.0f / 6.0f + y * (1.0f / 24.0f)))));
    p *= p;
    p *= p;
    p *= p;
    return p * p;
}

/* (O1) x, y: of the surface. */
GPU_HD static inline float surface_filter(const struct surface *s, const struct surface_params *p,
                                          int x, int y)
{
    int cx = x * s->step, cy = y * s->step, w = s->depth_w, r = p->filter_px;
    float z = surface_depth(s->depth[(size_t)cy * (size_t)w + (size_t)cx]);
    float sigma = 3.0f * p->noise_m * z * z;
    float near = 1.0f / (2.0f * p->filter_sigma * p->filter_sigma);
    float range = sigma > 0.0f ? 1.0f / (2.0f * sigma * sigma) : 0.0f;
    float sum = 0.0f, weight = 0.0f;

    if (!(z > 0.0f) || r == 0 || !(sigma > 0.0f))
        return z;
    for (int v = cy - r < 0 ? 0 : cy - r; v <= cy + r && v < s->depth_h; v++) {
        const float *row = s->depth + (size_t)v * (size_t)w;
        for (int u = cx - r < 0 ? 0 : cx - r; u <= cx + r && u < w; u++) {
            float q = surface_depth(row[u]), d = q - z;
            float far2 = (float)((u - cx) * (u - cx) + (v - cy) * (v - cy));
            float k = far2 * near + d * d * range;
            float g = q > 0.0f && k < 9.0f ? surface_decay(k) : 0.0f;
            sum += g * q;
            weight += g;
        }
    }
    return sum / weight;
}

/* (O2) */
GPU_HD static inline struct vec3 surface_back_project(const struct surface *s, int x, int y)
{
    float z = s->filtered[(size_t)y * (size_t)s->w + (size_t)x];
    return vec3_make(((float)x - s->K.cx) / s->K.fx * z, ((float)y - s->K.cy) / s->K.fy * z, z);
}

/* Second moments of the points around one, free of their mean; c is xx xy xz yy yz zz. Returns the
 * number of points. */
GPU_HD static inline int surface_moments(float c[6], const struct surface *s,
                                         const struct surface_params *o, int x, int y)
{
    struct vec3 p = s->point[(size_t)y * (size_t)s->w + (size_t)x], m = {0, 0, 0};
    float pixel = p.z / s->K.fx, inv;
    int n = 0, reach = o->normal_px;

    for (int i = 0; i < 6; i++)
        c[i] = 0.0f;
    for (int v = y - reach < 0 ? 0 : y - reach; v <= y + reach && v < s->h; v++)
        for (int u = x - reach < 0 ? 0 : x - reach; u <= x + reach && u < s->w; u++) {
            struct vec3 q = s->point[(size_t)v * (size_t)s->w + (size_t)u];
            int far = (u > x ? u - x : x - u) + (v > y ? v - y : y - v);
            struct vec3 d = vec3_sub(q, p);
            float step = d.z < 0.0f ? -d.z : d.z;
            if (!(q.z > 0.0f) || step > o->steep * pixel * (float)(far + 1))
                continue;
            m = vec3_make(m.x + d.x, m.y + d.y, m.z + d.z);
            c[0] += d.x * d.x;
            c[1] += d.x * d.y;
            c[2] += d.x * d.z;
            c[3] += d.y * d.y;
            c[4] += d.y * d.z;
            c[5] += d.z * d.z;
            n++;
        }
    inv = 1.0f / (float)n;
    c[0] -= m.x * m.x * inv;
    c[1] -= m.x * m.y * inv;
    c[2] -= m.x * m.z * inv;
    c[3] -= m.y * m.y * inv;
    c[4] -= m.y * m.z * inv;
    c[5] -= m.z * m.z * inv;
    return n;
}

/*
 * The eigenvector of the smallest eigenvalue of a symmetric matrix c (xx xy xz yy yz zz) without
 * negative eigenvalues. Newton's steps from 0 reach the smallest root of the characteristic
 * polynomial from below, since all its roots are real. Zero: there is no such direction.
 */
GPU_HD static inline struct vec3 surface_least(const float c[6])
{
    float trace = c[0] + c[3] + c[5], inv = 1.0f / trace, t = 0.0f;
    float xx = c[0] * inv, xy = c[1] * inv, xz = c[2] * inv;
    float yy = c[3] * inv, yz = c[4] * inv, zz = c[5] * inv;
    float m2 = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz;
    float det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    struct vec3 r0, r1, r2, a, b, k;
    float na, nb, nk;

    if (!(trace > 0.0f))
        return vec3_make(0, 0, 0);
    for (int i = 0; i < SURFACE_NEWTON; i++) {
        float f = ((t - 1.0f) * t + m2) * t - det;
        float slope = (3.0f * t - 2.0f) * t + m2;
        if (!(slope > 1e-6f))
            break;
        t -= f / slope;
    }
    r0 = vec3_make(xx - t, xy, xz);
    r1 = vec3_make(xy, yy - t, yz);
    r2 = vec3_make(xz, yz, zz - t);
    a = surface_cross(r0, r1);
    b = surface_cross(r0, r2);
    k = surface_cross(r1, r2);
    na = vec3_norm2(a);
    nb = vec3_norm2(b);
    nk = vec3_norm2(k);
    if (nb > na) {
        a = b;
        na = nb;
    }
    if (nk > na) {
        a = k;
        na = nk;
    }
    return na > 1e-12f ? surface_scale(a, 1.0f / sqrtf(na)) : vec3_make(0, 0, 0);
}

/* (O3) */
GPU_HD static inline struct vec3 surface_normal(const struct surface *s,
                                                const struct surface_params *o, int x, int y)
{
    struct vec3 p = s->point[(size_t)y * (size_t)s->w + (size_t)x], n;
    float c[6];

    if (!(p.z > 0.0f) || surface_moments(c, s, o, x, y) < 6)
        return vec3_make(0, 0, 0);
    n = surface_least(c);
    return surface_dot(n, p) > 0.0f ? surface_scale(n, -1.0f) : n;
}

/* An edge from pixel a to pixel b, if it meets the first condition of (O5). */
struct surface_edge {
    int seen;
    float length; /* as a share of depth */
    float chord;  /* between the normals */
    float bend;   /* how the normals part along it, 1/m: above 0 on convex surface */
    float metres;
};

GPU_HD static inline struct surface_edge surface_edge(const struct surface *s, float view_sin,
                                                      size_t a, size_t b)
{
    struct surface_edge e = {0, 0.0f, 0.0f, 0.0f, 0.0f};
    struct vec3 p = s->point[a], q = s->point[b], d = vec3_sub(q, p), n = s->normal[a],
                m = s->normal[b];
    float d2 = vec3_norm2(d), p2 = vec3_norm2(p);

    if (!(p.z > 0.0f) || !(q.z > 0.0f) || !(vec3_norm2(n) > 0.0f) || !(vec3_norm2(m) > 0.0f))
        return e;
    /* |p x d| = |p| |d| sin */
    if (!(vec3_norm2(surface_cross(p, d)) > view_sin * view_sin * p2 * d2))
        return e;
    e.metres = sqrtf(d2);
    e.length = e.metres / p.z;
    e.seen = e.length < SURFACE_LONG && e.metres < SURFACE_LONG; /* so that sums stay in 64 bits */
    e.chord = sqrtf(vec3_norm2(vec3_sub(n, m)));
    e.bend = surface_dot(vec3_sub(m, n), d) / d2;
    return e;
}

/* (O4) Adds a pixel's edges to the right and down to the sums. */
GPU_HD static inline void surface_add(struct surface_sums *sums, const struct surface *s,
                                      const struct surface_params *p, int x, int y)
{
    size_t at = (size_t)y * (size_t)s->w + (size_t)x;
    for (int i = 0; i < 2; i++) {
        struct surface_edge e;
        uint64_t length, chord;
        if (i ? y + 1 >= s->h : x + 1 >= s->w)
            continue;
        e = surface_edge(s, p->view_sin, at, at + (i ? (size_t)s->w : 1));
        if (!e.seen)
            continue;
        length = (uint64_t)(e.length * SURFACE_UNIT + 0.5f);
        chord = (uint64_t)(e.chord * SURFACE_UNIT + 0.5f);
        sums->n++;
        sums->length += length;
        sums->length2 += length * length >> 8;
        sums->chord += chord;
        sums->chord2 += chord * chord >> 8;
        sums->metres += (uint64_t)(e.metres * SURFACE_UNIT + 0.5f);
    }
}

/* (O4) mean + spread deviations of a sum whose squares lack a factor of 256. */
GPU_HD static inline float surface_bound(uint64_t n, uint64_t sum, uint64_t sum2, float spread)
{
    double mean = (double)sum / (double)n;
    double var = (double)sum2 * 256.0 / (double)n - mean * mean;
    return (float)((mean + (double)spread * sqrt(var > 0.0 ? var : 0.0)) / (double)SURFACE_UNIT);
}

GPU_HD static inline struct surface_limits surface_limits(const struct surface_sums *s,
                                                          const struct surface_params *p)
{
    struct surface_limits l = {0.0f, 0.0f, 0.0f};
    float least;
    if (s->n == 0)
        return l;
    l.resolution_m = (float)((double)s->metres / (double)s->n / (double)SURFACE_UNIT);
    l.length = surface_bound(s->n, s->length, s->length2, p->spread);
    l.chord = surface_bound(s->n, s->chord, s->chord2, p->spread);
    least = surface_bound(s->n, s->length, s->length2, 0.0f) * p->length;
    l.length = l.length > least ? l.length : least;
    l.chord = l.chord > p->chord ? l.chord : p->chord;
    return l;
}

/* (O5) */
GPU_HD static inline int surface_joined(const struct surface *s, const struct surface_params *p,
                                        size_t a, size_t b)
{
    struct surface_edge e = surface_edge(s, p->view_sin, a, b);
    return e.seen && e.length <= s->limits->length && e.chord <= s->limits->chord &&
           (p->hollow == 0.0f || e.bend > -p->hollow);
}

/* (O6) The triangles of pixel (x, y): bits of enum surface_mesh. */
GPU_HD static inline uint8_t surface_triangles(const struct surface *s,
                                               const struct surface_params *p, int x, int y)
{
    size_t at = (size_t)y * (size_t)s->w + (size_t)x, right = at + 1, down = at + (size_t)s->w;
    int mesh = 0;

    if (x + 1 >= s->w || y + 1 >= s->h || !surface_joined(s, p, right, down))
        return 0;
    if (surface_joined(s, p, at, right) && surface_joined(s, p, at, down))
        mesh |= SURFACE_NEAR;
    if (surface_joined(s, p, right, down + 1) && surface_joined(s, p, down, down + 1))
        mesh |= SURFACE_FAR;
    return (uint8_t)mesh;
}
