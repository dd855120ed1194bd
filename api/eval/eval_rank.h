/*
 * eval_rank.h - does what is said of points predict how far off they are?
 *
 * Spearman's rank correlation of two lists: 1 where one grows with the other, -1 where it falls, 0
 * where neither knows of the other. Equal values share the mean of their ranks.
 */
#ifndef RECOND_API_EVAL_RANK_H
#define RECOND_API_EVAL_RANK_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * eval_rank_correlation - of levels with finite values
 *
 * In:      level, value [n]
 * Out:     *out; NAN where all levels, or all values, are equal, or n is 0
 * Returns: 0; ERR_MEMORY
 * Cost:    O(n log n)
 */
MUST_CHECK int eval_rank_correlation(double *out, const uint8_t *level, const double *value,
                                     size_t n, struct err *err);

#endif
