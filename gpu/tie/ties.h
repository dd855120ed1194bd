/*
 * ties.h - the keyframes of a session's submaps, and the submaps' relative poses
 *
 * Poses of one submap (a `world` in the code here) fit together. Keyframes of all submaps are kept
 * with what describe.h makes of them. A new one is compared with all those of other submaps, and
 * the most similar are confirmed by geometry (confirm.h). Two submaps are tied when two different
 * keyframes of each agree on their relative pose. All ties together place the submaps (graph.h).
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

#define TIES_KEYFRAMES 384 /* keyframes kept; later ones are not */
#define TIES_PIECE 16
#define TIES_WORLDS 256
#define TIES_PAIRS 192  /* confirmed pairs of keyframes kept */
#define TIES_OF_TWO 8   /* pairs kept between two submaps: those with most matches */
#define TIES_CLAIMS 256 /* claims kept */

struct ties;

struct ties_keyframe {
    uint32_t world;
    struct rigid T_wc; /* in its submap */
    struct describe_keyframe seen;
};

MUST_CHECK int ties_new(struct ties **t, const struct tie_params *params, struct err *err);
void ties_free(struct ties **t);
const struct tie_params *ties_params(const struct ties *t);
size_t ties_bytes(void);

/* The place of keyframe n, to be filled in; n keyframes are kept so far. NULL: there is no room, or
 * no memory. No other thread reads it before that thread is told of n + 1. */
struct ties_keyframe *ties_room(struct ties *t, uint32_t n);

/*
 * ties_next - compares keyframe k with those before it; each k once, in order, by one thread
 *
 * Returns: whether two submaps have a new or stronger tie
 * Cost:    0.3 ms a kept keyframe of another submap, 15 ms for those that are confirmed
 */
bool ties_next(struct ties *t, uint32_t k);

/* A claim from poses: `world` lies about in `parent`'s axes. */
struct ties_claim {
    uint32_t world, parent;
    struct rigid T_wc; /* a camera, the same in both */
    double sigma_m, sigma_rad;
    /* The path continues from `parent` into `world`; sigma is its error along a submap. What both
     * see where they meet does not show that error, so their keyframes are not compared. */
    bool cut;
};
/* By the thread of ties_next(), before a keyframe of `world`. */
void ties_claim(struct ties *t, const struct ties_claim *claim);

/* Where a submap lies in the session's world. */
struct ties_place {
    bool fixed; /* in: it stays where it is */
    bool known; /* in: of a fixed one; out: of all that are tied to one */
    struct sim3 T;
};

/*
 * ties_solve - places all submaps that are tied to a fixed one, directly or through others
 *
 * In/out:  place [TIES_WORLDS]; untied ones stay as they are
 * Returns: 0; ERR_MEMORY: place is not changed
 * Cost:    a second for 256 submaps that are all tied, 0.1 ms for two
 */
MUST_CHECK int ties_solve(struct ties *t, struct ties_place *place, struct err *err);

/*
 * ties_save / ties_load - keyframes, pairs and claims as bytes, and back into new ties
 *
 * In:      n: saves the first n keyframes, which no other thread writes; pairs of later ones are
 *          left out. Any thread.
 * Returns: 0; ERR_LIMIT: cap; ties_state_bytes(n) is always enough; ERR_INPUT: malformed bytes, or
 *          a number out of range; ERR_MEMORY. ties_load() fills new ties; after an error they are
 *          empty.
 */
size_t ties_state_bytes(uint32_t n);
MUST_CHECK int ties_save(struct ties *t, uint32_t n, uint8_t *buf, size_t cap, size_t *len,
                         struct err *err);
MUST_CHECK int ties_load(struct ties *t, uint32_t *n, const uint8_t *buf, size_t len,
                         struct err *err);

#ifdef __cplusplus
}
#endif
