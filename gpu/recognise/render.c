#include "gpu/recognise/render.h"

#include <string.h>

static double render_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(double out[3], const double a[3], const double b[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static void normalise(double a[3])
{
    double n = sqrt(render_dot(a, a));
    for (int k = 0; k < 3; k++)
        a[k] /= n;
}

struct rigid render_look(struct vec3 from, struct vec3 at, struct vec3 up)
{
    double z[3] = {(double)(at.x - from.x), (double)(at.y - from.y), (double)(at.z - from.z)};
    double u[3] = {(double)up.x, (double)up.y, (double)up.z}, x[3], y[3];
    struct rigid T;

    normalise(z);
    cross(x, z, u);
    if (render_dot(x, x) < 1e-6) { /* any other direction will do as up */
        double other[3] = {u[1], u[2], u[0]};
        cross(x, z, other);
    }
    normalise(x);
    cross(y, z, x);
    for (int k = 0; k < 3; k++) {
        T.r[3 * k] = (float)x[k];
        T.r[3 * k + 1] = (float)y[k];
        T.r[3 * k + 2] = (float)z[k];
    }
    T.t[0] = from.x;
    T.t[1] = from.y;
    T.t[2] = from.z;
    return T;
}

/* A corner's place in the picture, and 1 / depth. */
struct corner {
    double u, v, inverse;
};

static int project(struct corner *c, struct intrinsics K, const struct rigid *T_co, const float *p)
{
    struct vec3 q = rigid_apply(T_co, vec3_make(p[0], p[1], p[2]));

    if (!(q.z >= RENDER_NEAR_M))
        return 0;
    c->inverse = 1.0 / (double)q.z;
    c->u = (double)K.fx * (double)q.x * c->inverse + (double)K.cx;
    c->v = (double)K.fy * (double)q.y * c->inverse + (double)K.cy;
    return 1;
}

/* Twice the area of a, b and a point, signed. */
static double edge(const struct corner *a, const struct corner *b, double u, double v)
{
    return (b->u - a->u) * (v - a->v) - (b->v - a->v) * (u - a->u);
}

static double least(double a, double b, double c)
{
    return fmin(a, fmin(b, c));
}

static double most(double a, double b, double c)
{
    return fmax(a, fmax(b, c));
}

/* (O18) Draws a triangle; 1 / depth is linear in the picture. Depth on an unseen side is negative
 * until all is drawn. Returns how many pixels were tested. */
static size_t render_draw(float *depth, int w, int h, const struct corner c[3], int sides)
{
    double area = edge(&c[0], &c[1], c[2].u, c[2].v);
    float sign = sides == 1 && area > 0 ? -1.0f : 1.0f; /* clockwise, as v runs down */
    int u0 = (int)ceil(fmin(fmax(0, least(c[0].u, c[1].u, c[2].u)), w));
    int v0 = (int)ceil(fmin(fmax(0, least(c[0].v, c[1].v, c[2].v)), h));
    int u1 = (int)floor(fmax(fmin(w - 1, most(c[0].u, c[1].u, c[2].u)), -1));
    int v1 = (int)floor(fmax(fmin(h - 1, most(c[0].v, c[1].v, c[2].v)), -1));

    if (!isfinite(area) || area == 0 || u1 < u0 || v1 < v0)
        return 0;
    for (int v = v0; v <= v1; v++)
        for (int u = u0; u <= u1; u++) {
            double a = edge(&c[1], &c[2], u, v) / area, b = edge(&c[2], &c[0], u, v) / area;
            double g = 1 - a - b;
            float z, *at = &depth[(size_t)v * (size_t)w + (size_t)u];
            if (a < 0 || b < 0 || g < 0)
                continue;
            z = (float)(1.0 / (a * c[0].inverse + b * c[1].inverse + g * c[2].inverse));
            if (*at == 0 || z < fabsf(*at))
                *at = sign * z;
        }
    return (size_t)(u1 - u0 + 1) * (size_t)(v1 - v0 + 1);
}

size_t render_depth(float *depth, int w, int h, struct intrinsics K, const struct rigid *T_oc,
                    const float *xyz, const uint32_t *corner, size_t n_triangles, int sides)
{
    struct rigid T_co = rigid_inverse(T_oc);
    size_t pixels = (size_t)w * (size_t)h, seen = 0, work = 0;

    memset(depth, 0, pixels * sizeof *depth);
    for (size_t i = 0; i < n_triangles && work <= RENDER_WORK_MAX; i++) {
        struct corner c[3];
        int ahead = 1;
        for (int k = 0; k < 3; k++)
            ahead &= project(&c[k], K, &T_co, xyz + 3 * (size_t)corner[3 * i + (size_t)k]);
        if (ahead)
            work += render_draw(depth, w, h, c, sides);
    }
    if (work > RENDER_WORK_MAX)
        return RENDER_TOO_MUCH;
    for (size_t i = 0; i < pixels; i++) {
        depth[i] = depth[i] > 0 ? depth[i] : 0;
        seen += depth[i] > 0;
    }
    return seen;
}
