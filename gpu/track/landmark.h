/*
 * landmark.h - landmarks of a session's tracks, placed by its poses
 *
 * A track's observations and its frames' poses give a landmark of the optimiser's batch
 * (landmark_search.h); the track in slot i has landmark i. Sessions lie one after the other in a
 * batch, each with n_slots landmarks, n_slots TRACK_KEPT observations and TRACK_KEPT cameras.
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
    uint32_t least, most; /* last observations of a track that count, 2 to TRACK_KEPT */
    float parallax;       /* least spread of its rays: root mean square sine of the angle */
};

/* A session of a batch. Pointers are to its own first elements. */
struct landmark_session {
    const struct track *track;
    const struct landmark_search_camera *camera;     /* frame f's at f % TRACK_KEPT */
    struct landmark_search_landmark *landmark;       /* [n_slots] */
    struct landmark_search_observation *observation; /* [n_slots][TRACK_KEPT] */
    uint32_t first_camera, first_observation;        /* places of the first ones in the batch */
};

struct landmark_params landmark_params_default(void);

/*
 * landmark_cpu - turns tracks into landmarks
 *
 * Out:     s->landmark: place and observations, n = 0 for a slot without one; s->observation
 * Returns: how many landmarks
 */
uint32_t landmark_cpu(const struct landmark_session *s, const struct landmark_params *p);

#ifdef __cplusplus
}
#endif
