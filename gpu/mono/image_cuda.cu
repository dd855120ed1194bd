/*
 * image_cuda.cu - picture to network size, a thread a pixel of the network's picture
 *
 * Grid:    (blocks of pixels, frames); a thread reads the box of the picture below its pixel, or
 *          the places that a camera's model gives (all threads of a frame do the same). It writes
 *          the pixel's colour, its place in the networks' inputs and in the next frame's previous
 *          picture. Also: block 0 sets the frame's number and intrinsics, which no other block
 *          reads.
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/image_point.h"

/* Overlap of input pixel j with the box, whose inner pixels lie inside. */
static __device__ inline uint32_t overlap(int j, int first, int last, uint32_t at_first,
                                          uint32_t at_last, int n_out)
{
    return j == first ? at_first : j == last ? at_last : (uint32_t)n_out;
}

/* The integer sums of a box, of its three channels at once. */
static __device__ void box(uint64_t sum[3], const uint8_t *rgb, int w, int h, int out_w, int out_h,
                           int x, int y)
{
    int x0 = image_first(x, out_w, w), x1 = image_end(x, out_w, w) - 1;
    int y0 = image_first(y, out_h, h), y1 = image_end(y, out_h, h) - 1;
    uint32_t left = image_overlap(x, x0, out_w, w), right = image_overlap(x, x1, out_w, w);
    uint32_t top = image_overlap(y, y0, out_h, h), bottom = image_overlap(y, y1, out_h, h);
    sum[0] = sum[1] = sum[2] = 0;
    for (int j = x0; j <= x1; j++) {
        uint64_t wx = overlap(j, x0, x1, left, right, out_w);
        uint32_t column[3] = {0, 0, 0};
        const uint8_t *p = rgb + ((size_t)y0 * w + j) * 3;
        for (int i = y0; i <= y1; i++, p += (size_t)w * 3) {
            uint32_t wy = overlap(i, y0, y1, top, bottom, out_h);
            column[0] += wy * p[0];
            column[1] += wy * p[1];
            column[2] += wy * p[2];
        }
        for (int ch = 0; ch < 3; ch++)
            sum[ch] += wx * column[ch];
    }
}

static __device__ inline uint32_t halves(float low, float high)
{
    return (uint32_t)__half_as_ushort(__float2half_rn(low)) |
           (uint32_t)__half_as_ushort(__float2half_rn(high)) << 16;
}

/* Three normalised channels and a zero, as halves. */
static __device__ inline uint2 normalise(const uint64_t sum[3], uint64_t area, const float mean[3],
                                         const float std[3])
{
    return make_uint2(halves(image_normalise(sum[0], area, mean[0], std[0]),
                             image_normalise(sum[1], area, mean[1], std[1])),
                      halves(image_normalise(sum[2], area, mean[2], std[2]), 0.0f));
}

/* Channels 0-2 the previous picture, 3-5 the current one, 6-7 the rays. */
static __device__ inline uint4 motion_pixel(uint2 previous, uint2 current, uint32_t rays)
{
    return make_uint4(previous.x, (previous.y & 0xffffu) | current.x << 16,
                      current.x >> 16 | current.y << 16, rays);
}

/* Writes the pixel to the motion network's input, and then to the previous picture. */
static __device__ void put_motion(const struct frame_cuda *f, struct session_dev *s, uint32_t pixel,
                                  uint2 now, struct intrinsics K, int x, int y)
{
    uint2 *held = (uint2 *)s->previous + pixel;
    uint32_t rays = 0;
    if (f->rays)
        rays = halves(((float)x - K.cx) / K.fx, ((float)y - K.cy) / K.fy);
    if (f->motion_in)
        *(uint4 *)(f->motion_in + (size_t)pixel * f->motion_pitch) = motion_pixel(*held, now, rays);
    *held = now;
}

static __device__ void begin_frame(struct session_dev *s, struct intrinsics K)
{
    s->frame++;
    s->camera.K = K;
    s->depth_scale.focal = s->focal_px > 0.0f ? depth_focal(K) / s->focal_px : 1.0f;
    scan_stamp(s, SESSION_CUDA_IMAGE);
}

static __global__ void image_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    uint32_t pixel = blockIdx.x * SCAN_BLOCK + threadIdx.x;
    uint64_t sum[3], area;
    int x, y;

    if (scan_idle(s, blockIdx.x))
        return;
    if (pixel == 0)
        begin_frame(s, f->map.K);
    if (pixel < s->n_pixels) {
        x = (int)(pixel % (uint32_t)s->w);
        y = (int)(pixel / (uint32_t)s->w);
        area = (uint64_t)f->map.w * (uint64_t)f->map.h;
        if (!f->map.mapped)
            box(sum, s->picture, f->map.w, f->map.h, s->w, s->h, x, y);
        else
            image_sample(sum, &area, &f->map, s->picture, x, y);
        for (int ch = 0; ch < 3; ch++)
            s->rgb[3 * (size_t)pixel + ch] = image_round(sum[ch], area);
        s->level[pixel] = image_level(sum, area);
        if (f->depth_in)
            *(uint2 *)(f->depth_in +
                       (size_t)image_turned(x, y, s->w, s->h, f->turn) * f->depth_pitch) =
                normalise(sum, area, f->mean[0], f->std[0]);
        if (s->previous)
            put_motion(f, s, pixel, normalise(sum, area, f->mean[1], f->std[1]), f->map.K, x, y);
    }
    scan_stamp(s, SESSION_CUDA_DEPTH);
}

int image_cuda(const struct pass_cuda *p, struct err *err)
{
    return scan_launch(SCAN_BEHIND_ANY, image_kernel, scan_blocks(p->pixels_max), SCAN_BLOCK, p,
                       err);
}
