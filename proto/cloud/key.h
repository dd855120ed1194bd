/*
 * key.h - a point of the cloud as 64 bits, and the block of space that it lies in
 *
 * A point is a quantised world position p_q = round(p / step) (int32 each axis), a normal, a colour
 * and a confidence. Space is cut into blocks of 1024^3 steps (1.024 m at the default step of 1 mm),
 * named by submap and block coordinates floor(p_q / 1024). Inside a block a point is the key
 *
 *     key = morton(x, y, z) << 34 | normal << 22 | r << 16 | g << 10 | b << 4 | confidence
 *
 * where x, y, z = p_q mod 1024 and morton() interleaves ten bits each (bit 3i = x, 3i+1 = y, 3i+2 =
 * z), the normal is a code of proto/geom/octa.h, colours have six bits and the confidence four.
 * Ids are not needed: two points with equal keys are the same to every client.
 */
#ifndef RECOND_PROTO_KEY_H
#define RECOND_PROTO_KEY_H

#include "proto/bytes.h"

#include <stdbool.h>

#define KEY_BLOCK_BITS 10
#define KEY_BLOCK_STEPS (1 << KEY_BLOCK_BITS)
#define KEY_CONFIDENCE_BITS 4
#define KEY_COLOUR_BITS 6
#define KEY_NORMAL_BITS 12
/* position of blue in the key; green and red stand above it */
#define KEY_COLOUR_AT KEY_CONFIDENCE_BITS
#define KEY_NORMAL_AT (KEY_COLOUR_AT + 3 * KEY_COLOUR_BITS) /* 22 */
#define KEY_MORTON_AT (KEY_NORMAL_AT + KEY_NORMAL_BITS)     /* 34 */
#define KEY_CONFIDENCE_MAX ((1u << KEY_CONFIDENCE_BITS) - 1)
#define KEY_BLOCK_MIN (-(1 << 21)) /* block coordinates that 32-bit positions reach */
#define KEY_BLOCK_MAX ((1 << 21) - 1)

struct cloud_name {
    uint32_t submap;
    int32_t x, y, z; /* block coordinates */
};

/* What a point shows besides its place. */
struct key_look {
    uint8_t rgb[3];     /* colours of a key, multiples of four */
    uint8_t confidence; /* at most KEY_CONFIDENCE_MAX */
    uint16_t normal;    /* of proto/geom/octa.h, 0 = none */
};

/* spreads ten bits of each coordinate to 30 */
uint32_t key_morton(uint32_t x, uint32_t y, uint32_t z);
/* Makes a point's key in its block; colours are rounded to KEY_COLOUR_BITS. */
uint64_t key_make(const int32_t p_q[3], const struct key_look *look);
struct key_look key_look(uint64_t key);
/* Gives the world position of a block's key, in steps. */
void key_position(struct cloud_name name, uint64_t key, int32_t p_q[3]);

/* Write and read the 16 bytes of a name in messages and states. key_get_name() returns whether
 * points can have the coordinates. */
void key_put_name(struct bytes_writer *w, const struct cloud_name *name);
bool key_get_name(struct bytes_reader *r, struct cloud_name *name);
/* Orders names by submap, then x, y, z. Returns a number below 0, 0 or above 0. */
int key_compare_names(const struct cloud_name *a, const struct cloud_name *b);

/* The mixing step of splitmix64: each input bit changes half of the output bits. */
uint64_t key_mix64(uint64_t v);
/* Returns the next random number of splitmix64; any state begins a sequence. */
uint64_t key_random(uint64_t *state);

#endif
