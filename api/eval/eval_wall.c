#include "api/eval/eval_wall.h"

#include "api/eval/eval_grid.h"
#include "proto/geom/robust.h"
#include "proto/geom/solve.h"
#include "proto/geom/tree.h"

#include <math.h>
#include <stdlib.h>

#define CUBES_MAX (1u << 22)

const struct eval_wall_options eval_wall_defaults = {
    .cube_m = 0.2, .flat_m = 0.01, .reach_m = 0.3, .least = 20};

struct patch {
    double sum[3], square[6]; /* of true points from the cube's corner: xx xy xz yy yz zz */
    double at[3], normal[3];
    int flat;
    size_t n_truth, n, first; /* true points; points of the cloud, and where theirs begin */
};

struct work {
    const struct eval_wall_options *o;
    struct eval_grid grid;
    struct patch *patch; /* [grid.cap] */
    size_t cap;
};

static const double *corner(double c[3], const struct work *w, uint32_t i)
{
    int at[3];

    eval_grid_where(&w->grid, at, i);
    for (int k = 0; k < 3; k++)
        c[k] = at[k] * w->o->cube_m;
    return c;
}

static int add_truth(struct work *w, const float *p, struct err *err)
{
    double c[3], v[3];
    struct patch *q;
    uint32_t i;
    int at[3], rc;

    if (!eval_grid_place(&w->grid, at, vec3_make(p[0], p[1], p[2])))
        return 0;
    rc = eval_grid_take(&w->grid, &i, at, err);
    if (rc)
        return rc;
    if (w->cap != w->grid.cap) {
        q = realloc(w->patch, (size_t)w->grid.cap * sizeof *q);
        if (!q)
            return err_set(err, ERR_MEMORY, "no memory for %u patches", w->grid.cap);
        for (size_t k = w->cap; k < w->grid.cap; k++)
            q[k] = (struct patch){0};
        w->patch = q;
        w->cap = w->grid.cap;
    }
    q = &w->patch[i];
    corner(c, w, i);
    for (int k = 0; k < 3; k++)
        v[k] = (double)p[k] - c[k];
    for (int k = 0, m = 0; k < 3; k++) {
        q->sum[k] += v[k];
        for (int l = k; l < 3; l++, m++)
            q->square[m] += v[k] * v[l];
    }
    q->n_truth++;
    return 0;
}

/* The plane through a patch's true points; false: they lie in none. */
static int fit_plane(const struct work *w, uint32_t i)
{
    static const int entry[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    struct patch *q = &w->patch[i];
    double c[3], a[9], value[3], vector[9], n = (double)q->n_truth;

    if (q->n_truth < w->o->least)
        return 0;
    corner(c, w, i);
    for (int k = 0; k < 9; k++)
        a[k] = q->square[entry[k]] / n - q->sum[k / 3] / n * (q->sum[k % 3] / n);
    solve_eigen(value, vector, a, 3);
    for (int k = 0; k < 3; k++) {
        q->at[k] = c[k] + q->sum[k] / n;
        q->normal[k] = vector[6 + k];
    }
    return value[2] <= w->o->flat_m * w->o->flat_m && value[1] > 4 * value[2];
}

/* Finds each point's patch, or EVAL_GRID_NONE, and its height; counts the points of patches. */
static void find_heights(struct work *w, uint32_t *of, float *height, const float *a, size_t n_a,
                         const float *b, const struct tree *truth)
{
    for (size_t i = 0; i < n_a; i++) {
        const double p[3] = {(double)a[3 * i], (double)a[3 * i + 1], (double)a[3 * i + 2]};
        struct patch *q;
        int at[3];
        uint32_t id;
        double d2;

        of[i] = EVAL_GRID_NONE;
        if (!tree_nearest(truth, p, w->o->reach_m * w->o->reach_m, &id, &d2) ||
            !eval_grid_place(&w->grid, at, vec3_make(b[3 * id], b[3 * id + 1], b[3 * id + 2])))
            continue;
        of[i] = eval_grid_find(&w->grid, at);
        q = &w->patch[of[i]];
        height[i] = 0;
        for (int k = 0; k < 3; k++)
            height[i] += (float)((p[k] - q->at[k]) * q->normal[k]);
        q->n++;
    }
}

/* Range of sorted heights without the tenths at both ends. */
static double middle(const double *v, size_t n)
{
    size_t cut = n / 10;

    return v[n - 1 - cut] - v[cut];
}

/* sorted [n_a] and thick [patches]: scratch */
static void summarise(struct eval_wall_report *out, struct work *w, double *sorted, double *thick,
                      const uint32_t *of, const float *height, size_t n_a)
{
    size_t first = 0;

    for (uint32_t i = 0; i < w->grid.n; i++) {
        w->patch[i].first = first;
        first += w->patch[i].n;
    }
    for (size_t i = 0; i < n_a; i++)
        if (of[i] != EVAL_GRID_NONE)
            sorted[w->patch[of[i]].first++] = (double)height[i];
    for (uint32_t i = 0; i < w->grid.n; i++) {
        const struct patch *q = &w->patch[i];
        double *own = sorted + (q->first - q->n);

        if (!q->flat || q->n < w->o->least)
            continue;
        robust_sort(own, q->n);
        thick[out->patches++] = middle(own, q->n);
    }
    if (out->patches == 0)
        return;
    robust_sort(thick, out->patches);
    out->median_m = thick[(out->patches - 1) / 2];
    out->p90_m = thick[(size_t)ceil(0.9 * (double)out->patches) - 1];
}

static int make_patches(struct work *w, const float *b, size_t n_b, struct err *err)
{
    int rc = eval_grid_init(&w->grid, w->o->cube_m, CUBES_MAX, err);

    for (size_t i = 0; i < n_b && rc == 0; i++)
        rc = add_truth(w, b + 3 * i, err);
    for (uint32_t i = 0; i < w->grid.n && rc == 0; i++)
        w->patch[i].flat = fit_plane(w, i);
    return rc;
}

int eval_wall_measure(struct eval_wall_report *out, const float *a, size_t n_a, const float *b,
                      size_t n_b, const struct eval_wall_options *options, struct err *err)
{
    struct work w = {.o = options};
    struct tree *truth = NULL;
    uint32_t *of = malloc((n_a + 1) * sizeof *of);
    float *height = malloc((n_a + 1) * sizeof *height);
    double *sorted = malloc((n_a + 1) * sizeof *sorted), *thick = NULL;
    int rc = make_patches(&w, b, n_b, err);

    *out = (struct eval_wall_report){.median_m = (double)NAN, .p90_m = (double)NAN};
    if (rc)
        goto out;
    thick = malloc(((size_t)w.grid.n + 1) * sizeof *thick);
    rc = of && height && sorted && thick ? tree_new(&truth, b, n_b, 3, err)
                                         : err_set(err, ERR_MEMORY, "no memory for heights");
    if (rc)
        goto out;
    find_heights(&w, of, height, a, n_a, b, truth);
    summarise(out, &w, sorted, thick, of, height, n_a);
out:
    tree_free(&truth);
    eval_grid_free(&w.grid);
    free(w.patch);
    free(of);
    free(height);
    free(sorted);
    free(thick);
    return rc;
}
