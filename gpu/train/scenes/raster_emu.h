/*
 * raster_emu.h - runs the kernels of raster_cuda.cu on a CPU, thread by thread, for checks without
 * a GPU
 *
 * render.py writes raster_cuda.cu anew with every launch as a call of emu_launch() and this file in
 * front of it. A block's threads are contexts that take turns; one runs until it has to wait for
 * its warp or its block. Collectives must be met by all 32 lanes of a warp at the same line, else
 * the run ends with a message. Blocks run one after the other, so what only shows between blocks
 * (order of memory, races) is not seen. Slow: for pictures of a few thousand pixels.
 */
#ifndef RASTER_EMU_H
#define RASTER_EMU_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <functional>

#define __global__ static
#define __device__
#define __shared__ static
#define __launch_bounds__(n)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
};
struct uint2 {
    uint32_t x, y;
};
static inline uint2 make_uint2(uint32_t x, uint32_t y)
{
    return {x, y};
}
typedef void *cudaStream_t;
static inline int cudaGetLastError(void)
{
    return 0;
}
static inline int cudaMemsetAsync(void *p, int c, size_t n, cudaStream_t)
{
    memset(p, c, n);
    return 0;
}

enum { EMU_THREADS = 256, EMU_STACK = 64 << 10 };

/* threads that wait for each other: a warp or a block */
struct emu_group {
    int arrived, size, line, turn;
    uint64_t value[2][EMU_THREADS];
};
static struct {
    ucontext_t main, at[EMU_THREADS];
    bool done[EMU_THREADS];
    int now, order;
    emu_group warp[EMU_THREADS / 32], block;
    std::function<void()> body;
} emu;
static dim3 threadIdx, blockIdx, blockDim, gridDim;

/*
 * emu_meet - wait until the whole group is at this line; returns the values that its members
 * brought
 */
static const uint64_t *emu_meet(emu_group *g, int member, uint64_t value, int line)
{
    int turn = g->turn;
    if (g->arrived && g->line != line) {
        fprintf(stderr, "raster_emu: thread %d is at line %d while others wait at %d\n", emu.now,
                line, g->line);
        abort();
    }
    g->line = line;
    g->value[turn & 1][member] = value;
    if (++g->arrived == g->size) {
        g->arrived = 0;
        g->turn++;
    }
    while (g->turn == turn)
        swapcontext(&emu.at[emu.now], &emu.main);
    return g->value[turn & 1];
}

static const uint64_t *emu_warp(uint64_t value, int line)
{
    return emu_meet(&emu.warp[emu.now / 32], emu.now % 32, value, line);
}

template <typename T> static T emu_shuffle(T x, int from, int line)
{
    uint64_t bits = 0;
    T out;
    memcpy(&bits, &x, sizeof(x));
    memcpy(&out, &emu_warp(bits, line)[from & 31], sizeof(out));
    return out;
}

static unsigned emu_ballot(bool x, int line)
{
    const uint64_t *v = emu_warp(x, line);
    unsigned mask = 0;
    for (int k = 0; k < 32; k++)
        mask |= (unsigned)v[k] << k;
    return mask;
}

#define __shfl_sync(mask, x, from) emu_shuffle(x, from, __LINE__)
#define __shfl_up_sync(mask, x, n) \
    emu_shuffle(x, emu.now % 32 >= (n) ? emu.now % 32 - (n) : emu.now % 32, __LINE__)
#define __ballot_sync(mask, x) emu_ballot(x, __LINE__)
#define __any_sync(mask, x) (emu_ballot(x, __LINE__) != 0)
#define __syncwarp() (void)emu_warp(0, __LINE__)
#define __syncthreads() (void)emu_meet(&emu.block, emu.now, 0, __LINE__)
#define __popc(x) __builtin_popcount(x)
#define __ffs(x) __builtin_ffs(x)
#define __ldcg(p) (*(p))
static inline unsigned atomicAdd(unsigned *p, unsigned n)
{
    unsigned old = *p;
    *p += n;
    return old;
}
template <typename T> static inline void atomicMin(T *p, T x)
{
    if (x < *p)
        *p = x;
}

static void emu_thread(void)
{
    emu.body();
    emu.done[emu.now] = true;
    swapcontext(&emu.at[emu.now], &emu.main);
}

static void emu_block(int n, char *stacks)
{
    memset(emu.done, 0, sizeof(emu.done));
    memset(&emu.block, 0, sizeof(emu.block));
    memset(emu.warp, 0, sizeof(emu.warp));
    emu.block.size = n;
    for (int t = 0; t < n; t++) {
        emu.warp[t / 32].size = 32;
        getcontext(&emu.at[t]);
        emu.at[t].uc_stack.ss_sp = stacks + (size_t)t * EMU_STACK;
        emu.at[t].uc_stack.ss_size = EMU_STACK;
        makecontext(&emu.at[t], emu_thread, 0);
    }
    emu.order ^= 1; /* forwards, then backwards: who relies on an order is found out */
    for (int left = n, idle = 0; left; idle++) {
        if (idle > 4) {
            fprintf(stderr, "raster_emu: %d threads wait for others that have ended\n", left);
            abort();
        }
        for (int k = 0; k < n; k++) {
            int t = emu.order ? n - 1 - k : k;
            emu_group *g = &emu.warp[t / 32];
            int warp = g->turn, block = emu.block.turn, arrived = g->arrived + emu.block.arrived;
            if (emu.done[t])
                continue;
            emu.now = t;
            threadIdx =
                dim3(t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y));
            swapcontext(&emu.main, &emu.at[t]);
            left -= emu.done[t];
            if (emu.done[t] || g->turn != warp || emu.block.turn != block ||
                g->arrived + emu.block.arrived != arrived)
                idle = 0;
        }
    }
}

static void emu_launch(dim3 grid, dim3 block, std::function<void()> body)
{
    static char *stacks = (char *)malloc((size_t)EMU_THREADS * EMU_STACK);
    emu.body = body;
    gridDim = grid;
    blockDim = block;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = dim3(x, y, z);
                emu_block((int)(block.x * block.y * block.z), stacks);
            }
}

#endif
