/*
 * eval_tree.h - exact nearest neighbours: a k-d tree over points or descriptors
 *
 * Balanced by medians along the widest side, with the box around each part, so any cloud is
 * welcome: equal points, lines, one point, walls far from a query. Distances are Euclidian, in the
 * unit of the points, returned squared and computed in double from the float coordinates, so they
 * are those of a loop over all pairs. Among equally near points which one is answered is arbitrary,
 * but the same in every run.
 *
 * Cost:    new: O(n log n) time and 2 n dim floats of memory; a query O(log n + k) where points lie
 *          on surfaces, up to O(n) for descriptors of many dimensions
 * Threads: queries of one tree may run side by side
 */
#ifndef RECOND_API_EVAL_TREE_H
#define RECOND_API_EVAL_TREE_H

#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVAL_TREE_DIM_MAX 33
#define EVAL_TREE_POINTS_MAX (1u << 30)

struct eval_tree;

/*
 * eval_tree_new - copy and order the points
 *
 * In:      points [n][dim], all finite (the caller has checked: eval_cloud_check())
 * Returns: 0; ERR_INPUT: no point, dim out of 1...EVAL_TREE_DIM_MAX; ERR_LIMIT: over
 *          EVAL_TREE_POINTS_MAX; ERR_MEMORY
 */
MUST_CHECK int eval_tree_new(struct eval_tree **tree, const float *points, size_t n, int dim,
                             struct err *err);
void eval_tree_free(struct eval_tree **tree);
size_t eval_tree_points(const struct eval_tree *tree);

/*
 * eval_tree_nearest - the nearest point with squared distance < bound2 (INFINITY: any)
 *
 * Out:     *id: its index in the caller's array; *d2; both untouched when the answer is false
 */
bool eval_tree_nearest(const struct eval_tree *tree, const double *q, double bound2, uint32_t *id,
                       double *d2);

/*
 * eval_tree_neighbours - up to k nearest points with squared distance < bound2, nearest first
 *
 * Out:     id [k], d2 [k]
 * Returns: how many were found
 */
int eval_tree_neighbours(const struct eval_tree *tree, const double *q, double bound2, int k,
                         uint32_t *id, double *d2);

#endif
