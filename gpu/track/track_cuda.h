/*
 * track_cuda.h - tracks on CUDA (internal to gpu/)
 *
 * A batch of frames runs as one launch a kernel: blockIdx.y is the frame.
 * Order:   grey, the smaller pictures one after the other, shift, klt, response, offer, bear; each
 *          reads what all threads of the previous one have written.
 */
#pragma once

#include "gpu/track/track.h"
#include "proto/err.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One frame of a batch; all pointers are the device's, those in *t as well. */
struct track_job {
    struct track *t; /* NULL: this place in the batch is empty */
    struct track_frame frame;
};

/* Jobs in device memory, `stride` bytes from one to the next. */
struct track_batch {
    const struct track_job *first;
    size_t stride;
    int n;
    int w_max, h_max; /* largest sides of the pictures */
    cudaStream_t stream;
};

/* Enqueues all stages. Returns: 0; ERR_DEVICE */
MUST_CHECK int track_cuda_run(const struct track_batch *b, struct err *err);

int pyramid_cuda(const struct track_batch *b, struct err *err);
int klt_cuda(const struct track_batch *b, struct err *err);
int corner_cuda(const struct track_batch *b, struct err *err);

#ifdef __cplusplus
}
#endif
