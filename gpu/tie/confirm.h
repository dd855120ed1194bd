/*
 * confirm.h - were two keyframes taken at the same place, and how does one camera lie to the other?
 *
 * Corners are matched by their descriptors. The rigid motion is searched that explains most
 * matches: it takes each keyframe's corners, at their depth, to where the other sees them. Since
 * depth is inexact, an error along the line on which a corner moves with its depth counts less. In
 * the end the two depth pictures must not contradict each other. A missed tie does less harm than a
 * wrong one, so places that merely look alike fail.
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
    int n_matches, n_in;      /* matches by descriptors; those that the motion explains */
    int n_cells_a, n_cells_b; /* cells (of 8 x 6) with explained matches */
    float agree;              /* share of the depth seen by both that is alike */
    float log_ratio;          /* median ratio of depths: b's over a's */
    struct confirm_match in[DESCRIBE_CORNERS];
};

/* How many of a's strongest corners have a clear partner in b; it ranks candidates. Cost: 0.1 ms */
int confirm_alike(const struct describe_keyframe *a, const struct describe_keyframe *b,
                  const struct tie_params *p);

/* Returns whether they are confirmed; *r is filled in either way. Cost: 2 to 4 ms */
bool confirm_pair(struct confirm_result *r, const struct describe_keyframe *a,
                  const struct describe_keyframe *b, const struct tie_params *p);

/* Two confirmed keyframes of two submaps, each at its pose there. */
struct confirm_link {
    const struct describe_keyframe *a, *b;
    struct sim3 T_a, T_b; /* camera to world */
    const struct confirm_match *match;
    int n;
    const struct tie_params *p; /* the same in all links of a call */
};
/* (W6) The motion from a's submap to b's by all links together. In/out: *X. Returns how many
 * matches it explains. Cost: 3 us a match */
int confirm_together(struct sim3 *X, const struct confirm_link *links, int n);

#ifdef __cplusplus
}
#endif
