/*
 * tree.h - exact nearest neighbours: a k-d tree over points or descriptors
 *
 * The tree is balanced by medians along the widest side and keeps the box around each part, so that
 * every cloud is served well: equal points, lines, one point, walls far from a query. Distances are
 * Euclidean, in the unit of the points, squared, and computed in double from the float coordinates:
 * they are those that a loop over all pairs would find. Of several points at one distance any may
 * be answered, but always the same one in every run.
 *
 * Cost:    new: O(n log n) time and 2 n dim floats of memory; a query O(log n + k) where points lie
 *          on surfaces, up to O(n) for descriptors of many dimensions
 * Threads: queries of one tree may run side by side
 */
#pragma once

#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TREE_DIM_MAX 33
#define TREE_POINTS_MAX (1u << 30)

struct tree;

/*
 * tree_new - copy and order the points
 * In:      points [n][dim], all finite (the caller has checked)
 * Returns: 0; ERR_INPUT: no point, dim out of 1...TREE_DIM_MAX; ERR_LIMIT: over
 *          TREE_POINTS_MAX; ERR_MEMORY
 */
MUST_CHECK int tree_new(struct tree **tree, const float *points, size_t n, int dim,
                        struct err *err);
void tree_free(struct tree **tree);

/*
 * tree_neighbours - up to k nearest points with squared distance < bound2, nearest first
 * Out:     id [k], d2 [k]
 * Returns: how many were found
 */
int tree_neighbours(const struct tree *tree, const double *q, double bound2, int k, uint32_t *id,
                    double *d2);

#ifdef __cplusplus
}
#endif
