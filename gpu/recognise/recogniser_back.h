/*
 * recogniser_back.h - a recogniser's back end other than the processor (internal to gpu/)
 */
#pragma once

#include "gpu/recognise/hypothesis.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As recogniser_open(), _run() and _close(); run() uses the camera of s and leaves points and
 * normals there. `at` is the back end's state. */
struct recogniser_back {
    int (*open)(void **at, int device, int w, int h, const struct library *l,
                const struct tensor_params *t, const struct hypothesis_params *p, struct err *err);
    int (*run)(void *at, const float *depth, struct surface *s, struct hypothesis *found,
               uint32_t *n, struct err *err);
    void (*close)(void **at);
};

/* NULL in a build without CUDA (recogniser_none.c). */
extern const struct recogniser_back *const recogniser_cuda;

#ifdef __cplusplus
}
#endif
