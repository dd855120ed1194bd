/*
 * memory_cuda.h - slabs of device memory and of pinned host memory, for sessions and pictures
 * (internal to gpu/ and its tests)
 *
 * The driver's own calls hold up every stream of the device: to free memory waits for all that
 * runs, and pinning a few megabytes takes a millisecond in which nothing can be launched. So a
 * device is opened with a reserve, sessions are cut out of it, and what they leave is cut again.
 * Threads: any
 */
#pragma once

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

/* Takes reserve_bytes of device memory at once, but at most an eighth of the device's and half of
 * what is free, and a sixteenth of that in pinned memory. More is taken when it is needed. */
MUST_CHECK int memory_cuda_open(struct memory_cuda **m, int device, uint64_t reserve_bytes,
                                struct err *err);
void memory_cuda_close(struct memory_cuda **m);

/* Out: *piece, which holds any bytes. m NULL: it comes straight from the driver, on the calling
 * thread's device (tests, benches of stages). Returns 0; ERR_MEMORY; ERR_DEVICE. */
MUST_CHECK int memory_cuda_get(struct memory_cuda *m, enum memory_cuda_kind kind, void **piece,
                               size_t bytes, struct err *err);
/* Gives back a piece that no kernel uses any more, or NULL. */
void memory_cuda_put(struct memory_cuda *m, enum memory_cuda_kind kind, void *piece);
/* What no session uses goes back to the driver. */
void memory_cuda_trim(struct memory_cuda *m);

#ifdef __cplusplus
}
#endif
