/*
 * jpeg_cuda_rgb.cu - the planes of a decoded picture to RGB of the requested size
 *
 * Grid:    blocks of 32 x 8 pixels of the result; a thread makes the three channels of one pixel
 * Limit:   memory: 1.4 MB read and 0.7 written for 720p of 4:2:0 at a half
 */
#include "gpu/base/jpeg_cuda.h"

#include "gpu/base/cuda_try.h"

#define BLOCK_W 32
#define BLOCK_H 8

static __global__ void to_rgb(uint8_t *out, struct jpeg_planes picture, int n, int w, int h)
{
    int x = blockIdx.x * BLOCK_W + threadIdx.x % BLOCK_W;
    int y = blockIdx.y * BLOCK_H + threadIdx.x / BLOCK_W;
    uint8_t rgb[3];

    if (x >= w || y >= h)
        return;
    jpeg_pixel(rgb, &picture, n, x, y);
    for (int ch = 0; ch < 3; ch++)
        out[((size_t)y * w + x) * 3 + ch] = rgb[ch];
}

int jpeg_cuda_rgb(uint8_t *out, const struct jpeg_planes *picture, int n, cudaStream_t stream,
                  struct err *err)
{
    int w = (picture->width + n - 1) / n, h = (picture->height + n - 1) / n, rc;
    cudaLaunchConfig_t config = {};

    config.blockDim = dim3(BLOCK_W * BLOCK_H);
    config.gridDim = dim3((w + BLOCK_W - 1) / BLOCK_W, (h + BLOCK_H - 1) / BLOCK_H);
    config.stream = stream;
    CU_TRY(cudaLaunchKernelEx(&config, to_rgb, out, *picture, n, w, h));
out:
    return rc;
}
