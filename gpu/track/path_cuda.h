/*
 * path_cuda.h - cameras' poses on CUDA (internal to gpu/)
 */
#pragma once

#include "gpu/track/path.h"
#include "proto/err.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One frame of a batch; all pointers are the device's, those in *p and *t as well. */
struct path_job {
    struct path *p; /* NULL: this place in the batch is empty */
    const struct track *t;
    struct path_frame frame;
};

/*
 * path_cuda_run - path_cpu() for n frames
 *
 * In:      first: the first of n jobs in device memory, `stride` bytes from one to the next
 * Returns: 0; ERR_DEVICE
 * Runs:    enqueues kernels on `stream`, does not wait
 */
MUST_CHECK int path_cuda_run(const struct path_job *first, size_t stride, int n,
                             cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
