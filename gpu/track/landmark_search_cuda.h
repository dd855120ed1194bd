/*
 * landmark_search_cuda.h - the Monte-Carlo optimiser on CUDA (internal to gpu/)
 *
 * Memory:  open takes all: the noise, and the landmarks' state between rounds; a run takes none.
 */
#pragma once

#include "gpu/base/memory_cuda.h"
#include "gpu/track/landmark_search.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LANDMARK_SEARCH_CUDA_LANDMARKS 65535 /* landmarks of a batch, at most: the side of a grid */

struct landmark_search_cuda;

/*
 * landmark_search_cuda_open - makes the noise of (T1) and room for landmarks_max landmarks
 *
 * In:      memory: see memory_cuda_get(); landmarks_max: at most LANDMARK_SEARCH_CUDA_LANDMARKS
 * Returns: 0; ERR_MEMORY; ERR_DEVICE
 * Runs:    enqueues on `stream`: later work on it finds the noise
 */
MUST_CHECK int landmark_search_cuda_open(struct landmark_search_cuda **m,
                                         struct memory_cuda *memory, int landmarks_max,
                                         cudaStream_t stream, struct err *err);
void landmark_search_cuda_free(struct landmark_search_cuda **m);

/*
 * landmark_search_cuda_run - landmark_search_cpu() on the device
 *
 * In/out:  b: its arrays are the device's and would pass landmark_search_check(); landmarks_max at
 *          most
 * Returns: 0; ERR_LIMIT (too many landmarks); ERR_DEVICE
 * Runs:    enqueues 2 n_rounds + 1 kernels on `stream`, one where a round has 512 places or fewer;
 *          does not wait
 */
MUST_CHECK int landmark_search_cuda_run(struct landmark_search_cuda *m,
                                        const struct landmark_search_batch *b,
                                        const struct landmark_search_params *p, cudaStream_t stream,
                                        struct err *err);

#ifdef __cplusplus
}
#endif
