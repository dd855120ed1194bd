/*
 * wait_cuda.h - wait for a batch for as long as the device is alive
 *
 * Behind a batch an event is recorded. With answer_ms = 0 the driver waits for it, and tells of a
 * fault when it knows of it, 0.1 to 0.6 s later. Else a second stream waits for the event and posts
 * a semaphore, so that the stream that computes never waits for the host; whoever waits for the
 * batch asks the device's pulse (pulse_cuda.h) each time that the semaphore was not posted for
 * answer_ms:
 *
 *     silent for answer_ms: lost;  an answer: the batch is long, wait on, but for no more than 10 s
 *
 * So a device that took a fault is found at the latest 2 answer_ms after it, and a kernel that
 * never ends is found, too. Programs that share the device can hold it for longer than that, and
 * then its silence says nothing: it counts only while we are alone there.
 *
 * Owner:   the thread that runs frames; opening and closing is for whoever is alone with the device
 */
#ifndef RECOND_GPU_WAIT_CUDA_H
#define RECOND_GPU_WAIT_CUDA_H

#include "proto/err.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wait_cuda;

/* On the current device, for GPU_FLIGHTS batches. Pair with close, which waits for what is under
 * way. */
MUST_CHECK int wait_cuda_open(struct wait_cuda **w, int answer_ms, struct err *err);
void wait_cuda_close(struct wait_cuda **w);
/* Is nobody else on the device? Until this is said, somebody is. Any thread. */
void wait_cuda_alone(struct wait_cuda *w, int alone);
/* What is on the stream now is the batch of this flight. Enqueues, does not wait. */
MUST_CHECK int wait_cuda_mark(struct wait_cuda *w, int flight, cudaStream_t stream,
                              struct err *err);
/* Returns: 0: the batch is done; ERR_DEVICE: the device is lost. A flight that was marked. */
MUST_CHECK int wait_cuda_land(struct wait_cuda *w, int flight, struct err *err);
/* Asks the device now, before a call that only the driver ends. Returns as land does; 0 where
 * nothing is to be asked, or the answer would not count. */
MUST_CHECK int wait_cuda_alive(struct wait_cuda *w, struct err *err);
/* Has it been found lost? Returns what was said then: from then on nothing is waited for. */
MUST_CHECK int wait_cuda_lost(const struct wait_cuda *w, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
