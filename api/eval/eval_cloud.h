/*
 * eval_cloud.h - how far a point cloud is from the true one
 *
 * A is the cloud that is judged (P, "predicted"), B the truth (G). All lengths are in metres, all
 * distances Euclidean and from a point to the exactly nearest point of the other cloud.
 *
 * Maths:   Fathy et al. 2021 (m3dmr-peerj), "Evaluation metrics"; its equations carry no numbers:
 *            C_r(g)  a true point g is found when some point of A is nearer than r; N_C of them are
 *            L_E     the paper prints sqrt(1 / N_C) sum dist(g, c), which grows with the number of
 *                    points. Mean and root mean square of dist over the N_C found points are given
 *            FNE(r)  1 - N_C / N_G
 *            FPE(r)  printed as N_F / N_F. Here (N_P - N'_C) / N_P with N'_C points of A that have
 *                    a true point nearer than r
 *            fitness N_C / N_G ("inlier correspondences / points in ground truth") = 1 - FNE(r),
 *                    its RMSE the one of L_E
 *            CD      sum of the two mean distances, not squared
 *          Completeness: share of B with a point of A nearer than a threshold. Accuracy: share of A
 *          with a point of B nearer than it. F: their harmonic mean.
 */
#ifndef RECOND_API_EVAL_CLOUD_H
#define RECOND_API_EVAL_CLOUD_H

#include "proto/geom/tree.h"
#include "proto/err.h"

#include <stddef.h>

#define EVAL_CLOUD_RADII_MAX 64
#define EVAL_CLOUD_REACH_M 1e6f /* coordinates beyond this are damage */

struct eval_cloud_options {
    double threshold_m;                   /* of completeness, accuracy and F */
    double r_first_m, r_last_m, r_step_m; /* tolerances, both ends included */
    /* Is told now and then how much of the distances is measured, 0 ... 1; or NULL. */
    void (*progress)(void *ctx, double done);
    void *ctx;
};

extern const struct eval_cloud_options eval_cloud_defaults; /* 5 cm; 0.04, 0.06 ... 0.16 m */

struct eval_cloud_side { /* distances from one cloud's points to the other cloud */
    double mean, rms, median, p90, max;
};

struct eval_cloud_radius {
    double r;
    size_t found;             /* N_C */
    double l_e_mean, l_e_rms; /* NAN where none is found */
    double fne, fpe;
};

struct eval_cloud_report {
    size_t n_a, n_b;
    struct eval_cloud_side a_to_b, b_to_a;
    double chamfer_sum;     /* mean(A to B) + mean(B to A): the paper's */
    double chamfer_mean;    /* half of it: the mean of the two means */
    double chamfer_squared; /* mean square(A to B) + mean square(B to A), m^2 */
    double threshold, completeness, accuracy, f;
    int n_radii;
    struct eval_cloud_radius at[EVAL_CLOUD_RADII_MAX];
};

/* Checks that a cloud can be measured. ERR_INPUT: no points, or a coordinate that is not finite or
 * beyond EVAL_CLOUD_REACH_M; ERR_LIMIT: over TREE_POINTS_MAX. The error calls it `name`. */
MUST_CHECK int eval_cloud_check(const char *name, const float *xyz, size_t n, struct err *err);

/*
 * eval_cloud_measure - all of the above
 *
 * In:      a [n_a][3], b [n_b][3], checked here
 * Out:     *out; to_b [n_a]: distance of each point of A, or NULL
 * Returns: 0; ERR_INPUT, ERR_LIMIT: eval_cloud_check(); ERR_INPUT: options; ERR_MEMORY
 * Cost:    O((n_a + n_b) log(n_a + n_b))
 */
MUST_CHECK int eval_cloud_measure(struct eval_cloud_report *out, double *to_b, const float *a,
                                  size_t n_a, const float *b, size_t n_b,
                                  const struct eval_cloud_options *options, struct err *err);

/*
 * Means over frames, each with a cloud and a truth of its own, as the paper's figures have them.
 * L_E at a radius is the mean over the frames where a true point is found.
 */
struct eval_cloud_sum {
    size_t n_frames, n_found[EVAL_CLOUD_RADII_MAX];
    struct eval_cloud_report sum;
};
/* All reports of one sum have the same options. */
void eval_cloud_add(struct eval_cloud_sum *s, const struct eval_cloud_report *r);
/* n_a, n_b: points a frame; `found` of the radii too. NAN without frames. */
struct eval_cloud_report eval_cloud_mean(const struct eval_cloud_sum *s);

#endif
