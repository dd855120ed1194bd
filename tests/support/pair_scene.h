/*
 * pair_scene.h - a drawn room with a box in it, seen by a rig of two cameras that see all around
 *
 * Every surface has a pattern of its own, so that colours tell surfaces apart. The room is 2 m wide
 * and 1.2 m high about (0, 0, 0.6); the box stands at (0.5, 0.3).
 */
#ifndef RECOND_TESTS_PAIR_SCENE_H
#define RECOND_TESTS_PAIR_SCENE_H

#include "tests/support/gpu_case.h"

#include <math.h>
#include <string.h>

#define PAIR_SIDE 192
#define PAIR_VOXEL_M 0.02f

struct pair_scene {
    uint8_t rgb[2][PAIR_SIDE * PAIR_SIDE * 3];
    struct gpu_pair pair;
};

static inline struct gpu_volume pair_volume(void)
{
    struct gpu_volume v = {{-1.0f, -1.0f, 0.04f}, PAIR_VOXEL_M, 2, {100, 100, 45}};
    return v;
}

static inline struct lens pair_lens(void)
{
    const float k[LENS_PARAMS_MAX] = {0.9f, 0, 0, 0, 0};
    struct intrinsics K = {40.0f, 40.0f, 95.5f, 95.5f};
    struct lens l;
    if (lens_make(&l, LENS_UNIFIED, k, K, PAIR_SIDE, PAIR_SIDE, NULL))
        memset(&l, 0, sizeof l);
    return l;
}

/* Along one axis: where the ray is between lo and hi. */
static inline int pair_slab(float from, float way, float lo, float hi, float *near, float *far)
{
    float a = (lo - from) / way, b = (hi - from) / way;
    if (fabsf(way) < 1e-9f)
        return from > lo && from < hi;
    *near = fmaxf(*near, fminf(a, b));
    *far = fminf(*far, fmaxf(a, b));
    return *near <= *far;
}

static inline int pair_box(struct vec3 from, struct vec3 way, struct vec3 lo, struct vec3 hi,
                           float *near, float *far)
{
    *near = -1e9f;
    *far = 1e9f;
    return pair_slab(from.x, way.x, lo.x, hi.x, near, far) &&
           pair_slab(from.y, way.y, lo.y, hi.y, near, far) &&
           pair_slab(from.z, way.z, lo.z, hi.z, near, far);
}

static inline uint8_t pair_shade(float f)
{
    return (uint8_t)(127.5f + 120.0f * sinf(f));
}

static inline void pair_draw(uint8_t *rgb, const struct gpu_pair_eye *e)
{
    for (int v = 0; v < e->height; v++)
        for (int u = 0; u < e->width; u++) {
            uint8_t *out = rgb + 3 * (v * e->width + u);
            struct vec3 at = vec3_make(e->T_wc.t[0], e->T_wc.t[1], e->T_wc.t[2]), ray, end, p;
            float near, far, far_box, t;
            memset(out, 0, 3);
            if (!lens_ray(&e->lens, e->K, (float)u, (float)v, &ray))
                continue;
            end = rigid_apply(&e->T_wc, ray);
            ray = vec3_sub(end, at);
            (void)pair_box(at, ray, vec3_make(-1, -1, 0), vec3_make(1, 1, 1.2f), &near, &far);
            t = far;
            if (pair_box(at, ray, vec3_make(0.4f, 0.2f, 0), vec3_make(0.6f, 0.4f, 0.6f), &near,
                         &far_box) &&
                near > 0)
                t = near;
            p = vec3_make(at.x + t * ray.x, at.y + t * ray.y, at.z + t * ray.z);
            out[0] = pair_shade(9 * p.x + 5 * p.z + 7 * p.y);
            out[1] = pair_shade(11 * p.y - 6 * p.z + 3);
            out[2] = pair_shade(8 * p.z + 4 * p.x - 5 * p.y + (t < far ? 2.0f : 0.0f));
        }
}

/* The rig at (x, y); its cameras look down, one 20 cm above the other. */
static inline void pair_look(struct pair_scene *s, struct gpu_session *session, float x, float y)
{
    const struct rigid down = {{1, 0, 0, 0, -1, 0, 0, 0, -1}, {x, y, 0.45f}};
    memset(&s->pair, 0, sizeof s->pair);
    s->pair.item.session = session;
    for (int e = 0; e < 2; e++) {
        s->pair.eye[e].rgb = s->rgb[e];
        s->pair.eye[e].width = s->pair.eye[e].height = PAIR_SIDE;
        s->pair.eye[e].K.fx = s->pair.eye[e].K.fy = 40.0f;
        s->pair.eye[e].K.cx = s->pair.eye[e].K.cy = 95.5f;
        s->pair.eye[e].lens = pair_lens();
        s->pair.eye[e].T_wc = down;
        s->pair.eye[e].T_wc.t[2] += 0.2f * (float)e;
        pair_draw(s->rgb[e], &s->pair.eye[e]);
    }
}

/* One camera that shows all directions, at (x, y, z): of a session with baseline_m. It looks along
 * the world's x. */
static inline void pair_stand(struct pair_scene *s, struct gpu_session *session, float x, float y,
                              float z)
{
    const struct rigid level = {{0, 0, 1, -1, 0, 0, 0, -1, 0}, {x, y, z}};
    struct gpu_pair_eye *e = &s->pair.eye[0];
    memset(&s->pair, 0, sizeof s->pair);
    s->pair.item.session = session;
    e->rgb = s->rgb[0];
    e->width = PAIR_SIDE;
    e->height = PAIR_SIDE / 2;
    e->K = lens_sphere_intrinsics(e->width, e->height);
    e->lens.model = LENS_SPHERE;
    e->T_wc = level;
    pair_draw(s->rgb[0], e);
}

static inline void pair_compute(struct gpu *g, struct pair_scene *s)
{
    struct gpu_item *item = &s->pair.item;

    gpu_case_run(g, &gpu_line_panorama, &item, 1);
}

static inline struct gpu_session_config pair_config(void)
{
    struct gpu_session_config c;
    memset(&c, 0, sizeof c);
    c.line = &gpu_line_panorama;
    c.net_w = c.net_h = c.max_image_w = c.max_image_h = PAIR_SIDE;
    c.step_m = PAIR_VOXEL_M / 16;
    c.max_points = 1u << 20;
    c.volume = pair_volume();
    c.colour_levels = 24;
    c.field_rad = 2.1f;
    return c;
}

#endif
