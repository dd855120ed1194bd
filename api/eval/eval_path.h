/*
 * eval_path.h - a camera's path against the true one
 *
 * Poses take camera points to world and belong to a moment. Poses of both paths are paired by time:
 * each pose of the estimate with the nearest of the truth, at most max_gap_s away; where several
 * are nearest to the same one, the closest is paired (the earlier one of equals).
 *
 * Alignment: the similarity (s, R, t) that minimises  sum |q_i - (s R p_i + t)|^2  over pairs of
 * camera centres p (estimate) and q (truth), as sim3_solve() has it (proto/geom/sim3.h); s is 1 for
 * a rigid one. Centres on one line leave the turn about it open; the residual is the same for each.
 *
 * ATE:     |q_i - (s R p_i + t)|
 * RPE:     of pairs i and j the motion error E = (Q_i^-1 Q_j)^-1 (P_i^-1 P_j), P and Q the poses:
 *          length of its translation, angle of its rotation. Per frame: j is the next pair. Per
 *          metre: j is the first pair whose true way from i is at least 1 m, errors divided by that
 *          way's length, every i that has such a j.
 *          `scaled` multiplies the estimate's translations by one number for all pairs, the one
 *          that makes the sum of squares smallest: sum m_q.m_p / sum |m_p|^2 of the translations m
 *          of the motions (1 where the estimate stands still)
 *
 * Units:   seconds, metres; rotation errors in degrees
 */
#ifndef RECOND_API_EVAL_PATH_H
#define RECOND_API_EVAL_PATH_H

#include "proto/geom/sim3.h"

#define EVAL_PATH_POSES_MAX 10000000u

struct eval_path_pose {
    double t_s;
    double q[4]; /* unit quaternion x y z w */
    double p[3]; /* camera centre */
};

struct eval_path {
    struct eval_path_pose *pose; /* by time */
    size_t n, cap;
};

/*
 * eval_path_parse - lines "seconds tx ty tz qx qy qz qw" (TUM), # begins a comment
 *
 * In:      text [len]; name for errors; rate_hz > 0: the first number counts frames, at this rate
 * Returns: 0; ERR_INPUT with where = name:line: no such line, not finite, a quaternion of length 0,
 *          the same moment twice; no pose at all; ERR_LIMIT: more than EVAL_PATH_POSES_MAX;
 *          ERR_MEMORY
 */
MUST_CHECK int eval_path_parse(struct eval_path *path, const char *text, size_t len,
                               const char *name, double rate_hz, struct err *err);
void eval_path_free(struct eval_path *path);

struct eval_path_pair {
    const struct eval_path_pose *estimate, *truth;
};
/*
 * eval_path_associate - pairs in the order of time
 *
 * Out:     pairs [estimate->n]; *n of them
 * Returns: 0; ERR_INPUT: fewer than 3, the sentence names both spans of time
 */
MUST_CHECK int eval_path_associate(struct eval_path_pair *pairs, size_t *n,
                                   const struct eval_path *estimate, const struct eval_path *truth,
                                   double max_gap_s, struct err *err);

/* n >= 1; with_scale 0: s = 1 */
struct sim3 eval_path_align(const struct eval_path_pair *pairs, size_t n, int with_scale);
struct eval_path_stats {
    double rmse, mean, median, max;
    size_t n;
};

/* scratch [n] */
struct eval_path_stats eval_path_ate(const struct eval_path_pair *pairs, size_t n,
                                     const struct sim3 *m, double *scratch);

struct eval_path_rpe {
    double scale;
    struct eval_path_stats translation, scaled, rotation_deg;
};
/* metres 0: errors from pair to pair; else over that length of way. n of the stats is 0 where no
 * pair has a partner. scratch [3 * n] */
struct eval_path_rpe eval_path_rpe(const struct eval_path_pair *pairs, size_t n, double metres,
                                   double *scratch);

/*
 * eval_path_constant - what a camera would score of which the motion never changes
 *
 * eval_path_constant_rpe(): eval_path_rpe() of a path that goes on from each pair, to the end of
 * the leg, as the true one came there from the pair before. There is no leg from the first pair.
 * eval_path_constant_ate(): after the best rigid alignment, of a camera that goes straight from the
 * first true place to the last at the same step from pair to pair. now [n]: scratch, poses [n], too
 */
struct eval_path_rpe eval_path_constant_rpe(const struct eval_path_pair *pairs, size_t n,
                                            double metres, double *scratch);
struct eval_path_stats eval_path_constant_ate(const struct eval_path_pair *pairs, size_t n,
                                              struct eval_path_pose *poses,
                                              struct eval_path_pair *now, double *scratch);

/*
 * eval_path_online - the estimate with the scale that a device's poses told up to each pair
 *
 * Pair by pair the estimate's translation is multiplied by  a = sum w m_q.m_p / sum w |m_p|^2  of
 * the motions before it, m_p of the estimate, m_q of the truth, w halved every `half` pairs; by 1
 * until the estimate has moved. So the scale of a pair uses the truth up to that pair, and the
 * error is measured on the way to the next one. Rotations stay as they are.
 *
 * Out:     moved [n]: poses of the estimate; scale [n - 1] of the motion after each pair, or NULL
 */
void eval_path_online(struct eval_path_pose *moved, double *scale,
                      const struct eval_path_pair *pairs, size_t n, double half);

#endif
