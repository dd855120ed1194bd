/*
 * raster_point.h - the renderer's arithmetic, one element at a time, for both back ends
 *
 * A picture is drawn in five steps, each a function here or in raster_shade.h and a loop in
 * raster_cpu.cpp or a kernel in raster_cuda.cu:
 *   cull     one (view, instance), then its clusters: those whose bounding sphere meets the view
 *   raster   one triangle: the smallest key (or, in shadow maps, depth) of every sample is kept
 *   shade    one sample: the key is turned back into a surface point and lit
 *   mirror   one sample: what a glossy surface reflects
 *   resolve  one pixel: samples become a developed picture, depth, normals and masks
 *
 * The includer defines HD (function qualifiers) before including this file.
 */
#ifndef RASTER_POINT_H
#define RASTER_POINT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "raster_types.h"

struct v3 {
    float x, y, z;
};

HD v3 V(float x, float y, float z)
{
    v3 r = {x, y, z};
    return r;
}
HD v3 add(v3 a, v3 b)
{
    return V(a.x + b.x, a.y + b.y, a.z + b.z);
}
HD v3 sub(v3 a, v3 b)
{
    return V(a.x - b.x, a.y - b.y, a.z - b.z);
}
HD v3 mul(v3 a, float s)
{
    return V(a.x * s, a.y * s, a.z * s);
}
HD float dot(v3 a, v3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
HD v3 cross(v3 a, v3 b)
{
    return V(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
HD float len(v3 a)
{
    return sqrtf(dot(a, a));
}
HD v3 norm(v3 a)
{
    float l = len(a);
    return mul(a, l > 1e-20f ? 1.0f / l : 0.0f);
}
HD float clampf(float x, float a, float b)
{
    return fminf(fmaxf(x, a), b);
}
HD v3 rot(const float *R, v3 p)
{
    return V(R[0] * p.x + R[1] * p.y + R[2] * p.z, R[3] * p.x + R[4] * p.y + R[5] * p.z,
             R[6] * p.x + R[7] * p.y + R[8] * p.z);
}
HD v3 rot_t(const float *R, v3 p)
{
    return V(R[0] * p.x + R[3] * p.y + R[6] * p.z, R[1] * p.x + R[4] * p.y + R[7] * p.z,
             R[2] * p.x + R[5] * p.y + R[8] * p.z);
}
HD v3 affine(const float *m, v3 p)
{
    return V(m[0] * p.x + m[1] * p.y + m[2] * p.z + m[3],
             m[4] * p.x + m[5] * p.y + m[6] * p.z + m[7],
             m[8] * p.x + m[9] * p.y + m[10] * p.z + m[11]);
}
HD uint32_t hash32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}
HD float hash01(uint32_t x)
{
    return (hash32(x) >> 8) * (1.0f / 16777216.0f);
}
HD uint32_t float_bits(float f)
{
    union {
        float f;
        uint32_t u;
    } x;
    x.f = f;
    return x.u;
}
HD float bits_float(uint32_t u)
{
    union {
        float f;
        uint32_t u;
    } x;
    x.u = u;
    return x.f;
}

/* thing_motion - what a movable thing has done by the moment of a view, a world 3x4; 0 = nothing */
HD const float *thing_motion(const frame *f, const view *v, const inst *o)
{
    if (!v->moment || !o->object)
        return 0;
    return f->motion + 12 * ((size_t)f->scene[v->scene].motion0 + o->object);
}

/* camera_from_object - rows of the 3x4 that takes an instance's points to a view's camera frame */
HD void camera_from_object(const frame *f, const view *v, const inst *o, float *m)
{
    const float *g = thing_motion(f, v, o);
    float a[12];
    for (int k = 0; k < 12; k++)
        a[k] = g ? g[k & ~3] * o->m[k & 3] + g[(k & ~3) + 1] * o->m[4 + (k & 3)] +
                       g[(k & ~3) + 2] * o->m[8 + (k & 3)] + ((k & 3) == 3 ? g[k] : 0.0f)
                 : o->m[k];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
            m[4 * r + c] = (c == 3 ? v->t[r] : 0.0f) + v->R[3 * r] * a[c] +
                           v->R[3 * r + 1] * a[4 + c] + v->R[3 * r + 2] * a[8 + c];
}

/*
 * sphere_visible - does a sphere of the camera frame meet the view's pyramid (or box, when
 * orthographic)?
 */
HD bool sphere_visible(const view *v, v3 p, float r, int w, int h)
{
    if (p.z + r < 0.02f)
        return false;
    if (v->ortho)
        return fabsf(p.x * v->fx + v->cx - 0.5f * w) < 0.5f * w + r * v->fx &&
               fabsf(p.y * v->fy + v->cy - 0.5f * h) < 0.5f * h + r * v->fy;
    float l = (-v->cx - 1) / v->fx, rr = (w - v->cx) / v->fx;
    float t = (-v->cy - 1) / v->fy, b = (h - v->cy) / v->fy;
    return (p.x - l * p.z) > -r * sqrtf(1 + l * l) && (rr * p.z - p.x) > -r * sqrtf(1 + rr * rr) &&
           (p.y - t * p.z) > -r * sqrtf(1 + t * t) && (b * p.z - p.y) > -r * sqrtf(1 + b * b);
}

/* an instance that a view may see */
struct pair {
    float m[12];         /* camera from object */
    float scale;         /* of lengths, at most */
    int32_t facing;      /* sign of the screen area of triangles that show, 0 = both sides do */
    uint32_t view, inst; /* inst: index in the scene */
    int32_t tri0, n_tri, cluster0, pad;
};

#define NEAR_Z 0.03f

/* pair_setup - false: not in the view, or smaller than half a sample */
HD bool pair_setup(pair *p, const frame *f, const view *v, int vi, int i, int shadows, int w, int h)
{
    const inst *o = &f->inst[f->scene[v->scene].inst0 + i];
    if ((o->flags & INST_HIDE) || (shadows && (o->flags & INST_NO_SHADOW)))
        return false;
    const mesh *g = &f->mesh[o->mesh];
    p->scale = 0.0f;
    for (int k = 0; k < 3; k++)
        p->scale = fmaxf(p->scale, len(V(o->m[k], o->m[4 + k], o->m[8 + k])));
    float *m = p->m, r = g->r * p->scale;
    camera_from_object(f, v, o, m);
    v3 c = affine(m, V(g->c[0], g->c[1], g->c[2]));
    if (!sphere_visible(v, c, r, w, h) || r * v->fx < 0.35f * (v->ortho ? 1.0f : c.z))
        return false;
    float det = dot(V(m[0], m[4], m[8]), cross(V(m[1], m[5], m[9]), V(m[2], m[6], m[10])));
    /*
     * a camera inside a closed thing, or one that cuts it with the near plane, sees its back faces
     */
    bool outside = c.z - r > NEAR_Z && (g->flags & MESH_CLOSED);
    p->facing = !outside || fabsf(det) < 1e-12f ? 0 : det > 0 ? -1 : 1;
    p->view = (uint32_t)vi;
    p->inst = (uint32_t)i;
    p->tri0 = g->tri0;
    p->n_tri = g->n_tri;
    p->cluster0 = g->cluster0;
    p->pad = 0;
    return true;
}

HD bool cluster_visible(const frame *f, const view *v, const pair *p, int k, int w, int h)
{
    const cluster *c = &f->cluster[p->cluster0 + k];
    return sphere_visible(v, affine(p->m, V(c->c[0], c->c[1], c->c[2])), c->r * p->scale, w, h);
}

/*
 * A triangle on the screen. Row y covers the samples between lo and hi, where each edge k gives
 * x = m[k] y + n[k], a lower bound where side[k] > 0, an upper one where < 0, none where 0 (level
 * edge); what is linear on the screen (1/z, or z when orthographic) is q + qx x + qy y.
 * Doubles: a kerb or wall of 200 m clipped beside the camera has corners 10^5 samples outside the
 * picture.
 */
struct screen_tri {
    double m[3], n[3], q, qx, qy;
    int32_t side[3], x0, x1, y0, y1;
};

/* screen_setup - facing: see struct pair; false: covers no sample, or shows its back */
HD bool screen_setup(screen_tri *s, const view *v, const v3 *p, int w, int h, int facing)
{
    double x[3], y[3], q[3];
    for (int k = 0; k < 3; k++) {
        double iz = v->ortho ? 1.0 : 1.0 / p[k].z;
        x[k] = p[k].x * iz * v->fx + v->cx;
        y[k] = p[k].y * iz * v->fy + v->cy;
        q[k] = v->ortho ? p[k].z : iz;
    }
    double area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    if (fabs(area) < 1e-9 || area * facing < 0.0)
        return false;
    float lo = fmin(x[0], fmin(x[1], x[2])), hi = fmax(x[0], fmax(x[1], x[2]));
    s->x0 = (int)ceilf(clampf(lo, 0.0f, (float)w));
    s->x1 = (int)floorf(clampf(hi, -1.0f, (float)(w - 1)));
    lo = fmin(y[0], fmin(y[1], y[2])), hi = fmax(y[0], fmax(y[1], y[2]));
    s->y0 = (int)ceilf(clampf(lo, 0.0f, (float)h));
    s->y1 = (int)floorf(clampf(hi, -1.0f, (float)(h - 1)));
    if (s->x0 > s->x1 || s->y0 > s->y1)
        return false;
    double inv = 1.0 / area; /* barycentric b_k = a (x - x_i) + c (y - y_i) */
    s->q = q[0];
    s->qx = s->qy = 0.0;
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3; /* the edge where b_k is 0 */
        double dy = y[i] - y[j], dx = x[j] - x[i], a = dy * inv, c = dx * inv;
        s->side[k] = a > 1e-13 ? 1 : a < -1e-13 ? -1 : 0;
        s->m[k] = s->side[k] ? -dx / dy : 0.0;
        s->n[k] = x[i] - s->m[k] * y[i];
        if (k) {
            s->q -= (a * x[i] + c * y[i]) * (q[k] - q[0]);
            s->qx += a * (q[k] - q[0]);
            s->qy += c * (q[k] - q[0]);
        }
    }
    return true;
}

/* screen_row - samples x0..x1 of a row; 1e-6 samples of slack, so that neighbours leave no crack */
HD bool screen_row(const screen_tri *s, int y, int *x0, int *x1)
{
    double lo = s->x0, hi = s->x1;
    for (int k = 0; k < 3; k++) {
        double x = s->m[k] * y + s->n[k];
        if (s->side[k] > 0)
            lo = fmax(lo, x - 1e-6);
        else if (s->side[k] < 0)
            hi = fmin(hi, x + 1e-6);
    }
    *x0 = (int)ceil(lo);
    *x1 = (int)floor(hi);
    return *x0 <= *x1;
}

/* screen_band - where rows y0..y1 can hold samples: x0..x1, never less than the rows' own spans */
HD bool screen_band(const screen_tri *s, int y0, int y1, int *x0, int *x1)
{
    double lo = s->x0, hi = s->x1;
    for (int k = 0; k < 3; k++) {
        double a = s->m[k] * y0 + s->n[k], b = s->m[k] * y1 + s->n[k];
        if (s->side[k] > 0)
            lo = fmax(lo, fmin(a, b) - 1e-6);
        else if (s->side[k] < 0)
            hi = fmin(hi, fmax(a, b) + 1e-6);
    }
    *x0 = (int)ceil(lo);
    *x1 = (int)floor(hi);
    return *x0 <= *x1;
}

/* screen_depth - metres along z at a sample, 0 = none */
HD float screen_depth(const screen_tri *s, int ortho, int x, int y)
{
    float q = (float)(s->q + s->qx * x + s->qy * y), z = ortho ? q : 1.0f / q;
    return z > 1e-3f ? z : 0.0f;
}

HD uint64_t sample_key(float z, uint64_t id)
{
    return (uint64_t)float_bits(z) << 32 | id;
}

/* clip_near - cut a camera-space triangle at NEAR_Z; out holds 0, 1 or 2 triangles */
HD int clip_near(const v3 *p, v3 (*out)[3])
{
    if (p[0].z >= NEAR_Z && p[1].z >= NEAR_Z && p[2].z >= NEAR_Z) {
        for (int k = 0; k < 3; k++)
            out[0][k] = p[k];
        return 1;
    }
    v3 q[4];
    int n = 0;
    for (int k = 0; k < 3; k++) {
        v3 a = p[k], b = p[(k + 1) % 3];
        if (a.z >= NEAR_Z)
            q[n++] = a;
        if ((a.z >= NEAR_Z) != (b.z >= NEAR_Z)) {
            float t = (NEAR_Z - a.z) / (b.z - a.z);
            q[n++] = add(a, mul(sub(b, a), t));
        }
    }
    for (int k = 0; k + 2 < n; k++) {
        out[k][0] = q[0];
        out[k][1] = q[k + 1];
        out[k][2] = q[k + 2];
    }
    return n < 3 ? 0 : n - 2;
}

HD void tri_camera(const frame *f, const float *m, int t, v3 *p)
{
    for (int k = 0; k < 3; k++) {
        const float *a = &f->vert[3 * f->tri[3 * t + k]];
        p[k] = affine(m, V(a[0], a[1], a[2]));
    }
}

#endif
