/*
 * path_cuda.cu - the poses of frames: a block finds a frame's pose, many blocks solve the system of
 * its keyframes
 *
 * Grid:    begin, round, end: a block a frame; a thread is a lane of path_block.h, which waits for
 *          the block. sum: a warp an element of the system, blockIdx.y is the frame; a lane has one
 *          part of it. linearise, follow: (blocks of landmarks, frames), a thread a landmark.
 * Order:   begin, linearise; sum, round and follow PATH_ROUNDS times; end. Frames that are no
 *          keyframes pass by.
 */
#include "gpu/base/cuda_try.h"
#include "gpu/base/overlap_cuda.cuh"
#include "gpu/track/path_cuda.h"
#include "gpu/track/path_point.h"

#define PATH_FN static __device__ inline
#define PATH_LANE_PARTS 1
#define SUM_THREADS 256
#define POINT_THREADS 32

PATH_FN void path_wait(void)
{
    __syncthreads();
}

/* Adds lanes 16, 8, 4, 2, 1 away: the order of path_block.h's halves. */
PATH_FN double path_add(const double *part)
{
    double sum = part[0];
    for (int with = PATH_PARTS / 2; with > 0; with /= 2) {
        uint64_t bits;
        double other;
        memcpy(&bits, &sum, sizeof bits);
        bits = __shfl_xor_sync(0xffffffffu, bits, with);
        memcpy(&other, &bits, sizeof other);
        sum += other;
    }
    return sum;
}

PATH_FN uint32_t path_before(uint32_t n, uint32_t *count, uint32_t *all)
{
    uint32_t lane = threadIdx.x % 32, group = threadIdx.x / 32, sum = n, before = 0;
    for (unsigned by = 1; by < 32; by *= 2) {
        uint32_t below = __shfl_up_sync(0xffffffffu, sum, by);
        sum += lane >= by ? below : 0;
    }
    if (lane == 31)
        count[group] = sum;
    path_wait();
    *all = 0;
    for (uint32_t i = 0; i < blockDim.x / 32; i++) {
        before += i < group ? count[i] : 0;
        *all += count[i];
    }
    return before + sum - n;
}

static __device__ inline double value_of(double own, uint32_t lane)
{
    uint64_t bits;
    uint32_t low, high;
    memcpy(&bits, &own, sizeof bits);
    low = __shfl_sync(0xffffffffu, (uint32_t)bits, (int)lane);
    high = __shfl_sync(0xffffffffu, (uint32_t)(bits >> 32), (int)lane);
    bits = (uint64_t)high << 32 | low;
    memcpy(&own, &bits, sizeof own);
    return own;
}

#define ROWS (PATH_UNKNOWNS + 1) /* rows of a system; the last one is its right side */

/* A factor's rows, and the terms of its next diagonal element. */
struct path_system {
    double diagonal[2], factor[ROWS][ROWS];
};

/* One warp solves a system of few unknowns, without waiting for others. */
static __device__ inline void wait_for(int few)
{
    if (few)
        __syncwarp();
    else
        path_wait();
}

/* Cholesky as on the CPU, column by column, an element a lane; the right side is one more row.
 * Lanes have elements column by column, so that few divide and whole warps finish early. */
static __device__ uint32_t factor(struct path_system *s, const double *A, const double *x,
                                  uint32_t n, uint32_t done, int few)
{
    uint32_t row = threadIdx.x, col = 0;
    double own = 0.0;
    while (col < n && row >= n + 1 - col)
        row -= n + 1 - col++;
    row += col;
    if (col < n)
        own = row < n ? A[row * (row + 1) / 2 + col] : x[col];
    if (row == n)
        row = PATH_UNKNOWNS;
    if (threadIdx.x == 0)
        s->diagonal[0] = own;
    wait_for(few);
    for (uint32_t k = 0; k < n; k++) {
        double d = s->diagonal[k & 1];
        done = done && d > PATH_SINGULAR;
        if (col == k) {
            double root = sqrt(done ? d : 1.0);
            s->factor[row][k] = row == k ? root : own / root;
        }
        wait_for(few);
        if (col > k && col < n)
            own -= s->factor[row][k] * s->factor[col][k];
        if (col == k + 1 && row == col)
            s->diagonal[(k + 1) & 1] = own;
        wait_for(few);
    }
    return done;
}

/* Back substitution by a warp; a lane has two unknowns. */
static __device__ void solve_back(double *x, const struct path_system *s, uint32_t n)
{
    uint32_t lane = threadIdx.x, at[2] = {lane, lane + 32};
    double own[2];
    for (int h = 0; h < 2; h++) {
        at[h] = at[h] < n ? at[h] : ROWS;
        own[h] = at[h] < n ? s->factor[PATH_UNKNOWNS][at[h]] : 0.0;
    }
    for (uint32_t k = n; k-- > 0;) {
        double there = value_of(k < 32 ? own[0] : own[1], k % 32) / s->factor[k][k];
        for (int h = 0; h < 2; h++) {
            if (at[h] < k)
                own[h] -= s->factor[k][at[h]] * there;
            else if (at[h] == k)
                own[h] = there;
        }
    }
    for (int h = 0; h < 2; h++)
        if (at[h] < n)
            x[at[h]] = own[h];
    __syncwarp();
}

PATH_FN uint32_t path_factor_and_solve(double *A, double *x, uint32_t n, uint32_t done)
{
    __shared__ struct path_system s;
    int few = n * (n + 1) / 2 + n <= 32;
    if (few && threadIdx.x >= 32)
        return done;
    done = factor(&s, A, x, n, done, few);
    if (threadIdx.x < 32)
        solve_back(x, &s, n);
    return done;
}

#include "gpu/track/path_block.h"

typedef void path_kernel_fn(const struct path_job *first, size_t stride);

/* Waits for the previous kernel and finds the frame's job. Returns 0 where the place is empty. */
static __device__ int path_block_of(struct path_block *b, const struct path_job *first,
                                    size_t stride, struct path_shared *s)
{
    const struct path_job *job =
        (const struct path_job *)((const char *)first + (size_t)blockIdx.y * stride);
    overlap_begin();
    b->p = job->p;
    b->t = job->t;
    b->f = &job->frame;
    b->s = s;
    b->lane = blockIdx.x * blockDim.x + threadIdx.x;
    b->lanes = gridDim.x * blockDim.x;
    return job->p != NULL;
}

static __global__ void __launch_bounds__(PATH_LANES)
    path_kernel_begin(const struct path_job *first, size_t stride)
{
    __shared__ struct path_shared s;
    struct path_block b;
    if (path_block_of(&b, first, stride, &s))
        path_begin_frame(&b);
}

static __global__ void __launch_bounds__(SUM_THREADS)
    path_kernel_sum(const struct path_job *first, size_t stride)
{
    struct path_block b;
    if (path_block_of(&b, first, stride, NULL) && b.p->is_refining)
        path_sum_system(&b);
}

static __global__ void __launch_bounds__(PATH_LANES)
    path_kernel_round(const struct path_job *first, size_t stride)
{
    __shared__ struct path_shared s;
    struct path_block b;
    if (path_block_of(&b, first, stride, &s) && b.p->is_refining)
        path_round(&b);
}

static __global__ void __launch_bounds__(POINT_THREADS)
    path_kernel_linearise(const struct path_job *first, size_t stride)
{
    struct path_block b;
    if (path_block_of(&b, first, stride, NULL) && b.p->is_refining)
        path_linearise_all(&b);
}

static __global__ void __launch_bounds__(POINT_THREADS)
    path_kernel_follow(const struct path_job *first, size_t stride)
{
    struct path_block b;
    if (path_block_of(&b, first, stride, NULL) && b.p->is_refining)
        path_follow_all(&b, 1);
}

static __global__ void __launch_bounds__(POINT_THREADS)
    path_kernel_follow_last(const struct path_job *first, size_t stride)
{
    struct path_block b;
    if (path_block_of(&b, first, stride, NULL) && b.p->is_refining)
        path_follow_all(&b, 0);
}

static __global__ void __launch_bounds__(PATH_LANES)
    path_kernel_end(const struct path_job *first, size_t stride)
{
    __shared__ struct path_shared s;
    struct path_block b;
    if (path_block_of(&b, first, stride, &s))
        path_end_frame(&b);
}

static int launch(path_kernel_fn *kernel, unsigned blocks, unsigned threads,
                  const struct path_job *first, size_t stride, int n, cudaStream_t stream,
                  struct err *err)
{
    int rc = 0;

    CU_TRY(overlap_launch(kernel, dim3(blocks, (unsigned)n), threads, stream, first, stride));
out:
    return rc;
}

int path_cuda_run(const struct path_job *first, size_t stride, int n, cudaStream_t stream,
                  struct err *err)
{
    unsigned sums = (PATH_PAIRS + PATH_UNKNOWNS) * PATH_PARTS / SUM_THREADS + 1;
    unsigned points = PATH_POINTS / POINT_THREADS;
    int rc = launch(path_kernel_begin, 1, PATH_LANES, first, stride, n, stream, err);

    if (rc == 0)
        rc = launch(path_kernel_linearise, points, POINT_THREADS, first, stride, n, stream, err);
    for (int round = 0; round < PATH_ROUNDS && rc == 0; round++) {
        path_kernel_fn *follow =
            round + 1 < PATH_ROUNDS ? path_kernel_follow : path_kernel_follow_last;
        rc = launch(path_kernel_sum, sums, SUM_THREADS, first, stride, n, stream, err);
        if (rc == 0)
            rc = launch(path_kernel_round, 1, PATH_LANES, first, stride, n, stream, err);
        if (rc == 0)
            rc = launch(follow, points, POINT_THREADS, first, stride, n, stream, err);
    }
    return rc ? rc : launch(path_kernel_end, 1, PATH_LANES, first, stride, n, stream, err);
}
