/*
 * view_cuda.cu - the stages of many views (gpu/views) as a pass of line mono
 *
 * Grid:    a block a frame writes when the pass began. Then come the grids of views_cuda_run().
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/views/views_cuda.h"

static __global__ void begin_kernel(const struct frame_cuda *frames)
{
    struct session_dev *s = frames[blockIdx.y].s;
    if (s)
        scan_stamp(s, SESSION_CUDA_VIEWS);
}

int views_cuda(const struct pass_cuda *p, struct err *err)
{
    const struct frame_cuda *frames = (const struct frame_cuda *)p->args;
    struct views_batch b = {};
    int rc;

    if (!p->views)
        return 0;
    b.first = &frames->views;
    b.stride = sizeof *frames;
    b.n = p->n;
    b.pixels_max = p->pixels_max;
    b.w_max = p->w_max;
    b.h_max = p->h_max;
    b.refines = p->views == GPU_VIEWS_REFINED;
    b.stream = p->stream;
    rc = scan_launch(SCAN_BEHIND_ANY, begin_kernel, 1, 32, p, err);
    return rc ? rc : views_cuda_run(&b, err);
}
