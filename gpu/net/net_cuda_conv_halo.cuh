/*
 * net_cuda_conv_halo.cuh - the convolution kernel for layers of stride one: it loads pixels to
 * shared memory once, not once a tap
 *
 * A block makes BM / 16 rows x 16 columns of one picture x BN channels. It loads the patch of every
 * source that these pixels see, as stored (an upsampled source at half size), and then walks over K
 * in the order of net_cuda_conv_tile.cuh, reading A straight from the patches while the weights
 * stream through the same stages: the same products in the same order, so the same bits.
 * Shared memory: the stages of B, 128 bytes of zeros, the patches [row][column][chunk]; chunk c of
 *          pixel i lies at c ^ g(i), so that eight neighbouring pixels touch all 32 banks.
 * Needs:   stride and dilation 1, an even number of chunks from each source (a step of 16 lies
 *          within one tap of one source)
 */
#pragma once

#include "gpu/net/net_cuda_conv_tile.cuh"

#define HALO_W 16
#define HALO_ZEROS 128

/* Pixels of a patch along one side, for n outputs and k taps. */
static __host__ __device__ inline int halo_side(int n, int k, int up)
{
    return up ? (n + k - 1) / 2 + 1 : n + k - 1;
}

struct halo_patch {
    uint32_t at;         /* in shared memory */
    int chunks, up;      /* of a pixel */
    int w, odd_y, odd_x; /* odd: the first output reads the second half of an upsampled pixel */
    int shift, mask;     /* g(i) = i >> shift & mask */

    __device__ __forceinline__ void open(const conv_launch &p, const conv_source &s, int chunks_,
                                         int y, int x, uint32_t at_)
    {
        at = at_;
        chunks = chunks_;
        up = s.up;
        w = halo_side(HALO_W, p.taps_x, up);
        odd_y = up ? y & 1 : 0;
        odd_x = up ? x & 1 : 0;
        shift = chunks % 8 == 0 ? 0 : chunks % 4 == 0 ? 1 : 2;
        mask = chunks % 8 == 0 ? 7 : chunks % 4 == 0 ? 3 : 1;
    }

    __device__ __forceinline__ uint32_t place(int pixel, int c) const
    {
        return at + (pixel * chunks + (c ^ (pixel >> shift & mask))) * 16;
    }

    /* Loads a whole patch, zeros outside the picture; y, x: the block's first input pixel. */
    template <int THREADS>
    __device__ __forceinline__ void load(const conv_source &s, int img, int y, int x, int h) const
    {
        const int y0 = y >> up, x0 = x >> up, per_row = w * chunks;
        const int dy = THREADS / per_row, dx = THREADS % per_row / chunks;
        const int dc = THREADS % per_row % chunks;
        int py = threadIdx.x / per_row, c = threadIdx.x % per_row, px = c / chunks;

        for (c -= px * chunks; py < h;) {
            const int sy = y0 + py, sx = x0 + px;
            const bool in = (unsigned)sy < (unsigned)s.h && (unsigned)sx < (unsigned)s.w;
            const int off = ((img * s.h + sy) * s.w + sx) * s.pitch + c * 8;
            conv_copy16(place(py * w + px, c), s.data + (in ? off : 0), in);
            c += dc;
            px += dx + (c >= chunks);
            c -= c >= chunks ? chunks : 0;
            py += dy + (px >= w);
            px -= px >= w ? w : 0;
        }
    }
};

/* The block's position in K: the same for all its threads. */
struct halo_walk {
    int ky, kx, c;

    __device__ __forceinline__ void next(const conv_launch &p)
    {
        c += 2;
        if (c < p.chunks)
            return;
        c = 0;
        if (++kx == p.taps_x) {
            kx = 0;
            ky++;
        }
    }
};

/* One step of BK / 16 times WM x WN x 16. row: the warp's first row of 16 pixels. */
template <class S>
static __device__ __forceinline__ void
halo_step(float (&acc)[S::MI][S::NI][4], const conv_launch &p, const halo_patch &p0,
          const halo_patch &p1, halo_walk &k, int row, uint32_t zeros, uint32_t b)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int kk = 0; kk < S::BK / 16; kk++) {
        const bool second = k.c >= p.chunks0;
        const halo_patch q = second ? p1 : p0;
        const int c = k.c - (second ? p.chunks0 : 0) + lane / 16;
        const int x = (lane % 16 + k.kx + q.odd_x) >> q.up;
        uint32_t fa[S::MI][4], fb[S::NI / 2][4];
#pragma unroll
        for (int i = 0; i < S::MI; i++) {
            const int y = (row + i + k.ky + q.odd_y) >> q.up;
            /* the zeros that pad K come behind the last tap */
            conv_ldmatrix(fa[i], k.ky < p.taps_y ? q.place(y * q.w + x, c) : zeros);
        }
#pragma unroll
        for (int j = 0; j < S::NI / 2; j++)
            conv_ldmatrix(fb[j], (b + j * 16 * S::BK * 2) ^ (kk * 32));
#pragma unroll
        for (int i = 0; i < S::MI; i++)
#pragma unroll
            for (int j = 0; j < S::NI; j++)
                conv_mma(acc[i][j], fa[i], fb[j / 2] + j % 2 * 2);
        k.next(p);
    }
}

/* The block's outputs. */
template <class S> struct halo_tile {
    int img, oy, ox, n0;

    __device__ __forceinline__ explicit halo_tile(const conv_launch &p)
    {
        constexpr int H = S::BM / HALO_W;
        const int tile = blockIdx.x / p.tiles_n;
        const int tiles_x = (p.ow + HALO_W - 1) / HALO_W, tiles_y = (p.oh + H - 1) / H;
        img = tile / (tiles_x * tiles_y);
        const int in = tile - img * tiles_x * tiles_y;
        oy = in / tiles_x * H;
        ox = (in - in / tiles_x * tiles_x) * HALO_W;
        n0 = (blockIdx.x - tile * p.tiles_n) * S::BN;
    }
};

/*
 * Grid:    x = (picture, tile row, tile column, tile of channels), the last fastest
 * PARTS:   there are several parts, added up in registers
 */
template <class S, bool PARTS>
static __global__ void __launch_bounds__(S::THREADS) halo_kernel(const conv_launch p)
{
    constexpr int H = S::BM / HALO_W, STAGE = S::BN * S::BK * 2;
    extern __shared__ __align__(128) unsigned char smem[];
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(smem);
    const uint32_t zeros = base + S::STAGES * STAGE;
    const halo_tile<S> t(p);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int wm = warp % (S::BM / S::WM) * S::WM, wn = warp / (S::BM / S::WM) * S::WN;
    const uint32_t b = base + conv_swizzle<S::CC>(wn + lane % 8 + lane / 16 * 8, lane / 8 % 2);
    const int steps = p.k_pad / S::BK, part_steps = p.k_part / S::BK;
    float acc[S::MI][S::NI][4], sum[S::MI][S::NI][4];
    conv_weights<S> weights;
    halo_patch p0, p1;
    halo_walk k = {0, 0, 0};

    const int y = t.oy + p.org_y, x = t.ox + p.org_x;
    const int h0 = halo_side(H, p.taps_y, p.src0.up), h1 = halo_side(H, p.taps_y, p.src1.up);
    p0.open(p, p.src0, p.chunks0, y, x, zeros + HALO_ZEROS);
    p1.open(p, p.src1, p.chunks - p.chunks0, y, x, p0.at + h0 * p0.w * p0.chunks * 16);
    weights.open(p, base, t.n0, 0);
    if (threadIdx.x < HALO_ZEROS / 16)
        *(float4 *)(smem + S::STAGES * STAGE + threadIdx.x * 16) = make_float4(0, 0, 0, 0);
    p0.load<S::THREADS>(p.src0, t.img, y, x, h0);
    if (p1.chunks)
        p1.load<S::THREADS>(p.src1, t.img, y, x, h1);
    conv_zero<S>(acc);
    if (PARTS)
        conv_zero<S>(sum);
    for (int s = 0; s < S::STAGES - 1; s++) {
        if (s < steps)
            weights.load(p, s * STAGE);
        conv_commit();
    }
    uint32_t now = 0, next = (S::STAGES - 1) * STAGE;
    int in_part = 0;
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
        conv_wait<S::STAGES - 2>();
        __syncthreads();
        if (s + S::STAGES - 1 < steps)
            weights.load(p, next);
        conv_commit();
        next = now;
        halo_step<S>(acc, p, p0, p1, k, wm / HALO_W, zeros, b + now);
        now = now + STAGE == S::STAGES * STAGE ? 0 : now + STAGE;
        if (PARTS && (++in_part == part_steps || s + 1 == steps)) {
            conv_add<S>(sum, acc);
            conv_zero<S>(acc);
            in_part = 0;
        }
    }
    conv_finish<S>(p, PARTS ? sum : acc, t.n0 + wn, [&](int r) {
        const int ty = t.oy + (wm + r) / HALO_W, tx = t.ox + (wm + r) % HALO_W;
        return ty < p.oh && tx < p.ow ? (t.img * p.oh + ty) * p.ow + tx : -1;
    });
}
