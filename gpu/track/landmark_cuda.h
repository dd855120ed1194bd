/*
 * landmark_cuda.h - tracks become landmarks on CUDA (internal to gpu/)
 */
#pragma once

#include "gpu/track/landmark.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * landmark_cuda_run - landmark_cpu() for n sessions; one whose track is NULL is left out
 *
 * In:      sessions: in device memory, and so are all pointers in them
 * Returns: 0; ERR_DEVICE
 * Runs:    enqueues one kernel on `stream`, does not wait
 */
MUST_CHECK int landmark_cuda_run(const struct landmark_session *sessions, int n,
                                 const struct landmark_params *p, cudaStream_t stream,
                                 struct err *err);

#ifdef __cplusplus
}
#endif
