/*
 * convention.h - do poses mean what they should, and what do they mean if not?
 *
 * Two keyframes of the same place show how the camera moved between them (confirm.h), and so do
 * their poses, read in some convention. A convention is taken where most moves agree with it and
 * less than half as many agree with the poses as they came.
 * Frames:  poses camera to world, camera x right, y down, z forward, metres, as they should be
 * Twins:   none: it runs on the host with either back end
 * Maths:   MATH.md (W9)
 */
#pragma once

#include "gpu/tie/small.h"
#include "gpu/tie/tie_params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum convention {
    CONVENTION_GIVEN,       /* as they should be, or not known yet */
    CONVENTION_INVERSE,     /* world to camera */
    CONVENTION_OPENGL,      /* camera y up, z backward */
    CONVENTION_MIRRORED,    /* left-handed: y up, z forward */
    CONVENTION_MILLIMETRES, /* lengths in millimetres */
    CONVENTIONS
};

/* Zero: nothing was seen. */
struct convention_votes {
    uint32_t n, of[CONVENTIONS]; /* moves; those that agree with each reading */
};

/* The camera moved from a to b: T_ba, from pictures, takes points of a to b; T_a and T_b are poses
 * as they came. Returns false if the move is too small to count. */
bool convention_note(struct convention_votes *v, const struct sim3 *T_ba, const struct rigid *T_a,
                     const struct rigid *T_b, const struct tie_params *p);
enum convention convention_of(const struct convention_votes *v, const struct tie_params *p);
/* A sentence for the user; "" for CONVENTION_GIVEN. */
const char *convention_text(enum convention c);

#ifdef __cplusplus
}
#endif
