/*
 * remove_point.h - when a point is removed
 *
 * Maths:   MATH.md (R1), (R2), (Q3), (Q4), (V22), (V27) <- m3dmr-cuda 2022, Algorithm 5
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/point.h"
#include "gpu/mono/cell_point.h"

/* (R1) Is the point unstable and not confirmed for grace_frames? */
GPU_HD static inline int remove_expired(const struct point_stat *s, uint32_t frame,
                                        int grace_frames)
{
    return s->state == POINT_UNSTABLE && frame - s->last_seen >= (uint32_t)grace_frames;
}

/* (R2) The number of votes that removes a point. (Q3) In cubes: that makes it unstable. */
GPU_HD static inline int remove_limit(const struct point_stat *s, const struct fuse_params *p)
{
    int most = p->mono.cell_credit, credit = s->n_observations < most ? s->n_observations : most;
    int limit = credit - p->min_observations + 1;
    return p->cells && limit > p->carve_votes ? limit : p->carve_votes;
}

/* (R2) Counts a vote of this frame, once a frame and not if the frame also updated the point. (V27)
 * weight: the votes that it counts for. (Q4) room_short: the first vote removes a stale point.
 * (V22) settles: and a provisional one. Returns 1 if the point is to be removed. */
GPU_HD static inline int remove_vote(struct point_stat *s, uint32_t frame, int room_short,
                                     int settles, int weight, const struct fuse_params *p)
{
    int votes = s->votes + weight;
    if (s->last_seen == frame || s->vote_frame == frame)
        return 0;
    s->vote_frame = frame;
    if ((room_short && cell_stale(s, frame)) || (settles && s->provisional))
        return 1;
    s->votes = (uint8_t)(votes < 255 ? votes : 255);
    return s->votes >= remove_limit(s, p);
}

GPU_HD static inline void remove_free(struct point_place *place, struct point_stat *stat)
{
    place->tag = 0;
    stat->state = POINT_FREE;
}
