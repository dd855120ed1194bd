/*
 * hypothesis_cuda.h - hypothesis.h on CUDA (internal to gpu/)
 *
 * All pointers of the arguments are device memory. Each call enqueues a kernel and does not wait.
 * Returns: 0; ERR_DEVICE
 */
#pragma once

#include "gpu/recognise/hypothesis.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A library's parts that poses need. */
struct hypothesis_library {
    const struct rigid *T_ob;         /* [tensors] */
    const struct vec3 *middle;        /* [objects] */
    const uint8_t *is_coarse;         /* [objects] */
    const struct object_point *point; /* all objects' points, one after the other */
    const uint32_t *first;            /* [objects + 1] where each object's points begin */
    uint32_t n_objects;
};

struct hypothesis_picture {
    struct hypotheses q;
    struct hypothesis_library l;
    const struct tensor *tensor;
    const uint32_t *n_tensors;
    const uint64_t *best; /* [tensors][objects] */
};

typedef int hypothesis_cuda_fn(const struct hypothesis_picture *h, const struct surface *s,
                               const struct hypothesis_params *p, cudaStream_t stream,
                               struct err *err);

hypothesis_cuda_fn hypothesis_cuda_guess;  /* (O14) */
hypothesis_cuda_fn hypothesis_cuda_refine; /* (O16) and the verdicts of (O17) */
hypothesis_cuda_fn hypothesis_cuda_keep;   /* (O17) which poses stay */

#ifdef __cplusplus
}
#endif
