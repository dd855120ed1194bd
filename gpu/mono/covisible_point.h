/*
 * covisible_point.h - the overlap of two views, from a coarse grid of points
 *
 * Each keyframe keeps the world points of an 8 x 6 grid of its pixels. The overlap of a frame and a
 * keyframe is the number of the keyframe's grid points in the frame's picture, plus the number of
 * the frame's in the keyframe's picture: 0...96.
 * Maths:   MATH.md (K1)
 */
#pragma once

#include "gpu/base/point.h"

#define COVISIBLE_GRID_W 8
#define COVISIBLE_GRID_H 6
#define COVISIBLE_GRID (COVISIBLE_GRID_W * COVISIBLE_GRID_H)

struct covisible_grid {
    struct vec3 p[COVISIBLE_GRID]; /* world */
    uint8_t valid[COVISIBLE_GRID]; /* 0: the pixel had no depth */
};

struct keyframe {
    struct camera camera;
    struct covisible_grid grid;
    uint32_t frame; /* number of its frame; 0 = the place is free */
};

/* Pixel of grid cell i: the centre of its share of the picture. */
GPU_HD static inline uint32_t covisible_pixel(int i, int w, int h)
{
    int gx = i % COVISIBLE_GRID_W, gy = i / COVISIBLE_GRID_W;
    int x = (2 * gx + 1) * w / (2 * COVISIBLE_GRID_W),
        y = (2 * gy + 1) * h / (2 * COVISIBLE_GRID_H);
    return (uint32_t)y * (uint32_t)w + (uint32_t)x;
}

GPU_HD static inline int covisible_seen(const struct covisible_grid *g, const struct camera *c)
{
    int n = 0;
    for (int i = 0; i < COVISIBLE_GRID; i++) {
        uint32_t pixel;
        float z;
        n += g->valid[i] && point_project(c, g->p[i], &pixel, &z);
    }
    return n;
}

/* (K1) */
GPU_HD static inline int covisible_overlap(const struct covisible_grid *a, const struct camera *ca,
                                           const struct covisible_grid *b, const struct camera *cb)
{
    return covisible_seen(a, cb) + covisible_seen(b, ca);
}

/* Larger overlap first, then the newer keyframe. */
GPU_HD static inline int covisible_before(int overlap, uint32_t frame, int than_overlap,
                                          uint32_t than_frame)
{
    return overlap > than_overlap || (overlap == than_overlap && frame > than_frame);
}
