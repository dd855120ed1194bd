/*
 * pair_place.h - places made of solids, drawn for a rig of two cameras that see all around, and how
 * far any point is from their surfaces
 *
 * `room` is that of tests/golden/panorama/room.inc, `market` that of market.inc: the same solids
 * with patterns of our own. Pictures carry noise of two levels either way, and no shadows.
 */
#ifndef RECOND_TESTS_PAIR_PLACE_H
#define RECOND_TESTS_PAIR_PLACE_H

#include "tests/support/pair_room.h"

#include <string.h>

enum pair_shape { PAIR_HALL, PAIR_BOX, PAIR_TUBE, PAIR_BALL };

/* Turned by `turn` degrees about `axis`, then moved to `at`. */
struct pair_solid {
    enum pair_shape shape;
    float at[3], half[3]; /* half sides; radius and half height of a tube; radius of a ball */
    int axis;
    float turn;
    float a[3], b[3]; /* colours of its pattern; alike: none */
    float grain;      /* length of the pattern's coarsest parts */
};

struct pair_place {
    const char *name;
    int n;
    int checkered; /* the floor has squares of half a metre */
    struct pair_solid solid[8];
};

static const struct pair_place pair_places[] = {
    {"room",
     3,
     1,
     {{PAIR_HALL,
       {0, 0, 1.5f},
       {2.5f, 2.5f, 1.5f},
       2,
       0,
       {.62f, .62f, .62f},
       {.62f, .62f, .62f},
       1},
      {PAIR_BOX,
       {-.8f, .6f, .75f},
       {.1f, .1f, .75f},
       2,
       0,
       {.1f, .65f, .15f},
       {.1f, .65f, .15f},
       1},
      {PAIR_BALL, {.7f, -.4f, .4f}, {.3f, 0, 0}, 2, 0, {.8f, .12f, .1f}, {.8f, .12f, .1f}, 1}}},
    {"market",
     8,
     0,
     {{PAIR_HALL, {0, 0, 1.5f}, {2.5f, 2.5f, 1.5f}, 2, 0, {.8f, .7f, .5f}, {.3f, .35f, .5f}, .45f},
      {PAIR_BOX, {.6f, .6f, .35f}, {.2f, .2f, .35f}, 2, 30, {.2f, .6f, .3f}, {.9f, .9f, .5f}, .2f},
      {PAIR_BOX,
       {-.7f, .2f, .6f},
       {.15f, .25f, .6f},
       2,
       -20,
       {.7f, .2f, .2f},
       {.9f, .8f, .7f},
       .2f},
      {PAIR_BOX, {.2f, -.8f, .2f}, {.3f, .2f, .2f}, 2, 0, {.2f, .3f, .8f}, {.8f, .8f, .9f}, .15f},
      {PAIR_BOX, {-.3f, 1.1f, .6f}, {.4f, .02f, .5f}, 0, 35, {.9f, .6f, .2f}, {.2f, .2f, .2f}, .2f},
      {PAIR_TUBE,
       {-.5f, -.7f, .5f},
       {.15f, .15f, .5f},
       2,
       0,
       {.5f, .2f, .6f},
       {.9f, .9f, .3f},
       .15f},
      {PAIR_BALL, {.2f, -.8f, .65f}, {.25f, 0, 0}, 2, 0, {.2f, .7f, .7f}, {.9f, .4f, .3f}, .15f},
      {PAIR_BALL, {1, 0, .3f}, {.3f, 0, 0}, 2, 0, {.3f, .8f, .2f}, {.7f, .2f, .6f}, .15f}}}};

/* ---------------------------------------------------------------------------- solids */

/* Between the axes of the world and of a solid; back: the other way. */
static inline void pair_turn(const struct pair_solid *s, float v[3], int back)
{
    const float angle = s->turn * 3.14159265f / 180 * (back ? 1.0f : -1.0f);
    const int i = (s->axis + 1) % 3, j = (s->axis + 2) % 3;
    float c = cosf(angle), n = sinf(angle), x = v[i], y = v[j];
    if (s->turn == 0)
        return;
    v[i] = c * x - n * y;
    v[j] = n * x + c * y;
}

static inline void pair_into(const struct pair_solid *s, struct vec3 p, float out[3])
{
    out[0] = p.x - s->at[0];
    out[1] = p.y - s->at[1];
    out[2] = p.z - s->at[2];
    pair_turn(s, out, 0);
}

/* Signed distance, negative inside; of a hall negative outside of it. */
static inline float pair_outside(const struct pair_solid *s, struct vec3 p)
{
    float q[3], in = -1e9f, out = 0;
    pair_into(s, p, q);
    if (s->shape == PAIR_BALL)
        return sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]) - s->half[0];
    if (s->shape == PAIR_TUBE) {
        q[0] = sqrtf(q[0] * q[0] + q[1] * q[1]);
        q[1] = 0;
    }
    for (int i = 0; i < 3; i++) {
        float d = fabsf(q[i]) - s->half[i];
        if (s->shape == PAIR_TUBE && i == 1)
            continue;
        in = fmaxf(in, d);
        out += d > 0 ? d * d : 0;
    }
    in = in > 0 ? sqrtf(out) : in;
    return s->shape == PAIR_HALL ? -in : in;
}

/* Where a ray that begins outside a ball, or a tube's side, meets it; 1e9: nowhere. */
static inline float pair_round(const float o[3], const float d[3], int n, float radius)
{
    float a = 0, b = 0, c = -radius * radius, root;
    for (int i = 0; i < n; i++) {
        a += d[i] * d[i];
        b += o[i] * d[i];
        c += o[i] * o[i];
    }
    root = b * b - a * c;
    return root > 0 && b < 0 ? (-b - sqrtf(root)) / a : 1e9f;
}

static inline float pair_flat(const struct pair_solid *s, const float o[3], const float d[3])
{
    float near = 0, far = 1e9f;
    for (int i = 0; i < 3; i++) {
        float a = (-s->half[i] - o[i]) / d[i], b = (s->half[i] - o[i]) / d[i];
        near = fmaxf(near, fminf(a, b));
        far = fminf(far, fmaxf(a, b));
    }
    if (s->shape == PAIR_HALL)
        return far;
    return near < far && near > 0 ? near : 1e9f;
}

static inline float pair_meet(const struct pair_solid *s, struct vec3 at, struct vec3 ray)
{
    float o[3], d[3] = {ray.x, ray.y, ray.z}, t, z;
    pair_into(s, at, o);
    pair_turn(s, d, 0);
    if (s->shape == PAIR_BALL)
        return pair_round(o, d, 3, s->half[0]);
    if (s->shape != PAIR_TUBE)
        return pair_flat(s, o, d);
    t = pair_round(o, d, 2, s->half[0]);
    z = o[2] + t * d[2];
    if (t < 1e9f && fabsf(z) <= s->half[2])
        return t;
    t = ((d[2] > 0 ? -s->half[2] : s->half[2]) - o[2]) / d[2];
    z = (o[0] + t * d[0]) * (o[0] + t * d[0]) + (o[1] + t * d[1]) * (o[1] + t * d[1]);
    return t > 0 && z <= s->half[0] * s->half[0] ? t : 1e9f;
}

/* The first solid that a ray meets, *t times its length away. */
static inline int pair_place_meet(const struct pair_place *place, struct vec3 at, struct vec3 ray,
                                  float *t)
{
    int first = 0;
    *t = 1e9f;
    for (int i = 0; i < place->n; i++) {
        float one = pair_meet(&place->solid[i], at, ray);
        if (one < *t) {
            *t = one;
            first = i;
        }
    }
    return first;
}

/* ---------------------------------------------------------------------------- pictures */

static inline uint32_t pair_hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 0x9e3779b1u ^ b * 0x85ebca77u ^ c * 0xc2b2ae3du;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return h ^ h >> 15;
}

/* Noise between lattice points, 0 ... 1. */
static inline float pair_lattice(float x, float y, float z)
{
    const float q[3] = {x, y, z};
    float rest[3], sum = 0;
    int at[3];
    for (int i = 0; i < 3; i++) {
        at[i] = (int)floorf(q[i]);
        rest[i] = q[i] - (float)at[i];
        rest[i] = rest[i] * rest[i] * (3 - 2 * rest[i]);
    }
    for (int k = 0; k < 8; k++) {
        float w = 1;
        for (int i = 0; i < 3; i++)
            w *= k >> i & 1 ? rest[i] : 1 - rest[i];
        sum += w * (float)(pair_hash((uint32_t)(at[0] + (k & 1)), (uint32_t)(at[1] + (k >> 1 & 1)),
                                     (uint32_t)(at[2] + (k >> 2))) &
                           1023);
    }
    return sum / 1023;
}

static inline void pair_paint(const struct pair_place *place, int first, struct vec3 p, float c[3])
{
    const struct pair_solid *s = &place->solid[first];
    float light = .3f, mix = 0, share = .5f, size = 1 / s->grain;
    int striped = memcmp(s->a, s->b, sizeof s->a) != 0;
    light += .9f / (1 + .4f * vec3_norm2(vec3_sub(p, vec3_make(.9f, .7f, 2.8f))));
    light += .7f / (1 + .4f * vec3_norm2(vec3_sub(p, vec3_make(-1.3f, -.8f, 2.7f))));
    for (int i = 0; i < 4 && striped; i++) {
        mix += share * pair_lattice(p.x * size + 7, p.y * size + 31, p.z * size + 3);
        share *= .5f;
        size *= 2.3f;
    }
    for (int i = 0; i < 3; i++)
        c[i] = light * (s->a[i] + (s->b[i] - s->a[i]) * fminf(1, fmaxf(0, 2.5f * mix - .7f)));
    if (place->checkered && first == 0 && p.z < .01f)
        for (int i = 0; i < 3; i++)
            c[i] = light * (((int)floorf(2 * p.x) + (int)floorf(2 * p.y)) % 2 ? .2f : .85f);
}

/* [h][w][3]; each pixel is the mean of four rays, and black beyond the mirror. */
static inline void pair_place_draw(const struct pair_place *place, uint8_t *rgb, int w, int h,
                                   const struct lens *l, struct intrinsics K,
                                   const struct rigid *T_wc)
{
    const struct vec3 at = vec3_make(T_wc->t[0], T_wc->t[1], T_wc->t[2]);
    for (int v = 0; v < h; v++)
        for (int u = 0; u < w; u++) {
            uint8_t *out = rgb + 3 * ((size_t)v * (size_t)w + (size_t)u);
            float sum[3] = {0, 0, 0}, t = 0, c[3];
            struct vec3 ray;
            memset(out, 0, 3);
            for (int k = 0; k < 4; k++) {
                float x = (float)u + ((float)(k & 1) - .5f) * .5f;
                float y = (float)v + ((float)(k >> 1) - .5f) * .5f;
                int first;
                if (!lens_ray(l, K, x, y, &ray))
                    break;
                ray = vec3_sub(rigid_apply(T_wc, ray), at);
                first = pair_place_meet(place, at, ray, &t);
                pair_paint(place, first,
                           vec3_make(at.x + t * ray.x, at.y + t * ray.y, at.z + t * ray.z), c);
                for (int i = 0; i < 3; i++)
                    sum[i] += c[i] * 63.75f;
            }
            for (int i = 0; i < 3 && sum[i] > 0; i++) {
                uint32_t lot = pair_hash((uint32_t)u, (uint32_t)v, (uint32_t)(i + 1000 * t));
                float level = sum[i] + (float)(lot % 401) / 100.0f - 2.0f;
                out[i] = (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
            }
        }
}

#endif
