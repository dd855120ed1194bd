/*
 * eval_depth.h - a depth map against the true one
 *
 * Every pixel of the true map that holds a reading up to max_m is compared with the estimate
 * there, bilinear between the estimate's pixels (both maps span the same picture, whatever their
 * sizes; pixel centres at integers). With d the estimate, g the truth, n the pixels of a frame:
 *
 *     abs_rel  = mean |d - g| / g        sq_rel = mean (d - g)^2 / g        delta_k = share with
 *     rmse     = sqrt mean (d - g)^2     rmse_log = sqrt mean (ln d - ln g)^2    max(d/g, g/d) <
 *                                                                               1.25^k
 *
 * `scaled`: d is first multiplied by median(g) / median(d) of its frame (the middle of an even
 * number is its upper one). A pixel without estimate counts as 1 mm. Over a sequence there are two
 * means, which differ where frames have unlike numbers of readings: `frames`, the mean of the
 * frames' measures (which tables of depth networks print), and `pixels`, where each reading counts
 * alike. The latter's abs_rel, unscaled, is the MRE of Fathy et al. 2021 ("Accuracy": the mean of
 * |z_gt - z_est| / z_gt over all P points).
 *
 * Baselines are fitted to the same truth that they are measured on, so they are the best that
 * their kind can do: one depth for the whole sequence; one for each row of the picture, times the
 * frame's median. Both minimise abs_rel, which is a median of the truth weighted by 1 / g, taken
 * from a histogram of its logarithm (bins of 0.6 %).
 *
 * Units:   metres
 */
#ifndef RECOND_API_EVAL_DEPTH_H
#define RECOND_API_EVAL_DEPTH_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

/* LiDAR readings beyond are not counted, as usual for such benchmarks */
#define EVAL_DEPTH_MAX_M 80.0f
#define EVAL_DEPTH_NONE_M 1e-3f

struct eval_depth_measures {
    double abs_rel, sq_rel, rmse, rmse_log, delta1, delta2, delta3;
};

/* Estimates d and truths g of one frame's pixels, and the row of the true map that each is in. */
struct eval_depth_pairs {
    float *d, *g, *scratch;
    uint16_t *row;
    size_t n, cap;
};

/* Makes room for maps of w x h pixels. Returns 0; ERR_MEMORY. */
MUST_CHECK int eval_depth_pairs_new(struct eval_depth_pairs *p, int w, int h, struct err *err);
void eval_depth_pairs_free(struct eval_depth_pairs *p);

/*
 * eval_depth_pairs_take - the pixels that can be compared
 *
 * In:      map [h][w], or NULL: d stays as it was (a baseline fills it); truth [th][tw], 0 or NaN =
 *          none; tw * th at most what p has room for
 */
void eval_depth_pairs_take(struct eval_depth_pairs *p, const float *map, int w, int h,
                           const float *truth, int tw, int th, float max_m);

/* Returns the depth at a position of map [h][w], interpolated between the four pixels around it; x
 * and y may be half a pixel outside. */
float eval_depth_sample(const float *map, int w, int h, float x, float y);

/* Returns the middle one of p->n > 0 values; uses p->scratch. */
float eval_depth_median(const struct eval_depth_pairs *p, const float *values);

/* Measures of p->d times scale. n > 0 */
struct eval_depth_measures eval_depth_measure(const struct eval_depth_pairs *p, double scale);

/* Means over a sequence. */
struct eval_depth_sum {
    struct eval_depth_measures frames, pixels; /* sums until eval_depth_mean(); rmse squared */
    size_t n_frames, n_pixels;
};
void eval_depth_add(struct eval_depth_sum *s, const struct eval_depth_measures *m, size_t n);
/* Out: *frames, *pixels; zeros where nothing was added. */
void eval_depth_mean(const struct eval_depth_sum *s, struct eval_depth_measures *frames,
                     struct eval_depth_measures *pixels);

/* AbsRel by true depth: three ranges an octave, from EVAL_DEPTH_RANGE_FROM_M to 128 m. The first
 * and the last range hold all that is nearer or farther, too. */
#define EVAL_DEPTH_RANGES 27
#define EVAL_DEPTH_RANGE_FROM_M 0.25
struct eval_depth_ranges {
    double abs_rel[EVAL_DEPTH_RANGES]; /* sums */
    size_t n[EVAL_DEPTH_RANGES];
};
/* Compares p->d times scale with p->g. */
void eval_depth_ranges_add(struct eval_depth_ranges *r, const struct eval_depth_pairs *p,
                           double scale);
/* Where the i-th range begins, metres; i = EVAL_DEPTH_RANGES: where the last one ends. */
double eval_depth_ranges_from(int i);
/* Mean of the i-th one, NAN where it is empty. */
double eval_depth_ranges_mean(const struct eval_depth_ranges *r, int i);

/* ------------------------------------------------------------------------- baselines */

struct eval_depth_fit;
/* rows: of the true maps. Returns 0; ERR_MEMORY. */
MUST_CHECK int eval_depth_fit_new(struct eval_depth_fit **f, int rows, struct err *err);
void eval_depth_fit_free(struct eval_depth_fit **f);
/* One frame's truth; median: of p->g. */
void eval_depth_fit_add(struct eval_depth_fit *f, const struct eval_depth_pairs *p, float median);
/* Returns the one depth that is best for all pixels of all frames. */
float eval_depth_fit_constant(const struct eval_depth_fit *f);
/* Returns the share of the frame's median that is best for a row; for a row without truth, that of
 * the nearest row with some. */
float eval_depth_fit_row(const struct eval_depth_fit *f, int row);

#endif
