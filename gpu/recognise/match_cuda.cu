/*
 * match_cuda.cu - compares a picture's tensors with a library's
 *
 * match_kernel     blockIdx.x is the picture's tensor, which the block spreads out in shared
 *                  memory; blockIdx.y is a share of the library, and a warp takes one of its
 *                  tensors at a time
 */
#include "gpu/recognise/match_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/recognise/match_point.h"
#include "gpu/recognise/tensor_point.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define SHARES 16

static __device__ void match_compare(uint64_t *best, const uint32_t *dense, uint32_t square,
                                     const struct match_library *l, uint32_t at,
                                     const struct match_params *p)
{
    struct library_tensor t = l->tensor[at];
    struct match_sums sums[2] = {{0, 0}, {0, 0}};

    for (uint32_t i = threadIdx.x % 32; i < t.n; i += 32) {
        uint32_t e = l->entry[t.first + i], voxel = TENSOR_VOXEL_OF(e);
        match_add(&sums[0], TENSOR_AREA_OF(e), dense[voxel]);
        match_add(&sums[1], TENSOR_AREA_OF(e), dense[match_turn(voxel)]);
    }
    for (int turned = 0; turned < 2; turned++) {
        uint32_t both = __reduce_add_sync(0xffffffffu, sums[turned].both);
        uint32_t hidden = __reduce_add_sync(0xffffffffu, sums[turned].hidden);
        float score = match_score(both, t.square - hidden, square);
        if (threadIdx.x % 32 == 0 && score >= p->score)
            atomicMax((unsigned long long *)&best[t.object],
                      (unsigned long long)match_key(score, at, turned));
    }
}

static __global__ void __launch_bounds__(THREADS)
    match_kernel(uint64_t *best, const struct tensor *tensor, const uint32_t *n,
                 struct match_library l, struct match_params p)
{
    __shared__ uint32_t dense[TENSOR_VOXELS], square;
    const struct tensor *t = &tensor[blockIdx.x];
    uint32_t first, end;

    if (blockIdx.x >= *n)
        return;
    for (uint32_t i = threadIdx.x; i < TENSOR_VOXELS; i += THREADS)
        dense[i] = match_empty(t, i);
    if (threadIdx.x == 0)
        square = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < t->n; i += THREADS) {
        uint32_t e = t->entry[i], root = tensor_root(TENSOR_AREA_OF(e));
        dense[TENSOR_VOXEL_OF(e)] = root;
        atomicAdd(&square, root * root);
    }
    __syncthreads();
    match_range(&first, &end, l.bin, t->bin);
    for (uint32_t at = first + blockIdx.y * WARPS + threadIdx.x / 32; at < end;
         at += SHARES * WARPS)
        match_compare(best + (size_t)blockIdx.x * l.n_objects, dense, square, &l, at, &p);
}

int match_cuda_run(uint64_t *best, const struct tensor *tensor, const uint32_t *n, uint32_t room,
                   const struct match_library *l, const struct match_params *p, cudaStream_t stream,
                   struct err *err)
{
    cudaLaunchConfig_t config = {};
    int rc = 0;

    config.gridDim = dim3(room, SHARES);
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    CU_TRY(cudaMemsetAsync(best, 0, (size_t)room * l->n_objects * sizeof *best, stream));
    CU_TRY(cudaLaunchKernelEx(&config, match_kernel, best, tensor, n, *l, *p));
out:
    return rc;
}
