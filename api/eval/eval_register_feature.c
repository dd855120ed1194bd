/* Thinned clouds with normals and Fast Point Feature Histograms (Rusu, Blodow, Beetz 2009). */
#include "api/eval/eval_register_internal.h"

#include "api/eval/eval_register.h"
#include "proto/geom/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX (1 << 20) /* along an axis */
#define NORMAL_POINTS 30
#define NORMAL_REACH 2.0 /* voxels */
#define FEATURE_POINTS 100
#define FEATURE_REACH 5.0

struct cell {
    uint64_t key;
    uint32_t id;
};

static int by_cell(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int name_cells(struct cell *cell, const float *xyz, size_t n, double voxel_m,
                      struct err *err)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};

    for (size_t i = 0; i < 3 * n; i++) {
        low[i % 3] = fmin(low[i % 3], (double)xyz[i]);
        high[i % 3] = fmax(high[i % 3], (double)xyz[i]);
    }
    for (int k = 0; k < 3; k++)
        if ((high[k] - low[k]) / voxel_m >= CELLS_MAX)
            return err_set(err, ERR_LIMIT, "cells of %g m in a cloud of %g m: too small", voxel_m,
                           high[k] - low[k]);
    for (size_t i = 0; i < n; i++) {
        cell[i] = (struct cell){.id = (uint32_t)i};
        for (size_t k = 0; k < 3; k++)
            cell[i].key =
                cell[i].key << 20 | (uint64_t)(((double)xyz[3 * i + k] - low[k]) / voxel_m);
    }
    qsort(cell, n, sizeof *cell, by_cell);
    return 0;
}

/* Keeps the mean of the points in each cell. */
static int thin(struct eval_register_cloud *out, const float *xyz, size_t n, double voxel_m,
                struct err *err)
{
    struct cell *cell = malloc(n * sizeof *cell);
    size_t kept = 0;
    int rc;

    if (!cell)
        return err_set(err, ERR_MEMORY, "no memory to thin %zu points", n);
    rc = name_cells(cell, xyz, n, voxel_m, err);
    if (rc)
        goto out;
    for (size_t i = 0; i < n; i++)
        kept += i == 0 || cell[i].key != cell[i - 1].key;
    if (kept > EVAL_REGISTER_THIN_MAX) {
        rc = err_set(err, ERR_LIMIT, "cells of %g m leave %zu points, %d are allowed: larger ones",
                     voxel_m, kept, EVAL_REGISTER_THIN_MAX);
        goto out;
    }
    out->xyz = malloc(kept * 3 * sizeof *out->xyz);
    if (!out->xyz) {
        rc = err_set(err, ERR_MEMORY, "no memory for %zu points", kept);
        goto out;
    }
    for (size_t i = 0; i < n;) {
        double sum[3] = {0};
        size_t first = i;

        for (; i < n && cell[i].key == cell[first].key; i++)
            for (size_t k = 0; k < 3; k++)
                sum[k] += (double)xyz[3 * (size_t)cell[i].id + k];
        for (size_t k = 0; k < 3; k++)
            out->xyz[3 * out->n + k] = (float)(sum[k] / (double)(i - first));
        out->n++;
    }
out:
    free(cell);
    return rc;
}

/* ------------------------------------------------------------------------------------ normals */

static void point(double q[3], const float *xyz, size_t i)
{
    for (size_t k = 0; k < 3; k++)
        q[k] = xyz[3 * i + k];
}

/* Finds the direction in which the neighbourhood is thinnest. */
static void find_normal(float normal[3], const float *xyz, const uint32_t *id, int n)
{
    double mean[3] = {0}, cov[9] = {0}, value[3], vector[9], p[3];

    for (int i = 0; i < n; i++) {
        point(p, xyz, id[i]);
        for (int k = 0; k < 3; k++)
            mean[k] += p[k] / n;
    }
    for (int i = 0; i < n; i++) {
        point(p, xyz, id[i]);
        for (int k = 0; k < 9; k++)
            cov[k] += (p[k / 3] - mean[k / 3]) * (p[k % 3] - mean[k % 3]);
    }
    solve_eigen(value, vector, cov, 3);
    for (int k = 0; k < 3; k++)
        normal[k] = (float)vector[6 + k];
}

static void find_normals(struct eval_register_cloud *c, const struct tree *tree, double voxel_m)
{
    double reach = NORMAL_REACH * voxel_m, d2[NORMAL_POINTS], q[3];
    uint32_t id[NORMAL_POINTS];

    for (size_t i = 0; i < c->n; i++) {
        int n;

        point(q, c->xyz, i);
        n = tree_neighbours(tree, q, reach * reach, NORMAL_POINTS, id, d2);
        find_normal(c->normal + 3 * i, c->xyz, id, n);
    }
}

/* ---------------------------------------------------------------------------------- histograms */

struct near { /* the neighbourhood of one point */
    int n;
    uint32_t id[FEATURE_POINTS];
    float d[FEATURE_POINTS];
};

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(double *out, const double *a, const double *b)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static int bin(double share)
{
    int i = (int)(share * EVAL_REGISTER_BINS);

    return i < EVAL_REGISTER_BINS ? i : EVAL_REGISTER_BINS - 1;
}

/* Adds the three angles between two points with normals to a histogram. The sign of a normal is
 * arbitrary, so each angle is folded to be free of it. */
static void add_pair(float *hist, const struct eval_register_cloud *c, size_t i, size_t j,
                     float weight)
{
    double p[3], q[3], d[3], a[3], b[3], v[3], w[3], length;
    const double *u = a, *t = b;

    point(p, c->xyz, i);
    point(q, c->xyz, j);
    point(a, c->normal, i);
    point(b, c->normal, j);
    for (int k = 0; k < 3; k++)
        d[k] = q[k] - p[k];
    length = sqrt(dot(d, d));
    if (!(length > 0))
        return;
    for (int k = 0; k < 3; k++)
        d[k] /= length;
    if (fabs(dot(a, d)) < fabs(dot(b, d)))
        u = b, t = a; /* the frame is that of the point whose normal is nearer to the line */
    cross(v, d, u);
    length = sqrt(dot(v, v));
    if (length > 0)
        for (int k = 0; k < 3; k++)
            v[k] /= length;
    cross(w, u, v);
    hist[bin(fabs(dot(v, t)))] += weight;
    hist[EVAL_REGISTER_BINS + bin(fabs(dot(u, d)))] += weight;
    hist[2 * EVAL_REGISTER_BINS + bin(atan2(fabs(dot(w, t)), fabs(dot(u, t))) / M_PI_2)] += weight;
}

/* Adds the simple histograms of the neighbours, the nearer ones with more weight, such that each
 * angle sums to 100. */
static void blend(float *fpfh, const float *simple, const struct near *near, size_t i)
{
    float sum[EVAL_REGISTER_FPFH] = {0}, total[3] = {0};

    for (int k = 0; k < near->n; k++)
        for (int j = 0; j < EVAL_REGISTER_FPFH && near->d[k] > 0; j++)
            sum[j] += simple[(size_t)near->id[k] * EVAL_REGISTER_FPFH + (size_t)j] / near->d[k];
    for (int j = 0; j < EVAL_REGISTER_FPFH; j++)
        total[j / EVAL_REGISTER_BINS] += sum[j];
    for (int j = 0; j < EVAL_REGISTER_FPFH; j++) {
        float all = total[j / EVAL_REGISTER_BINS];

        fpfh[j] = simple[i * EVAL_REGISTER_FPFH + (size_t)j] + (all > 0 ? 100 * sum[j] / all : 0);
    }
}

static int find_features(struct eval_register_cloud *c, const struct tree *tree, double voxel_m,
                         struct err *err)
{
    struct near *near = malloc(c->n * sizeof *near);
    float *simple = calloc(c->n, EVAL_REGISTER_FPFH * sizeof *simple);
    double reach = FEATURE_REACH * voxel_m, d2[FEATURE_POINTS], q[3];
    int rc = 0;

    if (!near || !simple) {
        rc = err_set(err, ERR_MEMORY, "no memory for the descriptors of %zu points", c->n);
        goto out;
    }
    for (size_t i = 0; i < c->n; i++) {
        struct near *at = &near[i];

        point(q, c->xyz, i);
        at->n = tree_neighbours(tree, q, reach * reach, FEATURE_POINTS, at->id, d2);
        for (int k = 0; k < at->n; k++) {
            at->d[k] = (float)sqrt(d2[k]);
            add_pair(simple + i * EVAL_REGISTER_FPFH, c, i, at->id[k],
                     100.0f / (float)(at->n > 1 ? at->n - 1 : 1));
        }
    }
    for (size_t i = 0; i < c->n; i++)
        blend(c->fpfh + i * EVAL_REGISTER_FPFH, simple, &near[i], i);
out:
    free(near);
    free(simple);
    return rc;
}

int eval_register_describe(struct eval_register_cloud *out, const float *xyz, size_t n,
                           double voxel_m, struct err *err)
{
    struct tree *tree = NULL;
    int rc;

    *out = (struct eval_register_cloud){0};
    rc = thin(out, xyz, n, voxel_m, err);
    if (rc)
        goto out;
    out->normal = malloc(out->n * 3 * sizeof *out->normal);
    out->fpfh = malloc(out->n * EVAL_REGISTER_FPFH * sizeof *out->fpfh);
    if (!out->normal || !out->fpfh) {
        rc = err_set(err, ERR_MEMORY, "no memory for the descriptors of %zu points", out->n);
        goto out;
    }
    rc = tree_new(&tree, out->xyz, out->n, 3, err);
    if (rc)
        goto out;
    find_normals(out, tree, voxel_m);
    rc = find_features(out, tree, voxel_m, err);
out:
    tree_free(&tree);
    if (rc)
        eval_register_forget(out);
    return rc;
}

void eval_register_forget(struct eval_register_cloud *cloud)
{
    free(cloud->xyz);
    free(cloud->normal);
    free(cloud->fpfh);
    *cloud = (struct eval_register_cloud){0};
}
