#include "proto/geom/icp.h"

#include <stdlib.h>

const struct icp_options icp_defaults = {.radius_m = 0.1, .max_iterations = 30, .tolerance = 1e-7};

static void moved(double out[3], const struct sim3 *m, const float *p)
{
    const double at[3] = {p[0], p[1], p[2]};

    sim3_apply(out, m, at);
}

void icp_score(struct icp_result *out, const float *a, size_t n, const struct tree *b,
               const struct sim3 *motion, double radius_m)
{
    double squares = 0, d2, q[3];
    uint32_t id;

    out->motion = *motion;
    out->inliers = 0;
    for (size_t i = 0; i < n; i++) {
        moved(q, motion, a + 3 * i);
        if (!tree_nearest(b, q, radius_m * radius_m, &id, &d2))
            continue;
        out->inliers++;
        squares += d2;
    }
    out->fitness = n ? (double)out->inliers / (double)n : 0;
    out->rmse = out->inliers ? sqrt(squares / (double)out->inliers) : (double)NAN;
}

void icp_apply(float *out, const float *a, size_t n, const struct sim3 *motion)
{
    double q[3];

    for (size_t i = 0; i < n; i++) {
        moved(q, motion, a + 3 * i);
        for (size_t k = 0; k < 3; k++)
            out[3 * i + k] = (float)q[k];
    }
}

/* Pairs every step-th point of A, moved by m, with the nearest point of B within the radius. p gets
 * the points of A unmoved: each round fits the whole motion anew, so that rounding errors do not
 * add up. */
static size_t find_pairs(double *p, double *q, const float *a, size_t n, size_t step,
                         const float *b, const struct tree *tree, const struct sim3 *m,
                         double radius_m)
{
    size_t pairs = 0;
    double at[3], d2;
    uint32_t id;

    for (size_t i = 0; i < n; i += step) {
        moved(at, m, a + 3 * i);
        if (!tree_nearest(tree, at, radius_m * radius_m, &id, &d2))
            continue;
        for (size_t k = 0; k < 3; k++) {
            p[3 * pairs + k] = a[3 * i + k];
            q[3 * pairs + k] = b[3 * (size_t)id + k];
        }
        pairs++;
    }
    return pairs;
}

static double change(const struct sim3 *x, const struct sim3 *y)
{
    double most = 0;

    for (int i = 0; i < 9; i++)
        most = fmax(most, fabs(x->s * x->r[i] - y->s * y->r[i]));
    for (int i = 0; i < 3; i++)
        most = fmax(most, fabs(x->t[i] - y->t[i]));
    return most;
}

int icp_fit(struct icp_result *out, const float *a, size_t n, const float *b,
            const struct tree *tree, const struct sim3 *start, const struct icp_options *o,
            struct err *err)
{
    size_t step = o->max_points && n > o->max_points ? (n - 1) / o->max_points + 1 : 1;
    struct sim3 now = *start, next;
    double *p = NULL, *q = NULL;
    size_t pairs;
    int rc = 0;

    *out = (struct icp_result){0};
    if (!(o->radius_m > 0) || o->max_iterations < 1 || !(o->tolerance >= 0))
        return err_set(err, ERR_INPUT, "ICP needs a radius above 0 and at least one iteration");
    p = malloc((n / step + 1) * 3 * sizeof *p);
    q = malloc((n / step + 1) * 3 * sizeof *q);
    if (!p || !q) {
        rc = err_set(err, ERR_MEMORY, "no memory for the pairs of %zu points", n);
        goto out;
    }
    while (!out->converged && out->iterations < o->max_iterations) {
        if (o->progress)
            o->progress(o->ctx, (double)out->iterations / o->max_iterations);
        pairs = find_pairs(p, q, a, n, step, b, tree, &now, o->radius_m);
        if (pairs < 3) {
            rc = err_set(err, ERR_INPUT, "%zu of %zu points lie within %g m of the other cloud",
                         pairs, n, o->radius_m);
            goto out;
        }
        rc = sim3_fit(&next, p, q, NULL, pairs, o->scale, err);
        if (rc)
            goto out;
        out->converged = change(&now, &next) <= o->tolerance;
        out->iterations++;
        now = next;
    }
    icp_score(out, a, n, tree, &now, o->radius_m);
out:
    free(p);
    free(q);
    return rc;
}
