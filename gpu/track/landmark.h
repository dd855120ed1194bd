/*
 * landmark.h - landmarks of a session's tracks, where its poses say that they are
 *
 * What each track was seen at, by the poses of the frames that saw it, becomes a landmark of the
 * optimiser's batch (landmark_search.h): landmark i is that of slot i. Sessions lie one after the
 * other in a batch, each with n_slots landmarks, n_slots TRACK_KEPT observations and TRACK_KEPT
 * cameras.
 * Maths:   MATH.md (T6)
 * Twins:   landmark_cpu.c, landmark_cuda.cu (tests/twin/gpu_track.c)
 */
#pragma once

#include "gpu/track/landmark_search.h"
#include "gpu/track/track.h"

#ifdef __cplusplus
extern "C" {
#endif

struct landmark_params {
    uint32_t least, most; /* observations of a landmark: of a track's last ones, 2 to TRACK_KEPT */
    float parallax;       /* sine of the angle that its rays must spread by, root mean square */
};

/* A session of a batch. Pointers are to its own first elements. */
struct landmark_session {
    const struct track *track;
    const struct landmark_search_camera *camera;     /* of frame f at f % TRACK_KEPT */
    struct landmark_search_landmark *landmark;       /* [n_slots] */
    struct landmark_search_observation *observation; /* [n_slots][TRACK_KEPT] */
    uint32_t first_camera, first_observation;        /* their places in the batch */
};

struct landmark_params landmark_params_default(void);

/*
 * landmark_cpu - tracks become landmarks
 *
 * Out:     s->landmark: place and observations, n = 0 where a slot has none; s->observation
 * Returns: how many there are
 */
uint32_t landmark_cpu(const struct landmark_session *s, const struct landmark_params *p);

#ifdef __cplusplus
}
#endif
