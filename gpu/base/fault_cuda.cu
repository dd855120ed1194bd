#include "gpu/base/fault_cuda.h"

#include "gpu/base/cuda_try.h"

#include <stdlib.h>

/* One thread writes to a page outside all allocations. */
static __global__ void strike(int *nowhere)
{
    *(volatile int *)nowhere = 1;
}

long fault_cuda_asked(void)
{
    const char *n = getenv("RECOND_TEST_DEVICE_FAULT");
    return n ? strtol(n, NULL, 10) : 0;
}

int fault_cuda_strike(cudaStream_t stream, struct err *err)
{
    int rc;

    strike<<<1, 1, 0, stream>>>((int *)sizeof(int));
    CU_TRY(cuda_try_launch());
out:
    return rc;
}
