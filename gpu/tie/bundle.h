/*
 * bundle.h - the poses of all keyframes once more, by all that they see of each other
 *
 * While a session runs, worlds move as wholes (ties.h). When it has ended its keyframes are
 * bundled: each is compared with those that its path passed long before, and with those of other
 * worlds; pairs that are confirmed, and that another pair supports, are edges of a graph, and the
 * path from keyframe to keyframe is the rest of its edges. Where pictures say no more than that the
 * poses are as right as pictures can tell, nothing is changed.
 * Frames:  poses of keyframes are camera to world, each in its own world, before and after
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
    BUNDLE_UNSEEN,    /* fewer than four pairs say that a place was seen again */
    BUNDLE_RIGHT,     /* pairs agree with the poses within what they are known to */
    BUNDLE_CONTRARY,  /* pairs contradict each other: the poses stay */
    BUNDLE_CORRECTED, /* poses are others */
    BUNDLE_NO_MEMORY
};

struct bundle_result {
    enum bundle_end end;
    uint32_t n_keyframes, n_pairs; /* n_pairs: those that others support */
    float moved_m, moved_rad;      /* the most of a keyframe */
    float off_before, off_after;   /* median of the pairs, in their deviations */
};

/*
 * bundle_new - begins with the first n keyframes of ties, which nothing changes until the end
 *
 * In:      place [TIES_WORLDS]: where worlds lie; those that are neither fixed nor known are
 *          bundled by themselves
 * Returns: 0; ERR_MEMORY
 */
MUST_CHECK int bundle_new(struct bundle **b, struct ties *t, uint32_t n,
                          const struct ties_place *place, struct err *err);
void bundle_free(struct bundle **b);

/* One more step. Returns false when there is none left. */
bool bundle_step(struct bundle *b);

/* After the last step. */
void bundle_tell(const struct bundle *b, struct bundle_result *r);
/* The corrected pose of keyframe k: as it was where `end` is not BUNDLE_CORRECTED. */
void bundle_pose(const struct bundle *b, uint32_t k, struct rigid *T_wc);

#ifdef __cplusplus
}
#endif
