/*
 * fault_cuda.h - a device fault on purpose, for tests of recovery
 *
 * RECOND_TEST_DEVICE_FAULT=n in the environment of the process: behind the n-th batch of each
 * device a kernel stores to an address where there is no memory. The fault is real: it is sticky,
 * gpu_wait() reports it, and only another process gets the device back. This is no security hole:
 * access to a process's environment suffices to end it anyway.
 */
#pragma once

#include "proto/err.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Batches until the fault; 0 = no fault. */
long fault_cuda_asked(void);
/* Enqueues the fault. */
MUST_CHECK int fault_cuda_strike(cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
