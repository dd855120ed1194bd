/*
 * pair_walk.h - the way of one camera that shows all directions through a place of pair_place.h
 *
 * A round of 12 m along the walls, 6 cm a frame, 1.45 m above the floor, as a walking person
 * carries the camera on a stick: it sways, leans by a few degrees and looks the way it goes.
 */
#pragma once

#include "proto/geom/lens.h"

#include <math.h>
#include <string.h>

#define PAIR_WALK_FRAMES 200
#define PAIR_WALK_STEP_M 0.06f
#define PAIR_WALK_FPS 15

struct pair_walk_pose {
    float q[4]; /* x y z w: of the camera's axes in the world */
    struct rigid T_wc;
};

static inline void pair_walk_turn(float out[4], const float a[4], const float b[4])
{
    out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

static inline struct pair_walk_pose pair_walk_pose(int frame)
{
    /* x right, y down, z forward, when z of the world is up and the camera looks along its x */
    const float level[4] = {-0.5f, 0.5f, -0.5f, 0.5f};
    float way = PAIR_WALK_STEP_M * (float)frame, round = way / 1.9f, heading;
    float sway = sinf(7.1f * way), lean[4] = {0.03f * sway, 0, 0.02f * sinf(4.3f * way + 1), 1};
    float r = 1.85f + 0.15f * sinf(3 * round), yaw[4] = {0}, q[4], n = 0;
    struct pair_walk_pose p;

    heading = round + 0.5f * LENS_PI + 0.1f * sway;
    yaw[2] = sinf(0.5f * heading);
    yaw[3] = cosf(0.5f * heading);
    pair_walk_turn(q, yaw, level);
    pair_walk_turn(p.q, q, lean);
    for (int i = 0; i < 4; i++)
        n += p.q[i] * p.q[i];
    for (int i = 0; i < 4; i++)
        p.q[i] /= sqrtf(n);
    {
        float x = p.q[0], y = p.q[1], z = p.q[2], w = p.q[3];
        const struct rigid T = {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
                                 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                                 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)},
                                {r * cosf(round), r * sinf(round), 1.45f + 0.02f * sinf(8 * way)}};

        p.T_wc = T;
    }
    return p;
}

static inline struct lens pair_walk_lens(void)
{
    struct lens l;
    memset(&l, 0, sizeof l);
    l.model = LENS_SPHERE;
    return l;
}
