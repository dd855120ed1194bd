/*
 * place.h - places that are drawn with exact depth: what a camera on a walk through them would see
 *
 * A place is a list of things in soft light: rooms seen from inside, boxes, upright drums, balls. A
 * thing's faces are painted by noise and by pictures, which are functions of the place on the face,
 * so they look alike from everywhere; paint leaves out what is finer than a pixel. Light is that of
 * lamps with an area and of the surroundings, computed once for each 5 cm of a face.
 *
 * Frames:  world x right, y up, z towards the first room's back; cameras x right, y down, z forward
 * Units:   metres
 */
#pragma once

#include "proto/types.h"

#define PLACE_THINGS_MAX 160
#define PLACE_LAMPS_MAX 4
#define PLACE_STOPS_MAX 12

enum place_look {
    PLACE_PLASTER,
    PLACE_WOOD,
    PLACE_PLANKS,
    PLACE_CARPET,
    PLACE_TILES,
    PLACE_POSTER,
    PLACE_BOOKS,
    PLACE_CLOTH
};

struct place_paint {
    enum place_look look;
    float rgb[3]; /* 0...1, how much of the light comes back */
    uint32_t seed;
};

enum place_kind { PLACE_ROOM, PLACE_BOX, PLACE_DRUM, PLACE_BALL };

/* Faces: -x +x -y +y -z +z; a drum's side is face 0, a ball has that alone. */
struct place_thing {
    enum place_kind kind;
    struct vec3 centre, half; /* half.x: radius */
    float yaw, c, s;          /* about y, radians; its cosine and sine */
    struct place_paint paint[6];
    float *light[6]; /* [rows][columns][3] */
    int columns[6], rows[6];
};

struct place_lamp {
    struct vec3 centre, u, v; /* half sides */
    float rgb[3];             /* times its area */
};

/* Where the camera is at equal times, and what it looks at. */
struct place_stop {
    struct vec3 eye, at;
};

struct place {
    struct place_thing thing[PLACE_THINGS_MAX];
    struct place_lamp lamp[PLACE_LAMPS_MAX];
    struct place_stop stop[PLACE_STOPS_MAX];
    float around; /* light that comes from everywhere */
    int n_things, n_lamps, n_stops;
};

/* name: room, corridor, desk. Returns 0, or -1: there is no such place. (place_list.c) */
int place_list_make(struct place *p, const char *name);

/* The colour of a face at u, v; half: half sides of the face; what is finer than `blur` is left
 * out. (place_paint.c) */
void place_paint_at(float rgb[3], const struct place_paint *paint, float u, float v,
                    const float half[2], float blur);

/* place_ray.c */
struct place_hit {
    const struct place_thing *thing;
    int face;
    float t, u, v; /* along the ray; on the face, from its middle */
    struct vec3 normal;
};
/* The first of the listed things (NULL: all of them) that a ray meets at t > 0; 0: none. */
int place_ray(const struct place *p, struct place_hit *hit, struct vec3 from, struct vec3 along,
              const uint8_t *list, int n);
/* Computes the light of all faces. Returns 0, or -1: no memory. */
int place_light(struct place *p);
void place_light_free(struct place *p);
void place_light_at(float rgb[3], const struct place_hit *hit);

/* rgb [h][w][3], depth [h][w] millimetres along z (place_draw.c) */
void place_draw(uint8_t *rgb, uint16_t *depth, const struct place *p, const struct rigid *T_wc,
                struct intrinsics K, int w, int h, uint32_t seed);

/* Hashes to 0...1. */
static inline float place_hash(int x, int y, uint32_t seed)
{
    uint32_t h = (uint32_t)x * 0x8da6b343u ^ (uint32_t)y * 0xd8163841u ^ seed * 0xcb1ab31fu;

    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return (float)((h ^ h >> 15) >> 8) * (1.0f / 16777216);
}
