/*
 * scale_told.h - what a session says of its frames' scale, and how sure of it one can be
 *
 * A frame's depth is first what its picture alone says (a network, or a sensor). Tracks, where
 * poses are learned, and keyframes, with many views, measure how far things are: a frame's scale
 * is that over its own depth, in the middle. A frame that nothing measured says nothing.
 * Maths:   MATH.md (V15), (P4), (P11)
 */
#ifndef RECOND_DAEMON_SCALE_TOLD_H
#define RECOND_DAEMON_SCALE_TOLD_H

#include "api/api.h"
#include "gpu/gpu.h"

#define SCALE_TOLD_FRAMES 64 /* that the middle is of */

/* Zero: no frame was measured. */
struct scale_told {
    uint32_t n; /* so far */
    float scale[SCALE_TOLD_FRAMES], sigma[SCALE_TOLD_FRAMES];
};

/* Of one frame: its scale, and the standard error of ln of it. Returns false, 0 and 0 where nothing
 * was measured. */
bool scale_told_of(const struct gpu_result *r, float *scale, float *sigma);
/* A frame was used. */
void scale_told_note(struct scale_told *t, const struct gpu_result *r);
struct api_scale scale_told_say(const struct scale_told *t);

#endif
