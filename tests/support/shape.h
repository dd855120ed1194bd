/*
 * shape.h - seven free-form objects as distance functions, drawn as depth pictures
 *
 * Stand-ins for the objects of Orts-Escolano et al.: cube, tortoise, pyramid, speaker, mask, figure
 * and apple, each 15 to 25 cm large, around the origin of its own frame with z up. None of them is
 * symmetric under a rotation: a groove, a door, a leaf or a missing corner tells its sides apart.
 * Noise:   that of structured light: disparity in eighths of a pixel, f b = 43.5 m pixels, with a
 *          normal error of half an eighth (Khoshelham and Elberink 2012: 1.4 mm at one metre,
 *          growing with the square of depth), rounded to whole eighths
 */
#pragma once

#include "proto/types.h"

enum shape {
    SHAPE_CUBE,
    SHAPE_TORTOISE,
    SHAPE_PYRAMID,
    SHAPE_SPEAKER,
    SHAPE_MASK,
    SHAPE_FIGURE,
    SHAPE_APPLE,
    SHAPES,
    SHAPE_TABLE = SHAPES, /* the plane z = 0, below which all is solid */
    SHAPE_BALL /* what is in no library: a ball, a can and a box */,
    SHAPE_CAN,
    SHAPE_BOX
};

extern const char *const shape_name[SHAPES];

struct shape_place {
    enum shape shape;
    struct rigid T_wo;
};

/* A camera at `from` that looks at `at`, with the world's z up in its picture. */
struct rigid shape_camera(struct vec3 from, struct vec3 at);
/* One at azimuth and elevation (degrees) and a distance (metres) from a point. */
struct rigid shape_around(struct vec3 at, float azimuth, float elevation, float distance);
/* A turn about z by an angle (degrees), then a move. */
struct rigid shape_put(float degrees, float x, float y, float z);

/* depth [h][w] of n shapes seen by a camera; owner [h][w]: which of them, -1 = none; or NULL. */
void shape_draw(float *depth, int *owner, int w, int h, struct intrinsics K,
                const struct rigid *T_wc, const struct shape_place *place, int n);
void shape_noise(float *depth, int n, uint32_t seed);
