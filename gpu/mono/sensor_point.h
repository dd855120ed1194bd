/*
 * sensor_point.h - one pixel of a depth sensor: its metres, the network pixels that it covers in
 * the colour camera, its trust, and the network's depth at it
 *
 * Claims:  a network pixel takes the nearest depth that covers it, of equally near ones the first
 *          by rows: the smallest sensor_claim(). Counts decide the common scale, so the order of
 *          sensor pixels does not matter.
 * Maths:   MATH.md (S1)-(S5)
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/point.h"
#include "gpu/mono/image_point.h"
#include "gpu/views/views_point.h"

#define SENSOR_MM_PER_M 1000.0f
#define SENSOR_INVERSE_1_M 6553.5f
#define SENSOR_SIDE_MAX 64    /* network pixels that a sensor pixel covers at most */
#define SENSOR_RAY_LEAST 0.1f /* smallest z of a ray at which depth along the axis is used */
#define SENSOR_BINS 256       /* of the log ratio, SENSOR_BINS_OCTAVE of them an octave */
#define SENSOR_BINS_OCTAVE 64

/* The values of a frame's sensor that the stages need. */
struct sensor_camera {
    struct intrinsics K; /* of the sensor's picture */
    struct lens lens;
    struct rigid T_cs; /* sensor to colour camera */
    struct intrinsics net_K;
    int w, h; /* of the network's picture */
    int inverse;
};

/* Pixels of the network's picture, x0 <= x < x1. */
struct sensor_box {
    int x0, y0, x1, y1;
};

/* (S1) */
GPU_HD static inline float sensor_metres(int inverse, uint16_t value)
{
    if (value == 0)
        return 0.0f;
    return inverse ? SENSOR_INVERSE_1_M / (float)value : (float)value / SENSOR_MM_PER_M;
}

/* (S4) 1 ... 255. */
GPU_HD static inline int sensor_trust(float z, int sure, const struct fuse_params *p)
{
    float far = p->mono.sensor_sure_m, share = z > far ? (far / z) * (far / z) : 1.0f;
    int trust = (int)((float)sure * share + 0.5f);
    return trust < 1 ? 1 : trust;
}

/* The first pixel centre at or beyond u, within 0 ... n. */
GPU_HD static inline int sensor_edge(float u, int n)
{
    if (!(u > 0.0f))
        return 0;
    if (u >= (float)n)
        return n;
    return (int)u + ((float)(int)u < u);
}

/* Projects the sensor's place (x, y) at depth z to the colour camera. Returns 0: not in front. */
GPU_HD static inline int sensor_point(const struct sensor_camera *c, float x, float y, float z,
                                      struct vec3 *p)
{
    struct vec3 ray;
    if (!lens_ray(&c->lens, c->K, x, y, &ray) || !(ray.z > SENSOR_RAY_LEAST))
        return 0;
    *p = rigid_apply(&c->T_cs, vec3_make(ray.x / ray.z * z, ray.y / ray.z * z, z));
    return p->z > POINT_NEAR_M;
}

/*
 * (S2) The box around the four corners of the sensor's pixel (x, y) at depth z, in the network's
 * picture
 * Out:     z_c its depth in the colour camera
 * Returns: 0 if the box is empty
 */
GPU_HD static inline int sensor_cover(const struct sensor_camera *c, int x, int y, float z,
                                      struct sensor_box *box, float *z_c)
{
    float u0 = 0, u1 = 0, v0 = 0, v1 = 0;
    struct vec3 p;
    if (!sensor_point(c, (float)x, (float)y, z, &p))
        return 0;
    *z_c = p.z;
    for (int i = 0; i < 4; i++) {
        float dx = (i & 1) ? 0.5f : -0.5f, dy = (i & 2) ? 0.5f : -0.5f, u, v;
        if (!sensor_point(c, (float)x + dx, (float)y + dy, z, &p))
            return 0;
        u = c->net_K.fx * p.x / p.z + c->net_K.cx;
        v = c->net_K.fy * p.y / p.z + c->net_K.cy;
        u0 = i == 0 || u < u0 ? u : u0;
        u1 = i == 0 || u > u1 ? u : u1;
        v0 = i == 0 || v < v0 ? v : v0;
        v1 = i == 0 || v > v1 ? v : v1;
    }
    box->x0 = sensor_edge(u0, c->w);
    box->x1 = sensor_edge(u1, c->w);
    box->y0 = sensor_edge(v0, c->h);
    box->y1 = sensor_edge(v1, c->h);
    if (box->x1 > box->x0 + SENSOR_SIDE_MAX)
        box->x1 = box->x0 + SENSOR_SIDE_MAX;
    if (box->y1 > box->y0 + SENSOR_SIDE_MAX)
        box->y1 = box->y0 + SENSOR_SIDE_MAX;
    return box->x0 < box->x1 && box->y0 < box->y1;
}

GPU_HD static inline uint64_t sensor_claim(float z_c, uint32_t sensor_pixel)
{
    return point_claim(z_c, sensor_pixel);
}

GPU_HD static inline float sensor_claimed_m(uint64_t claim)
{
    return power_float((uint32_t)(claim >> 32));
}

/* (S5) The bin of log2 of sensor over network; -1: they differ too much. */
GPU_HD static inline int sensor_bin(float z_sensor, float z_network)
{
    float r;
    if (!(z_network > 0.0f))
        return -1;
    r = (power_log2(z_sensor) - power_log2(z_network)) * (float)SENSOR_BINS_OCTAVE +
        0.5f * (float)SENSOR_BINS;
    return r >= 0.0f && r < (float)SENSOR_BINS ? (int)r : -1;
}

/* The median ratio; 1 if too few pixels have one. */
GPU_HD static inline float sensor_ratio(const uint32_t *bins, const struct fuse_params *p)
{
    uint32_t n = 0, below = 0;
    int bin = 0;
    for (int i = 0; i < SENSOR_BINS; i++)
        n += bins[i];
    if (n < p->mono.sensor_ratio_least)
        return 1.0f;
    while ((below += bins[bin]) < (n + 1) / 2)
        bin++;
    return power_exp2(((float)bin + 0.5f - 0.5f * (float)SENSOR_BINS) / (float)SENSOR_BINS_OCTAVE);
}
