/*
 * eval_tsdf.h - depth maps fused into a truncated signed distance, and points on its surface
 *
 * A baseline, after Curless and Levoy 1996: a voxel holds the mean over frames of
 * min(d - z, t) / t, z its own depth in the frame, d the frame's at its pixel, where d - z >= -t.
 * Voxels lie in blocks of 8 x 8 x 8, which are made along each pixel's ray within t of its depth.
 * The surface is where the mean changes its sign between two neighbours that enough frames saw.
 *
 * Units:   metres
 */
#ifndef RECOND_API_EVAL_TSDF_H
#define RECOND_API_EVAL_TSDF_H

#include "api/eval/eval_scene.h"

#define EVAL_TSDF_BLOCKS_MAX (1u << 18) /* 0.7 GB */

struct eval_tsdf;

/* Both lengths are above 0. Returns 0; ERR_INPUT; ERR_MEMORY. */
MUST_CHECK int eval_tsdf_new(struct eval_tsdf **t, double voxel_m, double truncation_m,
                             struct err *err);
void eval_tsdf_free(struct eval_tsdf **t);

/* Adds one frame. Returns 0; ERR_LIMIT: over EVAL_TSDF_BLOCKS_MAX; ERR_MEMORY. */
MUST_CHECK int eval_tsdf_add(struct eval_tsdf *t, const struct eval_scene_view *v,
                             const struct rigid *T_wc, struct err *err);

/*
 * eval_tsdf_cloud - a point for each pair of neighbours between which the surface lies
 *
 * Out:     *xyz [*n][3]; free() it; n may be 0
 * Returns: 0; ERR_MEMORY
 */
MUST_CHECK int eval_tsdf_cloud(const struct eval_tsdf *t, int least_frames, float **xyz, size_t *n,
                               struct err *err);

#endif
