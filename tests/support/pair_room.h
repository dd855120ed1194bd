/*
 * pair_room.h - the room of the catadioptric paper as a function: 5 x 5 x 3 m, a column, a sphere
 *
 * The same measures as tests/golden/panorama/room.inc, without its shadows: what benches look at,
 * and the distance of a place to its nearest surface.
 */
#pragma once

#include "gpu/gpu.h"

#include <math.h>

#define PAIR_ROOM_VIEWS 40
#define PAIR_ROOM_BASELINE_M 0.228f
#define PAIR_ROOM_LOWER_M 0.75f

/* Of a Neovision H3S: what tests/golden/panorama/render writes into rig.json. */
static inline struct lens pair_room_lens(int side, struct intrinsics *K)
{
    const float k[LENS_PARAMS_MAX] = {0.966231f, 0, 0, 0, 0};
    float f = 0.46f * (float)side / (sinf(2.19911f) / (cosf(2.19911f) + k[0]));
    struct lens l = {0};
    K->fx = K->fy = f;
    K->cx = K->cy = 0.5f * (float)(side - 1);
    if (lens_make(&l, LENS_UNIFIED, k, *K, side, side, NULL))
        l.model = -1;
    return l;
}

/* The rig's place i of the path, and its lower camera. */
static inline struct rigid pair_room_pose(int i)
{
    const float side = 3.75f, h = 0.5f * side, at = fmodf((float)i * 0.375f, side);
    struct rigid T = {{1, 0, 0, 0, -1, 0, 0, 0, -1}, {-h + at, -h, PAIR_ROOM_LOWER_M}};
    int leg = i / 10 % 4;
    if (leg == 1) {
        T.t[0] = h;
        T.t[1] = -h + at;
    } else if (leg == 2) {
        T.t[0] = h - at;
        T.t[1] = h;
    } else if (leg == 3) {
        T.t[0] = -h;
        T.t[1] = h - at;
    }
    return T;
}

static inline float pair_room_column(struct vec3 at, struct vec3 ray)
{
    const float lo[3] = {-0.9f, 0.5f, 0}, hi[3] = {-0.7f, 0.7f, 1.5f};
    const float from[3] = {at.x, at.y, at.z}, way[3] = {ray.x, ray.y, ray.z};
    float near = 0, far = 1e9f;
    for (int i = 0; i < 3; i++) {
        float a = (lo[i] - from[i]) / way[i], b = (hi[i] - from[i]) / way[i];
        near = fmaxf(near, fminf(a, b));
        far = fminf(far, fmaxf(a, b));
    }
    return near < far && near > 0 ? near : 1e9f;
}

static inline float pair_room_sphere(struct vec3 at, struct vec3 ray)
{
    struct vec3 o = vec3_sub(at, vec3_make(0.7f, -0.4f, 0.4f));
    float a = vec3_norm2(ray), b = o.x * ray.x + o.y * ray.y + o.z * ray.z;
    float root = b * b - a * (vec3_norm2(o) - 0.09f);
    return root > 0 && b < 0 ? (-b - sqrtf(root)) / a : 1e9f;
}

static inline float pair_room_walls(struct vec3 at, struct vec3 ray)
{
    float x = ((ray.x > 0 ? 2.5f : -2.5f) - at.x) / ray.x;
    float y = ((ray.y > 0 ? 2.5f : -2.5f) - at.y) / ray.y;
    float z = ((ray.z > 0 ? 3.0f : 0.0f) - at.z) / ray.z;
    return fminf(x, fminf(y, z));
}

/* The colour that a camera sees along a ray. */
static inline void pair_room_colour(uint8_t rgb[3], struct vec3 at, struct vec3 ray)
{
    float wall = pair_room_walls(at, ray), column = pair_room_column(at, ray);
    float sphere = pair_room_sphere(at, ray), t = fminf(wall, fminf(column, sphere)), light;
    struct vec3 p = vec3_make(at.x + t * ray.x, at.y + t * ray.y, at.z + t * ray.z);
    light = 1.0f / (0.6f + 0.25f * vec3_norm2(vec3_sub(p, vec3_make(0.9f, 0.7f, 2.8f))));
    rgb[0] = rgb[1] = rgb[2] = (uint8_t)(90 + 120 * light);
    if (t >= wall && p.z < 0.01f && ((int)floorf(2 * p.x) + (int)floorf(2 * p.y)) % 2)
        rgb[0] = rgb[1] = rgb[2] = (uint8_t)(40 + 60 * light);
    if (t >= column)
        rgb[0] = rgb[2] = (uint8_t)(30 + 20 * light);
    else if (t >= sphere)
        rgb[1] = rgb[2] = (uint8_t)(30 + 20 * light);
}

/* [side][side][3] as the camera sees the room; black beyond its mirror. */
static inline void pair_room_draw(uint8_t *rgb, int side, const struct lens *l, struct intrinsics K,
                                  const struct rigid *T_wc)
{
    const struct vec3 at = vec3_make(T_wc->t[0], T_wc->t[1], T_wc->t[2]);
    for (int v = 0; v < side; v++)
        for (int u = 0; u < side; u++) {
            uint8_t *out = rgb + 3 * ((size_t)v * (size_t)side + (size_t)u);
            struct vec3 ray;
            out[0] = out[1] = out[2] = 0;
            if (lens_ray(l, K, (float)u, (float)v, &ray))
                pair_room_colour(out, at, vec3_sub(rigid_apply(T_wc, ray), at));
        }
}
