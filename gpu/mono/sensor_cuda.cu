/*
 * sensor_cuda.cu - a frame's own depth sensor, moved into the network's picture: three kernels at
 * the end of the depth pass, in sessions that take sensors
 *
 * Grid:    (blocks of the network's pixels, frames). The first kernel's threads go through the
 *          sensor's pixels and claim the pixels that each covers; block 0 clears the bins. The
 *          second counts ratios, the third reads claims, masks, and resets claims.
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/sensor_point.h"

static __device__ void claim_box(const struct session_dev *s, const struct sensor_box *box,
                                 uint64_t key)
{
    for (int y = box->y0; y < box->y1; y++)
        for (int x = box->x0; x < box->x1; x++)
            atomicMin(scan_claim(s->sensor_claims, (size_t)y * s->w + x), key);
}

static __device__ void claim_pixel(const struct frame_cuda *f, const struct sensor_camera *c,
                                   uint32_t i)
{
    const struct session_dev *s = f->s;
    struct sensor_box box;
    float z_c, z = sensor_metres(c->inverse, s->sensor_values[i]);
    if (z >= s->fuse.min_depth_m && z <= s->fuse.max_depth_m &&
        (!f->sensor_sure || s->sensor_sure[i]) &&
        sensor_cover(c, (int)(i % (uint32_t)f->sensor_w), (int)(i / (uint32_t)f->sensor_w), z, &box,
                     &z_c))
        claim_box(s, &box, sensor_claim(z_c, i));
}

static __global__ void claim_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    uint32_t n, step;
    struct sensor_camera c;

    if (s == NULL || s->sensor_claims == NULL)
        return;
    if (blockIdx.x == 0)
        for (uint32_t i = threadIdx.x; i < SENSOR_BINS; i += SCAN_BLOCK)
            s->sensor_bins[i] = 0;
    c.K = f->sensor_K;
    c.lens = f->sensor_lens;
    c.T_cs = f->sensor_T;
    c.net_K = s->camera.K;
    c.w = s->w;
    c.h = s->h;
    c.inverse = f->sensor_inverse;
    n = (uint32_t)f->sensor_w * (uint32_t)f->sensor_h;
    step = gridDim.x * SCAN_BLOCK;
    for (uint32_t i = blockIdx.x * SCAN_BLOCK + threadIdx.x; i < n; i += step)
        claim_pixel(f, &c, i);
}

static __global__ void ratio_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    struct session_dev *s = frames[blockIdx.y].s;
    uint32_t pixel = blockIdx.x * SCAN_BLOCK + threadIdx.x;
    uint64_t key;
    int bin;

    if (scan_idle(s, blockIdx.x) || !s->sensor_fill || pixel >= s->n_pixels)
        return;
    key = s->sensor_claims[pixel];
    bin = key == POINT_UNCLAIMED ? -1 : sensor_bin(sensor_claimed_m(key), s->depth[pixel]);
    if (bin >= 0)
        atomicAdd(&s->sensor_bins[bin], 1u);
}

/* Sets the depth of one pixel, with or without a claim. */
static __device__ void take_pixel(const struct frame_cuda *f, uint32_t pixel, float ratio)
{
    struct session_dev *s = f->s;
    uint64_t key = s->sensor_claims[pixel];
    float z = s->sensor_fill ? s->depth[pixel] * ratio : 0.0f;
    int trust = s->fuse.mono.sensor_filled;

    if (key != POINT_UNCLAIMED) {
        s->sensor_claims[pixel] = POINT_UNCLAIMED;
        z = sensor_claimed_m(key);
        trust = sensor_trust(z, f->sensor_sure ? s->sensor_sure[(uint32_t)key] : 255, &s->fuse);
    }
    if ((f->mask && s->mask[pixel]) ||
        !lens_map_shows(&f->map, (int)(pixel % (uint32_t)s->w), (int)(pixel / (uint32_t)s->w)))
        z = 0.0f;
    s->trust[pixel] = (uint8_t)trust;
    s->depth[pixel] = z;
    if (f->depth_out)
        f->depth_out[pixel] = z;
}

static __global__ void take_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    __shared__ float ratio;
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    uint32_t pixel = blockIdx.x * SCAN_BLOCK + threadIdx.x;

    if (scan_idle(s, blockIdx.x) || s->sensor_claims == NULL)
        return;
    if (threadIdx.x == 0)
        ratio = s->sensor_fill ? sensor_ratio(s->sensor_bins, &s->fuse) : 0.0f;
    __syncthreads();
    if (pixel < s->n_pixels)
        take_pixel(f, pixel, ratio);
    scan_stamp(s, SESSION_CUDA_MOTION);
}

int sensor_cuda(const struct pass_cuda *p, struct err *err)
{
    uint32_t blocks = scan_blocks(p->pixels_max);
    int rc;

    if (p->depth_source == GPU_DEPTH_NETWORK)
        return 0;
    rc = scan_launch(SCAN_BEHIND_OURS, claim_kernel, blocks, SCAN_BLOCK, p, err);
    if (rc == 0)
        rc = scan_launch(SCAN_BEHIND_OURS, ratio_kernel, blocks, SCAN_BLOCK, p, err);
    return rc ? rc : scan_launch(SCAN_BEHIND_OURS, take_kernel, blocks, SCAN_BLOCK, p, err);
}
