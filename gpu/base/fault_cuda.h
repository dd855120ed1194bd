/*
 * fault_cuda.h - a device fault on purpose, for tests of what survives one
 *
 * RECOND_TEST_DEVICE_FAULT=n in the environment of the process: behind the n-th batch of each
 * device a kernel stores to an address where there is no memory. The fault is a real one: it is
 * sticky, it comes to light in gpu_wait(), and only another process gets the device back. This
 * opens no door: with access to the environment of a process one can end it anyway.
 */
#pragma once

#include "proto/err.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Batches until the fault; 0 = none is asked for. */
long fault_cuda_asked(void);
/* Enqueues it. */
MUST_CHECK int fault_cuda_strike(cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
