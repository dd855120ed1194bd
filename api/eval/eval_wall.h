/*
 * eval_wall.h - how thick the walls of a cloud are
 *
 * Where the truth is flat, points of a good cloud lie on it as a sheet. Space is cut into cubes. A
 * cube whose true points lie in a plane (root mean square distance from it at most flat_m) is a
 * patch. A point of the cloud belongs to the patch of its nearest true point, if that is within
 * reach_m, and has a height above the patch's plane. A patch is as thick as the range of heights
 * that leaves out the lowest and the highest tenth of its points.
 *
 * Units:   metres
 */
#ifndef RECOND_API_EVAL_WALL_H
#define RECOND_API_EVAL_WALL_H

#include "proto/err.h"

#include <stddef.h>

struct eval_wall_options {
    double cube_m, flat_m, reach_m;
    size_t least; /* true points, and points of the cloud, of a patch that is measured */
};

extern const struct eval_wall_options eval_wall_defaults; /* 0.2, 0.01, 0.3 m; 20 */

struct eval_wall_report {
    size_t patches;
    double median_m, p90_m; /* of the patches' thickness; NAN without patches */
};

/*
 * eval_wall_measure - the thickness of cloud a's walls, by truth b
 *
 * In:      a [n_a][3], b [n_b][3], finite (eval_cloud_check())
 * Returns: 0; ERR_INPUT: no truth, options; ERR_LIMIT; ERR_MEMORY
 * Cost:    O((n_a + n_b) log n_b), 12 bytes a point beside the tree of b
 */
MUST_CHECK int eval_wall_measure(struct eval_wall_report *out, const float *a, size_t n_a,
                                 const float *b, size_t n_b,
                                 const struct eval_wall_options *options, struct err *err);

#endif
