/*
 * views_case.h - a camera that walks through the room of scene.h, painted so that windows match,
 * with single-view depth that errs smoothly
 */
#pragma once

#include "gpu/views/views.h"
#include "tests/support/scene.h"

#include <stdlib.h>

struct views_case {
    int w, h;
    float *truth, *depth;
    uint8_t *rgb;
    uint16_t *level; /* as views_frame has it; NULL: is not wanted */
    struct views_frame frame;
};

static inline void views_case_open(struct views_case *c, int w, int h)
{
    size_t n = (size_t)w * (size_t)h;
    c->w = w;
    c->h = h;
    c->truth = malloc(n * sizeof *c->truth);
    c->depth = malloc(n * sizeof *c->depth);
    c->rgb = malloc(3 * n);
    c->level = malloc(n * sizeof *c->level);
}

static inline void views_case_close(struct views_case *c)
{
    free(c->truth);
    free(c->depth);
    free(c->rgb);
    free(c->level);
}

/* Waves of several lengths, in levels around 0. */
static inline float views_case_paint(struct vec3 p)
{
    float a = p.x + 0.31f * p.y, b = p.y - 0.23f * p.z, c = p.z + 0.17f * p.x;
    return 25.0f * (sinf(9.0f * a + 3.0f * b) + sinf(8.0f * b - 5.0f * c) + sinf(7.0f * c)) +
           12.0f * (sinf(23.0f * a) * sinf(19.0f * b) + sinf(17.0f * c + 21.0f * a));
}

/* Frame i; depth is `scale` times the truth, bent across the picture. */
static inline void views_case_draw(struct views_case *c, int i, float scale)
{
    struct scene s = scene_make();
    struct rigid T = scene_pose(-0.8f + 0.07f * (float)i, 0.1f * sinf(0.5f * (float)i),
                                -1.2f + 0.02f * (float)i, 0.05f * sinf(0.4f * (float)i));
    struct intrinsics K = scene_intrinsics(c->w, c->h);
    scene_draw(&s, &T, K, c->w, c->h, c->truth, c->rgb);
    for (int y = 0; y < c->h; y++)
        for (int x = 0; x < c->w; x++) {
            size_t at = (size_t)y * (size_t)c->w + (size_t)x;
            float z = c->truth[at], u = (float)x / (float)c->w, level;
            struct vec3 p = rigid_apply(
                &T, vec3_make(((float)x - K.cx) / K.fx * z, ((float)y - K.cy) / K.fy * z, z));
            level = 128.0f + views_case_paint(p);
            level = level < 0.0f ? 0.0f : level > 255.0f ? 255.0f : level;
            if (c->level)
                c->level[at] = (uint16_t)(8.0f * level);
            c->rgb[3 * at] = c->rgb[3 * at + 1] = c->rgb[3 * at + 2] = (uint8_t)level;
            c->depth[at] = z * scale * (1.0f + 0.1f * sinf(3.0f * u + (float)i));
        }
    c->frame.rgb = c->rgb;
    c->frame.level = c->level;
    c->frame.depth = c->depth;
    c->frame.T_wc = T;
    c->frame.K = K;
    c->frame.source = c->frame.submap = c->frame.breaks = c->frame.goes_on = c->frame.begins = 0;
}
