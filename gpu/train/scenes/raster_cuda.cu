/*
 * raster_cuda.cu - the renderer's kernels (raster_point.h holds the arithmetic)
 *
 * cull_kernel    one thread a (view, instance); appends chunks of CHUNK triangles
 * raster_kernel  one block a chunk, one thread a triangle; large triangles go to a list
 * large_kernel   one block a band of BAND rows of a large triangle; a warp takes a row
 * shade, mirror, resolve: one thread a sample or pixel
 * The order of the lists does not matter: the visibility key is a minimum, so pictures are the same
 * in every run. Lists that overflow drop work and say so in counters[2].
 */
#include <cuda_runtime.h>
#include <stdint.h>
#define HD __device__ static inline
static __device__ inline void key_min(uint64_t *at, uint64_t key)
{
    if (key < *(volatile uint64_t *)at)                 /* a plain look first: most samples lose */
        atomicMin((unsigned long long *)at, (unsigned long long)key);
}
#include "raster_point.h"

#define MAX_CHUNKS (1 << 20)
#define MAX_LARGE (1 << 19)
#define MAX_BANDS (1 << 21)
#define BAND 32

struct large_tri { screen_tri t; uint64_t id; uint32_t view; int32_t ortho; };
struct item { uint32_t view, inst; int32_t tri; };      /* inst: index in the scene; tri: first of the chunk, or one */

/* lists in the work memory; counter: chunks, large triangles, items dropped, bands */
struct work { uint32_t *counter; item *chunk; large_tri *large; uint2 *band; };

static __device__ void push_large(const screen_tri *s, int ortho, uint32_t view, uint64_t id, work wk)
{
    uint32_t n = (uint32_t)(s->y1 - s->y0) / BAND + 1;
    uint32_t at = atomicAdd(&wk.counter[1], 1u), b = atomicAdd(&wk.counter[3], n);
    if (at >= MAX_LARGE || b + n > MAX_BANDS) {
        atomicAdd(&wk.counter[2], 1u);
        for (uint32_t k = b; k < b + n && k < MAX_BANDS; k++)
            wk.band[k] = make_uint2(0, 0x7fffffff);     /* a band without rows */
        return;
    }
    large_tri l = {*s, id, view, ortho};
    wk.large[at] = l;
    for (uint32_t k = 0; k < n; k++)
        wk.band[b + k] = make_uint2(at, s->y0 + k * BAND);
}

__global__ void fill_kernel(uint64_t *p, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        p[i] = EMPTY_KEY;
}

__global__ void cull_kernel(frame f, int shadows, work wk)
{
    int vi = blockIdx.y;
    const view *v = shadows ? &f.shadow[vi] : &f.view[vi];
    const scene *sc = &f.scene[v->scene];
    int w = shadows ? f.sn : f.w, h = shadows ? f.sn : f.h;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < sc->n_inst; i += gridDim.x * blockDim.x) {
        const inst *o = &f.inst[sc->inst0 + i];
        if ((o->flags & INST_HIDE) || (shadows && (o->flags & INST_NO_SHADOW)) || !instance_visible(&f, v, o, w, h))
            continue;
        int n = f.mesh[o->mesh].n_tri, n_chunks = (n + CHUNK - 1) / CHUNK;
        uint32_t at = atomicAdd(&wk.counter[0], (uint32_t)n_chunks);
        for (int k = 0; k < n_chunks; k++)
            if (at + k < MAX_CHUNKS) {
                item it = {(uint32_t)vi, (uint32_t)i, k * CHUNK};
                wk.chunk[at + k] = it;
            } else {
                atomicAdd(&wk.counter[2], 1u);
            }
    }
}

__global__ void __launch_bounds__(CHUNK) raster_kernel(frame f, int shadows, work wk)
{
    __shared__ float m[12];
    uint32_t n = wk.counter[0] < MAX_CHUNKS ? wk.counter[0] : MAX_CHUNKS;
    int w = shadows ? f.sn : f.w, h = shadows ? f.sn : f.h;
    uint64_t *keys = shadows ? f.shadow_key : f.key;
    for (uint32_t c = blockIdx.x; c < n; c += gridDim.x) {
        item it = wk.chunk[c];
        const view *v = shadows ? &f.shadow[it.view] : &f.view[it.view];
        const inst *o = &f.inst[f.scene[v->scene].inst0 + it.inst];
        const mesh *g = &f.mesh[o->mesh];
        __syncthreads();
        if (threadIdx.x == 0)
            camera_from_object(&f, v, o, m);
        __syncthreads();
        int t = it.tri + (int)threadIdx.x;
        if (t >= g->n_tri)
            continue;
        v3 p[3], q[2][3];
        tri_camera(&f, m, g->tri0 + t, p);
        int k_n = clip_near(p, q);
        uint64_t id = (uint64_t)it.inst << 16 | (uint64_t)t;
        uint64_t *img = keys + (size_t)it.view * w * h;
        for (int k = 0; k < k_n; k++) {
            screen_tri s;
            if (!screen_setup(&s, v, q[k], w, h))
                continue;
            if ((s.x1 - s.x0 + 1) * (s.y1 - s.y0 + 1) > LARGE_PX) {
                push_large(&s, v->ortho, it.view, id, wk);
                continue;
            }
            for (int y = s.y0; y <= s.y1; y++) {
                int x0, x1;
                if (!screen_row(&s, y, &x0, &x1))
                    continue;
                for (int x = x0; x <= x1; x++)
                    screen_sample(&s, v->ortho, x, y, id, img + (size_t)y * w);
            }
        }
    }
}

__global__ void __launch_bounds__(128) large_kernel(frame f, int shadows, work wk)
{
    uint32_t n = wk.counter[3] < MAX_BANDS ? wk.counter[3] : MAX_BANDS;
    int w = shadows ? f.sn : f.w, h = shadows ? f.sn : f.h;
    uint64_t *keys = shadows ? f.shadow_key : f.key;
    for (uint32_t c = blockIdx.x; c < n; c += gridDim.x) {
        const large_tri *l = &wk.large[wk.band[c].x];
        int first = (int)wk.band[c].y, last = first + BAND - 1 < l->t.y1 ? first + BAND - 1 : l->t.y1;
        uint64_t *img = keys + (size_t)l->view * w * h;
        for (int y = first + (int)(threadIdx.x >> 5); y <= last; y += 4) {
            int x0, x1;
            if (!screen_row(&l->t, y, &x0, &x1))
                continue;
            for (int x = x0 + (int)(threadIdx.x & 31); x <= x1; x += 32)
                screen_sample(&l->t, l->ortho, x, y, l->id, img + (size_t)y * w);
        }
    }
}

__global__ void shade_kernel(frame f)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < f.w && y < f.h)
        shade_sample(&f, blockIdx.z, x, y);
}

__global__ void mirror_kernel(frame f)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < f.w && y < f.h)
        mirror_sample(&f, blockIdx.z, x, y);
}

/* lum_kernel - one block a view: mean of log luminance, in a fixed order */
__global__ void lum_kernel(frame f, float *out)
{
    __shared__ double part[1024];
    double s = 0;
    int n = f.w * f.h;
    const float *p = f.hdr2 + 4 * (size_t)blockIdx.x * n + 3;
#pragma unroll 4
    for (int i = threadIdx.x; i < n; i += 1024)
        s += p[4 * (size_t)i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int k = 512; k; k >>= 1) {
        if (threadIdx.x < k)
            part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = (float)(part[0] / n);
}

__global__ void resolve_kernel(frame f)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < f.w / f.ss && y < f.h / f.ss)
        resolve_pixel(&f, blockIdx.z, x, y);
}

static void visibility(const frame *f, int shadows, work wk, cudaStream_t q)
{
    int n_view = shadows ? f->n_shadow : f->n_view;
    size_t n = (size_t)n_view * (shadows ? (size_t)f->sn * f->sn : (size_t)f->w * f->h);
    if (!n_view)
        return;
    fill_kernel<<<1024, 256, 0, q>>>(shadows ? f->shadow_key : f->key, n);
    cudaMemsetAsync(wk.counter, 0, 16, q);
    cull_kernel<<<dim3(4, n_view), 128, 0, q>>>(*f, shadows, wk);
    raster_kernel<<<132 * 8, CHUNK, 0, q>>>(*f, shadows, wk);
    large_kernel<<<132 * 12, 128, 0, q>>>(*f, shadows, wk);
}

/* work memory that raster_draw needs besides the pictures, in bytes */
extern "C" size_t raster_work_bytes(void)
{
    return 256 + sizeof(item) * (size_t)MAX_CHUNKS + sizeof(large_tri) * (size_t)MAX_LARGE + sizeof(uint2) * (size_t)MAX_BANDS;
}

/* raster_draw - enqueue a whole batch on a stream; returns the CUDA error code, 0 = none */
extern "C" int raster_draw(const frame *f, void *memory, void *stream)
{
    cudaStream_t q = (cudaStream_t)stream;
    char *at = (char *)memory;
    work wk;
    wk.counter = (uint32_t *)at;
    wk.large = (large_tri *)(at += 256);
    wk.band = (uint2 *)(at += sizeof(large_tri) * (size_t)MAX_LARGE);
    wk.chunk = (item *)(at + sizeof(uint2) * (size_t)MAX_BANDS);
    visibility(f, 1, wk, q);
    visibility(f, 0, wk, q);
    dim3 b(32, 4), g((f->w + 31) / 32, (f->h + 3) / 4, f->n_view);
    shade_kernel<<<g, b, 0, q>>>(*f);
    mirror_kernel<<<g, b, 0, q>>>(*f);
    lum_kernel<<<f->n_view, 1024, 0, q>>>(*f, (float *)f->mean_lum);
    dim3 gr((f->w / f->ss + 31) / 32, (f->h / f->ss + 3) / 4, f->n_view);
    resolve_kernel<<<gr, b, 0, q>>>(*f);
    return (int)cudaGetLastError();
}
