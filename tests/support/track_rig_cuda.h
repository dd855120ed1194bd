/*
 * track_rig_cuda.h - tracks and landmarks on a CUDA device, without a line around them
 *
 * A test reaches it through a table, as it does fusion_cuda.h's.
 */
#pragma once

#include "gpu/track/landmark.h"
#include "gpu/track/path.h"

#ifdef __cplusplus
extern "C" {
#endif

struct track_rig_api {
    /* landmark_search_cpu() on the device: b lies in host memory. Waits. Returns: 0;
     * ERR_UNSUPPORTED: no device; others */
    int (*landmark_search)(struct landmark_search_batch *b, const struct landmark_search_params *p,
                           struct err *err);
    /* track_cpu() on the device for a batch of n sessions, 8 at most: t[i] lies in host memory,
     * laid out from arena[i]; a frame whose rgb is NULL leaves its place empty. Waits. */
    int (*tracks)(struct track *t, uint8_t *const *arena, const struct track_frame *f, int n,
                  struct err *err);
    /* landmark_cpu() on the device: s and all that it names lie in host memory, the track's own
     * memory from `arena` on. Waits. */
    int (*landmarks)(const struct landmark_session *s, const uint8_t *arena,
                     const struct landmark_params *p, struct err *err);
    /* path_cpu() on the device: p, t and f lie in host memory, their own memory from `arena` and
     * `track_arena` on. Waits. */
    int (*path)(struct path *p, uint8_t *arena, const struct track *t, const uint8_t *track_arena,
                const struct path_frame *f, struct err *err);
};

extern const struct track_rig_api *track_rig_cuda;

#ifdef __cplusplus
}
#endif
