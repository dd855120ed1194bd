/*
 * jump.h - a pose that a camera cannot have reached: its tracker relocated
 *
 * A tracker that was lost for a moment continues in a shifted world, and not all trackers say so
 * (world_epoch). Earlier and later pictures do not fit then. A hand moves a camera with bounded
 * acceleration: its position and its rotation after dt follow from those before and from the speed,
 * up to the acceleration's share.
 * Owner:   a session, one for each source, under whose lock all calls are made
 */
#pragma once

#include "proto/types.h"

#include <stdbool.h>
#include <stdint.h>

#define JUMP_LEAST_M 0.15f      /* metres: a shorter step is never a jump */
#define JUMP_LEAST_RAD 0.5f     /* radians: nor is a smaller rotation */
#define JUMP_ACCELERATION 20.0f /* m/s^2, the most of a hand */
#define JUMP_SPINNING 40.0f     /* rad/s^2 */

/* Zero: no pose was seen. */
struct jump {
    bool any, moving; /* moving: the step before is known */
    uint32_t epoch;   /* world_epoch of the poses; set by the caller */
    struct rigid last;
    uint64_t t_ns;
    float v[3], spin; /* m/s and rad/s */
    float way;        /* metres since the last jump or jump_cut() */
};

/* A frame with this pose was taken; t_ns on its source's clock. Returns whether it jumped from the
 * one before. A repeated or an earlier frame is no jump and changes nothing. */
bool jump_note(struct jump *j, const struct rigid *T_wc, uint64_t t_ns);

/* Has it moved so far that another submap begins? Then its way counts from 0 again. The error of a
 * path grows with its length: ties can correct it between two submaps, not within one. */
bool jump_cut(struct jump *j, float submap_m);

/* As bytes, and back. jump_get() returns false if they are not valid, and *j is zero then. */
#define JUMP_BYTES 88
void jump_put(uint8_t out[JUMP_BYTES], const struct jump *j);
bool jump_get(struct jump *j, const uint8_t in[JUMP_BYTES]);
