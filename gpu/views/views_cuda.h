/*
 * views_cuda.h - the stages of many views on CUDA (internal to gpu/)
 *
 * A batch of frames runs as one launch a stage: blockIdx.y is the frame. A kernel returns at once
 * where a frame does not need its stage: most frames sweep no keyframe.
 * Order:   plan, store, sweep, refine (pictures, scales, poses), sweep, agree (the swept alone),
 *          guide (sample, solve, apply), sweep in fine steps, agree, draw twice, sample,
 *          solve, apply: each kernel reads what all pixels of the previous one have written.
 */
#pragma once

#include "gpu/views/views.h"
#include "proto/err.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One frame of a batch; all pointers are the device's. */
struct views_job {
    struct views *v; /* NULL: this place in the batch is empty, or its session has no views */
    struct views_frame frame;
    const struct views_stand *stand; /* NULL: the frame's own pose counts */
};

/* Jobs in device memory, `stride` bytes from one to the next. */
struct views_batch {
    const struct views_job *first;
    size_t stride;
    int n;
    uint32_t pixels_max; /* pixels of the largest picture */
    int w_max, h_max;    /* its largest sides */
    int refines;         /* 1: sources' poses are refined */
    cudaStream_t stream;
};

/* Enqueues all stages. Returns: 0; ERR_DEVICE */
MUST_CHECK int views_cuda_run(const struct views_batch *b, struct err *err);

int plan_cuda(const struct views_batch *b, struct err *err);
int sweep_cuda(const struct views_batch *b, struct err *err);
int sweep_cuda_again(const struct views_batch *b, struct err *err);
int refine_cuda(const struct views_batch *b, struct err *err);
int agree_cuda_own(const struct views_batch *b, struct err *err);
int field_cuda_guide(const struct views_batch *b, struct err *err);
int sweep_cuda_fine(const struct views_batch *b, struct err *err);
int agree_cuda(const struct views_batch *b, struct err *err);
int draw_cuda(const struct views_batch *b, struct err *err);
int field_cuda(const struct views_batch *b, struct err *err);

#ifdef __cplusplus
}
#endif
