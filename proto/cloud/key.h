/*
 * key.h - a point of the cloud as 64 bits, and the block of space that it lies in
 *
 * A point is a quantised world position p_q = round(p / step) (int32 each axis), a colour and a
 * confidence. Space is cut into blocks of 1024^3 steps (1.024 m at the default step of 1 mm), named
 * by submap and block coordinates floor(p_q / 1024). Inside a block a point is the key
 *
 *     key = morton(x, y, z) << 32 | r << 24 | g << 16 | b << 8 | confidence
 *
 * where x, y, z = p_q mod 1024 and morton() interleaves ten bits each (bit 3i = x, 3i+1 = y, 3i+2 =
 * z). Ids are not needed: two points with equal keys are the same to every client.
 */
#ifndef RECOND_PROTO_KEY_H
#define RECOND_PROTO_KEY_H

#include "proto/bytes.h"

#include <stdbool.h>

#define KEY_BLOCK_BITS 10
#define KEY_BLOCK_STEPS (1 << KEY_BLOCK_BITS)
#define KEY_COLOUR_BITS 6
#define KEY_BLOCK_MIN (-(1 << 21)) /* block coordinates that 32-bit positions can have */
#define KEY_BLOCK_MAX ((1 << 21) - 1)

struct cloud_name {
    uint32_t submap;
    int32_t x, y, z; /* block coordinates */
};

uint8_t key_colour(uint8_t channel);                     /* rounded to KEY_COLOUR_BITS */
uint32_t key_morton(uint32_t x, uint32_t y, uint32_t z); /* ten bits each -> 30 */
/* World position of a key of a block, in steps. */
void key_position(struct cloud_name name, uint64_t key, int32_t p_q[3]);

/* The 16 bytes of a name in messages and states. get returns whether points can have the
 * coordinates. */
void key_put_name(struct bytes_writer *w, const struct cloud_name *name);
bool key_get_name(struct bytes_reader *r, struct cloud_name *name);

/* splitmix64's step: each bit of v changes half of the bits that are answered. */
uint64_t key_mix64(uint64_t v);
/* The next of splitmix64's random numbers; any state begins a sequence. */
uint64_t key_random(uint64_t *state);

#endif
