/*
 * lens_warp.h - the picture of a pinhole camera, and its depth, as a camera of another model at the
 * same place would have taken them
 */
#pragma once

#include "proto/geom/lens.h"

#include <string.h>

struct lens_warp {
    struct lens lens;
    struct intrinsics from, K; /* of w x h, of out_w x out_h */
    int w, h, out_w, out_h;
};

static const float lens_warp_k[LENS_MODELS][LENS_PARAMS_MAX] = {
    [LENS_RADIAL] = {-0.2f, 0.035f, 0.002f, -0.0015f, 0.0f},
    [LENS_FISHEYE] = {-0.08f, 0.02f, -0.004f, 0.0f},
};

/* Where pixel (x, y) lies in the pinhole's picture. Returns 0: nowhere. */
static inline int lens_warp_at(const struct lens_warp *p, float x, float y, float *u, float *v)
{
    struct vec3 ray;

    if (!lens_ray(&p->lens, p->K, x, y, &ray) || !(ray.z > 0.1f))
        return 0;
    *u = p->from.fx * ray.x / ray.z + p->from.cx;
    *v = p->from.fy * ray.y / ray.z + p->from.cy;
    return *u >= 0 && *v >= 0 && *u <= (float)p->w - 1 && *v <= (float)p->h - 1;
}

static inline int lens_warp_fits(const struct lens_warp *p)
{
    float u, v;

    for (int i = 0; i < 64; i++) {
        float x = (float)i / 63 * (float)(p->out_w - 1), y = (float)i / 63 * (float)(p->out_h - 1);

        if (!lens_warp_at(p, x, 0, &u, &v) || !lens_warp_at(p, 0, y, &u, &v) ||
            !lens_warp_at(p, x, (float)p->out_h - 1, &u, &v) ||
            !lens_warp_at(p, (float)p->out_w - 1, y, &u, &v))
            return 0;
    }
    return 1;
}

/* A camera of this model whose picture of out_w x out_h the pinhole's fills, as wide as that lets
 * it be; a sphere's has what there is in its middle. Returns 0 if there is none. */
static inline int lens_warp_make(struct lens_warp *p, enum lens_model model, struct intrinsics from,
                                 int w, int h, int out_w, int out_h)
{
    *p = (struct lens_warp){.from = from, .w = w, .h = h, .out_w = out_w, .out_h = out_h};
    if (model == LENS_SPHERE) {
        p->K = lens_sphere_intrinsics(out_w, out_h);
        return lens_make(&p->lens, model, NULL, p->K, out_w, out_h, NULL) == 0;
    }
    for (float f = 0.4f * (float)out_w; f < 3.0f * (float)out_w; f *= 1.005f) {
        p->K = (struct intrinsics){f, f, 0.505f * (float)out_w, 0.49f * (float)out_h};
        if (lens_make(&p->lens, model, lens_warp_k[model], p->K, out_w, out_h, NULL) == 0 &&
            lens_warp_fits(p))
            return 1;
    }
    return 0;
}

/* Colours between four pixels, depth (along the axis that both share) of the nearest one. */
static inline void lens_warp_run(const struct lens_warp *p, uint8_t *rgb, uint16_t *depth,
                                 const uint8_t *from_rgb, const uint16_t *from_depth)
{
    memset(rgb, 0, (size_t)p->out_w * (size_t)p->out_h * 3);
    memset(depth, 0, (size_t)p->out_w * (size_t)p->out_h * sizeof *depth);
    for (int y = 0; y < p->out_h; y++)
        for (int x = 0; x < p->out_w; x++) {
            size_t to = (size_t)y * (size_t)p->out_w + (size_t)x, at;
            int x0, y0, right, below;
            float u, v;

            if (!lens_warp_at(p, (float)x, (float)y, &u, &v))
                continue;
            x0 = (int)u;
            y0 = (int)v;
            right = x0 + 1 < p->w;
            below = y0 + 1 < p->h;
            at = (size_t)y0 * (size_t)p->w + (size_t)x0;
            u -= (float)x0;
            v -= (float)y0;
            for (size_t c = 0; c < 3; c++) {
                const uint8_t *a = from_rgb + 3 * at + c, *b = below ? a + 3 * (size_t)p->w : a;

                rgb[3 * to + c] = (uint8_t)((1 - v) * ((1 - u) * a[0] + u * a[3 * right]) +
                                            v * ((1 - u) * b[0] + u * b[3 * right]) + 0.5f);
            }
            depth[to] =
                from_depth[at + (u > 0.5f && right) + (v > 0.5f && below ? (size_t)p->w : 0)];
        }
}
