/*
 * views_told.h - do the poses of a session fit its pictures?
 *
 * The verdict on a source follows from the figures of its frames (struct gpu_views):
 *   waiting         too few keyframes that are far enough apart have been matched
 *   poses_disagree  poses stood still while pictures changed; or matches of most keyframes do not
 *                   confirm each other; or they measure depths a quarter larger or smaller than the
 *                   network's
 *   ok              else
 * Maths:   MATH.md (V14)-(V16)
 */
#pragma once

#include "api/api.h"
#include "gpu/gpu.h"

#define VIEWS_TOLD_FROZEN 20     /* frames in a row */
#define VIEWS_TOLD_JUDGED 6      /* keyframes that are needed */
#define VIEWS_TOLD_SOUND_OF 3    /* one of so many keyframes, at least, is sound */
#define VIEWS_TOLD_SCALE 0.3219f /* log2 1.25 */
#define VIEWS_TOLD_FRAMES 16     /* frames of the scale's running mean */

struct views_told {
    struct gpu_views last;
    bool has_scale;
    float log_scale;
};

/* Adds a used frame. */
void views_told_note(struct views_told *t, const struct gpu_views *now);
/* Fills the verdict; on: the session's option. */
struct api_views views_told_say(const struct views_told *t, bool on);
/* Joins the verdicts of n sources: a source whose poses disagree decides, else one that is ok.
 * Keyframes add up, other figures are those of the first source of that state. */
struct api_views views_told_all(const struct api_views *said, int n);
