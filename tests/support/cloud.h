/*
 * cloud.h - what the tests of the mirror share: a small cloud, random numbers, the hash as
 * PROTOCOL.md has it
 */
#ifndef RECOND_TESTS_SUPPORT_CLOUD_H
#define RECOND_TESTS_SUPPORT_CLOUD_H

#include <stdlib.h>
#include <string.h>

#include "proto/cloud/cloud.h"
#include "tests/support/unit.h"

#define SLOTS 3000u

static const struct cloud_limits small_limits = {.max_blocks = 64, .max_points = SLOTS};

static uint64_t random_state = 1;

static inline uint32_t rnd(uint32_t below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((random_state >> 33) % below);
}

static inline uint64_t mix64(uint64_t v)
{
    v += 0x9e3779b97f4a7c15ull;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
    return v ^ (v >> 31);
}

/* A normal for points of tests, so that all of a key takes part. */
static inline uint16_t normal_for(const uint8_t rgb[3], uint8_t conf)
{
    return (uint16_t)((rgb[0] * 37u + rgb[2] + 91u * conf) & 0xfff);
}

static inline int stage_put(struct cloud *c, uint32_t slot, uint32_t submap, const int32_t p[3],
                            const uint8_t rgb[3], uint8_t conf, struct err *err)
{
    struct key_look look = {{rgb[0], rgb[1], rgb[2]}, conf, normal_for(rgb, conf)};

    return cloud_stage_put(c, slot, submap, p, &look, err);
}

/* The hash as PROTOCOL.md states it, from positions, without anything of cloud.c. */
static inline uint64_t hash_point(uint32_t submap, const int32_t p[3], const uint8_t rgb[3],
                                  uint8_t conf)
{
    uint64_t m = 0, name, key;
    int32_t b[3];

    for (int i = 0; i < 3; i++) {
        int32_t in = p[i] % 1024 < 0 ? p[i] % 1024 + 1024 : p[i] % 1024;

        b[i] = (p[i] - in) / 1024;
        for (int bit = 0; bit < 10; bit++)
            m |= (uint64_t)((in >> bit) & 1) << (3 * bit + i);
    }
    key = m << 34 | (uint64_t)normal_for(rgb, conf) << 22 | conf;
    for (int i = 0; i < 3; i++)
        key |= (uint64_t)(rgb[i] >= 250 ? 63 : (rgb[i] + 2) / 4) << (16 - 6 * i);
    name = mix64(submap | (uint64_t)(uint32_t)b[0] << 32) ^
           ((uint64_t)(uint32_t)b[1] | (uint64_t)(uint32_t)b[2] << 32);
    return mix64(key ^ mix64(name));
}

static inline void put(struct cloud *c, uint32_t slot, int32_t x, int32_t y, int32_t z,
                       uint8_t shade)
{
    int32_t p[3] = {x, y, z};
    uint8_t rgb[3] = {shade, (uint8_t)(shade + 1), (uint8_t)(shade + 2)};

    assert_int_equal(stage_put(c, slot, 0, p, rgb, 7, NULL), 0);
}

static inline uint64_t commit(struct cloud *c)
{
    const uint32_t *changed;
    uint32_t n;

    return cloud_commit(c, &changed, &n);
}

static inline struct cloud *cloud(void)
{
    struct cloud *c;

    assert_int_equal(cloud_new(&c, &small_limits, NULL), 0);
    return c;
}

#endif
