/*
 * eval_grid.h - cubes of space, numbered in the order in which they were first met
 *
 * The caller keeps what belongs to a cube in an array of its own, which has room for `cap` of them.
 *
 * Units:   metres
 */
#ifndef RECOND_API_EVAL_GRID_H
#define RECOND_API_EVAL_GRID_H

#include "proto/err.h"
#include "proto/types.h"

#include <stdint.h>

#define EVAL_GRID_SIDE_CUBES (1 << 20) /* from the origin, each way: farther points have no cube */
#define EVAL_GRID_NONE UINT32_MAX

/* Keys stand in the order in which they came; an open hash table of at least twice as many indices
 * finds them. All members are read only. */
struct eval_grid {
    double cube_m;
    uint64_t *key; /* [n] */
    uint32_t *table;
    uint32_t n, cap, max, mask;
};

/* cube_m: > 0; max: a power of two, of cubes. Returns 0; ERR_INPUT; ERR_MEMORY. */
MUST_CHECK int eval_grid_init(struct eval_grid *g, double cube_m, uint32_t max, struct err *err);
/* Empty grids are freed, too. */
void eval_grid_free(struct eval_grid *g);

/* Cube numbers along the axes; false: too far away. */
int eval_grid_place(const struct eval_grid *g, int at[3], struct vec3 p);
/* The cube there, or EVAL_GRID_NONE. */
uint32_t eval_grid_find(const struct eval_grid *g, const int at[3]);
/* Cube numbers along the axes of cube i. */
void eval_grid_where(const struct eval_grid *g, int at[3], uint32_t i);
/*
 * eval_grid_take - the cube there, a new one where there is none
 *
 * Out:     *i; when it equals the former n, it is new
 * Returns: 0; ERR_LIMIT: over max; ERR_MEMORY
 */
MUST_CHECK int eval_grid_take(struct eval_grid *g, uint32_t *i, const int at[3], struct err *err);

#endif
