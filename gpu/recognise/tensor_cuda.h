/*
 * tensor_cuda.h - the passes of tensor.h on CUDA (internal to gpu/)
 *
 * All pointers of t and of *surface are device memory; `surface` is its surface on the host. Each
 * call enqueues a kernel and does not wait.
 * Returns: 0; ERR_DEVICE
 */
#pragma once

#include "gpu/recognise/tensor.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int tensor_cuda_fn(const struct tensors *t, const struct surface *surface,
                           const struct tensor_params *p, cudaStream_t stream, struct err *err);

tensor_cuda_fn tensor_cuda_pairs; /* (O7), (O8): pairs, and which of them are taken */
tensor_cuda_fn tensor_cuda_fill;  /* (O9)-(O11) */

#ifdef __cplusplus
}
#endif
