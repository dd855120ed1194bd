/*
 * change_cuda.cu - the published points that changed, and the result of the frame, into pinned host
 * memory
 *
 * Grid:    (blocks of pixels, frames), a thread a pixel. Where its changes go is known from the
 *          scans of fuse_cuda() and remove_cuda(): the point that it updated, then, behind all of
 *          those, the point that it carved.
 */
#include "gpu/scan_cuda.cuh"

#include "gpu/change_point.h"
#include "gpu/cuda_try.h"

static __device__ void emit(const struct session_dev *s, struct gpu_change *to, uint32_t slot,
                            int kind)
{
    struct gpu_change c = change_make(s->id[slot], slot, &s->out[slot], kind);
    scan_store(to, c); /* 32 bytes in two stores: neighbours fill a line on the bus */
}

static __device__ void write_result(const struct session_dev *s, struct result_cuda *to)
{
    struct gpu_result *r = &to->result;
    r->T_wc = s->camera.T_wc;
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
    for (int i = 0; i < GPU_STAGES; i++)
        to->stamp_ns[i] = __ldcg(&s->stamp_ns[i]);
}

static __global__ void change_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    uint32_t pixel = scan_pixel(), mark;
    bool changed, withdrawn;
    uint64_t at;

    if (scan_idle(s))
        return;
    mark = pixel < s->n_pixels ? s->mark[pixel] : 0;
    changed = mark & (SCAN_MARK_PUT | SCAN_MARK_REMOVE);
    withdrawn = mark & SCAN_MARK_WITHDRAWN;
    at = scan_rank(changed, withdrawn);
    if (changed)
        emit(s, f->changes + scan_high(scan_offset(s, SCAN_UPDATE, blockIdx.x)) + scan_low(at),
             s->found[pixel], mark & SCAN_MARK_PUT ? GPU_CHANGE_PUT : GPU_CHANGE_REMOVE);
    if (withdrawn) {
        uint32_t slot = s->through[pixel];
        s->out[slot].confidence = 0;
        emit(s,
             f->changes + s->n_changed + scan_high(scan_offset(s, SCAN_VOTE, blockIdx.x)) +
                 scan_high(at),
             slot, GPU_CHANGE_REMOVE);
    }
    scan_stamp(s, GPU_STAGE_DOWNLOAD);
    if (scan_arrive(s, SCAN_CHANGE, scan_blocks_of(s->n_pixels), 0) && threadIdx.x == 0) {
        s->n_changes = s->n_changed + s->n_withdrawn;
        write_result(s, f->result);
    }
}

int change_cuda(const struct frame_cuda *frames, int n, uint32_t pixels_max, cudaStream_t stream,
                struct err *err)
{
    dim3 grid(scan_blocks(pixels_max), (unsigned)n);
    int rc = 0;
    CU_TRY(scan_launch(change_kernel, grid, SCAN_BLOCK, stream, frames));
out:
    return rc;
}
