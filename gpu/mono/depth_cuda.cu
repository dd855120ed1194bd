/*
 * depth_cuda.cu - the depth network's answer to metres
 *
 * Grid:    (blocks of pixels, frames), a thread a pixel
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/image_point.h"

static __global__ void depth_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    uint32_t pixel = blockIdx.x * SCAN_BLOCK + threadIdx.x;
    if (scan_idle(s, blockIdx.x))
        return;
    if (pixel < s->n_pixels) {
        int x = (int)(pixel % (uint32_t)s->w), y = (int)(pixel / (uint32_t)s->w);
        if (f->depth_raw)
            s->depth[pixel] = depth_metres(&s->depth_scale,
                                           f->depth_raw[image_turned(x, y, s->w, s->h, f->turn)]);
        if ((f->mask && s->mask[pixel]) || !lens_map_shows(&f->map, x, y))
            s->depth[pixel] = 0.0f;
        if (f->depth_out)
            f->depth_out[pixel] = s->depth[pixel];
    }
    scan_stamp(s, SESSION_CUDA_MOTION);
}

int depth_cuda(const struct pass_cuda *p, struct err *err)
{
    return scan_launch(SCAN_BEHIND_ANY, depth_kernel, scan_blocks(p->pixels_max), SCAN_BLOCK, p,
                       err);
}

/* A warp a frame: writes the host's result of a frame that ends here. */
static __global__ void depth_end_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    if (f->s && threadIdx.x <= SESSION_CUDA_MOTION)
        f->result->stamp_ns[threadIdx.x] = f->s->stamp_ns[threadIdx.x];
}

int depth_end_cuda(const struct pass_cuda *p, struct err *err)
{
    return scan_launch(SCAN_BEHIND_OURS, depth_end_kernel, 1, 32, p, err);
}
