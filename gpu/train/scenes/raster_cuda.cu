/*
 * raster_cuda.cu - the renderer's kernels (raster_point.h, raster_shade.h hold the arithmetic)
 *
 * cull_kernel    one warp: 32 instances of a view; visible ones become pairs, their visible
 *                clusters items
 * raster_kernel  one warp: an item, a lane a triangle. Small triangles are drawn by their lane,
 *                middle ones by the warp at once, large ones go to a list as tiles of TILE_W x
 *                TILE_H samples
 * large_kernel   one warp: a tile of a large triangle
 * shade, mirror, resolve: one thread a pixel
 *
 * A warp draws up to 32 rows of a triangle as one list of samples, whatever its shape, so that long
 * thin triangles cost what they cover. Samples are written by minimum without waiting for an answer
 * where a lane draws alone, and after a look at what is there, four at a time, where the warp does.
 * The order of the lists does not matter: the result is a minimum, so pictures are the same in
 * every run. Lists that overflow drop work and count it. Every launch has a size known to the
 * host from the frame alone; nothing waits, so that a draw can be captured in a graph.
 */
#include <cuda_runtime.h>
#include <stdint.h>
#define HD __device__ static inline
#include "raster_shade.h"

#define MAX_PAIRS (1u << 18)
#define MAX_ITEMS (1u << 20)
#define MAX_LARGE (1u << 18)
#define MAX_TILES (1u << 20)
#define WARPS 4     /* a block of cull, raster and large kernels */
#define SMALL_PX 48 /* bounding boxes up to this many samples are drawn by one lane */
#define MID_PX 4096 /* up to this many, and 32 rows, by the warp at once */
#define TILE_W 128
#define TILE_H 32
#define AHEAD 4 /* samples of a lane that are looked at together */
#define ALL 0xffffffffu
#define SMS 132 /* of an H100 or H200: grids are as many blocks as these hold at once */

enum { N_PAIR, N_ITEM, N_LARGE, N_TILE, N_COUNTER = 8 };

struct large_tri {
    screen_tri t;
    uint64_t id;
    uint32_t view;
    int32_t ortho;
};

/*
 * work memory of the shadow maps or of the pictures; large and tile are shared, as one follows the
 * other; dropped counts over all draws, the counters are of one
 */
struct list {
    uint32_t *counter, *dropped;
    pair *pairs;
    uint2 *item;
    large_tri *large;
    uint2 *tile;
};

static __device__ int lane_id(void)
{
    return (int)(threadIdx.x & 31);
}

/* warp_sum_before - sum of n over the lanes before, and over all */
static __device__ int warp_sum_before(int n, int *total)
{
    int sum = n;
    for (int k = 1; k < 32; k <<= 1) {
        int a = __shfl_up_sync(ALL, sum, k);
        if (lane_id() >= k)
            sum += a;
    }
    *total = __shfl_sync(ALL, sum, 31);
    return sum - n;
}

/* push_items - one warp: append an item for every lane that keeps its own */
static __device__ void push_items(bool keep, uint32_t slot, uint32_t first, list l)
{
    unsigned mask = __ballot_sync(ALL, keep);
    if (!mask)
        return;
    uint32_t at = 0;
    if (lane_id() == 0)
        at = atomicAdd(&l.counter[N_ITEM], (uint32_t)__popc(mask));
    at = __shfl_sync(ALL, at, 0) + (uint32_t)__popc(mask & ((1u << lane_id()) - 1));
    if (keep && at < MAX_ITEMS)
        l.item[at] = make_uint2(slot, first);
    else if (keep)
        atomicAdd(l.dropped, 1u);
}

/*
 * push_pair - one warp: append the lanes' pairs; returns whether and at *slot where this lane's
 * went
 */
static __device__ bool push_pair(bool keep, const pair *p, uint32_t *slot, list l)
{
    unsigned mask = __ballot_sync(ALL, keep);
    uint32_t at = 0;
    if (lane_id() == 0 && mask)
        at = atomicAdd(&l.counter[N_PAIR], (uint32_t)__popc(mask));
    *slot = __shfl_sync(ALL, at, 0) + (uint32_t)__popc(mask & ((1u << lane_id()) - 1));
    if (keep && *slot >= MAX_PAIRS) {
        atomicAdd(l.dropped, 1u);
        keep = false;
    }
    if (keep)
        l.pairs[*slot] = *p;
    __syncwarp(); /* the warp reads its pairs back */
    return keep;
}

/* cull_kernel - grid (any, pictures + shadow maps), a warp takes 32 instances at a time */
__global__ void __launch_bounds__(32 * WARPS) cull_kernel(frame f, list shadow, list picture)
{
    bool shadows = (int)blockIdx.y >= f.n_view;
    int vi = shadows ? (int)blockIdx.y - f.n_view : (int)blockIdx.y;
    const view *v = shadows ? &f.shadow[vi] : &f.view[vi];
    list l = shadows ? shadow : picture;
    int w = shadows ? f.sn : f.w, h = shadows ? f.sn : f.h, n_inst = f.scene[v->scene].n_inst;
    int base = (int)(blockIdx.x * blockDim.x + threadIdx.x) & ~31;
    for (; base < n_inst; base += (int)(gridDim.x * blockDim.x)) {
        int i = base + lane_id();
        pair p;
        uint32_t slot;
        p.n_tri = 0;
        bool keep = i < n_inst && pair_setup(&p, &f, v, vi, i, shadows, w, h);
        keep = push_pair(keep, &p, &slot, l);
        bool one = keep && p.n_tri <= CLUSTER;
        push_items(one, slot, 0, l);
        unsigned rest = __ballot_sync(ALL, keep && !one);
        while (rest) {
            int src = __ffs((int)rest) - 1;
            rest &= rest - 1;
            uint32_t s = __shfl_sync(ALL, slot, src);
            const pair *q = &l.pairs[s];
            int n = (q->n_tri + CLUSTER - 1) / CLUSTER;
            for (int k0 = 0; k0 < n; k0 += 32) {
                int k = k0 + lane_id();
                push_items(k < n && cluster_visible(&f, v, q, k, w, h), s, (uint32_t)(k * CLUSTER),
                           l);
            }
        }
    }
}

/* the same code draws keys of pictures and depths of shadow maps */
static __device__ void key_of(uint64_t *key, float z, uint64_t id)
{
    *key = sample_key(z, id);
}
static __device__ void key_of(uint32_t *key, float z, uint64_t)
{
    *key = float_bits(z);
}
static __device__ void key_min(uint64_t *at, uint64_t key)
{
    atomicMin((unsigned long long *)at, (unsigned long long)key);
}
static __device__ void key_min(uint32_t *at, uint32_t key)
{
    atomicMin((unsigned int *)at, (unsigned int)key);
}
static __device__ uint64_t key_look(const uint64_t *at)
{
    return __ldcg((const unsigned long long *)at);
}
static __device__ uint32_t key_look(const uint32_t *at)
{
    return __ldcg((const unsigned int *)at);
}

/*
 * warp_rows - one warp: samples xa..xb of rows ya..ya+31 of a triangle
 * Each lane finds the span of one row; then the samples of all spans, in order, are dealt to the
 * lanes.
 */
template <typename K>
static __device__ void warp_rows(const screen_tri *s, int ortho, int ya, int xa, int xb,
                                 uint64_t id, K *img, int w)
{
    int lane = lane_id(), x0 = 0, x1 = -1, n = 0, total;
    if (ya + lane <= s->y1 && screen_row(s, ya + lane, &x0, &x1)) {
        x0 = x0 > xa ? x0 : xa;
        x1 = x1 < xb ? x1 : xb;
        n = x1 >= x0 ? x1 - x0 + 1 : 0;
    }
    int before = warp_sum_before(n, &total), end = before + n;
    for (int i0 = 0; i0 < total; i0 += 32 * AHEAD) {
        K key[AHEAD], old[AHEAD];
        K *at[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            int i = i0 + 32 * u + lane, row = 0;
            for (int k = 16; k; k >>= 1) { /* the first row whose end lies beyond i */
                int e = __shfl_sync(ALL, end, row + k - 1);
                if (e <= i)
                    row += k;
            }
            int x = __shfl_sync(ALL, x0 - before, row) + i, y = ya + row;
            float z = i < total ? screen_depth(s, ortho, x, y) : 0.0f;
            at[u] = z > 0 ? img + (size_t)y * w + x : 0;
            key_of(&key[u], z, id);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            old[u] = at[u] ? key_look(at[u]) : 0;
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (at[u] && key[u] < old[u])
                key_min(at[u], key[u]);
    }
}

/*
 * push_large - one warp: append a triangle and those of its tiles that it may touch; a lane takes
 * a band of rows
 */
static __device__ void push_large(const large_tri *b, list l)
{
    int lane = lane_id();
    uint32_t at = 0;
    if (lane == 0)
        at = atomicAdd(&l.counter[N_LARGE], 1u);
    at = __shfl_sync(ALL, at, 0);
    if (at >= MAX_LARGE) {
        if (lane == 0)
            atomicAdd(l.dropped, 1u);
        return;
    }
    for (unsigned k = lane; k < sizeof(large_tri) / 4; k += 32)
        ((uint32_t *)&l.large[at])[k] = ((const uint32_t *)b)[k];
    int bands = (b->t.y1 - b->t.y0) / TILE_H + 1;
    for (int k0 = 0; k0 < bands; k0 += 32) {
        int y = b->t.y0 + (k0 + lane) * TILE_H,
            last = y + TILE_H - 1 < b->t.y1 ? y + TILE_H - 1 : b->t.y1;
        int xa, xb, n = 0, total;
        if (k0 + lane < bands && screen_band(&b->t, y, last, &xa, &xb)) {
            xa /= TILE_W;
            n = xb / TILE_W - xa + 1;
        }
        int before = warp_sum_before(n, &total);
        uint32_t base = 0;
        if (lane == 0 && total)
            base = atomicAdd(&l.counter[N_TILE], (uint32_t)total);
        base = __shfl_sync(ALL, base, 0) + (uint32_t)before;
        for (int k = 0; k < n; k++) {
            if (base + k < MAX_TILES)
                l.tile[base + k] = make_uint2(at, (uint32_t)y << 16 | (uint32_t)(xa + k));
            else
                atomicAdd(l.dropped, 1u);
        }
    }
}

/* draw_lane - one lane draws a small triangle by itself */
template <typename K>
static __device__ void draw_lane(const screen_tri *s, int ortho, uint64_t id, K *img, int w)
{
    for (int y = s->y0; y <= s->y1; y++) {
        int x0, x1;
        if (!screen_row(s, y, &x0, &x1))
            continue;
        for (int x = x0; x <= x1; x++) {
            float z = screen_depth(s, ortho, x, y);
            K key;
            key_of(&key, z, id);
            if (z > 0)
                key_min(&img[(size_t)y * w + x], key);
        }
    }
}

/*
 * raster_kernel - any grid; a warp takes items in turn; views, w, h, keys: of the shadow maps or
 * of the pictures
 */
template <typename K>
__global__ void __launch_bounds__(32 * WARPS)
    raster_kernel(frame f, const view *views, K *keys, int w, int h, list l)
{
    __shared__ large_tri wide[WARPS];
    large_tri *b = &wide[threadIdx.x >> 5];
    uint32_t n = l.counter[N_ITEM] < MAX_ITEMS ? l.counter[N_ITEM] : MAX_ITEMS;
    for (uint32_t c = blockIdx.x * WARPS + (threadIdx.x >> 5); c < n; c += gridDim.x * WARPS) {
        uint2 it = l.item[c];
        const pair *p = &l.pairs[it.x];
        const view *v = &views[p->view];
        K *img = keys + (size_t)p->view * w * h;
        int t = (int)it.y + lane_id(), parts = 0;
        uint64_t id = (uint64_t)p->inst << 16 | (uint64_t)t;
        v3 corner[3], q[2][3];
        if (t < p->n_tri) {
            tri_camera(&f, p->m, p->tri0 + t, corner);
            parts = clip_near(corner, q);
        }
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (!__any_sync(ALL, k < parts))
                break;
            screen_tri s;
            bool shows = k < parts && screen_setup(&s, v, q[k], w, h, p->facing);
            int px = shows ? (s.x1 - s.x0 + 1) * (s.y1 - s.y0 + 1) : 0;
            if (px && px <= SMALL_PX)
                draw_lane(&s, v->ortho, id, img, w);
            unsigned rest = __ballot_sync(ALL, px > SMALL_PX);
            while (rest) {
                int src = __ffs((int)rest) - 1;
                rest &= rest - 1;
                __syncwarp(); /* the one before has been read */
                if (lane_id() == src) {
                    b->t = s;
                    b->id = id;
                    b->view = p->view;
                    b->ortho = v->ortho;
                }
                __syncwarp();
                if (__shfl_sync(ALL, px, src) <= MID_PX && b->t.y1 - b->t.y0 < 32)
                    warp_rows(&b->t, b->ortho, b->t.y0, b->t.x0, b->t.x1, b->id, img, w);
                else
                    push_large(b, l);
            }
        }
    }
}

/* large_kernel - any grid; a warp takes tiles in turn */
template <typename K>
__global__ void __launch_bounds__(32 * WARPS) large_kernel(K *keys, int w, int h, list l)
{
    uint32_t n = l.counter[N_TILE] < MAX_TILES ? l.counter[N_TILE] : MAX_TILES;
    for (uint32_t c = blockIdx.x * WARPS + (threadIdx.x >> 5); c < n; c += gridDim.x * WARPS) {
        uint2 it = l.tile[c];
        const large_tri *b = &l.large[it.x];
        int x = (int)(it.y & 0xffffu) * TILE_W;
        warp_rows(&b->t, b->ortho, (int)(it.y >> 16), x, x + TILE_W - 1, b->id,
                  keys + (size_t)b->view * w * h, w);
    }
}

/* shade_kernel - block 8 x 16 pixels, so that the pixels of a warp lie together */
__global__ void __launch_bounds__(128) shade_kernel(frame f)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < f.w / f.ss && y < f.h / f.ss)
        shade_pixel(&f, blockIdx.z, x, y);
}

/*
 * mirror_kernel - block LUM_W x LUM_H pixels; also sums log luminance over the block, in a fixed
 * order
 */
__global__ void __launch_bounds__(LUM_W *LUM_H) mirror_kernel(frame f)
{
    __shared__ float part[LUM_W * LUM_H];
    int x = blockIdx.x * LUM_W + threadIdx.x, y = blockIdx.y * LUM_H + threadIdx.y,
        at = threadIdx.y * LUM_W + threadIdx.x;
    part[at] = x < f.w / f.ss && y < f.h / f.ss ? mirror_pixel(&f, blockIdx.z, x, y) : 0.0f;
    __syncthreads();
    for (int k = LUM_W * LUM_H / 2; k; k >>= 1) {
        if (at < k)
            part[at] += part[at + k];
        __syncthreads();
    }
    if (at == 0)
        f.lum_part[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = part[0];
}

/* lum_kernel - one block of 256 a view: the sums of n blocks become a mean, in a fixed order */
__global__ void __launch_bounds__(256) lum_kernel(frame f, int n)
{
    __shared__ double part[256];
    double s = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        s += f.lum_part[(size_t)blockIdx.x * n + i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int k = 128; k; k >>= 1) {
        if ((int)threadIdx.x < k)
            part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        f.mean_lum[blockIdx.x] = (float)(part[0] / ((double)f.w * f.h));
}

__global__ void __launch_bounds__(128) resolve_kernel(frame f)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= f.w / f.ss || y >= f.h / f.ss)
        return;
    if (f.rgb)
        resolve_pixel(&f, blockIdx.z, x, y);
    geometry_pixel(&f, blockIdx.z, x, y);
}

static void shade(const frame *f, cudaStream_t q)
{
    int w = f->w / f->ss, h = f->h / f->ss;
    dim3 g((w + LUM_W - 1) / LUM_W, (h + LUM_H - 1) / LUM_H, f->n_view);
    shade_kernel<<<dim3((w + 7) / 8, (h + 15) / 16, f->n_view), dim3(8, 16), 0, q>>>(*f);
    mirror_kernel<<<g, dim3(LUM_W, LUM_H), 0, q>>>(*f);
    lum_kernel<<<f->n_view, 256, 0, q>>>(*f, (int)(g.x * g.y));
}

/* lists_of - places of the two sets of lists in the work memory */
static void lists_of(void *memory, list *shadow, list *picture)
{
    char *at = (char *)memory;
    shadow->counter = (uint32_t *)at;
    picture->counter = shadow->counter + N_COUNTER;
    shadow->dropped = picture->dropped = picture->counter + N_COUNTER;
    shadow->large = picture->large = (large_tri *)(at += 256);
    shadow->pairs = (pair *)(at += sizeof(large_tri) * (size_t)MAX_LARGE);
    picture->pairs = shadow->pairs + MAX_PAIRS;
    shadow->item = (uint2 *)(at += 2 * sizeof(pair) * (size_t)MAX_PAIRS);
    picture->item = shadow->item + MAX_ITEMS;
    shadow->tile = picture->tile = picture->item + MAX_ITEMS;
}

/* work memory that raster_draw needs besides the pictures, in bytes */
extern "C" size_t raster_work_bytes(void)
{
    return 256 + sizeof(large_tri) * (size_t)MAX_LARGE + 2 * sizeof(pair) * (size_t)MAX_PAIRS +
           2 * sizeof(uint2) * (size_t)MAX_ITEMS + sizeof(uint2) * (size_t)MAX_TILES;
}

/*
 * raster_draw - enqueue n steps of a draw, from enum PHASE_* first; returns the CUDA error code, 0
 * = none
 */
extern "C" int raster_draw(const frame *f, void *memory, void *stream, int first, int n)
{
    cudaStream_t q = (cudaStream_t)stream;
    list shadow, picture;
    lists_of(memory, &shadow, &picture);
    for (int phase = first; phase < first + n; phase++) {
        if (phase == PHASE_CULL) {
            cudaMemsetAsync(memory, 0, 2 * N_COUNTER * sizeof(uint32_t), q);
            cull_kernel<<<dim3(8, f->n_view + f->n_shadow), 32 * WARPS, 0, q>>>(*f, shadow,
                                                                                picture);
        } else if (phase == PHASE_SHADOW && f->n_shadow) {
            cudaMemsetAsync(f->shadow_key, 0xff,
                            (size_t)f->n_shadow * f->sn * f->sn * sizeof(uint32_t), q);
            raster_kernel<uint32_t>
                <<<SMS * 5, 32 * WARPS, 0, q>>>(*f, f->shadow, f->shadow_key, f->sn, f->sn, shadow);
            large_kernel<uint32_t>
                <<<SMS * 10, 32 * WARPS, 0, q>>>(f->shadow_key, f->sn, f->sn, shadow);
        } else if (phase == PHASE_VISIBILITY) {
            cudaMemsetAsync(f->key, 0xff, (size_t)f->n_view * f->w * f->h * sizeof(uint64_t), q);
            raster_kernel<uint64_t>
                <<<SMS * 5, 32 * WARPS, 0, q>>>(*f, f->view, f->key, f->w, f->h, picture);
            large_kernel<uint64_t><<<SMS * 10, 32 * WARPS, 0, q>>>(f->key, f->w, f->h, picture);
        } else if (phase == PHASE_SHADE && f->rgb) {
            shade(f, q);
        } else if (phase == PHASE_CAMERA) {
            resolve_kernel<<<dim3((f->w / f->ss + 31) / 32, (f->h / f->ss + 3) / 4, f->n_view),
                             dim3(32, 4), 0, q>>>(*f);
        }
    }
    return (int)cudaGetLastError();
}
