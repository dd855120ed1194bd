/*
 * describe.h - what is kept of a keyframe to recognise its place again
 *
 * Corners of a grey picture with a binary descriptor each, turned to the direction in which the
 * corner is brightest, at three sizes of the picture; and the depth there. Runs on the host with
 * either back end: it needs the decoded picture and the depth of a frame, both of which are there.
 * The same input gives the same bits.
 * Memory:  nothing is allocated; struct describe_room is scratch of one thread
 * Maths:   MATH.md (W1), (W2)
 * Cost:    4 ms for 320 x 240 on one core
 */
#pragma once

#include "gpu/tie/tie_params.h"
#include "proto/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DESCRIBE_CORNERS 320
#define DESCRIBE_WORDS 4          /* words of 64 bits of a descriptor */
#define DESCRIBE_LEVELS 3         /* sizes of the picture: 1, 0.71, 0.5 */
#define DESCRIBE_PIXELS (1 << 17) /* larger pictures are reduced by a whole number */
#define DESCRIBE_SIDE_LEAST 64    /* smaller ones have no corners */
#define DESCRIBE_GRID_W 32        /* depth kept over the whole picture */
#define DESCRIBE_GRID_H 24

struct describe_corner {
    float x, y;  /* pixels of K */
    float depth; /* metres, 0 = not known, or the corner is beside a step of depth */
    float sigma; /* deviation of its place, pixels, from the size that it was found at */
    uint64_t bits[DESCRIBE_WORDS];
};

struct describe_keyframe {
    struct intrinsics K;
    int w, h; /* sides of K's picture */
    int n;
    struct describe_corner corner[DESCRIBE_CORNERS]; /* strongest first */
    float depth[DESCRIBE_GRID_H * DESCRIBE_GRID_W];  /* metres at the middle of each cell, or 0 */
};

struct describe_picture {
    /* the colour picture's; grey is reduced by a whole number: describe_grey() */
    int width, height;
    struct intrinsics K;
    const uint8_t *grey; /* [grey_h][grey_w] */
    int grey_w, grey_h, shrunk;
    const float *depth; /* [depth_h][depth_w] metres along z, 0 or NAN = none: the same view */
    int depth_w, depth_h;
};

struct describe_room {
    uint8_t level[DESCRIBE_PIXELS], smooth[DESCRIBE_PIXELS];
    uint32_t sums[DESCRIBE_PIXELS];
    float response[DESCRIBE_PIXELS], tests[64 * DESCRIBE_WORDS][4];
};

/* Fills grey [DESCRIBE_PIXELS] and p's fields from rgb [height][width][3]. Cost: 0.3 ms for
 * 320 x 240 */
void describe_grey(struct describe_picture *p, uint8_t *grey, const uint8_t *rgb);

/* Fills *k. A picture without corners, or a small one, has n = 0. */
void describe_picture(struct describe_keyframe *k, struct describe_room *room,
                      const struct describe_picture *p, const struct tie_params *t);

/* Bits in which two descriptors differ, 0...256. */
GPU_HD static inline int describe_differ(const uint64_t *a, const uint64_t *b)
{
    uint64_t v[4], s, c, d, e;
    int n = 0;

    for (int i = 0; i < 4; i++)
        v[i] = a[i] ^ b[i];
    s = v[0] ^ v[1] ^ v[2];
    c = (v[0] & v[1]) | (v[2] & (v[0] ^ v[1]));
    d = s ^ v[3];
    e = s & v[3];
    v[0] = d, v[1] = c, v[2] = e;
    for (int i = 0; i < 3; i++) {
        uint64_t x = v[i] - ((v[i] >> 1) & 0x5555555555555555u);

        x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
        n += (int)((x * 0x0101010101010101u) >> 56) << (i > 0);
    }
    return n;
}

#ifdef __cplusplus
}
#endif
