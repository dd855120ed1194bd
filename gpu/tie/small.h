/*
 * small.h - rigid motions in double, and the solution of small symmetric systems, for ties alone
 */
#pragma once

#include "proto/err.h"
#include "proto/geom/sim3.h"

#include <stdbool.h>
#include <stddef.h>

/* a after b, and the inverse; scale 1. out may be a or b. */
void small_mul(struct sim3 *out, const struct sim3 *a, const struct sim3 *b);
void small_inverse(struct sim3 *out, const struct sim3 *a);
void small_from(struct sim3 *out, const struct rigid *T);
void small_to(struct rigid *out, const struct sim3 *T);
/* T becomes exp(d) T: d is a turn, radians, and then a shift. */
void small_move(struct sim3 *T, const double d[6]);
/* d of exp(d) = T, for turns below 180 degrees */
void small_log(double d[6], const struct sim3 *T);

/* A x = b by Cholesky. a [n][n], its lower half is read: destroyed. b [n]: becomes x. Returns false
 * if A is not positive definite. */
bool small_solve(double *a, double *b, int n);
/* The same for a system whose row r is empty before column first[r]: its columns from there to
 * r lie at a + at[r], and so do those of the factor. */
bool small_solve_rows(double *a, const size_t *at, const int *first, double *b, int n);
