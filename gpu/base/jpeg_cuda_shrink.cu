/*
 * jpeg_cuda_shrink.cu - the decoded picture to the size that was asked for
 *
 * Grid:    blocks of 32 x 8 pixels of the result; a thread makes its three channels
 * Limit:   memory: 2.8 MB read and 0.7 written for 720p at a half, 1 us
 */
#include "gpu/base/jpeg_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/base/jpeg_point.h"

#define BLOCK_W 32
#define BLOCK_H 8

static __global__ void shrink(uint8_t *out, const uint8_t *picture, int width, int height, int n,
                              int w, int h)
{
    int x = blockIdx.x * BLOCK_W + threadIdx.x, y = blockIdx.y * BLOCK_H + threadIdx.y;

    if (x >= w || y >= h)
        return;
    for (int ch = 0; ch < 3; ch++)
        out[((size_t)y * w + x) * 3 + ch] = jpeg_shrunk(picture, width, height, n, x, y, ch);
}

int jpeg_cuda_shrink(uint8_t *out, const uint8_t *picture, int width, int height, int n,
                     cudaStream_t stream, struct err *err)
{
    int w = (width + n - 1) / n, h = (height + n - 1) / n, rc;
    const dim3 block(BLOCK_W, BLOCK_H),
        grid((w + BLOCK_W - 1) / BLOCK_W, (h + BLOCK_H - 1) / BLOCK_H);

    shrink<<<grid, block, 0, stream>>>(out, picture, width, height, n, w, h);
    CU_TRY(cuda_try_launch());
out:
    return rc;
}
