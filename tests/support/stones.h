/*
 * stones.h - keyframes of the room of scene.h with walls of stones, for what ties worlds
 *
 * The stones are 12 and 5 cm large, in shades of their own that follow from a seed: another seed is
 * another room.
 */
#pragma once

#include <string.h>

#include "gpu/tie/describe.h"
#include "tests/support/scene.h"

#define STONES_W 320
#define STONES_H 240

static struct {
    uint8_t rgb[3 * STONES_W * STONES_H], grey[DESCRIBE_PIXELS];
    float depth[STONES_W * STONES_H];
    struct describe_room room;
} stones;

static inline const struct tie_params *stones_params(void)
{
    static struct tie_params p;

    params_fill(&p, &tie_params_stage, NULL, NULL);
    return &p;
}

static inline float stones_random(int x, int y, int z, uint32_t seed)
{
    uint32_t h = (uint32_t)x * 73856093u ^ (uint32_t)y * 19349663u ^ (uint32_t)z * 83492791u ^ seed;

    h ^= h >> 15, h *= 2246822519u, h ^= h >> 13, h *= 3266489917u, h ^= h >> 16;
    return (float)(h >> 8) / 16777216.0f;
}

/* What is drawn becomes stones; 0: it stays the chequered room. */
static inline void stones_paint(const struct rigid *T, struct intrinsics K, uint32_t seed)
{
    for (int y = 0; y < STONES_H && seed; y++)
        for (int x = 0; x < STONES_W; x++) {
            float z = stones.depth[y * STONES_W + x];
            struct vec3 p = rigid_apply(
                T, vec3_make(z * ((float)x - K.cx) / K.fx, z * ((float)y - K.cy) / K.fy, z));
            float v = 0;

            for (int k = 0; k < 2; k++) {
                float side = k ? 0.05f : 0.12f;

                v += (k ? 80.0f : 150.0f) *
                     stones_random((int)floorf(p.x / side + 0.31f), (int)floorf(p.y / side + 0.37f),
                                   (int)floorf(p.z / side + 0.29f), seed + (uint32_t)k);
            }
            memset(stones.rgb + 3 * (y * STONES_W + x), (int)v, 3);
        }
}

/* What a camera at T sees; its depth is too large by `by`. */
static inline void stones_see(struct describe_keyframe *k, const struct rigid *T, uint32_t seed,
                              float by)
{
    const struct scene s = scene_make();
    struct describe_picture p = {.width = STONES_W,
                                 .height = STONES_H,
                                 .K = scene_intrinsics(STONES_W, STONES_H),
                                 .depth = stones.depth,
                                 .depth_w = STONES_W,
                                 .depth_h = STONES_H};

    scene_draw(&s, T, p.K, STONES_W, STONES_H, stones.depth, stones.rgb);
    stones_paint(T, p.K, seed);
    for (int i = 0; i < STONES_W * STONES_H; i++)
        stones.depth[i] *= by;
    describe_grey(&p, stones.grey, stones.rgb);
    describe_picture(k, &stones.room, &p, stones_params());
}
