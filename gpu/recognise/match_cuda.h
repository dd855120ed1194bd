/*
 * match_cuda.h - match.h on CUDA (internal to gpu/)
 */
#pragma once

#include "gpu/recognise/match.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A library's tensors in device memory. */
struct match_library {
    const struct library_tensor *tensor;
    const uint32_t *entry;
    const uint32_t *bin;
    uint32_t n_objects;
};

/*
 * match_cuda_run - match_cpu_run() on the device, for *n tensors
 *
 * In:      device memory; room: tensors at most
 * Out:     best [room][l->n_objects], device memory
 * Returns: 0; ERR_DEVICE
 * Runs:    enqueues on the stream, does not wait
 */
MUST_CHECK int match_cuda_run(uint64_t *best, const struct tensor *tensor, const uint32_t *n,
                              uint32_t room, const struct match_library *l,
                              const struct match_params *p, cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
