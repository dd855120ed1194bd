/*
 * wait_cuda.h - wait for a batch until the driver says that it is done, or that the device is lost
 *
 * Behind a batch an event is recorded. A second stream waits for the event and posts a semaphore,
 * so that the stream that computes never waits for the host. The thread that waits for the batch
 * sleeps on the semaphore and regularly asks the driver about the event, which reports a fault
 * after 0.1 to 0.6 s. A batch that does not end within 10 s also counts as lost with its device.
 *
 * Owner:   the thread that runs items; no other thread uses it during open or close
 */
#pragma once

#include "proto/err.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wait_cuda;

/* On the current device, for GPU_BATCHES batches. Pair with close, which waits for work under
 * way. */
MUST_CHECK int wait_cuda_open(struct wait_cuda **w, struct err *err);
void wait_cuda_close(struct wait_cuda **w);
/* Marks the work now on the stream as this batch, 0 ... GPU_BATCHES - 1. It does not wait. */
MUST_CHECK int wait_cuda_mark(struct wait_cuda *w, int batch, cudaStream_t stream, struct err *err);
/* Returns: 0: the batch, which was marked, is done; ERR_DEVICE: the device is lost. */
MUST_CHECK int wait_cuda_batch(struct wait_cuda *w, int batch, struct err *err);
/* Is the device lost? Returns the error found then; from then on all waits return at once. */
MUST_CHECK int wait_cuda_lost(const struct wait_cuda *w, struct err *err);

#ifdef __cplusplus
}
#endif
