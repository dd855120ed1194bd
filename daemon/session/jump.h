/*
 * jump.h - a pose that a camera cannot have come to: its tracker found itself elsewhere
 *
 * A tracker that has lost itself for a moment goes on in a world that is shifted, and not all of
 * them say so (world_epoch). What was seen before and what is seen now do not fit then. A hand
 * that carries a camera goes on about as it went: where it is after dt follows from where it was
 * and how fast it went, but for what its acceleration makes of dt, and so for its turns.
 * Owner:   a session, one for each source, under whose lock all calls are made
 */
#ifndef RECOND_DAEMON_JUMP_H
#define RECOND_DAEMON_JUMP_H

#include "proto/types.h"

#include <stdbool.h>
#include <stdint.h>

#define JUMP_LEAST_M 0.15f      /* below, a step is none whatever it took */
#define JUMP_LEAST_RAD 0.5f     /* and a turn */
#define JUMP_ACCELERATION 20.0f /* m/s^2 that a hand may have */
#define JUMP_TURNING 40.0f      /* rad/s^2 */

/* Zero: no pose was seen. */
struct jump {
    bool any, moving; /* moving: the step before is known */
    uint32_t epoch;   /* of the poses' world; the caller's */
    struct rigid last;
    uint64_t t_ns;
    float v[3], turn; /* metres and radians a second */
    float way;        /* metres gone since the last jump, or since jump_cut() */
};

/* A frame was taken, with this pose; t_ns on its source's clock. Returns whether it is a jump from
 * the one before. The same frame again, or an earlier one, is none and changes nothing. */
bool jump_note(struct jump *j, const struct rigid *T_wc, uint64_t t_ns);

/* Has it gone so far that another submap begins? Then its way is counted anew. What a path errs by
 * grows with its length: within a submap it stays, between two of them it can be taken back. */
bool jump_cut(struct jump *j, float submap_m);

/* As bytes, and back. jump_get() returns false if they are none, and *j is zero then. */
#define JUMP_BYTES 88
void jump_put(uint8_t out[JUMP_BYTES], const struct jump *j);
bool jump_get(struct jump *j, const uint8_t in[JUMP_BYTES]);

#endif
