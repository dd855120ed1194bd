/*
 * path_cuda.cu - the poses of frames: a frame's own by a block, the system of its keyframes by many
 *
 * Grid:    begin, round, end: a block a frame; a thread is a lane of path_block.h, which waits for
 *          the block. sum: a warp an element of the system, blockIdx.y is the frame; a lane has one
 *          part of it.
 * Order:   begin; sum and round PATH_ROUNDS times; end. Frames that are no keyframes pass by.
 */
#include "gpu/base/cuda_try.h"
#include "gpu/track/path_cuda.h"

#define PATH_FN static __device__ inline
#define PATH_LANE_PARTS 1
#define SUM_THREADS 256

PATH_FN void path_wait(void)
{
    __syncthreads();
}

/* Neighbours 16, 8, 4, 2, 1 lanes away: the order of path_block.h's halves. */
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

#include "gpu/track/path_block.h"

typedef void path_kernel_fn(const struct path_job *first, size_t stride);

/* Returns 0 where the place in the batch is empty. */
static __device__ int path_block_of(struct path_block *b, const struct path_job *first,
                                    size_t stride, struct path_shared *s)
{
    const struct path_job *job =
        (const struct path_job *)((const char *)first + (size_t)blockIdx.y * stride);
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
    cudaLaunchConfig_t config = {};
    int rc = 0;

    config.gridDim = dim3(blocks, (unsigned)n);
    config.blockDim = dim3(threads);
    config.stream = stream;
    CU_TRY(cudaLaunchKernelEx(&config, kernel, first, stride));
out:
    return rc;
}

int path_cuda_run(const struct path_job *first, size_t stride, int n, cudaStream_t stream,
                  struct err *err)
{
    unsigned sums = (PATH_PAIRS + PATH_UNKNOWNS) * PATH_PARTS / SUM_THREADS + 1;
    int rc = launch(path_kernel_begin, 1, PATH_LANES, first, stride, n, stream, err);

    for (int round = 0; round < PATH_ROUNDS && rc == 0; round++) {
        rc = launch(path_kernel_sum, sums, SUM_THREADS, first, stride, n, stream, err);
        if (rc == 0)
            rc = launch(path_kernel_round, 1, PATH_LANES, first, stride, n, stream, err);
    }
    return rc ? rc : launch(path_kernel_end, 1, PATH_LANES, first, stride, n, stream, err);
}
