/* A build without CUDA: nothing is called, nothing is counted. */
#include "tests/support/watch_cuda.h"

void watch_cuda_begin(void)
{
}

struct watch_cuda watch_cuda_end(void)
{
    return (struct watch_cuda){0};
}

int watch_cuda_misbehave(void)
{
    return -1;
}
