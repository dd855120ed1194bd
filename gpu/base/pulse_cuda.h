/*
 * pulse_cuda.h - does the device still answer? Asked beside whatever it computes
 *
 * A device that took a fault runs nothing more of its context, but the driver tells of the fault
 * only a fifth of a second later. So a kernel of one thread, on a stream of the highest priority,
 * writes the number of the asking into memory of the host. On a healthy device it is there at once,
 * or as soon as any block that runs is done, however much is enqueued; on one that is lost, never.
 *
 * What keeps it waiting too: debuggers and tools that hold kernels back, and other programs'
 * kernels on the same device.
 * Owner:   one thread at a time, with that device as its current one
 */
#ifndef RECOND_GPU_PULSE_CUDA_H
#define RECOND_GPU_PULSE_CUDA_H

#include "proto/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pulse_cuda;

/* On the current device. Asks once, and waits for as long as it takes: from then on asking loads
 * and allocates nothing. Pair with close. */
MUST_CHECK int pulse_cuda_open(struct pulse_cuda **p, struct err *err);
void pulse_cuda_close(struct pulse_cuda **p);
/*
 * Returns: 0: it answered within answer_ms; ERR_DEVICE: it did not; what CUDA says of the launch
 * Runs:    a launch, then naps of a millisecond. They are counted, not timed: for a machine that
 *          stood still for a second, or a host with too much to do, a nap is a nap, and the device
 *          had at least as long.
 */
MUST_CHECK int pulse_cuda_ask(struct pulse_cuda *p, int answer_ms, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
