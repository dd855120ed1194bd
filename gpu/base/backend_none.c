/*
 * backend_none.c - stands in for the CUDA back end in a build without it
 */
#include "gpu/base/ops.h"

const struct gpu_ops *const backend_cuda = NULL;

int backend_cuda_count(void)
{
    return 0;
}
