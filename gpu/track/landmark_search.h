/*
 * landmark_search.h - the Monte-Carlo optimiser moves landmarks to where their pictures agree best
 *
 * A landmark is the place in the world of a corner that was tracked over some frames; an
 * observation says where one of these frames saw it. Each round tries many places in a cube around
 * the landmark and keeps the one with the smallest sum of reprojection errors; the next round's
 * cube is smaller.
 * Batches: landmarks are independent, so one batch holds those of all sessions.
 * Order:   both back ends compute a residual with the same arithmetic, and the smallest (residual,
 *          number) wins: both give the same bits.
 * Maths:   MATH.md (T1)-(T5) <- the paper's eq. 2 and 3
 * Twins:   landmark_search_cpu.c, landmark_search_cuda.cu (tests/twin/gpu_track.c)
 */
#pragma once

#include "proto/err.h"
#include "proto/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LANDMARK_SEARCH_OBSERVATIONS 60  /* observations of a landmark, at most */
#define LANDMARK_SEARCH_HYPOTHESES 65536 /* places tried in a round, at most; the paper's number */
#define LANDMARK_SEARCH_HYPOTHESES_STEP 64 /* n_hypotheses is a multiple of this */
#define LANDMARK_SEARCH_ROUNDS 16          /* at most */

struct landmark_search_camera {
    struct rigid T_cw; /* world to camera */
    struct intrinsics K;
};

struct landmark_search_observation {
    uint32_t camera; /* index into the batch's cameras */
    float x, y;      /* pixels */
};

struct landmark_search_landmark {
    struct vec3 p;     /* world, metres */
    uint32_t first, n; /* its observations */
    float prior_px; /* out: mean reprojection error before the search; infinite behind a camera */
    float residual_px; /* out: after */
};

struct landmark_search_params {
    uint32_t n_hypotheses; /* places tried in a round */
    int n_rounds;          /* 1 is the paper's */
    float reach;   /* half side of the first cube, in prior errors at the landmark's depth */
    float shrink;  /* ratio of half sides from round to round */
    float stretch; /* most that the cube is lengthened along the ray; 1 is the paper's */
};

/* Arrays in host memory for the CPU, in device memory for CUDA. */
struct landmark_search_batch {
    struct landmark_search_landmark *landmark;
    const struct landmark_search_observation *observation;
    const struct landmark_search_camera *camera;
    int n_landmarks, n_observations, n_cameras;
};

/* The paper's single round, and ours. */
struct landmark_search_params landmark_search_params_paper(void);
struct landmark_search_params landmark_search_params_default(void);

/* Are these numbers allowed? Returns: 0; ERR_INPUT */
MUST_CHECK int landmark_search_check_params(const struct landmark_search_params *p,
                                            struct err *err);

/* Do all landmarks name existing observations, and these existing cameras? For batches in host
 * memory. Returns: 0; ERR_INPUT */
MUST_CHECK int landmark_search_check(const struct landmark_search_batch *b, struct err *err);

/* (T1) Fills in the landmarks' common noise: 3 planes of LANDMARK_SEARCH_HYPOTHESES floats. */
#define LANDMARK_SEARCH_NOISE_BYTES (3 * LANDMARK_SEARCH_HYPOTHESES * sizeof(float))
void landmark_search_noise(float *noise);

/*
 * landmark_search_cpu - move landmarks to where their observations agree best
 *
 * In/out:  b->landmark: p, never to a place with a larger residual; out: prior_px, residual_px
 * In:      noise: landmark_search_noise()'s; p, b: checked
 * Maths:   MATH.md (T1)-(T5)
 * Cost:    hypotheses x rounds x observations of each landmark, about 1 ns each on one core
 */
void landmark_search_cpu(struct landmark_search_batch *b, const float *noise,
                         const struct landmark_search_params *p);

#ifdef __cplusplus
}
#endif
