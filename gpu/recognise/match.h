/*
 * match.h - which tensors of a library a picture's tensors look like
 *
 * Each of the picture's tensors is compared with all of the library that are in its bin or beside
 * it, as it is and turned by half about z, since a pair's two points have no order. What is kept is
 * the best of each object.
 *
 * Order:   scores follow from sums of whole numbers, and the best has the largest key, so no order
 *          of threads changes a bit.
 * Maths:   MATH.md (O12), (O13) <- Orts-Escolano et al., equation 6; Mian et al. 2006
 * Twins:   match_cpu.c, match_cuda.cu (tests/twin/gpu_recognise.c)
 */
#pragma once

#include "gpu/recognise/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A key of the best match: 0 = none; else score | tensor | turned, larger is better. */
struct match {
    float score;
    uint32_t tensor; /* of the library */
    int turned;
};

struct match_params match_params_default(void);

/* best [n][l->n_objects], out. */
void match_cpu_run(uint64_t *best, const struct tensor *tensor, uint32_t n, const struct library *l,
                   const struct match_params *p);

#ifdef __cplusplus
}
#endif
