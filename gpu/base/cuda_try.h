/*
 * cuda_try.h - checked calls of the CUDA run-time
 *
 *     CU_TRY(cudaMemcpyAsync(...));     sets rc and err and jumps to `out` when the call fails
 *     CU_TRY(cuda_try_launch());        behind every kernel launch
 *
 * Needs in scope: `int rc`, `struct err *err`, a label `out`. Lack of memory is ERR_MEMORY; any
 * other failure counts as a lost context, because after most of them it is (ERR_DEVICE).
 */
#pragma once

#include "proto/err.h"

#include <cuda_runtime.h>

static inline int cuda_try_check(cudaError_t e, const char *call, struct err *err)
{
    if (e == cudaSuccess)
        return 0;
    return err_set(err, e == cudaErrorMemoryAllocation ? ERR_MEMORY : ERR_DEVICE, "%.120s: %s (%s)",
                   call, cudaGetErrorName(e), cudaGetErrorString(e));
}

static inline cudaError_t cuda_try_launch(void)
{
    return cudaGetLastError();
}

#define CU_TRY(call)                             \
    do {                                         \
        rc = cuda_try_check((call), #call, err); \
        if (rc)                                  \
            goto out;                            \
    } while (0)
