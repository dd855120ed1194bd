/*
 * path_lane.h - path_block.h's block of one lane on the CPU: it does not wait, and has all parts of
 * a sum
 */
#pragma once

#include "gpu/track/path_point.h"

#define PATH_FN static inline
#define PATH_LANE_PARTS PATH_PARTS
PATH_FN void path_wait(void)
{
}

/* Adds the parts of a group; all its lanes get the sum. */
PATH_FN double path_add(double *part)
{
    for (int h = PATH_PARTS / 2; h > 0; h /= 2)
        for (int q = 0; q < h; q++)
            part[q] += part[q + h];
    return part[0];
}

/* How many finds earlier lanes have; this one has n, and *all becomes the count of all lanes'. */
PATH_FN uint32_t path_before(uint32_t n, uint32_t *count, uint32_t *all)
{
    (void)count;
    *all = n;
    return 0;
}

/* A system of n unknowns, its lower half by rows: x becomes the solution. All lanes call it; lane 0
 * may read x at once. Returns 0 without a solution, or if `done` was 0. */
PATH_FN uint32_t path_factor_and_solve(double *A, double *x, uint32_t n, uint32_t done)
{
    for (uint32_t k = 0; k < n; k++) {
        double *row = A + k * (k + 1) / 2;
        done = done && row[k] > PATH_SINGULAR;
        row[k] = sqrt(done ? row[k] : 1.0);
        for (uint32_t i = k + 1; i < n; i++)
            A[i * (i + 1) / 2 + k] /= row[k];
        for (uint32_t i = k + 1; i < n; i++)
            for (uint32_t j = k + 1; j <= i; j++)
                A[i * (i + 1) / 2 + j] -= A[i * (i + 1) / 2 + k] * A[j * (j + 1) / 2 + k];
    }
    for (uint32_t k = 0; k < n; k++) {
        x[k] /= A[k * (k + 1) / 2 + k];
        for (uint32_t i = k + 1; i < n; i++)
            x[i] -= A[i * (i + 1) / 2 + k] * x[k];
    }
    for (uint32_t k = n; k-- > 0;) {
        x[k] /= A[k * (k + 1) / 2 + k];
        for (uint32_t i = 0; i < k; i++)
            x[i] -= A[k * (k + 1) / 2 + i] * x[k];
    }
    return done;
}
