#include "tests/support/jpeg_rig_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/base/jpeg_cuda.h"

static int devices(void)
{
    int n = 0;

    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

static int rgb(uint8_t *out, size_t bytes, const struct jpeg_planes *picture, int n,
               struct err *err)
{
    struct jpeg_planes there = *picture;
    uint8_t *planes[JPEG_PLANES] = {NULL, NULL, NULL}, *made = NULL;
    cudaStream_t stream = NULL;
    int rc;

    CU_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < JPEG_PLANES; i++) {
        int rows = jpeg_extent(picture->height, i ? picture->halved_y : 0);
        size_t size = picture->pitch[i] * (size_t)rows;

        CU_TRY(cudaMalloc((void **)&planes[i], size));
        CU_TRY(cudaMemcpyAsync(planes[i], picture->plane[i], size, cudaMemcpyHostToDevice, stream));
        there.plane[i] = planes[i];
    }
    CU_TRY(cudaMalloc((void **)&made, bytes));
    CU_TRY(cudaMemcpyAsync(made, out, bytes, cudaMemcpyHostToDevice, stream));
    rc = jpeg_cuda_rgb(made, &there, n, stream, err);
    if (rc)
        goto out;
    CU_TRY(cudaMemcpyAsync(out, made, bytes, cudaMemcpyDeviceToHost, stream));
    CU_TRY(cudaStreamSynchronize(stream));
out:
    for (int i = 0; i < JPEG_PLANES; i++)
        (void)cudaFree(planes[i]);
    (void)cudaFree(made);
    if (stream)
        (void)cudaStreamDestroy(stream);
    return rc;
}

static const struct jpeg_rig_api api = {devices, rgb};

const struct jpeg_rig_api *jpeg_rig_cuda = &api;
