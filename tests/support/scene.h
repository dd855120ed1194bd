/*
 * scene.h - a room with a box in it, drawn exactly: depth and colours for tests and benchmarks of
 * fusion
 *
 * The room is the inside of |x| <= 3, |y| <= 1.5, |z| <= 3 m, its walls chequered; the box is any
 * axis-aligned one. Depth is z-depth of the first surface that the ray through a pixel's centre
 * meets.
 */
#pragma once

#include "proto/types.h"

struct scene {
    struct vec3 box_lo, box_hi; /* no box where lo.x >= hi.x */
};

static inline struct scene scene_make(void)
{
    struct scene s = {{-0.6f, -0.5f, 0.6f}, {0.4f, 1.5f, 1.4f}};
    return s;
}

/* Distances along the ray at which it enters and leaves an axis-aligned box. */
static inline void scene_slab(const float o[3], const float d[3], const float lo[3],
                              const float hi[3], float *enter, float *leave)
{
    *enter = -1e30f;
    *leave = 1e30f;
    for (int i = 0; i < 3; i++) {
        float inv = 1.0f / (fabsf(d[i]) < 1e-12f ? 1e-12f : d[i]);
        float a = (lo[i] - o[i]) * inv, b = (hi[i] - o[i]) * inv;
        *enter = fmaxf(*enter, fminf(a, b));
        *leave = fminf(*leave, fmaxf(a, b));
    }
}

/* Distance from p to the nearest surface of the scene. */
static inline float scene_distance(const struct scene *s, struct vec3 p)
{
    const float room[3] = {3.0f, 1.5f, 3.0f}, q[3] = {p.x, p.y, p.z};
    const float lo[3] = {s->box_lo.x, s->box_lo.y, s->box_lo.z};
    const float hi[3] = {s->box_hi.x, s->box_hi.y, s->box_hi.z};
    float wall = 1e30f, out2 = 0.0f, in = 1e30f;
    for (int i = 0; i < 3; i++) {
        float over = fmaxf(lo[i] - q[i], q[i] - hi[i]);
        wall = fminf(wall, fabsf(room[i] - fabsf(q[i])));
        out2 += over > 0.0f ? over * over : 0.0f;
        in = fminf(in, -over);
    }
    if (lo[0] >= hi[0])
        return wall;
    return fminf(wall, out2 > 0.0f ? sqrtf(out2) : fabsf(in));
}

static inline void scene_colour(struct vec3 p, uint8_t rgb[3])
{
    int cell = (int)floorf(p.x * 2.0f) + (int)floorf(p.y * 2.0f) + (int)floorf(p.z * 2.0f);
    rgb[0] = (uint8_t)fminf(255.0f, fmaxf(0.0f, 128.0f + 40.0f * p.x));
    rgb[1] = (uint8_t)fminf(255.0f, fmaxf(0.0f, 128.0f + 80.0f * p.y));
    rgb[2] = cell & 1 ? 200 : 60;
}

/* Draw: depth [h][w], rgb [h][w][3] (either may be NULL). */
static inline void scene_draw(const struct scene *s, const struct rigid *T_wc, struct intrinsics K,
                              int w, int h, float *depth, uint8_t *rgb)
{
    const float room_lo[3] = {-3.0f, -1.5f, -3.0f}, room_hi[3] = {3.0f, 1.5f, 3.0f};
    const float lo[3] = {s->box_lo.x, s->box_lo.y, s->box_lo.z};
    const float hi[3] = {s->box_hi.x, s->box_hi.y, s->box_hi.z};
    struct rigid turn = *T_wc;
    turn.t[0] = turn.t[1] = turn.t[2] = 0.0f;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            struct vec3 ray = vec3_make(((float)x - K.cx) / K.fx, ((float)y - K.cy) / K.fy, 1.0f);
            struct vec3 d = rigid_apply(&turn, ray);
            const float dir[3] = {d.x, d.y, d.z};
            float enter, leave, z;
            size_t at = (size_t)y * (size_t)w + (size_t)x;
            scene_slab(T_wc->t, dir, room_lo, room_hi, &enter, &leave);
            z = leave; /* the ray has length 1 along the camera's z axis, so this is depth */
            scene_slab(T_wc->t, dir, lo, hi, &enter, &leave);
            if (lo[0] < hi[0] && enter > 0.0f && enter <= leave && enter < z)
                z = enter;
            if (depth)
                depth[at] = z;
            if (rgb)
                scene_colour(
                    vec3_make(T_wc->t[0] + z * d.x, T_wc->t[1] + z * d.y, T_wc->t[2] + z * d.z),
                    rgb + 3 * at);
        }
}

/* A camera at (x, y, z), turned by `yaw` about the y axis (to the right for positive values). */
static inline struct rigid scene_pose(float x, float y, float z, float yaw)
{
    float c = cosf(yaw), s = sinf(yaw);
    struct rigid T = {{c, 0, s, 0, 1, 0, -s, 0, c}, {x, y, z}};
    return T;
}

/* A camera of about 62 degrees. */
static inline struct intrinsics scene_intrinsics(int w, int h)
{
    struct intrinsics K = {0.83f * (float)w, 0.83f * (float)w, 0.5f * (float)(w - 1),
                           0.5f * (float)(h - 1)};
    return K;
}

/* A reproducible sequence of numbers in 0...1 (xorshift). */
static inline float scene_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (float)(*state >> 8) * (1.0f / 16777216.0f);
}
