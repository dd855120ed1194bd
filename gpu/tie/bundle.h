/*
 * bundle.h - corrects the poses of all keyframes by what they see of each other
 *
 * While a session runs, submaps move as wholes (ties.h). When it has ended its keyframes are
 * bundled: each is compared with much earlier ones of its path and with those of other submaps.
 * Confirmed pairs that another pair supports, and the path from keyframe to keyframe, are the edges
 * of a graph. Poses that agree with the pictures as far as these can tell stay unchanged.
 * Frames:  keyframes' poses are camera to world, each in its own submap, before and after
 * Runs:    on the host, in steps, by one thread: the same keyframes give the same poses, bit by bit
 * Memory:  0.6 MB, and while the graph is solved what graph.h says: 22 MB at most
 * Cost:    a step takes 0.15 s at most, or one round of the graph; all steps of 384 keyframes 40 s
 *          at most, 10 s of a walk of one loop
 * Maths:   MATH.md (W10)-(W13)
 */
#pragma once

#include "gpu/tie/ties.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BUNDLE_PAIRS 1024 /* confirmed ones that are kept */

struct bundle;

enum bundle_end {
    BUNDLE_UNSEEN,    /* fewer than four pairs show a place again */
    BUNDLE_RIGHT,     /* pairs agree with the poses within their accuracy */
    BUNDLE_CONTRARY,  /* pairs contradict each other: the poses stay */
    BUNDLE_CORRECTED, /* poses have changed */
    BUNDLE_NO_MEMORY
};

struct bundle_result {
    enum bundle_end end;
    uint32_t n_keyframes, n_pairs; /* n_pairs: pairs that others support */
    float moved_m, moved_rad;      /* largest move of a keyframe */
    float off_before, off_after;   /* median error of the pairs, in their deviations */
};

/*
 * bundle_new - begins with the first n keyframes of ties, which must not change until the end
 *
 * In:      place [TIES_WORLDS]: where submaps lie; one that is neither fixed nor known is bundled
 *          by itself
 * Returns: 0; ERR_MEMORY
 */
MUST_CHECK int bundle_new(struct bundle **b, struct ties *t, uint32_t n,
                          const struct ties_place *place, struct err *err);
void bundle_free(struct bundle **b);

/* One more step. Returns false when there is none left. */
bool bundle_step(struct bundle *b);

/* After the last step. */
void bundle_tell(const struct bundle *b, struct bundle_result *r);
/* The corrected pose of keyframe k; the old one unless `end` is BUNDLE_CORRECTED. */
void bundle_pose(const struct bundle *b, uint32_t k, struct rigid *T_wc);

#ifdef __cplusplus
}
#endif
