#include "api/eval/eval_cloud.h"

#include "proto/geom/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAID_EVERY 1024 /* points, between two words of progress */

const struct eval_cloud_options eval_cloud_defaults = {
    .threshold_m = 0.05, .r_first_m = 0.04, .r_last_m = 0.16, .r_step_m = 0.02};

int eval_cloud_check(const char *name, const float *xyz, size_t n, struct err *err)
{
    if (n == 0)
        return err_set(err, ERR_INPUT, "%.80s holds no points", name);
    if (n > TREE_POINTS_MAX)
        return err_set(err, ERR_LIMIT, "%.80s holds %zu points, %u are allowed", name, n,
                       TREE_POINTS_MAX);
    for (size_t i = 0; i < 3 * n; i++)
        if (!(fabsf(xyz[i]) <= EVAL_CLOUD_REACH_M))
            return err_set(err, ERR_INPUT, "%.80s: point %zu is at %g, %g, %g", name, i / 3,
                           (double)xyz[i / 3 * 3], (double)xyz[i / 3 * 3 + 1],
                           (double)xyz[i / 3 * 3 + 2]);
    return 0;
}

/* Computes the distance of each point to its nearest in the tree; `before` of `all` points were
 * done. */
static void find_distances(double *distance, const float *xyz, size_t n, const struct tree *to,
                           const struct eval_cloud_options *o, size_t before, size_t all)
{
    for (size_t i = 0; i < n; i++) {
        const double q[3] = {xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]};
        double d2 = NAN;
        uint32_t id;

        /* a tree is never empty and every point is nearer than infinity, so this always finds
         * one */
        distance[i] = tree_nearest(to, q, INFINITY, &id, &d2) ? sqrt(d2) : NAN;
        if (o->progress && i % SAID_EVERY == 0)
            o->progress(o->ctx, (double)(before + i) / (double)all);
    }
}

/* Summarises sorted distances: quantiles by the nearest rank, sums from the smallest on. */
static struct eval_cloud_side summarise(const double *d, size_t n)
{
    struct eval_cloud_side s = {
        .median = d[(n - 1) / 2], .p90 = d[(size_t)ceil(0.9 * (double)n) - 1], .max = d[n - 1]};
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        sum += d[i];
        squares += d[i] * d[i];
    }
    s.mean = sum / (double)n;
    s.rms = sqrt(squares / (double)n);
    return s;
}

/* Returns how many of the sorted distances are below r. */
static size_t below(const double *d, size_t n, double r)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (d[mid] < r)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct eval_cloud_radius at_radius(double r, const double *a_to_b, size_t n_a,
                                          const double *b_to_a, size_t n_b)
{
    struct eval_cloud_radius at = {.r = r, .found = below(b_to_a, n_b, r)};
    double sum = 0, squares = 0;

    for (size_t i = 0; i < at.found; i++) {
        sum += b_to_a[i];
        squares += b_to_a[i] * b_to_a[i];
    }
    at.l_e_mean = at.found ? sum / (double)at.found : (double)NAN;
    at.l_e_rms = at.found ? sqrt(squares / (double)at.found) : (double)NAN;
    at.fne = 1 - (double)at.found / (double)n_b;
    at.fpe = (double)(n_a - below(a_to_b, n_a, r)) / (double)n_a;
    return at;
}

static int check_options(const struct eval_cloud_options *o, struct err *err)
{
    if (!(o->threshold_m > 0) || !(o->r_first_m > 0) || !(o->r_last_m >= o->r_first_m) ||
        !(o->r_step_m > 0) || !isfinite(o->r_last_m) || !isfinite(o->threshold_m))
        return err_set(err, ERR_INPUT, "radii and thresholds are lengths above 0");
    if ((o->r_last_m - o->r_first_m) / o->r_step_m > EVAL_CLOUD_RADII_MAX - 1.5)
        return err_set(err, ERR_INPUT, "more than %d radii", EVAL_CLOUD_RADII_MAX - 1);
    return 0;
}

/* Both lists are sorted. */
static void report(struct eval_cloud_report *out, const double *a_to_b, const double *b_to_a,
                   const struct eval_cloud_options *o)
{
    size_t n_a = out->n_a, n_b = out->n_b;

    out->a_to_b = summarise(a_to_b, n_a);
    out->b_to_a = summarise(b_to_a, n_b);
    out->chamfer_sum = out->a_to_b.mean + out->b_to_a.mean;
    out->chamfer_mean = 0.5 * out->chamfer_sum;
    out->chamfer_squared = out->a_to_b.rms * out->a_to_b.rms + out->b_to_a.rms * out->b_to_a.rms;
    out->threshold = o->threshold_m;
    out->completeness = (double)below(b_to_a, n_b, o->threshold_m) / (double)n_b;
    out->accuracy = (double)below(a_to_b, n_a, o->threshold_m) / (double)n_a;
    if (out->completeness + out->accuracy > 0)
        out->f = 2 * out->completeness * out->accuracy / (out->completeness + out->accuracy);
    /* a last radius just beyond the end, by rounding, still counts */
    out->n_radii = 1 + (int)floor((o->r_last_m - o->r_first_m) / o->r_step_m + 1e-6);
    for (int i = 0; i < out->n_radii; i++)
        out->at[i] = at_radius(o->r_first_m + i * o->r_step_m, a_to_b, n_a, b_to_a, n_b);
}

int eval_cloud_measure(struct eval_cloud_report *out, double *to_b, const float *a, size_t n_a,
                       const float *b, size_t n_b, const struct eval_cloud_options *options,
                       struct err *err)
{
    struct tree *tree = NULL;
    double *a_to_b = NULL, *b_to_a = NULL;
    int rc;

    *out = (struct eval_cloud_report){.n_a = n_a, .n_b = n_b};
    rc = check_options(options, err);
    if (rc == 0)
        rc = eval_cloud_check("the cloud", a, n_a, err);
    if (rc == 0)
        rc = eval_cloud_check("the truth", b, n_b, err);
    if (rc)
        return rc;
    a_to_b = malloc(n_a * sizeof *a_to_b);
    b_to_a = malloc(n_b * sizeof *b_to_a);
    if (!a_to_b || !b_to_a) {
        rc = err_set(err, ERR_MEMORY, "no memory for the distances of %zu points", n_a + n_b);
        goto out;
    }
    rc = tree_new(&tree, b, n_b, 3, err);
    if (rc)
        goto out;
    find_distances(a_to_b, a, n_a, tree, options, 0, n_a + n_b);
    tree_free(&tree);
    rc = tree_new(&tree, a, n_a, 3, err);
    if (rc)
        goto out;
    find_distances(b_to_a, b, n_b, tree, options, n_a, n_a + n_b);
    if (to_b)
        memcpy(to_b, a_to_b, n_a * sizeof *to_b);
    robust_sort(a_to_b, n_a);
    robust_sort(b_to_a, n_b);
    report(out, a_to_b, b_to_a, options);
out:
    tree_free(&tree);
    free(a_to_b);
    free(b_to_a);
    return rc;
}

static void add_side(struct eval_cloud_side *to, const struct eval_cloud_side *from, double by)
{
    to->mean += by * from->mean;
    to->rms += by * from->rms;
    to->median += by * from->median;
    to->p90 += by * from->p90;
    to->max += by * from->max;
}

/* Adds by * from to *to, without counts and radii. */
static void add_report(struct eval_cloud_report *to, const struct eval_cloud_report *from,
                       double by)
{
    add_side(&to->a_to_b, &from->a_to_b, by);
    add_side(&to->b_to_a, &from->b_to_a, by);
    to->chamfer_sum += by * from->chamfer_sum;
    to->chamfer_mean += by * from->chamfer_mean;
    to->chamfer_squared += by * from->chamfer_squared;
    to->completeness += by * from->completeness;
    to->accuracy += by * from->accuracy;
    to->f += by * from->f;
}

void eval_cloud_add(struct eval_cloud_sum *s, const struct eval_cloud_report *r)
{
    struct eval_cloud_report *sum = &s->sum;

    s->n_frames++;
    sum->n_a += r->n_a;
    sum->n_b += r->n_b;
    sum->threshold = r->threshold;
    sum->n_radii = r->n_radii;
    add_report(sum, r, 1);
    for (int i = 0; i < r->n_radii; i++) {
        sum->at[i].r = r->at[i].r;
        sum->at[i].found += r->at[i].found;
        sum->at[i].fne += r->at[i].fne;
        sum->at[i].fpe += r->at[i].fpe;
        if (r->at[i].found == 0)
            continue;
        s->n_found[i]++;
        sum->at[i].l_e_mean += r->at[i].l_e_mean;
        sum->at[i].l_e_rms += r->at[i].l_e_rms;
    }
}

struct eval_cloud_report eval_cloud_mean(const struct eval_cloud_sum *s)
{
    struct eval_cloud_report m = {.threshold = s->sum.threshold, .n_radii = s->sum.n_radii};
    double n = (double)s->n_frames;

    add_report(&m, &s->sum, 1 / n);
    if (s->n_frames == 0)
        return m;
    m.n_a = s->sum.n_a / s->n_frames;
    m.n_b = s->sum.n_b / s->n_frames;
    for (int i = 0; i < m.n_radii; i++) {
        const struct eval_cloud_radius *at = &s->sum.at[i];
        double found = s->n_found[i] ? (double)s->n_found[i] : (double)NAN;

        m.at[i] = (struct eval_cloud_radius){.r = at->r,
                                             .found = at->found / s->n_frames,
                                             .l_e_mean = at->l_e_mean / found,
                                             .l_e_rms = at->l_e_rms / found,
                                             .fne = at->fne / n,
                                             .fpe = at->fpe / n};
    }
    return m;
}
