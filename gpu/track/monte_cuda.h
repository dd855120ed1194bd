/*
 * monte_cuda.h - the Monte-Carlo optimiser on CUDA (internal to gpu/)
 *
 * Memory:  noise and what landmarks keep between two rounds is taken once; a run takes none.
 */
#ifndef RECOND_GPU_TRACK_MONTE_CUDA_H
#define RECOND_GPU_TRACK_MONTE_CUDA_H

#include "gpu/base/memory_cuda.h"
#include "gpu/track/monte.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MONTE_CUDA_LANDMARKS 65535 /* of a batch, at most: the side of a grid */

struct monte_cuda;

/*
 * monte_cuda_open - the noise of (T1), and room for so many landmarks at once
 *
 * In:      memory: as memory_cuda_get() has it; landmarks_max: at most MONTE_CUDA_LANDMARKS
 * Returns: 0; ERR_MEMORY; ERR_DEVICE
 * Runs:    enqueues on `stream`: runs on it, or behind it, find the noise
 */
MUST_CHECK int monte_cuda_open(struct monte_cuda **m, struct memory_cuda *memory, int landmarks_max,
                               cudaStream_t stream, struct err *err);
void monte_cuda_free(struct monte_cuda **m);

/*
 * monte_cuda_run - monte_cpu() on the device
 *
 * In/out:  b: its arrays are the device's, as monte_check() would have them; landmarks_max at most
 * Returns: 0; ERR_LIMIT (too many landmarks); ERR_DEVICE
 * Runs:    enqueues 2 n_rounds + 1 kernels on `stream`, one where a round has 512 places or fewer;
 *          does not wait
 */
MUST_CHECK int monte_cuda_run(struct monte_cuda *m, const struct monte_batch *b,
                              const struct monte_params *p, cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
