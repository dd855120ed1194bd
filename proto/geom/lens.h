/*
 * lens.h - what a camera does to rays before they become pixels, and the pinhole camera that stands
 * for it on the device
 *
 * A picture becomes the network's through struct lens_map: the network's picture is always that of
 * a pinhole camera, and each of its pixels says where it lies in the picture that came.
 * Frames:  camera axes OpenCV (x right, y down, z forward)
 * Units:   pixels (centres at integers), radians; distortion is without unit
 * Maths:   MATH.md (L1)-(L9)
 * Twins:   arithmetic alone, without functions of the C library but sqrtf(), so host and device say
 *          the same
 * nvcc reads this header.
 */
#ifndef RECOND_PROTO_LENS_H
#define RECOND_PROTO_LENS_H

#include "proto/err.h"
#include "proto/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum lens_model { LENS_PINHOLE, LENS_RADIAL, LENS_FISHEYE, LENS_SPHERE, LENS_UNIFIED, LENS_MODELS };

#define LENS_PARAMS_MAX 5
#define LENS_MIRROR_MOST 4.0f      /* limit of a unified model's xi */
#define LENS_PARAM_MOST 1000.0f    /* largest distortion parameter; no real lens has more */
#define LENS_TANGENTIAL_MOST 0.25f /* the same limit for p1 and p2 */
#define LENS_RADIUS_MOST 8.0f      /* limit of the radial-tangential model: tan of 83 degrees */
#define LENS_PI 3.14159265f
/* least derivative of the radius in the picture by the radius of the ray */
#define LENS_SLOPE_LEAST 0.05f
#define LENS_TAPS_MAX 4
#define LENS_STEPS 12 /* of Newton */

/* Distortion of a lens, made by lens_make() or lens_get(). All zero: pinhole. */
struct lens {
    int model; /* enum lens_model */
    /* radial-tangential: k1 k2 p1 p2 k3; fisheye: k1 k2 k3 k4; unified: xi k1 k2 p1 p2 */
    float k[LENS_PARAMS_MAX];
    /* limit beyond which rays have no pixel. Radial-tangential: tan of the angle to the axis;
     * fisheye: the angle; unified: 1 less its cosine; else 0. */
    float limit;
};

/* -------------------------------------------------------------------------------- functions */

/* Arc tangent of y/x, x and y not both 0, in -pi ... pi. Within 3e-7 rad. */
GPU_HD static inline float lens_atan2(float y, float x)
{
    float ax = x < 0.0f ? -x : x, ay = y < 0.0f ? -y : y;
    float big = ax > ay ? ax : ay, t = (ax > ay ? ay : ax) / big, s = t * t, a;
    /* Abramowitz and Stegun 4.4.49 */
    a = 0.0028662257f;
    a = a * s - 0.0161657367f;
    a = a * s + 0.0429096138f;
    a = a * s - 0.0752896400f;
    a = a * s + 0.1065626393f;
    a = a * s - 0.1420889944f;
    a = a * s + 0.1999355085f;
    a = a * s - 0.3333314528f;
    a = (a * s + 1.0f) * t;
    if (ay > ax)
        a = 0.5f * LENS_PI - a;
    if (x < 0.0f)
        a = LENS_PI - a;
    return y < 0.0f ? -a : a;
}

/* Sine and cosine of an angle in -pi ... pi, by series for its half. Within 3e-7. */
GPU_HD static inline void lens_sincos(float angle, float *sine, float *cosine)
{
    float a = 0.5f * angle, s = a * a, sin_a, cos_a;
    sin_a = s * (1.0f / 6227020800.0f) - 1.0f / 39916800.0f;
    sin_a = s * sin_a + 1.0f / 362880.0f;
    sin_a = s * sin_a - 1.0f / 5040.0f;
    sin_a = s * sin_a + 1.0f / 120.0f;
    sin_a = s * sin_a - 1.0f / 6.0f;
    sin_a = a * (s * sin_a + 1.0f);
    cos_a = 1.0f / 479001600.0f - s * (1.0f / 87178291200.0f);
    cos_a = s * cos_a - 1.0f / 3628800.0f;
    cos_a = s * cos_a + 1.0f / 40320.0f;
    cos_a = s * cos_a - 1.0f / 720.0f;
    cos_a = s * cos_a + 1.0f / 24.0f;
    cos_a = s * cos_a - 0.5f;
    cos_a = s * cos_a + 1.0f;
    *sine = 2.0f * sin_a * cos_a;
    *cosine = cos_a * cos_a - sin_a * sin_a;
}

/* (L3) The fisheye's radius as a function of the angle to its axis, and its derivative. */
GPU_HD static inline float lens_radius(const struct lens *l, float angle)
{
    float s = angle * angle;
    return angle * (1.0f + s * (l->k[0] + s * (l->k[1] + s * (l->k[2] + s * l->k[3]))));
}

GPU_HD static inline float lens_radius_slope(const struct lens *l, float angle)
{
    float s = angle * angle;
    return 1.0f +
           s * (3.0f * l->k[0] + s * (5.0f * l->k[1] + s * (7.0f * l->k[2] + s * 9.0f * l->k[3])));
}

/* (L2) Radial and tangential distortion of (x, y) at depth 1; J is the derivative by rows. */
GPU_HD static inline void lens_radial(const struct lens *l, float x, float y, float *a, float *b,
                                      float J[4])
{
    float k1 = l->k[0], k2 = l->k[1], p1 = l->k[2], p2 = l->k[3], k3 = l->k[4];
    float s = x * x + y * y, f = 1.0f + s * (k1 + s * (k2 + s * k3));
    float df = 2.0f * (k1 + s * (2.0f * k2 + s * 3.0f * k3));
    *a = x * f + 2.0f * p1 * x * y + p2 * (s + 2.0f * x * x);
    *b = y * f + p1 * (s + 2.0f * y * y) + 2.0f * p2 * x * y;
    J[0] = f + x * x * df + 2.0f * p1 * y + 6.0f * p2 * x;
    J[1] = x * y * df + 2.0f * p1 * x + 2.0f * p2 * y;
    J[2] = J[1];
    J[3] = f + y * y * df + 6.0f * p1 * y + 2.0f * p2 * x;
}

/* The distortion behind a unified model's sphere, as a model of its own. */
GPU_HD static inline struct lens lens_behind(const struct lens *l)
{
    struct lens d;
    d.model = LENS_RADIAL;
    for (int i = 0; i < 4; i++)
        d.k[i] = l->k[i + 1];
    d.k[4] = 0.0f;
    d.limit = LENS_RADIUS_MOST;
    return d;
}

GPU_HD static inline int lens_is_bent(const struct lens *l)
{
    return l->k[1] != 0.0f || l->k[2] != 0.0f || l->k[3] != 0.0f || l->k[4] != 0.0f;
}

/* -------------------------------------------------------------------------------- rays */

GPU_HD static inline int lens_bend_radial(const struct lens *l, struct vec3 ray, float *a, float *b)
{
    float J[4], x, y, s, most = l->limit * l->limit, shrink;
    int inside;
    if (!(ray.z > 0.0f))
        return 0;
    x = ray.x / ray.z;
    y = ray.y / ray.z;
    s = x * x + y * y;
    inside = s <= most;
    if (!inside) {
        shrink = l->limit / sqrtf(s);
        x *= shrink;
        y *= shrink;
    }
    lens_radial(l, x, y, a, b, J);
    return inside;
}

GPU_HD static inline int lens_bend_fisheye(const struct lens *l, struct vec3 ray, float *a,
                                           float *b)
{
    float r = sqrtf(ray.x * ray.x + ray.y * ray.y), angle = lens_atan2(r, ray.z), radius;
    int inside = angle <= l->limit;
    if (!(r > 0.0f))
        return ray.z > 0.0f;
    radius = lens_radius(l, inside ? angle : l->limit);
    *a = ray.x / r * radius;
    *b = ray.y / r * radius;
    return inside;
}

/* (L9) Projects onto the unit sphere, and from the point xi behind its centre onto a plane. */
GPU_HD static inline int lens_bend_unified(const struct lens *l, struct vec3 ray, float *a,
                                           float *b)
{
    float n = sqrtf(vec3_norm2(ray)), d = ray.z + l->k[0] * n, x, y, J[4];
    int inside = ray.z >= (1.0f - l->limit) * n && d > 0.0f;
    struct lens behind;
    if (!(d > 1e-3f * n))
        d = 1e-3f * n;
    x = ray.x / d;
    y = ray.y / d;
    *a = x;
    *b = y;
    if (lens_is_bent(l) && x * x + y * y <= LENS_RADIUS_MOST * LENS_RADIUS_MOST) {
        behind = lens_behind(l);
        lens_radial(&behind, x, y, a, b, J);
    }
    return inside;
}

/*
 * lens_project - the pixel of a ray that is not 0
 *
 * Out:     u, v; where the ray has none, that of a ray near it which has, in the same direction
 * Returns: 1; 0: it has none, or is behind a camera that sees forward alone
 */
GPU_HD static inline int lens_project(const struct lens *l, struct intrinsics K, struct vec3 ray,
                                      float *u, float *v)
{
    float a = 0.0f, b = 0.0f;
    int inside = 1;
    if (l->model == LENS_RADIAL) {
        inside = lens_bend_radial(l, ray, &a, &b);
    } else if (l->model == LENS_FISHEYE) {
        inside = lens_bend_fisheye(l, ray, &a, &b);
    } else if (l->model == LENS_UNIFIED) {
        inside = lens_bend_unified(l, ray, &a, &b);
    } else if (l->model == LENS_SPHERE) { /* (L4) */
        a = lens_atan2(ray.x, ray.z);
        b = lens_atan2(ray.y, sqrtf(ray.x * ray.x + ray.z * ray.z));
    } else if (ray.z > 0.0f) { /* (L1) */
        a = ray.x / ray.z;
        b = ray.y / ray.z;
    } else {
        inside = 0;
    }
    *u = K.fx * a + K.cx;
    *v = K.fy * b + K.cy;
    return inside;
}

/* (L5) Removes distortion from (a, b) by Newton's method. Returns 0 if there is no such point
 * within the limit. */
GPU_HD static inline int lens_unbend_radial(const struct lens *l, float a, float b,
                                            struct vec3 *ray)
{
    float J[4], x = a, y = b, da, db, det, s = x * x + y * y;
    if (s > l->limit * l->limit) {
        x *= l->limit / sqrtf(s);
        y *= l->limit / sqrtf(s);
    }
    for (int i = 0; i < LENS_STEPS; i++) {
        lens_radial(l, x, y, &da, &db, J);
        da -= a;
        db -= b;
        det = J[0] * J[3] - J[1] * J[2];
        if (!(det > 1e-4f))
            return 0;
        x -= (J[3] * da - J[1] * db) / det;
        y -= (J[0] * db - J[2] * da) / det;
    }
    lens_radial(l, x, y, &da, &db, J);
    *ray = vec3_make(x, y, 1.0f);
    return x * x + y * y <= l->limit * l->limit * 1.0001f &&
           (da - a) * (da - a) + (db - b) * (db - b) < 1e-10f * (1.0f + a * a + b * b);
}

/* (L5) The same for the fisheye. Its radius grows up to the limit, so bisection finds the angle. */
GPU_HD static inline int lens_unbend_fisheye(const struct lens *l, float a, float b,
                                             struct vec3 *ray)
{
    float radius = sqrtf(a * a + b * b), low = 0.0f, high = l->limit, sine, cosine;
    *ray = vec3_make(0.0f, 0.0f, 1.0f);
    if (!(radius > 0.0f))
        return 1;
    if (!(radius <= lens_radius(l, l->limit)))
        return 0;
    for (int i = 0; i < 24; i++) {
        float middle = 0.5f * (low + high);
        if (lens_radius(l, middle) < radius)
            low = middle;
        else
            high = middle;
    }
    lens_sincos(0.5f * (low + high), &sine, &cosine);
    *ray = vec3_make(a / radius * sine, b / radius * sine, cosine);
    return 1;
}

/* (L9) The same for the unified model: the distortion is removed, then the point goes onto the
 * sphere. */
GPU_HD static inline int lens_unbend_unified(const struct lens *l, float a, float b,
                                             struct vec3 *ray)
{
    struct lens behind = lens_behind(l);
    float s, root, f;
    *ray = vec3_make(a, b, 1.0f);
    if (lens_is_bent(l) && !lens_unbend_radial(&behind, a, b, ray))
        return 0;
    s = ray->x * ray->x + ray->y * ray->y;
    root = 1.0f + (1.0f - l->k[0] * l->k[0]) * s;
    if (!(root >= 0.0f && s <= LENS_RADIUS_MOST * LENS_RADIUS_MOST))
        return 0;
    f = (l->k[0] + sqrtf(root)) / (1.0f + s);
    *ray = vec3_make(f * ray->x, f * ray->y, f - l->k[0]);
    return ray->z >= (1.0f - l->limit) * 0.9999f - 1e-4f;
}

/*
 * lens_ray - the ray of a pixel
 *
 * Out:     ray, of any length but 0; that of a pinhole has z = 1
 * Returns: 1; 0: the pixel has none
 */
GPU_HD static inline int lens_ray(const struct lens *l, struct intrinsics K, float u, float v,
                                  struct vec3 *ray)
{
    float a = (u - K.cx) / K.fx, b = (v - K.cy) / K.fy, sin_a, cos_a, sin_b, cos_b;
    if (l->model == LENS_RADIAL)
        return lens_unbend_radial(l, a, b, ray);
    if (l->model == LENS_FISHEYE)
        return lens_unbend_fisheye(l, a, b, ray);
    if (l->model == LENS_UNIFIED)
        return lens_unbend_unified(l, a, b, ray);
    if (l->model == LENS_SPHERE) {
        if (!(a >= -LENS_PI && a <= LENS_PI && b >= -0.5f * LENS_PI && b <= 0.5f * LENS_PI))
            return 0;
        lens_sincos(a, &sin_a, &cos_a);
        lens_sincos(b, &sin_b, &cos_b);
        *ray = vec3_make(sin_a * cos_b, sin_b, cos_a * cos_b);
        return 1;
    }
    *ray = vec3_make(a, b, 1.0f);
    return 1;
}

/* -------------------------------------------------------------------------------- pictures */

/* How a picture becomes the network's picture. */
struct lens_map {
    struct lens lens;
    struct intrinsics from; /* lens of the picture, w x h */
    int w, h;
    struct intrinsics K; /* camera of the network's picture, a pinhole */
    int mapped;          /* 0: the picture is only resized, by (I1) */
    int taps; /* samples per pixel of the network's picture in each direction, which are averaged */
};

/* (L6) The network's camera: the picture's own without its distortion, each axis scaled by itself.
 * For a sphere it is the view forward, 90 degrees along the longer side. */
GPU_HD static inline struct lens_map lens_map_make(const struct lens *l, struct intrinsics K, int w,
                                                   int h, int out_w, int out_h)
{
    struct lens_map m;
    float x, y;
    m.lens = *l;
    m.from = K;
    m.w = w;
    m.h = h;
    m.taps = 1;
    m.mapped = l->model != LENS_PINHOLE;
    m.K = intrinsics_scale(K, w, h, out_w, out_h);
    if (!m.mapped)
        return m;
    if (l->model == LENS_SPHERE) {
        m.K.fx = m.K.fy = 0.5f * (float)(out_w > out_h ? out_w : out_h);
        m.K.cx = 0.5f * (float)(out_w - 1);
        m.K.cy = 0.5f * (float)(out_h - 1);
    }
    if (l->model == LENS_UNIFIED) { /* beside the axis the focal length is that of (L9) */
        m.K.fx /= 1.0f + l->k[0];
        m.K.fy /= 1.0f + l->k[0];
    }
    x = K.fx / m.K.fx;
    y = K.fy / m.K.fy;
    while (m.taps < LENS_TAPS_MAX && ((float)m.taps < x || (float)m.taps < y))
        m.taps++;
    return m;
}

/*
 * lens_map_at - where a place of the network's picture lies in the picture that came (L7)
 *
 * Out:     u, v: beyond the picture they are what comes nearest
 * Returns: 1; 0: the picture does not show it
 */
GPU_HD static inline int lens_map_at(const struct lens_map *m, float x, float y, float *u, float *v)
{
    float most_u = (float)m->w - 1.0f, most_v = (float)m->h - 1.0f;
    struct vec3 ray = vec3_make((x - m->K.cx) / m->K.fx, (y - m->K.cy) / m->K.fy, 1.0f);
    int inside = lens_project(&m->lens, m->from, ray, u, v);
    if (!(*u >= -0.5f && *u < most_u + 0.5f && *v >= -0.5f && *v < most_v + 0.5f))
        inside = 0;
    *u = !(*u > 0.0f) ? 0.0f : *u < most_u ? *u : most_u;
    *v = !(*v > 0.0f) ? 0.0f : *v < most_v ? *v : most_v;
    return inside;
}

/* Tells whether the picture shows pixel (x, y) of the network's picture. */
GPU_HD static inline int lens_map_shows(const struct lens_map *m, int x, int y)
{
    float u, v;
    return !m->mapped || lens_map_at(m, (float)x, (float)y, &u, &v);
}

/* -------------------------------------------------------------------------------- declaring */

/* Names of the models in the order of enum lens_model, and NULL. */
extern const char *const lens_names[LENS_MODELS + 1];
/* Number of a model's parameters behind fx fy cx cy; a sphere has not even those. */
int lens_n_params(enum lens_model model);

/*
 * lens_make - a model that can be turned round all over a picture of w x h
 *
 * In:      k [lens_n_params()]
 * Returns: 0; ERR_INPUT: err says in a sentence what is wrong
 */
MUST_CHECK int lens_make(struct lens *l, enum lens_model model, const float *k, struct intrinsics K,
                         int w, int h, struct err *err);
/* Intrinsics of the sphere whose picture is w x h: u = fx longitude + cx. */
struct intrinsics lens_sphere_intrinsics(int w, int h);
/* Tells whether the lens may be given to the functions above. */
int lens_valid(const struct lens *l);
/* Tells whether such intrinsics are possible for a camera behind this lens. */
int lens_camera_valid(struct intrinsics K, const struct lens *l);

#define LENS_BYTES 28 /* u32 model, f32 k [5], f32 limit */
void lens_put(uint8_t out[LENS_BYTES], const struct lens *l);
MUST_CHECK int lens_get(struct lens *l, const uint8_t in[LENS_BYTES], struct err *err);

#ifdef __cplusplus
}
#endif
#endif
