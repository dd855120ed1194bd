/*
 * recognise_rig_cuda.h - recognition on a CUDA device, without a line around it
 *
 * A test reaches it through a table, as it does track_rig_cuda.h's.
 */
#pragma once

#include "gpu/recognise/recognise_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

struct recognise_rig_api {
    int (*open)(struct recognise_cuda **r, const struct recognise_config *c,
                const struct library *l, struct err *err);
    void (*close)(struct recognise_cuda **r);
    int (*run)(struct recognise_cuda *r, const float *depth, float *us, struct hypothesis *found,
               uint32_t *n, struct surface *s, struct err *err);
    int (*get)(struct recognise_cuda *r, struct surface *s, struct tensors *t, uint64_t *best,
               struct hypothesis *tried, struct err *err);
};

extern const struct recognise_rig_api *recognise_rig_cuda;

#ifdef __cplusplus
}
#endif
