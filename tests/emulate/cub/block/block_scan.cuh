/*
 * block_scan.cuh - exclusive sums over the threads of a block, as the fusion kernels call CUB's
 */
#pragma once

#include <cuda_runtime.h>

namespace cub
{
template <class T, int THREADS> class BlockScan
{
  public:
    struct TempStorage {
        T values[THREADS], sum;
    };
    explicit BlockScan(TempStorage &temp) : at(&temp)
    {
    }
    void ExclusiveSum(T value, T &before)
    {
        T all;
        ExclusiveSum(value, before, all);
    }
    void ExclusiveSum(T value, T &before, T &all)
    {
        at->values[threadIdx.x] = value;
        __syncthreads();
        if (threadIdx.x == 0) {
            at->sum = 0;
            for (T &v : at->values) {
                T own = v;
                v = at->sum;
                at->sum += own;
            }
        }
        __syncthreads();
        before = at->values[threadIdx.x];
        all = at->sum;
    }

  private:
    TempStorage *at;
};
} // namespace cub
