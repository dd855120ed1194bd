#include "api/eval/eval_path.h"

#include "proto/array.h"
#include "proto/geom/robust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 512

/* ------------------------------------------------------------------------- reading */

void eval_path_free(struct eval_path *path)
{
    free(path->pose);
    *path = (struct eval_path){0};
}

static int parse_line(struct eval_path_pose *pose, const char *line, double rate_hz,
                      struct err *err)
{
    double v[8], length;
    char *end;

    for (int i = 0; i < 8; i++) {
        v[i] = strtod(line, &end);
        if (end == line || !isfinite(v[i]))
            return err_set(err, ERR_INPUT, "a line is eight numbers: t tx ty tz qx qy qz qw");
        line = end;
    }
    if (line[strspn(line, " \t\r")])
        return err_set(err, ERR_INPUT, "there is more than a moment and a pose");
    length = sqrt(v[4] * v[4] + v[5] * v[5] + v[6] * v[6] + v[7] * v[7]);
    if (!(length > 1e-6) || !isfinite(length))
        return err_set(err, ERR_INPUT, "the quaternion of a pose has no length");
    pose->t_s = rate_hz > 0 ? v[0] / rate_hz : v[0];
    for (int i = 0; i < 3; i++)
        pose->p[i] = v[1 + i];
    for (int i = 0; i < 4; i++)
        pose->q[i] = v[4 + i] / length;
    return 0;
}

static int append(struct eval_path *path, const struct eval_path_pose *pose, struct err *err)
{
    if (path->n == EVAL_PATH_POSES_MAX)
        return err_set(err, ERR_LIMIT, "there are more than %u poses", EVAL_PATH_POSES_MAX);
    if (array_grow(&path->pose, &path->cap, path->n + 1, sizeof *path->pose))
        return err_set(err, ERR_MEMORY, "no memory for %zu poses", path->n + 1);
    path->pose[path->n++] = *pose;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct eval_path_pose *)a)->t_s, y = ((const struct eval_path_pose *)b)->t_s;

    return x < y ? -1 : x > y;
}

int eval_path_parse(struct eval_path *path, const char *text, size_t len, const char *name,
                    double rate_hz, struct err *err)
{
    char line[LINE_MAX_BYTES], where[ERR_WHERE_CAP];
    const char *end = text + len, *next;
    struct eval_path_pose pose;
    struct err why = {0};
    int rc = 0, number = 0;

    *path = (struct eval_path){0};
    for (; rc == 0 && text < end; text = next) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((newline ? newline : end) - text);

        next = newline ? newline + 1 : end;
        number++;
        if (n >= sizeof line) {
            rc = err_set(&why, ERR_INPUT, "the line is longer than %d bytes", LINE_MAX_BYTES - 1);
            break;
        }
        memcpy(line, text, n);
        line[n] = '\0';
        if (line[strspn(line, " \t\r")] == '\0' || line[strspn(line, " \t")] == '#')
            continue;
        rc = parse_line(&pose, line, rate_hz, &why);
        if (rc == 0)
            rc = append(path, &pose, &why);
    }
    if (rc == 0 && path->n == 0)
        rc = err_set(&why, ERR_INPUT, "holds no pose");
    if (rc == 0)
        qsort(path->pose, path->n, sizeof *path->pose, by_time);
    for (size_t i = 1; rc == 0 && i < path->n; i++)
        if (path->pose[i].t_s == path->pose[i - 1].t_s)
            rc = err_set(&why, ERR_INPUT, "holds two poses of the moment %.9g", path->pose[i].t_s);
    if (rc == 0)
        return 0;
    snprintf(where, sizeof where, "%.60s:%d", name, number);
    eval_path_free(path);
    return err_at(err, rc, where, "%s", why.text);
}

/* ------------------------------------------------------------------------- pairs */

static const struct eval_path_pose *nearest(const struct eval_path *path, double t_s)
{
    size_t lo = 0, hi = path->n;

    while (lo < hi) { /* the first that is not before t_s */
        size_t mid = lo + (hi - lo) / 2;

        if (path->pose[mid].t_s < t_s)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == path->n || (lo > 0 && t_s - path->pose[lo - 1].t_s <= path->pose[lo].t_s - t_s))
        lo--;
    return &path->pose[lo];
}

static double gap(const struct eval_path_pair *pair)
{
    return fabs(pair->estimate->t_s - pair->truth->t_s);
}

int eval_path_associate(struct eval_path_pair *pairs, size_t *n, const struct eval_path *estimate,
                        const struct eval_path *truth, double max_gap_s, struct err *err)
{
    struct eval_path_pair pair;

    *n = 0;
    for (size_t i = 0; i < estimate->n && truth->n; i++) {
        pair.estimate = &estimate->pose[i];
        pair.truth = nearest(truth, pair.estimate->t_s);
        if (gap(&pair) > max_gap_s)
            continue;
        if (*n == 0 || pairs[*n - 1].truth != pair.truth)
            pairs[(*n)++] = pair;
        else if (gap(&pair) < gap(&pairs[*n - 1]))
            pairs[*n - 1] = pair;
    }
    if (*n >= 3)
        return 0;
    if (!estimate->n || !truth->n)
        return err_set(err, ERR_INPUT, "a path without poses");
    return err_set(err, ERR_INPUT,
                   "only %zu poses are of the same moments: the estimate is of %.3f...%.3f s, the "
                   "truth of %.3f...%.3f s, and they may be %.3g s apart",
                   *n, estimate->pose[0].t_s, estimate->pose[estimate->n - 1].t_s,
                   truth->pose[0].t_s, truth->pose[truth->n - 1].t_s, max_gap_s);
}

/* ------------------------------------------------------------------------- alignment */

static void apply_back(double out[3], const double R[9], const double p[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R[i] * p[0] + R[3 + i] * p[1] + R[6 + i] * p[2];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

struct sim3 eval_path_align(const struct eval_path_pair *pairs, size_t n, int with_scale)
{
    struct sim3_moments sums = {0};
    struct sim3 m;

    for (size_t i = 0; i < n; i++)
        sim3_moments_add(&sums, pairs[i].estimate->p, pairs[i].truth->p, 1);
    /* where several turns are equally good, any of them will do */
    (void)!sim3_solve(&m, &sums, with_scale, NULL);
    return m;
}

/* ------------------------------------------------------------------------- errors */

/* Summarises n values and sorts them. The median of an even number is the mean of the middle
 * two. */
static struct eval_path_stats stats_of(double *v, size_t n)
{
    struct eval_path_stats s = {.n = n};

    if (n == 0)
        return s;
    robust_sort(v, n);
    for (size_t i = 0; i < n; i++) {
        s.mean += v[i] / (double)n;
        s.rmse += v[i] * v[i] / (double)n;
    }
    s.rmse = sqrt(s.rmse);
    s.median = 0.5 * (v[n / 2] + v[(n - 1) / 2]);
    s.max = v[n - 1];
    return s;
}

struct eval_path_stats eval_path_ate(const struct eval_path_pair *pairs, size_t n,
                                     const struct sim3 *m, double *scratch)
{
    double p[3], off[3];

    for (size_t i = 0; i < n; i++) {
        sim3_apply(p, m, pairs[i].estimate->p);
        for (int k = 0; k < 3; k++)
            off[k] = pairs[i].truth->p[k] - p[k];
        scratch[i] = sqrt(dot(off, off));
    }
    return stats_of(scratch, n);
}

/* a^-1 b of unit quaternions x y z w */
static void between(double out[4], const double a[4], const double b[4])
{
    double x = -a[0], y = -a[1], z = -a[2], w = a[3];

    out[0] = w * b[0] + x * b[3] + y * b[2] - z * b[1];
    out[1] = w * b[1] - x * b[2] + y * b[3] + z * b[0];
    out[2] = w * b[2] + x * b[1] - y * b[0] + z * b[3];
    out[3] = w * b[3] - x * b[0] - y * b[1] - z * b[2];
}

/* Computes the motion from pose a to pose b in a's camera: translation and quaternion. */
static void motion(double t[3], double q[4], const struct eval_path_pose *a,
                   const struct eval_path_pose *b)
{
    const double wxyz[4] = {a->q[3], a->q[0], a->q[1], a->q[2]};
    const double way[3] = {b->p[0] - a->p[0], b->p[1] - a->p[1], b->p[2] - a->p[2]};
    double R[9];

    sim3_rotation(R, wxyz);
    apply_back(t, R, way);
    between(q, a->q, b->q);
}

/* Returns degrees; exact near 0, too, where an arc cosine is not. */
static double angle_of(const double q[4])
{
    return 2 * atan2(sqrt(dot(q, q)), fabs(q[3])) * (180 / 3.14159265358979323846);
}

static double step(const struct eval_path_pair *pairs, size_t i)
{
    const double *a = pairs[i].truth->p, *b = pairs[i + 1].truth->p;
    const double way[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};

    return sqrt(dot(way, way));
}

/* The motions between two poses on each path, and the length of the true way between them. */
struct leg {
    double m[3], truth[3], turn_deg, length;
};

static void leg_of(struct leg *l, const struct eval_path_pair *a, const struct eval_path_pair *b)
{
    double q[4], truth_q[4], off[4];

    motion(l->m, q, a->estimate, b->estimate);
    motion(l->truth, truth_q, a->truth, b->truth);
    between(off, truth_q, q);
    l->turn_deg = angle_of(off);
}

/* a b of unit quaternions x y z w */
static void times(double out[4], const double a[4], const double b[4])
{
    const double back[4] = {-a[0], -a[1], -a[2], a[3]};

    between(out, back, b);
}

/* The leg from pair i > 0 to pair j of a camera that goes on as it came from pair i - 1 to i. */
static void leg_as_before(struct leg *l, const struct eval_path_pair *pairs, size_t i, size_t j)
{
    double t[3], q[4], R[9], step[3], turned[4] = {0, 0, 0, 1}, next[4], truth_q[4], off[4];

    motion(t, q, pairs[i - 1].truth, pairs[i].truth);
    motion(l->truth, truth_q, pairs[i].truth, pairs[j].truth);
    memset(l->m, 0, sizeof(l->m));
    for (; i < j; i++) {
        const double wxyz[4] = {turned[3], -turned[0], -turned[1], -turned[2]};

        sim3_rotation(R, wxyz);
        apply_back(step, R, t);
        for (int k = 0; k < 3; k++)
            l->m[k] += step[k];
        times(next, turned, q);
        memcpy(turned, next, sizeof(turned));
    }
    between(off, truth_q, turned);
    l->turn_deg = angle_of(off);
}

static double residual(const struct leg *l, double scale)
{
    const double off[3] = {scale * l->m[0] - l->truth[0], scale * l->m[1] - l->truth[1],
                           scale * l->m[2] - l->truth[2]};

    return sqrt(dot(off, off)) / l->length;
}

/* Visits every leg in turn; all zero at first. next_leg() returns false after the last, and says
 * from which pair to which a leg leads. */
struct walk {
    size_t i, j;
    double way;
    size_t from, to;
};

static int next_leg(struct walk *w, struct leg *l, const struct eval_path_pair *pairs, size_t n,
                    double metres)
{
    if (w->i + 1 >= n)
        return 0;
    if (metres <= 0) {
        w->from = w->i;
        w->to = ++w->i;
        leg_of(l, &pairs[w->from], &pairs[w->to]);
        l->length = 1;
        return 1;
    }
    while (w->j + 1 < n && w->way < metres)
        w->way += step(pairs, w->j++);
    if (w->way < metres)
        return 0;
    w->from = w->i;
    w->to = w->j;
    leg_of(l, &pairs[w->from], &pairs[w->to]);
    l->length = w->way;
    w->way -= step(pairs, w->i++);
    return 1;
}

struct eval_path_rpe eval_path_rpe(const struct eval_path_pair *pairs, size_t n, double metres,
                                   double *scratch)
{
    struct eval_path_rpe r = {.scale = 1};
    struct walk first = {0}, second = {0};
    double along = 0, own = 0;
    struct leg l;
    size_t legs = 0;

    while (next_leg(&first, &l, pairs, n, metres)) {
        along += dot(l.m, l.truth) / (l.length * l.length);
        own += dot(l.m, l.m) / (l.length * l.length);
    }
    if (own > 0)
        r.scale = along / own;
    for (; next_leg(&second, &l, pairs, n, metres); legs++) {
        scratch[legs] = residual(&l, 1.0);
        scratch[n + legs] = residual(&l, r.scale);
        scratch[2 * n + legs] = l.turn_deg / l.length;
    }
    r.translation = stats_of(scratch, legs);
    r.scaled = stats_of(scratch + n, legs);
    r.rotation_deg = stats_of(scratch + 2 * n, legs);
    return r;
}

struct eval_path_rpe eval_path_constant_rpe(const struct eval_path_pair *pairs, size_t n,
                                            double metres, double *scratch)
{
    struct eval_path_rpe r = {.scale = 1};
    struct walk walk = {0};
    struct leg l;
    size_t legs = 0;

    while (next_leg(&walk, &l, pairs, n, metres)) {
        if (walk.from == 0)
            continue;
        leg_as_before(&l, pairs, walk.from, walk.to);
        scratch[legs] = residual(&l, 1.0);
        scratch[n + legs++] = l.turn_deg / l.length;
    }
    r.translation = stats_of(scratch, legs);
    r.rotation_deg = stats_of(scratch + n, legs);
    return r;
}

struct eval_path_stats eval_path_constant_ate(const struct eval_path_pair *pairs, size_t n,
                                              struct eval_path_pose *poses,
                                              struct eval_path_pair *now, double *scratch)
{
    const double *first = pairs[0].truth->p, *last = pairs[n - 1].truth->p;
    struct sim3 a;

    for (size_t i = 0; i < n; i++) {
        poses[i] = *pairs[i].truth;
        for (int k = 0; k < 3; k++)
            poses[i].p[k] = first[k] + (last[k] - first[k]) * (double)i / (double)(n - 1);
        now[i] = (struct eval_path_pair){&poses[i], pairs[i].truth};
    }
    a = eval_path_align(now, n, 0);
    return eval_path_ate(now, n, &a, scratch);
}

void eval_path_online(struct eval_path_pose *moved, double *scale,
                      const struct eval_path_pair *pairs, size_t n, double half)
{
    const double fade = exp2(-1 / half);
    double along = 0, own = 0, a;
    struct leg l;

    for (size_t i = 0; i < n; i++) {
        moved[i] = *pairs[i].estimate;
        if (i == 0)
            continue;
        a = own > 0 ? fmax(along / own, 0) : 1;
        if (scale)
            scale[i - 1] = a;
        for (int k = 0; k < 3; k++)
            moved[i].p[k] =
                moved[i - 1].p[k] + a * (pairs[i].estimate->p[k] - pairs[i - 1].estimate->p[k]);
        leg_of(&l, &pairs[i - 1], &pairs[i]);
        along = fade * along + dot(l.m, l.truth);
        own = fade * own + dot(l.m, l.m);
    }
}
