/*
 * views_told.h - what a session says of its many views: do the poses fit the pictures?
 *
 * Made of each source from what the device tells with each of its frames (struct gpu_views), by
 * these rules:
 *   waiting         too few keyframes that are far enough apart have been matched
 *   poses_disagree  poses stood still while pictures changed; or matches of most keyframes do not
 *                   confirm each other; or they say that things are a quarter farther or nearer
 *                   than the network does
 *   ok              else
 * Maths:   MATH.md (V14)-(V16)
 */
#ifndef RECOND_DAEMON_VIEWS_TOLD_H
#define RECOND_DAEMON_VIEWS_TOLD_H

#include "api/api.h"
#include "gpu/gpu.h"

#define VIEWS_TOLD_FROZEN 20     /* frames in a row */
#define VIEWS_TOLD_JUDGED 6      /* keyframes that are needed */
#define VIEWS_TOLD_SOUND_OF 3    /* one keyframe in so many, at least, is sound */
#define VIEWS_TOLD_SCALE 0.3219f /* log2 1.25 */
#define VIEWS_TOLD_FRAMES 16     /* that the scale is a running mean of */

struct views_told {
    struct gpu_views last;
    bool has_scale;
    float log_scale;
};

/* A frame was used. */
void views_told_note(struct views_told *t, const struct gpu_views *now);
/* What is said of it; on: of the session's option. */
struct api_views views_told_say(const struct views_told *t, bool on);
/* Of a session with n sources, what each said: the poses of one that disagree are the session's;
 * else one that is ok. Keyframes add up, the rest is of the first source of that state. */
struct api_views views_told_all(const struct api_views *said, int n);

#endif
