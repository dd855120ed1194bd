/*
 * hypothesis.h - from matches to objects and their poses
 *
 * Each match gives a pose of an object. Poses that agree with others are refined until the object's
 * points lie on the surface, and judged by what the picture shows at these points: surface
 * (supported), something in front (hidden), something behind (contradicted).
 *
 * Frames:  T_co takes the object's points to the camera
 * Order:   the same input gives the same answer, bit for bit
 * Maths:   MATH.md (O14)-(O17)
 * Twins:   hypothesis_cpu.c, hypothesis_cuda.cu (tests/twin/gpu_recognise.c)
 */
#pragma once

#include "gpu/recognise/match.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HYPOTHESIS_TRIES_MAX 64
#define HYPOTHESES_MAX 64 /* objects found in a picture, at most */

struct hypothesis {
    uint32_t object; /* of the library */
    struct rigid T_co;
    float score;     /* supported / (supported + contradicted) */
    float support;   /* supported / points that face the camera */
    uint32_t points; /* supported */
    uint32_t votes;  /* tensors whose matches agree on it */
};

/* What a picture says of an object at a pose: how many of its points face the camera, and of them
 * how many are supported and how many contradicted. */
struct hypothesis_view {
    uint32_t facing, supported, contradicted;
};

/* A picture's hypotheses, and the objects found. */
struct hypotheses {
    struct hypothesis_guess *guess; /* [objects][tensors] hypothesis_pose.h */
    struct hypothesis *tried;       /* [objects][tries] no votes: empty; no points: rejected */
    int32_t *pixel;           /* [points of the largest object] the supporting pixel; -1: none */
    uint8_t *claims;          /* [pixels] 1: a better hypothesis claims it */
    struct hypothesis *found; /* [HYPOTHESES_MAX] */
    uint32_t *n_found;
    uint32_t tensors; /* tensors of a picture, at most */
};

struct hypothesis_params hypothesis_params_default(void);

/* Memory for pictures of a surface's size with so many tensors. Pair new with free. Returns 0;
 * ERR_MEMORY. */
MUST_CHECK int hypothesis_new(struct hypotheses *q, const struct surface *s, uint32_t tensors,
                              const struct library *l, const struct hypothesis_params *p,
                              struct err *err);
void hypothesis_free(struct hypotheses *q);
/* The lengths of guess, tried and pixel. */
struct hypothesis_room {
    size_t guesses, tries, points;
};
struct hypothesis_room hypothesis_room(const struct library *l, uint32_t tensors,
                                       const struct hypothesis_params *p);

/*
 * hypothesis_cpu_run - the objects that a picture shows, the best supported first
 *
 * In:      t, its tensors; best, of match_cpu_run()
 * Out:     q->found, *q->n_found
 */
void hypothesis_cpu_run(const struct hypotheses *q, const struct tensors *t, const uint64_t *best,
                        const struct library *l, const struct hypothesis_params *p);

/* Judges an object at a pose by a surface, without refinement. */
struct hypothesis_view hypothesis_cpu_judge(const struct surface *s, const struct object *o,
                                            const struct rigid *T_co,
                                            const struct hypothesis_params *p);

#ifdef __cplusplus
}
#endif
