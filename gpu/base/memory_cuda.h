/*
 * memory_cuda.h - what sessions and pictures live in: slabs of device memory and of pinned host
 * memory (internal to gpu/ and its tests)
 *
 * The driver's own calls hold up every stream of the device: to free memory waits for all that
 * runs, and pinning a few megabytes takes a millisecond in which nothing can be launched. So a
 * device is opened with a reserve, sessions are cut out of it, and what they leave is cut again.
 * Threads: any
 */
#ifndef RECOND_GPU_MEMORY_CUDA_H
#define RECOND_GPU_MEMORY_CUDA_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct memory_cuda;

enum memory_cuda_kind {
    MEMORY_CUDA_DEVICE,
    MEMORY_CUDA_PINNED /* the device reads and writes it at the same address */
};

/* reserve_bytes: of device memory, taken at once, but at most an eighth of the device's and half of
 * what is free; and a sixteenth of that, pinned. What is missing then comes when it is needed. */
MUST_CHECK int memory_cuda_open(struct memory_cuda **m, int device, uint64_t reserve_bytes,
                                struct err *err);
void memory_cuda_close(struct memory_cuda **m);

/* A piece; m NULL: straight from the driver, on the calling thread's device (tests, benches of
 * stages). Its contents are what others left. Returns 0; ERR_MEMORY; ERR_DEVICE. */
MUST_CHECK int memory_cuda_get(struct memory_cuda *m, enum memory_cuda_kind kind, void **piece,
                               size_t bytes, struct err *err);
/* No kernel uses it any more. */
void memory_cuda_put(struct memory_cuda *m, enum memory_cuda_kind kind, void *piece);
/* What no session uses goes back to the driver. */
void memory_cuda_trim(struct memory_cuda *m);

#ifdef __cplusplus
}
#endif
#endif
