/*
 * match.h - finds the library's tensors that are most like a picture's
 *
 * Each tensor of the picture is compared with all library tensors of its bin and the two beside it,
 * as it is and turned by half about z, since a pair's points have no order. The best match with
 * each object is kept.
 *
 * Order:   scores come from sums of whole numbers and the largest key wins, so no order of threads
 *          changes a bit.
 * Maths:   MATH.md (O12), (O13) <- Orts-Escolano et al., equation 6; Mian et al. 2006
 * Twins:   match_cpu.c, match_cuda.cu (tests/twin/gpu_recognise.c)
 */
#pragma once

#include "gpu/recognise/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The key of a match: 0 = none, else score | tensor | turned; larger is better. */
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
