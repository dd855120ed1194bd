/*
 * surface_cuda.h - the passes of surface.h on CUDA (internal to gpu/)
 *
 * All pointers of the surface are device memory. Each call enqueues a kernel and does not wait.
 * Returns: 0; ERR_DEVICE
 */
#pragma once

#include "gpu/recognise/surface.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int surface_cuda_fn(const struct surface *s, const struct surface_params *p,
                            cudaStream_t stream, struct err *err);

surface_cuda_fn surface_cuda_filter;     /* (O1) */
surface_cuda_fn surface_cuda_points;     /* (O2) */
surface_cuda_fn surface_cuda_normals;    /* (O3) */
surface_cuda_fn surface_cuda_resolution; /* (O4) */
surface_cuda_fn surface_cuda_mesh;       /* (O5), (O6) */

#ifdef __cplusplus
}
#endif
