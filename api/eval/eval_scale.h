/*
 * eval_scale.h - the scale of a depth network, found from poses while the frames come in
 *
 * A network's depth is right up to a factor that changes slowly; poses of a device are metric, so
 * the motion of corners in the picture reveals the factor. The method is causal: the answer for a
 * frame uses the pictures and poses up to it, its own depth, and no truth.
 *
 * Of each frame with network depth d, corners p of its picture (Shi and Tomasi 1994, the strongest
 * of each cell of 16 x 16) are looked for in two earlier pictures, chosen of the last
 * EVAL_SCALE_RING so that they have moved by about 8 and 20 pixels. With T = T_cw(j) T_wc and K the
 * camera, a depth z puts p at
 *
 *     u_j(z) = f(K R_T K^-1 p + K t_T / z),   z = d e^s,  s in [-ln 4, ln 4] in steps of 0.029
 *
 * where f divides by the third coordinate. The patch of 9 x 9 around p, moved as a plane parallel
 * to the picture, is compared there by zero-mean normalised correlation; the s of the best mean of
 * both pictures counts where that mean is high, stands alone and moves the picture enough; its
 * weight grows with how far the corner has moved, because pictures and poses are off by a pixel or
 * two. Every frame that has such pictures fades a histogram of these s by half in EVAL_SCALE_HALF
 * frames and adds its own. The scale is e to the median of it and of what is known before:
 * Laplace's distribution around 0, worth 20 corners.
 *
 * Units:   metres, pixels (centres at integers)
 * Maths:   design as MATH.md's pinhole camera; Fathy et al. 2021 assumes metric depth instead
 */
#ifndef RECOND_API_EVAL_SCALE_H
#define RECOND_API_EVAL_SCALE_H

#include "proto/err.h"
#include "proto/types.h"

#include <stdint.h>

#define EVAL_SCALE_RING 48
#define EVAL_SCALE_HALF 10
#define EVAL_SCALE_SIDE_MAX 2048

struct eval_scale;

/* The pictures have w x h pixels, 32...EVAL_SCALE_SIDE_MAX each; K is for that size. Returns 0;
 * ERR_INPUT; ERR_MEMORY. */
MUST_CHECK int eval_scale_new(struct eval_scale **s, int w, int h, struct intrinsics K,
                              struct err *err);
void eval_scale_free(struct eval_scale **s);

struct eval_scale_answer {
    double scale; /* multiply the network's depth by it */
    int corners;  /* of this frame, that counted */
    double seen;  /* weight of all in the histogram */
};

/*
 * eval_scale_frame - one more frame
 *
 * In:      rgb [h][w][3]; depth [dh][dw] metres of the same picture, 0 or NaN = none; T_wc
 * Runs:    allocates nothing; about 50 ms at 320 x 240
 */
struct eval_scale_answer eval_scale_frame(struct eval_scale *s, const uint8_t *rgb,
                                          const float *depth, int dw, int dh,
                                          const struct rigid *T_wc);

#endif
