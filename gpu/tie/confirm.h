/*
 * confirm.h - were two keyframes taken at the same place, and how does one camera lie to the other?
 *
 * Corners are matched by their descriptors. What is true of most matches is looked for: a rigid
 * motion under which the corners of one, at their depth, are seen where the other sees them, both
 * ways. The depth is not taken for exact: along the line on which a corner moves as its depth
 * changes its place is worth less. In the end the two depth pictures must not contradict each
 * other. Two places that look alike fail; that is worth more than a tie that is missed.
 * Frames:  the motion takes points of camera a to camera b, metres
 * Twins:   none: it runs on the host with either back end
 * Maths:   MATH.md (W3)-(W6)
 */
#pragma once

#include "gpu/tie/describe.h"
#include "proto/geom/sim3.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct confirm_match {
    uint16_t a, b; /* corners */
};

struct confirm_result {
    struct sim3 T_ba;         /* scale 1 */
    int n_matches, n_in;      /* by descriptors; of them those that the motion explains */
    int n_cells_a, n_cells_b; /* of 8 x 6 that those lie in */
    float agree;              /* share of the depth seen by both that is alike */
    float log_ratio;          /* of the depths, in the middle: b's over a's */
    struct confirm_match in[DESCRIBE_CORNERS];
};

/* How many of the strongest corners of a have a clear partner in b: what candidates are ranked
 * by. Cost: 0.1 ms */
int confirm_alike(const struct describe_keyframe *a, const struct describe_keyframe *b,
                  const struct tie_params *p);

/* Returns whether they are confirmed; *r is filled in either way. Cost: 2 to 4 ms */
bool confirm_pair(struct confirm_result *r, const struct describe_keyframe *a,
                  const struct describe_keyframe *b, const struct tie_params *p);

/* Two confirmed keyframes of two worlds, each at its pose there. */
struct confirm_link {
    const struct describe_keyframe *a, *b;
    struct sim3 T_a, T_b; /* camera to world */
    const struct confirm_match *match;
    int n;
    const struct tie_params *p; /* the same of all links that are looked at together */
};
/* (W6) What takes a's world to b's by all links together. In/out: *X. Returns how many matches it
 * explains. Cost: 3 us a match */
int confirm_together(struct sim3 *X, const struct confirm_link *links, int n);

#ifdef __cplusplus
}
#endif
