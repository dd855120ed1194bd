/*
 * net_cuda_conv_tile.cuh - the convolution kernel of net_cuda_conv.cu, a template over tile shapes
 *
 * A block makes BM output pixels x BN channels. K walks over (ky, kx, source, channel) in chunks of
 * eight channels, one 16-byte cp.async each, BK / 8 chunks a step, STAGES steps deep.
 * Shared memory: a stage is BM rows of A (pixels), then BN rows of B (channels out), BK halves
 *          each; chunk c of row r lies at c ^ f(r), so that the eight rows of an ldmatrix touch all
 *          32 banks.
 * Columns: rows of B are permuted inside a group of G, so that a thread's accumulators are 2 G / 8
 *          neighbouring channels of a pixel and leave as one wide store.
 * Order:   every shape runs the same k16 steps of a part in ascending order into one accumulator
 *          and adds the parts in ascending order to zero: the bits do not depend on the shape.
 */
#pragma once

#include "gpu/net/net_cuda_act.cuh"
#include "gpu/net/net_graph.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

struct conv_source {
    const __half *data;
    int h, w, pitch, up; /* as stored */
};

/* A launch's arguments, by value. A "tap" is one (ky, kx), or with four channels (ky, two kx). */
struct conv_launch {
    struct conv_source src0, src1;
    const __half *weights; /* [cout8][k_pad] */
    const float *bias;     /* [cout8] */
    const __half *residual;
    void *out;
    float *scratch;
    uint32_t *counters;
    int m, ohw, oh, ow, h, w;
    int stride_y, stride_x, org_y, org_x; /* input = output * stride + org + tap * step */
    int step_y, step_x, dil_x;
    int taps_y, taps_x, chunks0, chunks; /* chunks of a tap: of source 0, of both */
    int k_pad, k_part, segments;         /* halves; a part's length */
    int tiles_n, cout, cout8, out_pitch, residual_pitch;
    int pair, out_float; /* pair: two pixels of four channels lie in one aligned 16-byte word */
    struct net_act act;
};

template <int BM_, int BN_, int WM_, int WN_, int BK_, int STAGES_> struct conv_shape {
    static constexpr int BM = BM_, BN = BN_, WM = WM_, WN = WN_, BK = BK_, STAGES = STAGES_;
    static constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
    static constexpr int CC = BK / 8;          /* chunks of a row */
    static constexpr int LANES = THREADS / CC; /* rows that the block loads at once */
    static constexpr int RA = BM / LANES, RB = (BN + LANES - 1) / LANES;
    static constexpr int MI = WM / 16, NI = WN / 8;
    static constexpr int G = WN % 32 ? 16 : 32, J = G / 8;
    static constexpr int A_BYTES = BM * BK * 2, STAGE = (BM + BN) * BK * 2;
    static constexpr int SMEM = STAGE * STAGES;
    static_assert(BM % LANES == 0 && LANES % 8 == 0 && WN % 16 == 0 && WM % 16 == 0, "shape");
};

/* ---------------------------------------------------------------------------- instructions */

/* Copies of 16 bytes bypass the first-level cache, which was faster when measured. Copies of eight
 * go through it, because their instruction has no other mode. Both write zeros where `real` is
 * false. */
static __device__ __forceinline__ void conv_copy16(uint32_t to, const void *from, bool real)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(real ? 16 : 0));
}

static __device__ __forceinline__ void conv_copy8(uint32_t to, const void *from, bool real)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from),
                 "r"(real ? 8 : 0));
}

static __device__ __forceinline__ void conv_commit(void)
{
    asm volatile("cp.async.commit_group;");
}

template <int N> static __device__ __forceinline__ void conv_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

static __device__ __forceinline__ void conv_ldmatrix(uint32_t r[4], uint32_t from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from)
                 : "memory");
}

static __device__ __forceinline__ void conv_mma(float d[4], const uint32_t a[4], const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The place of chunk `c` of row `row` in a tile of rows of CC chunks, in bytes. */
template <int CC> static __device__ __forceinline__ int conv_swizzle(int row, int c)
{
    return (row * CC + (c ^ (CC == 8 ? row & 7 : (row >> 1) & 3))) * 16;
}

/* ---------------------------------------------------------------------------- loads */

/* A thread's share of the loads of B: chunk column `tid % CC` of rows tid / CC + i * LANES. */
template <class S> struct conv_weights {
    int off[S::RB]; /* -1 = beyond the channels */
    uint32_t to;

    __device__ __forceinline__ void open(const conv_launch &p, uint32_t smem, int n0, int k)
    {
        const int col = threadIdx.x % S::CC, row = threadIdx.x / S::CC;
        to = smem + conv_swizzle<S::CC>(row, col);
#pragma unroll
        for (int i = 0; i < S::RB; i++) {
            const int q = row + i * S::LANES, in = q % S::G;
            const int n = n0 + q - in + (in % 8 / 2) * 2 * S::J + in / 8 * 2 + in % 2;
            off[i] = q < S::BN && n < p.cout8 ? n * p.k_pad + k + col * 8 : -1;
        }
    }

    /* Brings the next step into the stage `stage` bytes behind the first one, and moves on. */
    __device__ __forceinline__ void load(const conv_launch &p, uint32_t stage)
    {
#pragma unroll
        for (int i = 0; i < S::RB; i++) {
            if (S::BN % S::LANES == 0 || threadIdx.x / S::CC + i * S::LANES < S::BN)
                conv_copy16(to + stage + i * S::LANES * S::BK * 2,
                            p.weights + (off[i] < 0 ? 0 : off[i]), off[i] >= 0);
            off[i] += off[i] < 0 ? 0 : S::BK;
        }
    }
};

/* A thread's share of the loads of A: chunk column `tid % CC` of rows tid / CC + i * LANES. */
template <class S, bool FOUR> struct conv_loader {
    int img[S::RA], y0[S::RA], x0[S::RA]; /* of the rows of A: picture, first input pixel */
    uint32_t to;
    int c, kx, ky;

    __device__ __forceinline__ void open(const conv_launch &p, uint32_t smem, int m0, int k)
    {
        const int col = threadIdx.x % S::CC, row = threadIdx.x / S::CC;
        to = smem + conv_swizzle<S::CC>(row, col);
        const int chunk = k / 8 + col, tap = chunk / p.chunks;
        c = chunk - tap * p.chunks;
        ky = tap / p.taps_x;
        kx = tap - ky * p.taps_x;
#pragma unroll
        for (int i = 0; i < S::RA; i++) {
            const int m = m0 + row + i * S::LANES;
            const int n = m / p.ohw, r = m - n * p.ohw, y = r / p.ow, x = r - y * p.ow;
            img[i] = n;
            y0[i] = m < p.m ? y * p.stride_y + p.org_y : -(1 << 28);
            x0[i] = x * p.stride_x + p.org_x;
        }
    }

    __device__ __forceinline__ void load_four(const conv_launch &p, uint32_t at, int i, int y,
                                              int x)
    {
        const bool in = (unsigned)y < (unsigned)p.h;
        const bool in0 = in && (unsigned)x < (unsigned)p.w;
        const bool in1 = in && (unsigned)(x + p.dil_x) < (unsigned)p.w;
        const int off = ((img[i] * p.h + y) * p.w + x) * 4;
        if (p.pair) {
            conv_copy16(at, p.src0.data + (in0 ? off : 0), in0);
        } else {
            conv_copy8(at, p.src0.data + (in0 ? off : 0), in0);
            conv_copy8(at + 8, p.src0.data + (in1 ? off + 4 * p.dil_x : 0), in1);
        }
    }

    /* Brings the next step into the stage `stage` bytes behind the first one, and moves on. */
    __device__ __forceinline__ void load(const conv_launch &p, uint32_t stage)
    {
        const int yo = ky < p.taps_y ? ky * p.step_y : 1 << 27, xo = kx * p.step_x;
        const bool second = c >= p.chunks0;
        const __half *data = second ? p.src1.data : p.src0.data;
        const int sh = second ? p.src1.h : p.src0.h, sw = second ? p.src1.w : p.src0.w;
        const int pitch = second ? p.src1.pitch : p.src0.pitch;
        const int up = second ? p.src1.up : p.src0.up, c8 = (c - (second ? p.chunks0 : 0)) * 8;
#pragma unroll
        for (int i = 0; i < S::RA; i++) {
            const int y = y0[i] + yo, x = x0[i] + xo;
            const uint32_t at = to + stage + i * S::LANES * S::BK * 2;
            if (FOUR) {
                load_four(p, at, i, y, x);
                continue;
            }
            const bool in = (unsigned)y < (unsigned)p.h && (unsigned)x < (unsigned)p.w;
            const int off = ((img[i] * sh + (y >> up)) * sw + (x >> up)) * pitch + c8;
            conv_copy16(at, data + (in ? off : 0), in);
        }
        for (c += S::CC; c >= p.chunks;) {
            c -= p.chunks;
            if (++kx == p.taps_x) {
                kx = 0;
                ky++;
            }
        }
    }
};

/* ---------------------------------------------------------------------------- products */

/* One step: BK / 16 times WM x WN x 16 for each warp. a, b: this lane's first ldmatrix rows. */
template <class S>
static __device__ __forceinline__ void conv_step(float (&acc)[S::MI][S::NI][4], uint32_t a,
                                                 uint32_t b)
{
#pragma unroll
    for (int kk = 0; kk < S::BK / 16; kk++) {
        uint32_t fa[S::MI][4], fb[S::NI / 2][4];
#pragma unroll
        for (int i = 0; i < S::MI; i++)
            conv_ldmatrix(fa[i], (a + i * 16 * S::BK * 2) ^ (kk * 32));
#pragma unroll
        for (int j = 0; j < S::NI / 2; j++)
            conv_ldmatrix(fb[j], (b + j * 16 * S::BK * 2) ^ (kk * 32));
#pragma unroll
        for (int i = 0; i < S::MI; i++)
#pragma unroll
            for (int j = 0; j < S::NI; j++)
                conv_mma(acc[i][j], fa[i], fb[j / 2] + j % 2 * 2);
    }
}

template <class S> static __device__ __forceinline__ void conv_zero(float (&acc)[S::MI][S::NI][4])
{
#pragma unroll
    for (int i = 0; i < S::MI * S::NI * 4; i++)
        acc[i / 4 / S::NI][i / 4 % S::NI][i % 4] = 0.0f;
}

template <class S>
static __device__ __forceinline__ void conv_add(float (&sum)[S::MI][S::NI][4],
                                                const float (&acc)[S::MI][S::NI][4])
{
#pragma unroll
    for (int i = 0; i < S::MI * S::NI * 4; i++)
        sum[i / 4 / S::NI][i / 4 % S::NI][i % 4] += acc[i / 4 / S::NI][i / 4 % S::NI][i % 4];
}

/*
 * Stores this part's sums in scratch [tile][part][quad of accumulators][thread] and counts the
 * tile's finished blocks. Returns true in the last one, with the sum of all parts in acc, added in
 * order.
 */
template <class S>
static __device__ __forceinline__ bool conv_meet(const conv_launch &p,
                                                 float (&acc)[S::MI][S::NI][4])
{
    constexpr int QUADS = S::MI * S::NI, PART = QUADS * S::THREADS;
    __shared__ uint32_t ticket;
    float4 *const all = (float4 *)p.scratch + (size_t)blockIdx.x * p.segments * PART + threadIdx.x;
    float4 *const mine = all + (size_t)blockIdx.y * PART;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const float *v = acc[q / S::NI][q % S::NI];
        __stcg(mine + q * S::THREADS, make_float4(v[0], v[1], v[2], v[3]));
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        ticket = atomicAdd(p.counters + blockIdx.x, 1u);
    __syncthreads();
    if (ticket + 1 != (uint32_t)p.segments)
        return false;
    __threadfence();
    if (threadIdx.x == 0)
        p.counters[blockIdx.x] = 0;
    conv_zero<S>(acc);
#pragma unroll(QUADS > 8 ? 1 : QUADS > 4 ? 2 : 4)
    for (int z = 0; z < p.segments; z++) {
        const float4 *part = all + (size_t)z * PART;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const float4 v = __ldcg(part + q * S::THREADS);
            float *sum = acc[q / S::NI][q % S::NI];
            sum[0] += v.x, sum[1] += v.y, sum[2] += v.z, sum[3] += v.w;
        }
    }
    return true;
}

/* ---------------------------------------------------------------------------- answers */

/* This is not inlined, so that rare activations do not swell every kernel. */
static __device__ __noinline__ float conv_act_rare(int kind, float a, float b, float x)
{
    return net_cuda_act_rare(kind, a, b, x);
}

static __device__ __forceinline__ float conv_act(const net_act &act, float x)
{
    if (act.kind == NET_ACT_RELU)
        return x < 0.0f ? act.a * x : x;
    return act.kind == NET_ACT_NONE ? x : conv_act_rare(act.kind, act.a, act.b, x);
}

/* N neighbouring channels from n on of pixel m: bias, residual, activation, store. */
template <int N>
static __device__ __forceinline__ void conv_answer(const conv_launch &p, float (&v)[N], int m,
                                                   int n)
{
    struct __align__(N * 2) pack
    {
        __half2 h[N / 2];
    };
#pragma unroll
    for (int k = 0; k < N; k += 4) {
        const float4 b = __ldg((const float4 *)(p.bias + n + k));
        v[k] += b.x, v[k + 1] += b.y, v[k + 2] += b.z, v[k + 3] += b.w;
    }
    if (p.residual) {
        const pack r = *(const pack *)(p.residual + (size_t)m * p.residual_pitch + n);
#pragma unroll
        for (int k = 0; k < N; k++)
            v[k] += k % 2 ? __high2float(r.h[k / 2]) : __low2float(r.h[k / 2]);
    }
#pragma unroll
    for (int k = 0; k < N; k++)
        v[k] = n + k < p.cout ? conv_act(p.act, v[k]) : 0.0f;
    if (!p.out_float) {
        pack o;
#pragma unroll
        for (int k = 0; k < N; k += 2)
            o.h[k / 2] = __floats2half2_rn(v[k], v[k + 1]);
        *(pack *)((__half *)p.out + (size_t)m * p.out_pitch + n) = o;
        return;
    }
    const int img = m / p.ohw;
    float *o = (float *)p.out + ((size_t)img * p.cout + n) * p.ohw + (m - img * p.ohw);
#pragma unroll
    for (int k = 0; k < N; k++)
        if (n + k < p.cout)
            o[(size_t)k * p.ohw] = v[k];
}

/* n0: the warp's first channel; pixel(row of the warp) is the output pixel, -1 = none. */
template <class S, class Pixel>
static __device__ __forceinline__ void
conv_finish(const conv_launch &p, const float (&acc)[S::MI][S::NI][4], int n0, Pixel pixel)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < S::MI * 2; r++) {
        const int m = pixel(r * 8 + lane / 4);
        if (m < 0)
            continue;
#pragma unroll
        for (int g = 0; g < S::WN / S::G; g++) {
            const int n = n0 + g * S::G + lane % 4 * 2 * S::J;
            float v[2 * S::J];
#pragma unroll
            for (int k = 0; k < 2 * S::J; k++)
                v[k] = acc[r / 2][g * S::J + k / 2][r % 2 * 2 + k % 2];
            if (n < p.cout8)
                conv_answer<2 * S::J>(p, v, m, n);
        }
    }
}

/* ---------------------------------------------------------------------------- the kernel */

/*
 * Grid:    x = tile of pixels * tiles_n + tile of channels, y = part (one where PARTS is set)
 * PARTS:   the block takes all parts one after the other and adds them up in registers
 * FOUR:    a first layer: four channels a pixel, two pixels a chunk
 */
template <class S, bool PARTS, bool FOUR>
static __global__ void __launch_bounds__(S::THREADS) conv_kernel(const conv_launch p)
{
    extern __shared__ __align__(128) unsigned char smem[];
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(smem);
    const int tile_m = blockIdx.x / p.tiles_n, tile_n = blockIdx.x - tile_m * p.tiles_n;
    const int from = PARTS ? 0 : blockIdx.y * p.k_part, part_steps = p.k_part / S::BK;
    const int left = (p.k_pad - from) / S::BK, steps = PARTS ? left : min(left, part_steps);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int wm = warp % (S::BM / S::WM) * S::WM, wn = warp / (S::BM / S::WM) * S::WN;
    const uint32_t a = base + conv_swizzle<S::CC>(wm + lane % 16, lane / 16);
    const uint32_t b =
        base + S::A_BYTES + conv_swizzle<S::CC>(wn + lane % 8 + lane / 16 * 8, lane / 8 % 2);
    float acc[S::MI][S::NI][4], sum[S::MI][S::NI][4];
    conv_loader<S, FOUR> pixels;
    conv_weights<S> weights;

    pixels.open(p, base, tile_m * S::BM, from);
    weights.open(p, base + S::A_BYTES, tile_n * S::BN, from);
    conv_zero<S>(acc);
    if (PARTS)
        conv_zero<S>(sum);
    for (int s = 0; s < S::STAGES - 1; s++) {
        if (s < steps) {
            pixels.load(p, s * S::STAGE);
            weights.load(p, s * S::STAGE);
        }
        conv_commit();
    }
    uint32_t now = 0, next = (S::STAGES - 1) * S::STAGE;
    int in_part = 0;
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
        conv_wait<S::STAGES - 2>();
        __syncthreads();
        if (s + S::STAGES - 1 < steps) {
            pixels.load(p, next);
            weights.load(p, next);
        }
        conv_commit();
        next = now;
        conv_step<S>(acc, a + now, b + now);
        now = now + S::STAGE == S::SMEM ? 0 : now + S::STAGE;
        if (PARTS && (++in_part == part_steps || s + 1 == steps)) {
            conv_add<S>(sum, acc);
            conv_zero<S>(acc);
            in_part = 0;
        }
    }
    if (!PARTS && gridDim.y > 1 && !conv_meet<S>(p, acc))
        return;
    conv_finish<S>(p, PARTS ? sum : acc, tile_n * S::BN + wn, [&](int r) {
        const int m = tile_m * S::BM + wm + r;
        return m < p.m ? m : -1;
    });
}
