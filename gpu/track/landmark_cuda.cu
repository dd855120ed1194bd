#include "gpu/base/cuda_try.h"
#include "gpu/track/landmark_cuda.h"
#include "gpu/track/landmark_point.h"

#define LANDMARK_BLOCK 128

/* Grid: (blocks of slots, sessions), a thread a slot. Observations of a frame lie side by side. */
static __global__ void landmark_kernel(const struct landmark_session *sessions,
                                       struct landmark_params p)
{
    const struct landmark_session *s = &sessions[blockIdx.y];
    uint32_t slot = blockIdx.x * LANDMARK_BLOCK + threadIdx.x;
    if (s->track && slot < (uint32_t)s->track->n_slots)
        (void)landmark_of(s, &p, slot);
}

int landmark_cuda_run(const struct landmark_session *sessions, int n,
                      const struct landmark_params *p, cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = {};
    int rc = 0;

    config.gridDim = dim3(TRACK_MOST / LANDMARK_BLOCK, (unsigned)n);
    config.blockDim = dim3(LANDMARK_BLOCK);
    config.stream = stream;
    CU_TRY(cudaLaunchKernelEx(&config, landmark_kernel, sessions, *p));
out:
    return rc;
}
