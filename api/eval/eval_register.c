/* Fast global registration: matches, triples that keep their shape, graduated non-convexity. */
#include "api/eval/eval_register.h"

#include "api/eval/eval_register_internal.h"
#include "proto/cloud/key.h"
#include "proto/geom/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AUTO_CELLS 128
#define GROW 1.25
#define TRIES_PER_MATCH 300
#define SCORE_REACH 2.0 /* voxels */

const struct eval_register_global_options eval_register_global_defaults = {
    .tuple_ratio = 0.9, .max_tuples = 1000, .seed = 0x5eed};

struct match {
    uint32_t a, b;
};

struct pairs { /* what is fitted: the corners of the triples that passed */
    size_t n;
    double *p, *q, *weight; /* [n][3], [n][3], [n] */
};

static double diagonal(const float *xyz, size_t n)
{
    float low[3], high[3];
    double sum = 0;

    memcpy(low, xyz, sizeof low);
    memcpy(high, xyz, sizeof high);
    for (size_t i = 0; i < 3 * n; i++) {
        low[i % 3] = fminf(low[i % 3], xyz[i]);
        high[i % 3] = fmaxf(high[i % 3], xyz[i]);
    }
    for (int k = 0; k < 3; k++)
        sum += ((double)high[k] - (double)low[k]) * ((double)high[k] - (double)low[k]);
    return sqrt(sum);
}

static bool nearest_descriptor(uint32_t *to, const struct tree *tree, const float *fpfh, size_t i)
{
    double q[EVAL_REGISTER_FPFH], d2;

    for (size_t k = 0; k < EVAL_REGISTER_FPFH; k++)
        q[k] = fpfh[i * EVAL_REGISTER_FPFH + k];
    return tree_nearest(tree, q, INFINITY, to, &d2);
}

/* Finds pairs of points that are each other's nearest in the space of descriptors; match [a->n]. */
static int find_matches(struct match *match, size_t *n, const struct eval_register_cloud *a,
                        const struct eval_register_cloud *b, struct err *err)
{
    struct tree *of_a = NULL, *of_b = NULL;
    uint32_t to, back;
    int rc;

    *n = 0;
    rc = tree_new(&of_a, a->fpfh, a->n, EVAL_REGISTER_FPFH, err);
    if (rc == 0)
        rc = tree_new(&of_b, b->fpfh, b->n, EVAL_REGISTER_FPFH, err);
    for (size_t i = 0; rc == 0 && i < a->n; i++)
        if (nearest_descriptor(&to, of_b, a->fpfh, i) &&
            nearest_descriptor(&back, of_a, b->fpfh, to) && back == i)
            match[(*n)++] = (struct match){.a = (uint32_t)i, .b = to};
    tree_free(&of_a);
    tree_free(&of_b);
    return rc;
}

static double edge(const float *xyz, size_t i, size_t j)
{
    double sum = 0;

    for (size_t k = 0; k < 3; k++) {
        double d = (double)xyz[3 * i + k] - (double)xyz[3 * j + k];

        sum += d * d;
    }
    return sqrt(sum);
}

/* Tells whether each edge of the triangle of three matches is as long in A as in B or, with a
 * scale, longer by one factor for all edges. */
static bool keeps_shape(const struct match *m[3], const struct eval_register_cloud *a,
                        const struct eval_register_cloud *b,
                        const struct eval_register_global_options *o)
{
    double least = o->scale ? INFINITY : 1, most = o->scale ? 0 : 1;

    for (int k = 0; k < 3; k++) {
        double in_a = edge(a->xyz, m[k]->a, m[(k + 1) % 3]->a);
        double in_b = edge(b->xyz, m[k]->b, m[(k + 1) % 3]->b);

        if (!(in_a > 0) || !(in_b > 0))
            return false;
        least = fmin(least, in_a / in_b);
        most = fmax(most, in_a / in_b);
    }
    return least >= o->tuple_ratio * most && (o->scale || most * o->tuple_ratio <= 1);
}

static int find_tuples(struct pairs *out, const struct match *match, size_t n,
                       const struct eval_register_cloud *a, const struct eval_register_cloud *b,
                       const struct eval_register_global_options *o, struct err *err)
{
    size_t room = 3 * (size_t)o->max_tuples;
    uint64_t state = o->seed;

    *out = (struct pairs){.p = malloc(room * 3 * sizeof *out->p),
                          .q = malloc(room * 3 * sizeof *out->q),
                          .weight = malloc(room * sizeof *out->weight)};
    if (!out->p || !out->q || !out->weight)
        return err_set(err, ERR_MEMORY, "no memory for %d triples", o->max_tuples);
    for (size_t i = 0; i < n * TRIES_PER_MATCH && out->n < room; i++) {
        const struct match *m[3];

        for (int k = 0; k < 3; k++)
            m[k] = match + key_random(&state) % n;
        if (!keeps_shape(m, a, b, o))
            continue;
        for (int k = 0; k < 3; k++, out->n++)
            for (size_t j = 0; j < 3; j++) {
                out->p[3 * out->n + j] = a->xyz[3 * (size_t)m[k]->a + j];
                out->q[3 * out->n + j] = b->xyz[3 * (size_t)m[k]->b + j];
            }
    }
    if (out->n < 9)
        return err_set(err, ERR_INPUT,
                       "%zu matches hold %zu triples of one shape: too little to register by", n,
                       out->n / 3);
    return 0;
}

/* Describes both clouds. Cells whose size was not asked for grow until there are few enough. */
static int describe(struct eval_register_cloud *thin_a, struct eval_register_cloud *thin_b,
                    double *voxel, const float *a, size_t n_a, const float *b, size_t n_b,
                    bool asked, struct err *err)
{
    int rc;

    for (;; *voxel *= GROW) {
        rc = eval_register_describe(thin_a, a, n_a, *voxel, err);
        if (rc == 0)
            rc = eval_register_describe(thin_b, b, n_b, *voxel, err);
        if (rc != ERR_LIMIT || asked)
            return rc;
        eval_register_forget(thin_a);
        eval_register_forget(thin_b);
    }
}

int eval_register_global(struct eval_register_result *out, const float *a, size_t n_a,
                         const float *b, size_t n_b, const struct eval_register_global_options *o,
                         struct err *err)
{
    struct eval_register_cloud thin_a = {0}, thin_b = {0};
    struct sim3 motion;
    struct tree *tree = NULL;
    struct match *match = NULL;
    struct pairs pairs = {0};
    double size_a = diagonal(a, n_a), size_b = diagonal(b, n_b);
    double voxel = o->voxel_m > 0 ? o->voxel_m : size_b / AUTO_CELLS;
    size_t n = 0;
    int rc;

    *out = (struct eval_register_result){0};
    if (!(voxel > 0) || !(o->tuple_ratio > 0 && o->tuple_ratio < 1) || o->max_tuples < 3)
        return err_set(err, ERR_INPUT, "global registration of a cloud without extent");
    rc = describe(&thin_a, &thin_b, &voxel, a, n_a, b, n_b, o->voxel_m > 0, err);
    if (rc)
        goto out;
    out->n_a = thin_a.n;
    out->n_b = thin_b.n;
    match = malloc(thin_a.n * sizeof *match);
    if (!match) {
        rc = err_set(err, ERR_MEMORY, "no memory for %zu matches", thin_a.n);
        goto out;
    }
    rc = find_matches(match, &n, &thin_a, &thin_b, err);
    if (rc == 0)
        rc = find_tuples(&pairs, match, n, &thin_a, &thin_b, o, err);
    if (rc == 0)
        rc = robust_fit(&motion, pairs.weight, &out->fit.iterations, pairs.p, pairs.q, pairs.n,
                        fmax(size_a, size_b), voxel, o->scale, err);
    out->n_matches = pairs.n;
    out->fit.converged = out->fit.iterations < ROBUST_ROUNDS_MAX;
    if (rc == 0)
        rc = tree_new(&tree, b, n_b, 3, err);
    if (rc)
        goto out;
    icp_score(&out->fit, a, n_a, tree, &motion, SCORE_REACH * voxel);
out:
    tree_free(&tree);
    eval_register_forget(&thin_a);
    eval_register_forget(&thin_b);
    free(match);
    free(pairs.p);
    free(pairs.q);
    free(pairs.weight);
    return rc;
}
