/*
 * surface_cuda.cu - a depth picture's surface: a thread a pixel of the surface, blocks of 32 x 8
 * pixels
 */
#include "gpu/recognise/surface_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/recognise/surface_point.h"

#define BLOCK_W 32
#define BLOCK_H 8
#define FIELDS 6 /* of struct surface_sums */

static cudaLaunchConfig_t config_of(const struct surface *s, cudaStream_t stream)
{
    cudaLaunchConfig_t c = {};
    c.gridDim =
        dim3((unsigned)(s->w + BLOCK_W - 1) / BLOCK_W, (unsigned)(s->h + BLOCK_H - 1) / BLOCK_H);
    c.blockDim = dim3(BLOCK_W * BLOCK_H);
    c.stream = stream;
    return c;
}

/* The thread's pixel; -1: none. */
static __device__ int pixel_of(const struct surface *s, int *x, int *y)
{
    *x = (int)(blockIdx.x * BLOCK_W + threadIdx.x % BLOCK_W);
    *y = (int)(blockIdx.y * BLOCK_H + threadIdx.x / BLOCK_W);
    return *x < s->w && *y < s->h ? *y * s->w + *x : -1;
}

static __global__ void filter_kernel(struct surface s, struct surface_params p)
{
    int x, y, at = pixel_of(&s, &x, &y);
    if (at >= 0)
        s.filtered[at] = surface_filter(&s, &p, x, y);
}

static __global__ void points_kernel(struct surface s)
{
    int x, y, at = pixel_of(&s, &x, &y);
    if (at >= 0)
        s.point[at] = surface_back_project(&s, x, y);
}

static __global__ void normals_kernel(struct surface s, struct surface_params p)
{
    int x, y, at = pixel_of(&s, &x, &y);
    if (at >= 0)
        s.normal[at] = surface_normal(&s, &p, x, y);
}

/* A block adds its sums in shared memory, then to the picture's, which start at zero. */
static __global__ void sums_kernel(struct surface s, struct surface_params p)
{
    __shared__ unsigned long long sum[FIELDS];
    int x, y, at = pixel_of(&s, &x, &y), i = (int)threadIdx.x;
    struct surface_sums own = {0, 0, 0, 0, 0, 0};
    uint64_t v[FIELDS];

    if (i < FIELDS)
        sum[i] = 0;
    __syncthreads();
    if (at >= 0)
        surface_add(&own, &s, &p, x, y);
    v[0] = own.n;
    v[1] = own.length;
    v[2] = own.length2;
    v[3] = own.chord;
    v[4] = own.chord2;
    v[5] = own.metres;
    for (int k = 0; k < FIELDS; k++) {
        for (int with = 16; with > 0; with /= 2)
            v[k] += __shfl_xor_sync(0xffffffffu, v[k], with);
        if (i % 32 == 0)
            atomicAdd(&sum[k], (unsigned long long)v[k]);
    }
    __syncthreads();
    if (i < FIELDS)
        atomicAdd((unsigned long long *)s.sums + i, sum[i]);
}

static __global__ void limits_kernel(struct surface s, struct surface_params p)
{
    if (threadIdx.x == 0)
        *s.limits = surface_limits(s.sums, &p);
}

static __global__ void mesh_kernel(struct surface s, struct surface_params p)
{
    int x, y, at = pixel_of(&s, &x, &y);
    if (at >= 0)
        s.mesh[at] = surface_triangles(&s, &p, x, y);
}

int surface_cuda_filter(const struct surface *s, const struct surface_params *p,
                        cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = config_of(s, stream);
    int rc = 0;
    CU_TRY(cudaLaunchKernelEx(&config, filter_kernel, *s, *p));
out:
    return rc;
}

int surface_cuda_points(const struct surface *s, const struct surface_params *p,
                        cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = config_of(s, stream);
    int rc = 0;
    (void)p;
    CU_TRY(cudaLaunchKernelEx(&config, points_kernel, *s));
out:
    return rc;
}

int surface_cuda_normals(const struct surface *s, const struct surface_params *p,
                         cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = config_of(s, stream);
    int rc = 0;
    CU_TRY(cudaLaunchKernelEx(&config, normals_kernel, *s, *p));
out:
    return rc;
}

int surface_cuda_resolution(const struct surface *s, const struct surface_params *p,
                            cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = config_of(s, stream), one = {};
    int rc = 0;
    one.gridDim = dim3(1);
    one.blockDim = dim3(32);
    one.stream = stream;
    CU_TRY(cudaMemsetAsync(s->sums, 0, sizeof *s->sums, stream));
    CU_TRY(cudaLaunchKernelEx(&config, sums_kernel, *s, *p));
    CU_TRY(cudaLaunchKernelEx(&one, limits_kernel, *s, *p));
out:
    return rc;
}

int surface_cuda_mesh(const struct surface *s, const struct surface_params *p, cudaStream_t stream,
                      struct err *err)
{
    cudaLaunchConfig_t config = config_of(s, stream);
    int rc = 0;
    CU_TRY(cudaLaunchKernelEx(&config, mesh_kernel, *s, *p));
out:
    return rc;
}
