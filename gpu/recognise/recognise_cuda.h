/*
 * recognise_cuda.h - from depth pictures of one size to objects' poses on a CUDA device (internal
 * to gpu/ and its tests)
 *
 * Owner:   one thread; the device is that thread's current one
 */
#pragma once

#include "gpu/recognise/hypothesis.h"

#ifdef __cplusplus
extern "C" {
#endif

enum recognise_pass {
    RECOGNISE_UPLOAD,
    RECOGNISE_FILTER,
    RECOGNISE_POINTS,
    RECOGNISE_NORMALS,
    RECOGNISE_RESOLUTION,
    RECOGNISE_MESH,
    RECOGNISE_PAIRS,
    RECOGNISE_TENSORS,
    RECOGNISE_MATCH,
    RECOGNISE_GUESS,
    RECOGNISE_REFINE,
    RECOGNISE_KEEP,
    RECOGNISE_PASSES
};

struct recognise_cuda;

struct recognise_config {
    int w, h, step; /* size of depth pictures, step of surfaces */
    struct intrinsics K;
    struct surface_params surface;
    struct tensor_params tensor;
    struct match_params match;
    struct hypothesis_params hypothesis;
};

/* Sets aside all memory; the library is copied. Returns 0; ERR_UNSUPPORTED: no device; ERR_MEMORY;
 * ERR_DEVICE. Pair with close. */
MUST_CHECK int recognise_cuda_open(struct recognise_cuda **r, const struct recognise_config *c,
                                   const struct library *l, struct err *err);
void recognise_cuda_close(struct recognise_cuda **r);

/* Sets the next pictures' camera, as a surface's K (surface_shape()). */
void recognise_cuda_camera(struct recognise_cuda *r, struct intrinsics K);

/*
 * recognise_cuda_run - finds the objects that a depth picture shows
 *
 * In:      depth [h][w], host
 * Out:     us [RECOGNISE_PASSES]: what each pass took; NULL: passes are not timed
 *          found [HYPOTHESES_MAX], *n; of s, its points and normals; host. NULL: they stay there
 * Returns: 0; ERR_DEVICE
 * Runs:    waits, once
 */
MUST_CHECK int recognise_cuda_run(struct recognise_cuda *r, const float *depth, float *us,
                                  struct hypothesis *found, uint32_t *n, struct surface *s,
                                  struct err *err);
/* Copies all results of the last run to host memory from surface_new() and tensor_new() of the same
 * configuration; best [n][objects], tried [objects][tries]. */
MUST_CHECK int recognise_cuda_get(struct recognise_cuda *r, struct surface *s, struct tensors *t,
                                  uint64_t *best, struct hypothesis *tried, struct err *err);

#ifdef __cplusplus
}
#endif
