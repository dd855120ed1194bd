/*
 * sample.h - slow sweeps look at a part of their cases in `make check`, and at all of them on
 * demand
 *
 * FULL=1 (`make check-full`) runs the whole sweep. Else SEED=n (1) decides which cases are taken,
 * so a failure can be had again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool sample_full(void)
{
    const char *text = getenv("FULL");

    return text && text[0] == '1';
}

/* A sanitizer looks at memory and threads, for which a few cases of a kind are enough, and takes
 * several times as long for each. */
static inline bool sample_sanitized(void)
{
    const char *mode = getenv("MODE"); /* from tests/run */

    return mode && (strcmp(mode, "asan") == 0 || strcmp(mode, "tsan") == 0);
}

/* The seed, which is printed. */
static inline uint32_t sample_seed(void)
{
    const char *text = getenv("SEED");
    uint32_t seed = text && *text ? (uint32_t)strtoul(text, NULL, 10) : 1;

    if (!sample_full())
        printf("# a sample with SEED=%u; FULL=1 runs all\n", seed);
    return seed;
}

/* Is case number i among one in `of`, drawn with this seed? With FULL=1 every case is. */
static inline bool sample_takes(uint32_t seed, uint64_t i, uint32_t of)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ seed * 0xd1b54a32d192ed03u;

    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return sample_full() || (x >> 32) % of == 0;
}
