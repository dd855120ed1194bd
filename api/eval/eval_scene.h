/*
 * eval_scene.h - clouds of depth maps: one frame's in its camera, or many fused in a grid
 *
 * A pixel (x, y) with depth d is the point d K^-1 (x y 1) of its camera; depth maps span the whole
 * picture, whatever their size, so K is given for the map's own size (intrinsics_scale()).
 *
 * Fused: space is cut into cubes; each holds the mean of the points that fell into it and the
 * number of frames that they came from. This is no reconstruction but the simplest average, the
 * same for truth and estimate. Points that are too far away (eval_grid.h) are left out.
 *
 * Units:   metres, pixels
 */
#ifndef RECOND_API_EVAL_SCENE_H
#define RECOND_API_EVAL_SCENE_H

#include "proto/err.h"
#include "proto/types.h"

#include <stddef.h>
#include <stdint.h>

#define EVAL_SCENE_CELLS_MAX (1u << 24)

struct eval_scene_view {
    const float *depth; /* [h][w] metres along z; what is not in (0, max_m] is none */
    int w, h;
    struct intrinsics K; /* of w x h */
    double scale;        /* the depth is multiplied by it, then held against max_m */
    double max_m;
    const uint8_t *rgb; /* [rgb_h][rgb_w][3] of the same picture, or NULL: grey */
    int rgb_w, rgb_h;
};

/* Makes points in the camera's frame. Out: xyz [h * w][3]; returns how many. */
size_t eval_scene_points(float *xyz, const struct eval_scene_view *v);

/*
 * eval_scene_points_at - the same at the pixels of another map that holds a value up to max_m there
 *
 * In:      mask [mh][mw] of the same picture, K its camera (v->K is not used)
 * Out:     xyz [mh * mw][3], depths bilinear between v's; returns how many
 */
size_t eval_scene_points_at(float *xyz, const struct eval_scene_view *v, const float *mask, int mw,
                            int mh, struct intrinsics K);

struct eval_scene;

/* cell_m: of a cube, > 0. Returns 0; ERR_INPUT; ERR_MEMORY */
MUST_CHECK int eval_scene_new(struct eval_scene **s, double cell_m, struct err *err);
void eval_scene_free(struct eval_scene **s);

/* Adds one frame. Returns 0; ERR_LIMIT: over EVAL_SCENE_CELLS_MAX cubes; ERR_MEMORY */
MUST_CHECK int eval_scene_add(struct eval_scene *s, const struct eval_scene_view *v,
                              const struct rigid *T_wc, struct err *err);

/*
 * eval_scene_cloud - the means of the cubes with points of so many frames, and so many points
 *
 * Out:     *xyz [*n][3] in the order in which the cubes were first met; *rgb [*n][3], their mean
 *          colours, rgb may be NULL; free() them; n may be 0
 * Returns: 0; ERR_MEMORY
 */
MUST_CHECK int eval_scene_cloud(const struct eval_scene *s, int least_frames, int least_points,
                                float **xyz, uint8_t **rgb, size_t *n, struct err *err);

#endif
