/*
 * change_cuda.cuh - the published points that changed, and the result of the frame, into pinned
 * host memory (internal to insert_cuda.cu and remove_cuda.cu)
 *
 * The counts of update_cuda() give the places of a pixel's changes: the point that it updated,
 * then, behind all updated points, the point that it carved.
 */
#pragma once

#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/change_point.h"

static __device__ inline void change_emit(const struct session_dev *s, struct gpu_change *to,
                                          uint32_t slot, int kind)
{
    struct gpu_change c = change_make(s->id[slot], slot, &s->normal[slot], &s->out[slot], kind);
    scan_store(to, c); /* 32 bytes in two stores: neighbours fill a line on the bus */
}

/* Called by one thread at the frame's end; only stores that the host does not read may follow. */
static __device__ inline void change_result(const struct session_dev *s, struct result_cuda *to)
{
    struct gpu_result *r = &to->result;
    r->T_wc = s->camera.T_wc;
    r->submap = s->view.submap;
    r->is_keyframe = s->is_keyframe;
    r->n_keyframes = s->n_keyframes;
    r->n_covisible = (uint32_t)s->n_covisible;
    r->n_valid = s->n_valid;
    r->n_associated = s->n_associated;
    r->n_updated = s->n_updated;
    r->n_inserted = s->n_inserted;
    r->n_removed = s->n_removed;
    r->n_carved = s->n_carved;
    r->n_left_out = s->n_left_out;
    r->n_points = s->n_points;
    r->n_stable = s->n_stable;
    r->n_changes = s->n_changed + s->n_withdrawn;
    r->median_depth_m = s->median_depth_m;
    for (int i = 0; i < SESSION_CUDA_PASSES; i++)
        to->stamp_ns[i] = s->stamp_ns[i];
    to->stamp_ns[SESSION_CUDA_PASSES] = scan_now();
}

/* Writes the changes of one pixel to their places; marks and ranks come from the block's pass. */
static __device__ inline void change_tell(const struct session_dev *s, struct gpu_change *changes,
                                          const struct scan_sums *sums, uint64_t rank,
                                          uint32_t mark, uint32_t found, uint32_t through)
{
    if (mark >> SCAN_CHANGED & 1)
        change_emit(s, changes + sums->before[SCAN_CHANGED] + scan_place(rank, SCAN_CHANGED), found,
                    mark >> SCAN_TAKEN_BACK & 1 ? GPU_CHANGE_REMOVE : GPU_CHANGE_PUT);
    if (mark >> SCAN_WITHDRAWN & 1) {
        s->out[through].confidence = 0;
        change_emit(s,
                    changes + sums->total[SCAN_CHANGED] + sums->before[SCAN_WITHDRAWN] +
                        scan_place(rank, SCAN_WITHDRAWN),
                    through, GPU_CHANGE_REMOVE);
    }
}
