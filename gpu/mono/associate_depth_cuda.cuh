/*
 * associate_depth_cuda.cuh - which depths are fused, and their histogram (internal to
 * covisible_cuda.cu, some of whose blocks do this)
 *
 * Order:   counts are sums: they do not depend on which thread comes first. The bins are cleared by
 *          the thread that reads them (keyframe_cuda.cuh).
 */
#pragma once

#include "gpu/mono/session_cuda.h"

#include "gpu/mono/associate_point.h"

/* By all threads of block `block` of BLOCK pixels, a pixel a thread. */
template <int BLOCK>
static __device__ inline void associate_usable(const struct frame_cuda *f, uint32_t block)
{
    __shared__ uint32_t bins[ASSOCIATE_BINS];
    struct session_dev *s = f->s;
    const struct views *v = f->views.v;
    const float *depth = v ? view_of_views(v, s->rgb, f->submap).depth : s->depth;
    const uint8_t *trust = v ? view_of_views(v, s->rgb, f->submap).trust : s->trust;
    float edge_rel = view_edge_rel(v != NULL, s->w, &s->fuse);
    uint32_t pixel = block * BLOCK + threadIdx.x;

    if (block * BLOCK >= s->n_pixels)
        return;
    for (int i = (int)threadIdx.x; i < ASSOCIATE_BINS; i += BLOCK)
        bins[i] = 0;
    __syncthreads();
    if (pixel < s->n_pixels) {
        float z = associate_depth(depth, trust, (int)(pixel % (uint32_t)s->w),
                                  (int)(pixel / (uint32_t)s->w), s->w, s->h, edge_rel, &s->fuse);
        s->usable[pixel] = z;
        if (v && f->depth_out)
            f->depth_out[pixel] = v->target[VIEWS_FRAME].depth[pixel];
        if (z > 0.0f)
            atomicAdd(&bins[associate_bin(z)], 1u);
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < ASSOCIATE_BINS; i += BLOCK)
        if (bins[i])
            atomicAdd(&s->bins[i], bins[i]);
}
