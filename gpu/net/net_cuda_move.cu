#include "gpu/net/net_cuda_move.h"

#include "gpu/base/cuda_try.h"
#include "gpu/net/net_cuda_act.cuh"

#define THREADS 128
#define GRID_Y_MAX 32768

/* ---------------------------------------------------------------------------------- numbers */

/* 8 halves, one load. */
struct alignas(16) eight {
    __half2 h[4];
};

__device__ static inline void unpack(const eight &e, float v[8])
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float2 f = __half22float2(e.h[k]);
        v[2 * k] = f.x;
        v[2 * k + 1] = f.y;
    }
}

/* A pixel's first half; `item` counts pictures and d0 together. */
__device__ static inline const __half *pixel(const net_cuda_view &t, int item, int y, int x)
{
    return t.p + (((size_t)item * t.d[2] + y) * t.d[3] + x) * t.pitch;
}

/* Channels c ... c+7 (c a multiple of 8) of a pixel; channels beyond the pitch are 0. */
__device__ static inline eight load8(const net_cuda_view &t, int item, int y, int x, int c)
{
    const __half *at = pixel(t, item, y, x) + c;
    eight e;
    if (t.pitch % 8 == 0)
        return *reinterpret_cast<const eight *>(at);
    e.h[0] = reinterpret_cast<const __half2 *>(at)[0];
    e.h[1] = reinterpret_cast<const __half2 *>(at)[1];
    e.h[2] = e.h[3] = __float2half2_rn(0);
    return e;
}

__device__ static inline float load1(const net_cuda_view &t, int item, int c, int y, int x)
{
    return __half2float(pixel(t, item, y, x)[c]);
}

/* The same with d0 as an index of its own, as in the graph. */
__device__ static inline float load_at(const net_cuda_view &t, int picture, const int at[4])
{
    return load1(t, picture * t.d[0] + at[0], at[1], at[2], at[3]);
}

/* ---------------------------------------------------------------------------------- values */

/* The output of a thread: channels c ... c+7 of a pixel of dst. */
struct spot {
    int item, y, x, c;
};

__device__ static inline void copy8(const net_cuda_move &m, spot s, float v[8])
{
    unpack(load8(m.src[0], s.item, s.y, s.x, s.c), v);
}

__device__ static void affine8(const net_cuda_move &m, spot s, float v[8])
{
    copy8(m, s, v);
    for (int k = 0; k < 8 && s.c + k < m.dst.d[1]; k++) {
        float a = m.scale ? m.scale[s.c + k] : 1, b = m.bias ? m.bias[s.c + k] : 0;
        v[k] = a * v[k] + b;
    }
}

__device__ static void binary8(const net_cuda_move &m, spot s, float v[8])
{
    const net_cuda_view &t = m.src[1];
    int picture = s.item / m.dst.d[0], n = s.item % m.dst.d[0];
    int item = picture * t.d[0] + (t.d[0] > 1 ? n : 0);
    int y = t.d[2] > 1 ? s.y : 0, x = t.d[3] > 1 ? s.x : 0;
    float b[8];
    copy8(m, s, v);
    if (t.d[1] > 1) {
        unpack(load8(t, item, y, x, s.c), b);
    } else {
        b[0] = load1(t, item, 0, y, x);
        for (int k = 1; k < 8; k++)
            b[k] = b[0];
    }
    for (int k = 0; k < 8; k++)
        v[k] = m.binary == NET_ADD   ? v[k] + b[k]
               : m.binary == NET_SUB ? v[k] - b[k]
               : m.binary == NET_MUL ? v[k] * b[k]
                                     : v[k] / b[k];
}

/* Kernel positions begin ... end-1 of an output row (or column) lie in the picture, position i at
 * at + i * dil. Without a condition in the loop the compiler can overlap several loads. */
struct span {
    int at, dil, begin, end;
};

__device__ static inline span span_of(const net_window &w, int axis, int out, int size)
{
    int at = out * w.stride[axis] - w.lo[axis], dil = w.dil[axis];
    int end = (size - at + dil - 1) / dil;
    return {at, dil, at < 0 ? (-at + dil - 1) / dil : 0, at >= size ? 0 : min(end, w.k[axis])};
}

/* The maximum is computed in halves, which is exact. */
__device__ static void max8(const net_cuda_move &m, spot s, float v[8])
{
    const net_cuda_view &t = m.src[0];
    const span rows = span_of(m.win, 0, s.y, t.d[2]), columns = span_of(m.win, 1, s.x, t.d[3]);
    eight best;
    for (int k = 0; k < 4; k++)
        best.h[k] = __float2half2_rn(-INFINITY);
    for (int a = rows.begin; a < rows.end; a++)
#pragma unroll 3
        for (int b = columns.begin; b < columns.end; b++) {
            eight e = load8(t, s.item, rows.at + a * rows.dil, columns.at + b * columns.dil, s.c);
#pragma unroll
            for (int k = 0; k < 4; k++)
                best.h[k] = __hmax2(best.h[k], e.h[k]);
        }
    unpack(best, v);
}

__device__ static void mean8(const net_cuda_move &m, spot s, float v[8])
{
    const net_cuda_view &t = m.src[0];
    const span rows = span_of(m.win, 0, s.y, t.d[2]), columns = span_of(m.win, 1, s.x, t.d[3]);
    int count = (rows.end - rows.begin) * (columns.end - columns.begin);
    for (int k = 0; k < 8; k++)
        v[k] = 0;
    for (int a = rows.begin; a < rows.end; a++)
#pragma unroll 4
        for (int b = columns.begin; b < columns.end; b++) {
            float e[8];
            unpack(load8(t, s.item, rows.at + a * rows.dil, columns.at + b * columns.dil, s.c), e);
#pragma unroll
            for (int k = 0; k < 8; k++)
                v[k] += e[k];
        }
    if (m.pool == NET_POOL_AVG_PADDED)
        count = m.win.k[0] * m.win.k[1];
    for (int k = 0; k < 8; k++)
        v[k] /= (float)count;
}

__device__ static void remap8(const net_cuda_move &m, spot s, float v[8])
{
    int y = m.i0[0][s.y], x = m.i0[1][s.x];
    if (y >= 0 && x >= 0)
        unpack(load8(m.src[0], s.item, y, x, s.c), v);
    else
        for (int k = 0; k < 8; k++)
            v[k] = m.fill;
}

/* Interpolates between columns of two rows first, then between the rows, as the frameworks do. */
__device__ static void lerp8(const net_cuda_move &m, spot s, float v[8])
{
    const net_cuda_view &t = m.src[0];
    int y0 = m.i0[0][s.y], y1 = m.i1[0][s.y], x0 = m.i0[1][s.x], x1 = m.i1[1][s.x];
    float wy = m.w1[0][s.y], wx = m.w1[1][s.x];
    float a[8], b[8], c[8], d[8];
    unpack(load8(t, s.item, y0, x0, s.c), a);
    unpack(load8(t, s.item, y0, x1, s.c), b);
    unpack(load8(t, s.item, y1, x0, s.c), c);
    unpack(load8(t, s.item, y1, x1, s.c), d);
    for (int k = 0; k < 8; k++) {
        float top = (1 - wx) * a[k] + wx * b[k], bottom = (1 - wx) * c[k] + wx * d[k];
        v[k] = (1 - wy) * top + wy * bottom;
    }
}

/* W x + bias + residual. */
__device__ static void finish8(const net_cuda_move &m, spot s, float v[8])
{
    for (int k = 0; k < 8 && s.c + k < m.dst.d[1]; k++) {
        if (m.bias)
            v[k] += m.bias[s.c + k];
        if (m.residual.p)
            v[k] += load1(m.residual, s.item, s.c + k, s.y, s.x);
    }
}

/* The terms of one kernel position (a, b), which reads source pixel (y, x). */
__device__ static void taps8(const net_cuda_move &m, spot s, int a, int b, int y, int x, float v[8])
{
    const net_cuda_view &t = m.src[0];
    const int out = m.dst.d[1], per_out = out / m.group, per_in = t.d[1] / m.group;
    const float *w = m.weight + (size_t)(a * m.win.k[1] + b) * per_in * out;
    const __half *at = pixel(t, s.item, y, x);
    for (int k = 0; k < 8 && s.c + k < out; k++) {
        const __half *in = at + (s.c + k) / per_out * per_in;
        for (int i = 0; i < per_in; i++)
            v[k] += __half2float(in[i]) * w[(size_t)i * out + s.c + k];
    }
}

__device__ static void conv8(const net_cuda_move &m, spot s, float v[8])
{
    const span rows = span_of(m.win, 0, s.y, m.src[0].d[2]);
    const span columns = span_of(m.win, 1, s.x, m.src[0].d[3]);
    for (int k = 0; k < 8; k++)
        v[k] = 0;
    for (int a = rows.begin; a < rows.end; a++)
        for (int b = columns.begin; b < columns.end; b++)
            taps8(m, s, a, b, rows.at + a * rows.dil, columns.at + b * columns.dil, v);
    finish8(m, s, v);
}

/* Input (y, x) adds to output (y * stride - lo + a * dil, ...). The thread of an output goes
 * through the kernel and adds up these inputs. */
__device__ static void deconv8(const net_cuda_move &m, spot s, float v[8])
{
    for (int k = 0; k < 8; k++)
        v[k] = 0;
    for (int a = 0; a < m.win.k[0]; a++)
        for (int b = 0; b < m.win.k[1]; b++) {
            int y = s.y + m.win.lo[0] - a * m.win.dil[0];
            int x = s.x + m.win.lo[1] - b * m.win.dil[1];
            if (y < 0 || x < 0 || y % m.win.stride[0] || x % m.win.stride[1])
                continue;
            y /= m.win.stride[0];
            x /= m.win.stride[1];
            if (y < m.src[0].d[2] && x < m.src[0].d[3])
                taps8(m, s, a, b, y, x, v);
        }
    finish8(m, s, v);
}

/* The source of element `at` of dst, for the steps that only move numbers. */
__device__ static void origin(const net_cuda_move &m, const int at[4], int from[4])
{
    const int *in = m.src[0].d, *out = m.dst.d;
    const int b = m.block;
    for (int i = 0; i < 4; i++)
        from[i] = at[i];
    if (m.kind == NET_STEP_RESHAPE) {
        size_t i = (((size_t)at[0] * out[1] + at[1]) * out[2] + at[2]) * out[3] + at[3];
        for (int k = 3; k > 0; i /= in[k--])
            from[k] = (int)(i % in[k]);
        from[0] = (int)i;
    } else if (m.kind == NET_STEP_TRANSPOSE) {
        for (int i = 0; i < 4; i++)
            from[m.perm[i]] = at[i];
    } else if (m.kind == NET_STEP_SLICE) {
        from[1] = at[1] + m.first;
    } else {
        /* DepthToSpace. DCR: channel (bi * b + bj) * C + c; CRD: (c * b + bi) * b + bj */
        int part = at[2] % b * b + at[3] % b;
        from[1] = m.crd ? at[1] * b * b + part : part * out[1] + at[1];
        from[2] = at[2] / b;
        from[3] = at[3] / b;
    }
}

__device__ static void gather8(const net_cuda_move &m, spot s, float v[8])
{
    int picture = s.item / m.dst.d[0], at[4] = {s.item % m.dst.d[0], s.c, s.y, s.x}, from[4];
    for (int k = 0; k < 8; k++, at[1]++) {
        if (at[1] >= m.dst.d[1])
            break;
        origin(m, at, from);
        v[k] = load_at(m.src[0], picture, from);
    }
}

template <int KIND> __device__ static inline void value8(const net_cuda_move &m, spot s, float v[8])
{
    if constexpr (KIND == NET_STEP_CONV)
        conv8(m, s, v);
    else if constexpr (KIND == NET_STEP_DECONV)
        deconv8(m, s, v);
    else if constexpr (KIND == NET_STEP_AFFINE)
        affine8(m, s, v);
    else if constexpr (KIND == NET_STEP_BINARY)
        binary8(m, s, v);
    else if constexpr (KIND == NET_STEP_REMAP)
        remap8(m, s, v);
    else if constexpr (KIND == NET_STEP_LERP)
        lerp8(m, s, v);
    else if constexpr (KIND == NET_STEP_POOL)
        m.pool == NET_POOL_MAX ? max8(m, s, v) : mean8(m, s, v);
    else if constexpr (KIND == NET_STEP_RESHAPE)
        gather8(m, s, v);
    else
        copy8(m, s, v);
}

/* ---------------------------------------------------------------------------------- kernels */

/*
 * Grid:    x: the pixels of dst times its eighths of channels, channels fastest; y: items (pictures
 *          times d0), in strides where there are more than the grid takes
 * Writes:  every channel of dst, the padding as zeros
 */
template <int KIND>
__global__ static void eights_kernel(const __grid_constant__ net_cuda_move m, int items)
{
    const unsigned eighths = (unsigned)m.dst.pitch / 8, w = (unsigned)m.dst.d[3];
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i / eighths;
    spot s = {0, (int)(at / w), (int)(at % w), (int)(i % eighths) * 8};
    if (s.y >= m.dst.d[2])
        return;
    for (s.item = (int)blockIdx.y; s.item < items; s.item += (int)gridDim.y) {
        float v[8];
        eight e;
        value8<KIND>(m, s, v);
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[k] = s.c + k < m.dst.d[1] ? net_cuda_act(m.act, v[k]) : 0;
#pragma unroll
        for (int k = 0; k < 4; k++)
            e.h[k] = __floats2half2_rn(v[2 * k], v[2 * k + 1]);
        *reinterpret_cast<eight *>(const_cast<__half *>(pixel(m.dst, s.item, s.y, s.x)) + s.c) = e;
    }
}

/* Channels that a part writes: its own, and the zeros behind them if no other part writes these. */
__host__ __device__ static inline int part_width(const net_cuda_move &m)
{
    return m.axis != 1 ? m.dst.pitch : m.is_last ? m.dst.pitch - m.from : m.src[0].d[1];
}

/*
 * Grid:    x: the pixels of the part times part_width() channels; y: its items, as above
 * Writes:  the part's channels, one a thread, because parts meet within an eighth
 */
__global__ static void part_kernel(const __grid_constant__ net_cuda_move m, int items)
{
    const net_cuda_view &t = m.src[0];
    const int width = part_width(m);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i / (unsigned)width;
    const int c = (int)(i % (unsigned)width);
    const int y = (int)(at / (unsigned)t.d[3]), x = (int)(at % (unsigned)t.d[3]);
    if (y >= t.d[2])
        return;
    for (int item = (int)blockIdx.y; item < items; item += (int)gridDim.y) {
        int picture = item / t.d[0];
        int to[4] = {item % t.d[0], c, y, x};
        to[m.axis] += m.from;
        const_cast<__half *>(pixel(m.dst, picture * m.dst.d[0] + to[0], to[2], to[3]))[to[1]] =
            c < t.d[1] ? pixel(t, item, y, x)[c] : __float2half_rn(0);
    }
}

/* Grid:    x: one number of the answer [c][h][w] a thread; y: items, as above */
__global__ static void float_kernel(const __grid_constant__ net_cuda_move m, int items)
{
    const net_cuda_view &t = m.src[0];
    const unsigned w = (unsigned)t.d[3], plane = (unsigned)t.d[2] * w, count = plane * t.d[1];
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    for (int item = (int)blockIdx.y; item < items; item += (int)gridDim.y)
        m.answer[(size_t)item * count + i] =
            load1(t, item, (int)(i / plane), (int)(i % plane / w), (int)(i % w));
}

/* ---------------------------------------------------------------------------------- launches */

typedef void (*move_fn)(const net_cuda_move m, int items);

static move_fn kernel_of(const struct net_cuda_move *m)
{
    if (m->answer)
        return float_kernel;
    switch (m->kind) {
    case NET_STEP_CONV:
        return eights_kernel<NET_STEP_CONV>;
    case NET_STEP_DECONV:
        return eights_kernel<NET_STEP_DECONV>;
    case NET_STEP_AFFINE:
        return eights_kernel<NET_STEP_AFFINE>;
    case NET_STEP_BINARY:
        return eights_kernel<NET_STEP_BINARY>;
    case NET_STEP_POOL:
        return eights_kernel<NET_STEP_POOL>;
    case NET_STEP_REMAP:
        return eights_kernel<NET_STEP_REMAP>;
    case NET_STEP_LERP:
        return eights_kernel<NET_STEP_LERP>;
    case NET_STEP_RESHAPE:
    case NET_STEP_TRANSPOSE:
    case NET_STEP_SLICE:
    case NET_STEP_SHUFFLE:
        return eights_kernel<NET_STEP_RESHAPE>;
    case NET_STEP_CONCAT:
        return part_kernel;
    default: /* a copy or an activation */
        return eights_kernel<NET_STEP_NONE>;
    }
}

int net_cuda_move_run(const struct net_cuda_move *m, int n, cudaStream_t stream, struct err *err)
{
    const int by_src = m->kind == NET_STEP_CONCAT || m->answer;
    const struct net_cuda_view *t = by_src ? &m->src[0] : &m->dst;
    const int items = n * t->d[0];
    const size_t a_pixel = m->answer                    ? t->d[1]
                           : m->kind == NET_STEP_CONCAT ? part_width(*m)
                                                        : t->pitch / 8;
    const size_t threads = (size_t)t->d[2] * t->d[3] * a_pixel;
    const dim3 grid((unsigned)((threads + THREADS - 1) / THREADS),
                    (unsigned)(items < GRID_Y_MAX ? items : GRID_Y_MAX));
    int rc;
    kernel_of(m)<<<grid, THREADS, 0, stream>>>(*m, items);
    CU_TRY(cuda_try_launch());
out:
    return rc;
}
