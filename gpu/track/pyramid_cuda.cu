/*
 * pyramid_cuda.cu - the picture in grey, and smaller ones of it
 *
 * Grid:    (blocks of pixels, frames), a thread a pixel that is written
 */
#include "gpu/track/corner_point.h"
#include "gpu/track/track_cuda.cuh"

/* It also resets the frame's claims. */
static __global__ void grey_kernel(const struct track_job *first, size_t stride, int)
{
    const struct track_job *job = track_job_of(first, stride);
    struct track *t = job->t;
    uint32_t i = blockIdx.x * TRACK_BLOCK + threadIdx.x;
    if (!t || i >= (uint32_t)(t->w * t->h))
        return;
    track_now(t)[i] = pyramid_grey(job->frame.rgb + 3 * (size_t)i);
    if (i == 0)
        t->shift = KLT_NO_SHIFT;
    if (i < 4 * (uint32_t)t->n_cells)
        t->claim[i] = CORNER_NO_CLAIM;
    if (i < (uint32_t)t->n_cells)
        t->best[i] = CORNER_NO_CLAIM;
    if (i < (uint32_t)t->n_slots && job->frame.restart)
        t->slot[i].id = 0;
}

static __global__ void half_kernel(const struct track_job *first, size_t stride, int level)
{
    const struct track *t = track_job_of(first, stride)->t;
    uint32_t i = blockIdx.x * TRACK_BLOCK + threadIdx.x;
    const struct track_level *big, *l;
    uint8_t *p;
    if (!t)
        return;
    big = &t->level[level - 1];
    l = &t->level[level];
    if (i >= (uint32_t)(l->w * l->h))
        return;
    p = track_now(t);
    p[l->at + i] = pyramid_half(p + big->at, big->w, big->h, (int)(i % (uint32_t)l->w),
                                (int)(i / (uint32_t)l->w));
}

int pyramid_cuda(const struct track_batch *b, struct err *err)
{
    uint32_t w = (uint32_t)b->w_max, h = (uint32_t)b->h_max;
    int rc = track_launch(grey_kernel, track_blocks(w * h, TRACK_BLOCK), TRACK_BLOCK, b, 0, err);

    for (int i = 1; i < TRACK_LEVELS && rc == 0; i++) {
        w = (w + 1) / 2;
        h = (h + 1) / 2;
        rc = track_launch(half_kernel, track_blocks(w * h, TRACK_BLOCK), TRACK_BLOCK, b, i, err);
    }
    return rc;
}
