/*
 * eval_register_internal.h - what the parts of global registration share
 */
#ifndef RECOND_API_EVAL_REGISTER_INTERNAL_H
#define RECOND_API_EVAL_REGISTER_INTERNAL_H

#include "proto/geom/tree.h"
#include "proto/err.h"

#include <stddef.h>

#define EVAL_REGISTER_BINS 11 /* of each of the three angles */
#define EVAL_REGISTER_FPFH (3 * EVAL_REGISTER_BINS)

struct eval_register_cloud { /* thinned and described */
    size_t n;
    float *xyz;    /* [n][3] */
    float *normal; /* [n][3], length 1, of either sign */
    float *fpfh;   /* [n][EVAL_REGISTER_FPFH] */
};

/*
 * eval_register_describe - thin, normals, descriptors: see eval_register_global()
 *
 * Out:     *out, eval_register_forget() it; empty on an error
 * Returns: 0; ERR_LIMIT; ERR_MEMORY
 */
MUST_CHECK int eval_register_describe(struct eval_register_cloud *out, const float *xyz, size_t n,
                                      double voxel_m, struct err *err);
void eval_register_forget(struct eval_register_cloud *cloud);

#endif
