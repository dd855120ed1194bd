/*
 * memory_cuda.h - slabs of device memory and of pinned host memory, for sessions and pictures
 * (internal to gpu/ and its tests)
 *
 * The driver's own calls delay every stream of the device: freeing memory waits for all running
 * work, and pinning a few megabytes blocks launches for a millisecond. So a device is opened with a
 * reserve, which sessions share and return pieces to.
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
 * what is free, and a sixteenth of that in pinned memory. More is taken when needed. */
MUST_CHECK int memory_cuda_open(struct memory_cuda **m, int device, uint64_t reserve_bytes,
                                struct err *err);
void memory_cuda_close(struct memory_cuda **m);

/* Out: *piece, not cleared. m NULL: it comes straight from the driver, on the calling
 * thread's device (tests, benches of stages). Returns 0; ERR_MEMORY; ERR_DEVICE. */
MUST_CHECK int memory_cuda_get(struct memory_cuda *m, enum memory_cuda_kind kind, void **piece,
                               size_t bytes, struct err *err);
/* Returns a piece that no kernel uses any more, or NULL, to the slab. */
void memory_cuda_put(struct memory_cuda *m, enum memory_cuda_kind kind, void *piece);
/* Returns unused memory to the driver. */
void memory_cuda_trim(struct memory_cuda *m);

#ifdef __cplusplus
}
#endif
