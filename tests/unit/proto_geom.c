/* The tree against all pairs, and motions that are known: by their pairs, with wrong ones among
 * them, by ICP. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/geom/octa.h"
#include "proto/geom/robust.h"
#include "proto/geom/solve.h"
#include "proto/geom/tree.h"
#include "tests/support/bound.h"
#include "tests/support/geom_case.h"
#include "tests/support/unit.h"

/* -------------------------------------------------------------------------------------- tree */

enum shape { SCATTER, EQUAL, LINE, LATTICE, TWO_LUMPS, SHAPES };

static float coordinate(enum shape shape, size_t i, int k)
{
    switch (shape) {
    case EQUAL:
        return 1.5f;
    case LINE:
        return (float)(i % 37) * (float)(k + 1);
    case LATTICE: /* many equal coordinates and equal distances */
        return (float)floor(uniform(0, 4));
    case TWO_LUMPS:
        return (float)(uniform(-1e-3, 1e-3) + (i % 2 ? 1e5 : 0));
    default:
        return (float)uniform(-2, 2);
    }
}

static void compare_with_all_pairs(const float *xyz, size_t n, int dim, const double *q,
                                   const struct tree *tree, double bound2)
{
    double all[600], d2[40];
    uint32_t id[40];
    int k = 40, found = tree_neighbours(tree, q, bound2, k, id, d2), below = 0;

    for (size_t i = 0; i < n; i++) {
        all[i] = 0;
        for (int j = 0; j < dim; j++) {
            double d = q[j] - (double)xyz[i * (size_t)dim + (size_t)j];

            all[i] += d * d;
        }
        below += all[i] < bound2;
    }
    assert_int_equal(found, below < k ? below : k);
    for (int i = 0; i < found; i++) {
        int nearer = 0, as_near = 0;

        assert_true(id[i] < n && d2[i] == all[id[i]]); /* the same arithmetic: no tolerance */
        assert_true(i == 0 || d2[i - 1] <= d2[i]);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(id[i], id[j]);
        for (size_t j = 0; j < n; j++) {
            nearer += all[j] < d2[i];
            as_near += all[j] == d2[i];
        }
        assert_true(nearer <= i && i < nearer + as_near);
    }
}

TEST(the_tree_finds_what_all_pairs_find)
{
    static const size_t sizes[] = {1, 2, 12, 13, 25, 100, 600};
    static const int dims[] = {1, 3, 33};
    float *xyz = cloud_of(600 * 11);
    struct tree *tree;
    double q[33];

    for (int run = 0; run < SHAPES * 7 * 3; run++) {
        enum shape shape = (enum shape)(run % SHAPES);
        size_t n = sizes[run / SHAPES % 7];
        int dim = dims[run / SHAPES / 7];

        for (size_t i = 0; i < n; i++)
            for (int k = 0; k < dim; k++)
                xyz[i * (size_t)dim + (size_t)k] = coordinate(shape, i, k);
        assert_int_equal(tree_new(&tree, xyz, n, dim, NULL), 0);
        for (size_t i = 0; i < 60; i++) {
            for (int k = 0; k < dim; k++) /* among the points, and on them */
                q[k] = i % 3 ? (double)coordinate(shape, i, k) +
                                   uniform(-0.3, 0.3) * (double)(i % 3 - 1)
                             : (double)xyz[i % n * (size_t)dim + (size_t)k];
            compare_with_all_pairs(xyz, n, dim, q, tree, i % 4 ? (double)INFINITY : 0.5 * dim);
        }
        tree_free(&tree);
    }
    free(xyz);
}

/* Queries far from a wall look at what lies before them, not at the wall: as fast as near ones,
 * where bounds by the planes of division took thousands of times as long. Time is the processor's
 * own. */
TEST(a_wall_is_not_looked_through)
{
    double took[2], d2;
    float *wall = plane(400, 0);
    struct tree *tree;
    uint32_t id;

    assert_int_equal(tree_new(&tree, wall, 160000, 3, NULL), 0);
    for (int far = 0; far < 2; far++) {
        clock_t start = clock();

        for (int i = 0; i < 20000; i++) {
            const double q[3] = {uniform(0, 79.8), uniform(0, 79.8), far ? 20 : 0.01};

            assert_int_equal(tree_neighbours(tree, q, (double)INFINITY, 1, &id, &d2), 1);
            assert_true(d2 <= q[2] * q[2] + 0.0200001);
        }
        took[far] = (double)(clock() - start) / CLOCKS_PER_SEC;
    }
    assert_true(bound_at_most("20,000 questions from afar", took[1], 20 * took[0] + 0.2, "s"));
    tree_free(&tree);
    free(wall);
}

TEST(a_bound_is_not_reached)
{
    const float xyz[6] = {3, 4, 0, 30, 40, 0};
    const double q[3] = {0, 0, 0};
    struct tree *tree;
    uint32_t id = 7;
    double d2 = -1;

    assert_int_equal(tree_new(&tree, xyz, 2, 3, NULL), 0);
    assert_int_equal(tree_neighbours(tree, q, 25, 1, &id, &d2), 0);
    assert_true(id == 7 && d2 == -1);
    assert_int_equal(tree_neighbours(tree, q, 25.000001, 1, &id, &d2), 1);
    assert_true(id == 0 && d2 == 25);
    tree_free(&tree);
    assert_int_equal(tree_new(&tree, xyz, 0, 3, NULL), ERR_INPUT);
    assert_int_equal(tree_new(&tree, xyz, 1, 34, NULL), ERR_INPUT);
}

/* ------------------------------------------------------------------------------------- motions */

TEST(pairs_tell_their_motion)
{
    const double axes[][3] = {{1, 0, 0}, {0, 0, 1}, {1, -2, 3}, {-1, 1, 1}};
    double p[30], q[30], line[30];
    struct sim3 m;

    for (int i = 0; i < 30; i++) {
        p[i] = uniform(-3, 3);
        line[i] = (i / 3) * (i % 3 + 1);
    }
    for (int run = 0; run < 40; run++) {
        struct sim3 should = motion_of(axes[run % 4], run == 4 ? 180 : uniform(-180, 180),
                                       uniform(-5, 5), 1, -2, run % 2 ? 1 : uniform(0.2, 4));

        for (int i = 0; i < 10; i++)
            sim3_apply(q + 3 * i, &should, p + 3 * i);
        assert_int_equal(sim3_fit(&m, p, q, NULL, 10, run % 2 == 0, NULL), 0);
        same_motion(&m, &should, 1e-12, 1e-10, 1e-12);
    }
    assert_int_equal(sim3_fit(&m, line, line, NULL, 10, false, NULL), ERR_INPUT);
    assert_int_equal(sim3_fit(&m, p, p, NULL, 1, false, NULL), ERR_INPUT);
    assert_int_equal(sim3_fit(&m, p, p, NULL, 0, false, NULL), ERR_INPUT);
    /* three points are a plane, which is enough; a weight of 0 leaves a pair out */
    q[0] = 1e9;
    const double weight[4] = {0, 1, 1, 2};
    assert_int_equal(sim3_fit(&m, p, q, weight, 4, false, NULL), 0);
}

/* A weight is as many pairs, and a place far from the origin costs no digits but its own. */
TEST(moments_are_those_of_all_pairs)
{
    const double axis[3] = {1, 2, 3}, one[3] = {5, 6, 7}, two[3] = {-1, 0, 2};
    const struct sim3 should = motion_of(axis, 40, 0, 0, 0, 2);
    struct sim3_moments once = {0}, thrice = {0};
    double p[3], q[3];
    struct sim3 m;

    sim3_moments_add(&once, one, two, 3);
    sim3_moments_add(&once, two, one, 1);
    sim3_moments_add(&once, axis, axis, 0);
    for (int i = 0; i < 3; i++)
        sim3_moments_add(&thrice, one, two, 1);
    sim3_moments_add(&thrice, two, one, 1);
    near(once.weight, 4, 0);
    near(once.spread, thrice.spread, 1e-12);
    for (int i = 0; i < 9; i++)
        near(once.cross[i], thrice.cross[i], 1e-12);
    once = (struct sim3_moments){0};
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < 3; k++)
            p[k] = 1e6 + uniform(-1, 1);
        sim3_apply(q, &should, p);
        sim3_moments_add(&once, p, q, 1);
    }
    assert_int_equal(sim3_solve(&m, &once, true, NULL), 0);
    near(m.s, 2, 1e-8);
    near(sim3_angle_deg(&m, &should), 0, 1e-6);
}

TEST(eigenvectors_are_turned_into_themselves)
{
    for (int run = 0; run < 200; run++) {
        int n = 2 + run % 3;
        double a[16], b[16], value[4], vector[16];

        for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++)
                a[i * n + j] = a[j * n + i] = run % 7 ? uniform(-5, 5) : i == j;
        memcpy(b, a, sizeof b);
        solve_eigen(value, vector, b, n);
        for (int i = 0; i < n; i++) {
            double length = 0;

            assert_true(i == 0 || value[i] <= value[i - 1]);
            for (int k = 0; k < n; k++) {
                double turned = 0;

                for (int j = 0; j < n; j++)
                    turned += a[k * n + j] * vector[i * n + j];
                near(turned, value[i] * vector[i * n + k], 1e-12);
                length += vector[i * n + k] * vector[i * n + k];
            }
            near(length, 1, 1e-12);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

TEST(ranks_are_those_of_the_sorted)
{
    double sorted[300];
    float v[300];

    for (size_t run = 0; run < 600; run++) {
        size_t n = run / 2 + 1, k = (size_t)uniform(0, (double)n);

        for (size_t i = 0; i < n; i++)
            sorted[i] = v[i] = (float)floor(uniform(0, run % 2 ? 1e6 : 5));
        qsort(sorted, n, sizeof *sorted, by_value);
        for (size_t i = 1; i < n; i++)
            assert_true(sorted[i - 1] <= sorted[i]);
        assert_true((double)robust_select(v, n, k) == sorted[k]);
    }
}

/* -------------------------------------------------------------------------------------- octa */

static float octa_error(struct vec3 n, int step)
{
    struct vec3 back = octa_decode(octa_encode(n, step));
    float dot = (back.x * n.x + back.y * n.y + back.z * n.z) / sqrtf(vec3_norm2(n));

    assert_true(fabsf(vec3_norm2(back) - 1.0f) < 1e-5f);
    return acosf(fminf(1.0f, dot)) * 57.29578f;
}

TEST(directions_fit_twelve_bits)
{
    static const struct {
        int step;
        float most, mean;
    } bounds[] = {{1, 2.9f, 1.45f}, {4, 11.5f, 5.7f}};

    for (size_t b = 0; b < 2; b++) {
        float most = 0.0f;
        double sum = 0.0;
        int n = 0;

        for (int i = 1; i < 400; i++)
            for (int j = 0; j < 400; j++, n++) {
                float z = 2.0f * (float)i / 400.0f - 1.0f, a = 6.2831853f * (float)j / 400.0f;
                float r = sqrtf(1.0f - z * z), e;

                e = octa_error(vec3_make(3 * r * cosf(a), 3 * r * sinf(a), 3 * z), bounds[b].step);
                most = fmaxf(most, e);
                sum += (double)e;
            }
        if (most > bounds[b].most || sum / n > (double)bounds[b].mean)
            fail_msg("step %d: %g degrees at most, %g in the mean", bounds[b].step, (double)most,
                     sum / n);
    }
}

TEST(axes_are_codes_and_nothing_is_none)
{
    for (int step = 1; step <= 4; step *= 2) {
        assert_int_equal(octa_encode(vec3_make(0, 0, 2), step), 32 << 6 | 32);
        assert_int_equal(octa_encode(vec3_make(1, 0, 0), step), 60 << 6 | 32);
        assert_int_equal(octa_encode(vec3_make(0, -1, 0), step), 32 << 6 | 4);
        for (int i = 0; i < 6; i++) {
            float n[3] = {0, 0, 0};

            n[i / 2] = i % 2 ? -1.0f : 1.0f;
            assert_true(octa_error(vec3_make(n[0], n[1], n[2]), step) < 1e-3f);
        }
    }
    assert_int_equal(octa_encode(vec3_make(0, 0, 0), 1), 0);
    assert_int_equal(octa_encode(vec3_make(NAN, 0, 1), 1), 0);
    assert_int_equal(octa_encode(vec3_make(INFINITY, 0, 1), 1), 0);
    assert_true(vec3_norm2(octa_decode(0)) == 0.0f);
    assert_true(vec3_norm2(octa_decode(32 << 6)) == 0.0f);
    assert_true(vec3_norm2(octa_decode(0xfff)) > 0.0f); /* no code of ours, and still a direction */
}
