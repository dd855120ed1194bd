/*
 * remove_point.h - when a point goes
 *
 * Maths:   MATH.md (R1), (R2) <- m3dmr-cuda 2022, Algorithm 5
 */
#ifndef RECOND_GPU_REMOVE_POINT_H
#define RECOND_GPU_REMOVE_POINT_H

#include "gpu/gpu.h"
#include "gpu/base/point.h"

/* (R1) Unstable, and not confirmed for grace_frames. */
GPU_HD static inline int remove_expired(const struct point_stat *s, uint32_t frame,
                                        int grace_frames)
{
    return s->state == POINT_UNSTABLE && frame - s->last_seen >= (uint32_t)grace_frames;
}

/* (R2) A vote of this frame; it counts once a frame, and not if the frame also updated the point.
 * Returns 1 if the point has carve_votes now. */
GPU_HD static inline int remove_vote(struct point_stat *s, uint32_t frame, int carve_votes)
{
    if (s->last_seen == frame || s->vote_frame == frame)
        return 0;
    s->vote_frame = frame;
    s->votes++;
    return s->votes >= carve_votes;
}

GPU_HD static inline void remove_free(struct point_place *place, struct point_stat *stat)
{
    place->tag = 0;
    stat->state = POINT_FREE;
}

#endif
