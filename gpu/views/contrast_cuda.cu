/*
 * contrast_cuda.cu - contrasts of a finely swept keyframe and of its sources
 *
 * Grid:    (blocks of pixels x pictures, frames), a thread a pixel.
 */
#include "gpu/views/contrast_point.h"
#include "gpu/views/views_cuda.cuh"

#define PICTURES (VIEWS_SOURCES + 1)

static __global__ void contrast_kernel(const struct views_job *first, size_t stride)
{
    const struct views *v = views_job_of(first, stride)->v;
    uint32_t i = blockIdx.x / PICTURES * VIEWS_BLOCK + threadIdx.x;
    int picture = (int)(blockIdx.x % PICTURES);
    if (v && i < v->n_pixels && v->plan.fine && contrast_is_there(v, picture))
        contrast_of(v, picture)[i] =
            contrast_at(contrast_rgb(v, picture), v->w, v->h, (int)(i % (uint32_t)v->w),
                        (int)(i / (uint32_t)v->w));
}

int contrast_cuda(const struct views_batch *b, struct err *err)
{
    return views_launch(contrast_kernel, views_blocks(b) * PICTURES, VIEWS_BLOCK, b, err);
}
