/*
 * scale_told.h - the scale of a session's frames, and its standard error
 *
 * A network or a sensor gives a frame's depth. Tracks, where poses are learned, and keyframes, with
 * many views, measure depths too: a frame's scale is the median of those over its own. A frame
 * without such measurements has no scale.
 * Maths:   MATH.md (V15), (P4), (P11)
 */
#pragma once

#include "api/api.h"
#include "gpu/gpu.h"

#define SCALE_TOLD_FRAMES 64 /* frames of the median */

/* Zero: no frame was measured. */
struct scale_told {
    uint32_t n; /* so far */
    float scale[SCALE_TOLD_FRAMES], sigma[SCALE_TOLD_FRAMES];
};

/* Fills a frame's scale and the standard error of its ln. False, 0 and 0: nothing was measured. */
bool scale_told_of(const struct gpu_result *r, float *scale, float *sigma);
/* Adds a used frame. */
void scale_told_note(struct scale_told *t, const struct gpu_result *r);
struct api_scale scale_told_say(const struct scale_told *t);
