#include "tests/bench/support_cuda.h"

#include "gpu/base/cuda_try.h"

#include <cuda_fp16.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COPY_BYTES ((size_t)1 << 30)
#define COPY_RUNS 20

int support_cuda_open(struct support_cuda_card *card, cudaStream_t *stream, struct err *err)
{
    cudaDeviceProp prop;
    int n = 0, khz = 0, rc = 0;
    cudaError_t e = cudaGetDeviceCount(&n);

    *stream = NULL;
    if (e != cudaSuccess || n == 0)
        return err_set(err, ERR_UNSUPPORTED, "no CUDA device here: %s",
                       e != cudaSuccess ? cudaGetErrorString(e) : "none is listed");
    CU_TRY(cudaSetDevice(0));
    CU_TRY(cudaGetDeviceProperties(&prop, 0));
    CU_TRY(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    snprintf(card->name, sizeof card->name, "%.63s", prop.name);
    card->multiprocessors = prop.multiProcessorCount;
    card->clock_ghz = 1e-6 * khz;
    card->l2_mib = (double)prop.l2CacheSize / 1048576;
    CU_TRY(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
out:
    return rc;
}

double support_cuda_median(double *v, int n)
{
    if (n == 0)
        return 0;
    qsort(v, (size_t)n, sizeof *v, [](const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
    });
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

int support_cuda_copy_rate(double *bytes_per_s, cudaStream_t stream, struct err *err)
{
    cudaEvent_t at[COPY_RUNS + 1] = {};
    double ms[COPY_RUNS];
    char *a = NULL, *b = NULL;
    int rc = 0;

    CU_TRY(cudaMalloc((void **)&a, COPY_BYTES));
    CU_TRY(cudaMalloc((void **)&b, COPY_BYTES));
    CU_TRY(cudaMemsetAsync(a, 1, COPY_BYTES, stream));
    for (int i = 0; i <= COPY_RUNS; i++)
        CU_TRY(cudaEventCreate(&at[i]));
    for (int i = 0; i < 3; i++)
        CU_TRY(cudaMemcpyAsync(b, a, COPY_BYTES, cudaMemcpyDeviceToDevice, stream));
    for (int i = 0; i <= COPY_RUNS; i++) {
        CU_TRY(cudaEventRecord(at[i], stream));
        if (i < COPY_RUNS)
            CU_TRY(cudaMemcpyAsync(b, a, COPY_BYTES, cudaMemcpyDeviceToDevice, stream));
    }
    CU_TRY(cudaStreamSynchronize(stream));
    for (int i = 0; i < COPY_RUNS; i++) {
        float t;
        CU_TRY(cudaEventElapsedTime(&t, at[i], at[i + 1]));
        ms[i] = t;
    }
    *bytes_per_s = 2.0 * (double)COPY_BYTES / (1e-3 * support_cuda_median(ms, COPY_RUNS));
out:
    for (int i = 0; i <= COPY_RUNS; i++)
        if (at[i])
            cudaEventDestroy(at[i]);
    cudaFree(a);
    cudaFree(b);
    return rc;
}

static void CUDART_CB wait_ms(void *ms)
{
    struct timespec t = {0, (long)(intptr_t)ms * 1000000L};
    nanosleep(&t, NULL);
}

int support_cuda_hold(cudaStream_t stream, int ms, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaLaunchHostFunc(stream, wait_ms, (void *)(intptr_t)ms));
out:
    return rc;
}

/* A thread a value, in a loop over the grid: writes out[i]. */
__global__ static void noise_kernel(__half *out, size_t n, int c, int pitch)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        uint32_t x = (uint32_t)i * 2654435761u;
        x = (x ^ x >> 15) * 2246822519u;
        x ^= x >> 13;
        out[i] = (int)(i % (size_t)pitch) < c ? __float2half((float)x * (4.0f / 4294967296.0f) - 2)
                                              : __float2half(0.0f);
    }
}

int support_cuda_noise(void *halves, size_t pixels, int c, int pitch, cudaStream_t stream,
                       struct err *err)
{
    int rc = 0;
    noise_kernel<<<1024, 256, 0, stream>>>((__half *)halves, pixels * (size_t)pitch, c, pitch);
    CU_TRY(cuda_try_launch());
out:
    return rc;
}
