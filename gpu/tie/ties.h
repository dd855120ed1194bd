/*
 * ties.h - the keyframes of a session's worlds, and how the worlds lie to each other
 *
 * A world (submap) is where poses fit together. Keyframes of all worlds are kept with what
 * describe.h makes of them. One that is new is compared with all those of other worlds; those that
 * look most alike are confirmed by geometry (confirm.h). Two worlds are tied when two different
 * keyframes of each say the same of how they lie; one alone ties nothing. Where a world lies then
 * follows from all ties together (graph.h).
 * Threads: one, but for ties_save(); one mutex inside.
 * Memory:  ties_bytes() at most, in pieces of TIES_PIECE keyframes as they come
 * Maths:   MATH.md (W1)-(W8)
 */
#pragma once

#include "gpu/tie/confirm.h"
#include "proto/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIES_KEYFRAMES 384 /* kept; those that come later are not */
#define TIES_PIECE 16
#define TIES_WORLDS 256
#define TIES_PAIRS 192  /* confirmed pairs of keyframes kept */
#define TIES_OF_TWO 8   /* of them between two worlds: those of the most matches */
#define TIES_CLAIMS 256 /* what poses say of two worlds */

struct ties;

struct ties_keyframe {
    uint32_t world;
    struct rigid T_wc; /* in its world */
    struct describe_keyframe seen;
};

MUST_CHECK int ties_new(struct ties **t, const struct tie_params *params, struct err *err);
void ties_free(struct ties **t);
const struct tie_params *ties_params(const struct ties *t);
size_t ties_bytes(void);

/* The place of keyframe n, to be filled in; n is the number of those that are kept. NULL: there is
 * no room, or no memory. No other thread looks at it before it is told of n + 1. */
struct ties_keyframe *ties_room(struct ties *t, uint32_t n);

/*
 * ties_next - compares keyframe k with those before it; each k once, in order, by one thread
 *
 * Returns: whether two worlds are tied now that were not, or are by more
 * Cost:    0.3 ms a keyframe kept of another world, 15 ms for those that are looked at closely
 */
bool ties_next(struct ties *t, uint32_t k);

/* What is known otherwise: poses say that `world` lies in `parent`'s axes, about. */
struct ties_claim {
    uint32_t world, parent;
    struct rigid T_wc; /* a camera, the same in both */
    double sigma_m, sigma_rad;
    /* The path goes on from the one into the other; sigma is what it errs by along a world. What
     * both see where they meet says nothing of that, and their keyframes are not compared. */
    bool cut;
};
/* By the thread of ties_next(), before a keyframe of `world`. */
void ties_claim(struct ties *t, const struct ties_claim *claim);

/* Where a world lies in the session's. */
struct ties_place {
    bool fixed; /* in: it stays where it is */
    bool known; /* in: of a fixed one; out: of all that are tied to a fixed one */
    struct sim3 T;
};

/*
 * ties_solve - where all worlds lie that are tied to a fixed one, directly or by others
 *
 * In/out:  place [TIES_WORLDS]; those that nothing ties stay as they are
 * Returns: 0; ERR_MEMORY: place is not changed
 * Cost:    a second for 256 worlds that are all tied, 0.1 ms for two
 */
MUST_CHECK int ties_solve(struct ties *t, struct ties_place *place, struct err *err);

/*
 * ties_save / ties_load - keyframes, pairs and claims as bytes, and back into new ties
 *
 * In:      n: the first so many keyframes, of which no other thread writes; pairs of later ones are
 *          left out. Any thread.
 * Returns: 0; ERR_LIMIT: cap, for which ties_state_bytes(n) is enough at any time; ERR_INPUT: not
 *          such bytes, or a number that is none; ERR_MEMORY. After an error of ties_load(), which
 *          is given new ones, there are none.
 */
size_t ties_state_bytes(uint32_t n);
MUST_CHECK int ties_save(struct ties *t, uint32_t n, uint8_t *buf, size_t cap, size_t *len,
                         struct err *err);
MUST_CHECK int ties_load(struct ties *t, uint32_t *n, const uint8_t *buf, size_t len,
                         struct err *err);

#ifdef __cplusplus
}
#endif
