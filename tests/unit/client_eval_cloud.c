/* Clouds against truth: closed forms, the tree against all pairs, and motions that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/eval/eval_cloud.h"
#include "api/eval/eval_register.h"

#define DEGREE (M_PI / 180)

static uint64_t state = 1;

/* Uniform in [lo, hi), splitmix64. */
static double uniform(double lo, double hi)
{
    uint64_t v = state += 0x9e3779b97f4a7c15u;

    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    v ^= v >> 31;
    return lo + (hi - lo) * (double)(v >> 11) * 0x1p-53;
}

static float *cloud_of(size_t n)
{
    float *xyz = calloc(n, 3 * sizeof *xyz);

    assert_non_null(xyz);
    return xyz;
}

static void near(double is, double should, double within)
{
    if (!(fabs(is - should) <= within))
        fail_msg("%.12g is not %.12g within %g", is, should, within);
}

/* A square grid of side x side points in the plane z, 0.2 m apart. */
static float *plane(int side, float z)
{
    float *xyz = cloud_of((size_t)(side * side));

    for (int i = 0; i < side * side; i++) {
        xyz[3 * i] = 0.2f * (float)(i % side);
        xyz[3 * i + 1] = 0.2f * (float)(i / side);
        xyz[3 * i + 2] = z;
    }
    return xyz;
}

/* ---------------------------------------------------------------------------------- measures */

static void a_plane_moved_by_3_cm(void **unused)
{
    float *a = plane(20, 0.03f), *b = plane(20, 0);
    struct eval_cloud_report r;
    double d[400];

    (void)unused;
    assert_int_equal(eval_cloud_measure(&r, d, a, 400, b, 400, &eval_cloud_defaults, NULL), 0);
    for (int i = 0; i < 400; i++)
        near(d[i], 0.03, 1e-8);
    near(r.a_to_b.mean, 0.03, 1e-8);
    near(r.b_to_a.rms, 0.03, 1e-8);
    near(r.a_to_b.max, 0.03, 1e-8);
    near(r.chamfer_sum, 0.06, 1e-8);
    near(r.chamfer_mean, 0.03, 1e-8);
    near(r.chamfer_squared, 0.0018, 1e-8);
    near(r.completeness, 1, 0);
    near(r.f, 1, 0);
    assert_int_equal(r.n_radii, 7);
    near(r.at[0].r, 0.04, 1e-12);
    near(r.at[6].r, 0.16, 1e-12);
    assert_int_equal(r.at[0].found, 400);
    near(r.at[0].l_e_mean, 0.03, 1e-8);
    near(r.at[0].fne, 0, 0);
    free(a);
    free(b);
}

/* A is every fourth row of B's plane and as many points again 10 m above it. Rows are 0.2 m apart:
 * a row of B is 0, 0.2, 0.4 or 0.2 m from A. */
static void a_subset_and_strangers(void **unused)
{
    const struct eval_cloud_options o = {
        .threshold_m = 0.05, .r_first_m = 0.05, .r_last_m = 0.45, .r_step_m = 0.2};
    float *b = plane(20, 0), *a = cloud_of(200);
    struct eval_cloud_report r;

    (void)unused;
    for (size_t row = 0; row < 5; row++)
        memcpy(a + 60 * row, b + 240 * row, 60 * sizeof *a);
    memcpy(a + 300, a, 300 * sizeof *a);
    for (size_t i = 100; i < 200; i++)
        a[3 * i + 2] = 10;
    assert_int_equal(eval_cloud_measure(&r, NULL, a, 200, b, 400, &o, NULL), 0);
    near(r.completeness, 0.25, 1e-12); /* the five rows of twenty */
    near(r.accuracy, 0.5, 1e-12);
    near(r.f, 2 * 0.25 * 0.5 / 0.75, 1e-12);
    near(r.a_to_b.mean, 5, 1e-6);
    near(r.a_to_b.rms, sqrt(50), 1e-6);
    near(r.a_to_b.median, 0, 0);
    near(r.a_to_b.p90, 10, 1e-6);
    assert_int_equal(r.n_radii, 3);
    assert_int_equal(r.at[0].found, 100);
    /* below 0.25 m: rows 0, 1, 3, 4, 5, 7, ... 16, 17: two neighbours but for the last, whose rows
     * 18 and 19 lie 0.4 and 0.6 m off */
    assert_int_equal(r.at[1].found, 14 * 20);
    near(r.at[1].fne, 0.3, 1e-12);
    near(r.at[1].fpe, 0.5, 1e-12);
    near(r.at[1].l_e_mean, 0.2 * 9 / 14, 1e-6);
    near(r.at[1].l_e_rms, 0.2 * sqrt(9.0 / 14), 1e-6);
    assert_int_equal(r.at[2].found, 19 * 20);
    free(a);
    free(b);
}

/* Directions shared by two spheres about one centre: every distance is the difference of radii. */
static void spheres(void **unused)
{
    float *a = cloud_of(3000), *b = cloud_of(3000);
    struct eval_cloud_report r;

    (void)unused;
    for (int i = 0; i < 3000; i++) {
        double z = uniform(-1, 1), at = uniform(0, 2 * M_PI), s = sqrt(1 - z * z);
        const double u[3] = {s * cos(at), s * sin(at), z};

        for (int k = 0; k < 3; k++) {
            a[3 * i + k] = (float)(1.07 * u[k]);
            b[3 * i + k] = (float)u[k];
        }
    }
    assert_int_equal(eval_cloud_measure(&r, NULL, a, 3000, b, 3000, &eval_cloud_defaults, NULL), 0);
    near(r.b_to_a.max, 0.07, 1e-6);
    near(r.a_to_b.mean, 0.07, 1e-6);
    near(r.accuracy, 0, 0);
    near(r.f, 0, 0);
    assert_int_equal(r.at[1].found, 0); /* 0.06 */
    assert_true(isnan(r.at[1].l_e_mean));
    near(r.at[1].fne, 1, 0);
    near(r.at[1].fpe, 1, 0);
    near(r.at[2].fne, 0, 0); /* 0.08 */
    near(r.at[2].l_e_rms, 0.07, 1e-6);
    free(a);
    free(b);
}

static void what_is_no_cloud_is_refused(void **unused)
{
    float one[3] = {1, 2, 3}, bad[6] = {0, 0, 0, 1, NAN, 2};
    struct eval_cloud_options o = eval_cloud_defaults;
    struct eval_cloud_report r;
    struct eval_tree *tree;
    struct err err;

    (void)unused;
    assert_int_equal(eval_cloud_measure(&r, NULL, one, 0, one, 1, &o, &err), ERR_INPUT);
    assert_string_equal(err.text, "the cloud holds no points");
    assert_int_equal(eval_cloud_measure(&r, NULL, one, 1, one, 0, &o, &err), ERR_INPUT);
    assert_string_equal(err.text, "the truth holds no points");
    assert_int_equal(eval_cloud_measure(&r, NULL, one, 1, bad, 2, &o, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "point 1 is at"));
    bad[4] = INFINITY;
    assert_int_equal(eval_cloud_check("x", bad, 2, NULL), ERR_INPUT);
    bad[4] = -1.1e6f;
    assert_int_equal(eval_cloud_check("x", bad, 2, NULL), ERR_INPUT);
    bad[4] = -1e6f;
    assert_int_equal(eval_cloud_check("x", bad, 2, NULL), 0);
    o.r_step_m = 1e-9;
    assert_int_equal(eval_cloud_measure(&r, NULL, one, 1, one, 1, &o, NULL), ERR_INPUT);
    o.r_step_m = NAN;
    assert_int_equal(eval_cloud_measure(&r, NULL, one, 1, one, 1, &o, NULL), ERR_INPUT);
    assert_int_equal(eval_tree_new(&tree, one, 0, 3, NULL), ERR_INPUT);
    assert_int_equal(eval_tree_new(&tree, one, 1, 34, NULL), ERR_INPUT);
    assert_int_equal(eval_cloud_measure(&r, NULL, one, 1, one, 1, &eval_cloud_defaults, NULL), 0);
    near(r.chamfer_sum, 0, 0);
    near(r.a_to_b.p90, 0, 0);
}

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
                                   const struct eval_tree *tree, double bound2)
{
    double all[600], d2[40];
    uint32_t id[40];
    int k = 40, found = eval_tree_neighbours(tree, q, bound2, k, id, d2), below = 0;

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

static void the_tree_finds_what_all_pairs_find(void **unused)
{
    static const size_t sizes[] = {1, 2, 12, 13, 25, 100, 600};
    static const int dims[] = {1, 3, 33};
    float *xyz = cloud_of(600 * 11);
    struct eval_tree *tree;
    double q[33];

    (void)unused;
    for (int run = 0; run < SHAPES * 7 * 3; run++) {
        enum shape shape = (enum shape)(run % SHAPES);
        size_t n = sizes[run / SHAPES % 7];
        int dim = dims[run / SHAPES / 7];

        for (size_t i = 0; i < n; i++)
            for (int k = 0; k < dim; k++)
                xyz[i * (size_t)dim + (size_t)k] = coordinate(shape, i, k);
        assert_int_equal(eval_tree_new(&tree, xyz, n, dim, NULL), 0);
        assert_int_equal(eval_tree_points(tree), n);
        for (size_t i = 0; i < 60; i++) {
            for (int k = 0; k < dim; k++) /* among the points, and on them */
                q[k] = i % 3 ? (double)coordinate(shape, i, k) +
                                   uniform(-0.3, 0.3) * (double)(i % 3 - 1)
                             : (double)xyz[i % n * (size_t)dim + (size_t)k];
            compare_with_all_pairs(xyz, n, dim, q, tree, i % 4 ? (double)INFINITY : 0.5 * dim);
        }
        eval_tree_free(&tree);
    }
    free(xyz);
}

/* Queries far from a wall look at what lies before them, not at the wall: as fast as near ones,
 * where bounds by the planes of division took thousands of times as long. Time is the processor's
 * own. */
static void a_wall_is_not_looked_through(void **unused)
{
    double took[2], d2;
    float *wall = plane(400, 0);
    struct eval_tree *tree;
    uint32_t id;

    (void)unused;
    assert_int_equal(eval_tree_new(&tree, wall, 160000, 3, NULL), 0);
    for (int far = 0; far < 2; far++) {
        clock_t start = clock();

        for (int i = 0; i < 20000; i++) {
            const double q[3] = {uniform(0, 79.8), uniform(0, 79.8), far ? 20 : 0.01};

            assert_true(eval_tree_nearest(tree, q, (double)INFINITY, &id, &d2));
            assert_true(d2 <= q[2] * q[2] + 0.0200001);
        }
        took[far] = (double)(clock() - start) / CLOCKS_PER_SEC;
    }
    if (!(took[1] < 20 * took[0] + 0.2))
        fail_msg("%g s from afar, %g s from near by", took[1], took[0]);
    eval_tree_free(&tree);
    free(wall);
}

static void a_bound_is_not_reached(void **unused)
{
    const float xyz[6] = {3, 4, 0, 30, 40, 0};
    const double q[3] = {0, 0, 0};
    struct eval_tree *tree;
    uint32_t id = 7;
    double d2 = -1;

    (void)unused;
    assert_int_equal(eval_tree_new(&tree, xyz, 2, 3, NULL), 0);
    assert_false(eval_tree_nearest(tree, q, 25, &id, &d2));
    assert_true(id == 7 && d2 == -1);
    assert_true(eval_tree_nearest(tree, q, 25.000001, &id, &d2));
    assert_true(id == 0 && d2 == 25);
    eval_tree_free(&tree);
}

/* -------------------------------------------------------------------------------- registration */

static struct eval_fit_motion motion_of(const double axis[3], double degrees, double x, double y,
                                        double z, double s)
{
    double c = cos(degrees * DEGREE),
           n = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    double u[3] = {axis[0] / n, axis[1] / n, axis[2] / n}, sn = sin(degrees * DEGREE);
    const double hat[9] = {0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0};
    struct eval_fit_motion m = {.t = {x, y, z}, .s = s};

    for (int i = 0; i < 9; i++)
        m.r[i] = (i % 4 ? 0 : c) + sn * hat[i] + (1 - c) * u[i / 3] * u[i % 3];
    return m;
}

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static void same_motion(const struct eval_fit_motion *is, const struct eval_fit_motion *should,
                        double metres, double degrees, double scale)
{
    near(distance(is->t, should->t), 0, metres);
    near(eval_fit_angle(is, should), 0, degrees);
    near(is->s, should->s, scale);
}

static void pairs_tell_their_motion(void **unused)
{
    const double axes[][3] = {{1, 0, 0}, {0, 0, 1}, {1, -2, 3}, {-1, 1, 1}};
    double p[30], q[30], line[30];
    struct eval_fit_motion m;

    (void)unused;
    for (int i = 0; i < 30; i++) {
        p[i] = uniform(-3, 3);
        line[i] = (i / 3) * (i % 3 + 1);
    }
    for (int run = 0; run < 40; run++) {
        struct eval_fit_motion should =
            motion_of(axes[run % 4], run == 4 ? 180 : uniform(-180, 180), uniform(-5, 5), 1, -2,
                      run % 2 ? 1 : uniform(0.2, 4));

        for (int i = 0; i < 10; i++)
            eval_fit_apply(q + 3 * i, &should, p + 3 * i);
        assert_int_equal(eval_fit_pairs(&m, p, q, NULL, 10, run % 2 == 0, NULL), 0);
        same_motion(&m, &should, 1e-12, 1e-10, 1e-12);
    }
    assert_int_equal(eval_fit_pairs(&m, line, line, NULL, 10, false, NULL), ERR_INPUT);
    assert_int_equal(eval_fit_pairs(&m, p, p, NULL, 1, false, NULL), ERR_INPUT);
    assert_int_equal(eval_fit_pairs(&m, p, p, NULL, 0, false, NULL), ERR_INPUT);
    /* three points are a plane, which is enough; a weight of 0 leaves a pair out */
    q[0] = 1e9;
    const double weight[4] = {0, 1, 1, 2};
    assert_int_equal(eval_fit_pairs(&m, p, q, weight, 4, false, NULL), 0);
}

/* A room of 6 x 4 x 2.5 m with a table, a cupboard and a ball: points on its surfaces. */
static void scene_point(float *p, size_t i)
{
    static const double box[][6] = {{0, 0, 0, 6, 4, 2.5},
                                    {1, 1, 0, 2.4, 1.8, 0.75},
                                    {4.9, 0, 0, 6, 0.6, 1.9},
                                    {3.5, 2.9, 0, 4.1, 4, 1.1}};
    const double *b = box[i % 8 < 4 ? 0 : i % 8 < 7 ? i % 8 - 3 : 0];
    int side = (int)(i / 8 % 6);

    if (i % 8 == 7) {
        double z = uniform(-1, 1), at = uniform(0, 2 * M_PI), s = sqrt(1 - z * z);

        p[0] = (float)(2 + 0.5 * s * cos(at));
        p[1] = (float)(3 + 0.5 * s * sin(at));
        p[2] = (float)(0.5 + 0.5 * z);
        return;
    }
    for (int k = 0; k < 3; k++)
        p[k] = (float)uniform(b[k], b[k + 3]);
    p[side % 3] = (float)b[side % 3 + 3 * (side / 3)];
}

static float *scene(size_t n)
{
    float *xyz = cloud_of(n);

    for (size_t i = 0; i < n; i++)
        scene_point(xyz + 3 * i, i);
    return xyz;
}

static void icp_finds_a_small_motion(void **unused)
{
    const size_t n = 20000;
    const double axis[3] = {1, 2, -1};
    float *a = scene(n), *b = cloud_of(n);
    struct eval_register_icp_options o = eval_register_icp_defaults;
    struct eval_register_result r;
    struct eval_tree *tree;

    (void)unused;
    o.max_iterations = 200;
    for (int run = 0; run < 3; run++) { /* rigid; with a scale; a part of the points */
        struct eval_fit_motion should =
            motion_of(axis, 0.4, 0.02, -0.01, 0.015, run == 1 ? 1.004 : 1);

        eval_register_apply(b, a, n, &should);
        assert_int_equal(eval_tree_new(&tree, b, n, 3, NULL), 0);
        o.scale = run == 1;
        o.max_points = run == 2 ? 3000 : 0;
        assert_int_equal(eval_register_icp(&r, a, n, b, tree, &eval_fit_identity, &o, NULL), 0);
        assert_true(r.converged && r.iterations > 1 && r.iterations < 200);
        same_motion(&r.motion, &should, 1e-5, 1e-5 / DEGREE, 1e-5);
        assert_int_equal(r.inliers, n);
        near(r.fitness, 1, 0);
        near(r.rmse, 0, 1e-6);
        o.max_iterations = 1;
        assert_int_equal(eval_register_icp(&r, a, n, b, tree, &eval_fit_identity, &o, NULL), 0);
        assert_false(r.converged);
        o.max_iterations = 200;
        eval_tree_free(&tree);
    }
    free(a);
    free(b);
}

static void icp_refuses_what_it_cannot_know(void **unused)
{
    float a[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, far[9] = {9, 9, 9, 10, 9, 9, 9, 10, 9};
    float line[9] = {0, 0, 0, 1, 0, 0, 2, 0, 0};
    struct eval_register_icp_options o = eval_register_icp_defaults;
    struct eval_register_result r;
    struct eval_tree *tree;
    struct err err;

    (void)unused;
    assert_int_equal(eval_tree_new(&tree, far, 3, 3, NULL), 0);
    assert_int_equal(eval_register_icp(&r, a, 3, far, tree, &eval_fit_identity, &o, &err),
                     ERR_INPUT);
    assert_non_null(strstr(err.text, "0 of 3 points lie within 0.1 m"));
    eval_tree_free(&tree);
    assert_int_equal(eval_tree_new(&tree, line, 3, 3, NULL), 0);
    assert_int_equal(eval_register_icp(&r, line, 3, line, tree, &eval_fit_identity, &o, NULL),
                     ERR_INPUT);
    o.radius_m = NAN;
    assert_int_equal(eval_register_icp(&r, a, 3, line, tree, &eval_fit_identity, &o, NULL),
                     ERR_INPUT);
    eval_tree_free(&tree);
}

/* B is seen from elsewhere, and sampled anew in the second run: then not one point is the same. */
static void global_registration_needs_no_start(void **unused)
{
    const size_t n = 60000;
    const double axes[][3] = {{0, 0, 1}, {1, 1, 0.3}, {0.2, -1, 2}};
    const double degrees[] = {90, 170, 90};
    struct eval_register_icp_options icp = eval_register_icp_defaults;
    struct eval_register_result r, again;
    struct eval_tree *tree;

    (void)unused;
    icp.max_iterations = 200;
    for (int run = 0; run < 3; run++) {
        struct eval_fit_motion should = motion_of(axes[run], degrees[run], 2, -1, 0.5, 1);
        float *a = scene(n), *b = run == 1 ? scene(n) : cloud_of(n);

        eval_register_apply(b, run == 1 ? b : a, n, &should);
        assert_int_equal(eval_register_global(&r, a, n, b, n, &eval_register_global_defaults, NULL),
                         0);
        assert_true(r.converged);
        near(eval_fit_angle(&r.motion, &should), 0, 0.5);
        near(distance(r.motion.t, should.t), 0, run == 1 ? 0.05 : 0.01); /* a cell is 0.07 m */
        again = r;
        if (run == 0)
            assert_int_equal(
                eval_register_global(&again, a, n, b, n, &eval_register_global_defaults, NULL), 0);
        assert_memory_equal(&r.motion, &again.motion, sizeof r.motion);
        assert_int_equal(eval_tree_new(&tree, b, n, 3, NULL), 0);
        assert_int_equal(eval_register_icp(&r, a, n, b, tree, &again.motion, &icp, NULL), 0);
        if (run != 1)
            same_motion(&r.motion, &should, 1e-4, 1e-4 / DEGREE, 0);
        else
            same_motion(&r.motion, &should, 0.005, 0.1, 0);
        eval_tree_free(&tree);
        free(a);
        free(b);
    }
}

/* Two parts of one room, sampled apart, that share its middle: less than two thirds of each. The
 * ends of a room look alike, so with less in common the answer may be wrong. A ratio of edges that
 * cells cannot keep leaves no triples. */
static void global_registration_of_parts(void **unused)
{
    const size_t n = 60000;
    const double axis[3] = {0.1, -0.2, 1};
    const struct eval_fit_motion should = motion_of(axis, 120, -3, 1, 0.2, 1);
    float *a = scene(n), *b = scene(n);
    struct eval_register_global_options o = eval_register_global_defaults;
    struct eval_register_result r;
    size_t n_a = 0, n_b = 0;
    struct err err;

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        if (a[3 * i] < 3.8f)
            memmove(a + 3 * n_a++, a + 3 * i, 3 * sizeof *a);
        if (b[3 * i] > 1.2f)
            memmove(b + 3 * n_b++, b + 3 * i, 3 * sizeof *b);
    }
    eval_register_apply(b, b, n_b, &should);
    assert_int_equal(eval_register_global(&r, a, n_a, b, n_b, &eval_register_global_defaults, NULL),
                     0);
    near(eval_fit_angle(&r.motion, &should), 0, 1.5);
    near(distance(r.motion.t, should.t), 0, 0.1);
    assert_int_equal(r.n_matches, 3 * o.max_tuples);
    o.tuple_ratio = 0.9999;
    assert_int_equal(eval_register_global(&r, a, n_a, b, n_b, &o, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "too little to register by"));
    free(a);
    free(b);
}

static void global_registration_refuses_what_has_no_shape(void **unused)
{
    struct eval_register_global_options o = eval_register_global_defaults;
    struct eval_register_result r;
    float *a = cloud_of(100), *b = scene(1000);

    (void)unused;
    assert_int_equal(eval_register_global(&r, a, 100, a, 100, &o, NULL), ERR_INPUT);
    assert_int_equal(eval_register_global(&r, a, 100, b, 1000, &o, NULL), ERR_INPUT);
    o.voxel_m = 1e-7;
    assert_int_equal(eval_register_global(&r, b, 1000, b, 1000, &o, NULL), ERR_LIMIT);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plane_moved_by_3_cm),
        cmocka_unit_test(a_subset_and_strangers),
        cmocka_unit_test(spheres),
        cmocka_unit_test(what_is_no_cloud_is_refused),
        cmocka_unit_test(the_tree_finds_what_all_pairs_find),
        cmocka_unit_test(a_wall_is_not_looked_through),
        cmocka_unit_test(a_bound_is_not_reached),
        cmocka_unit_test(pairs_tell_their_motion),
        cmocka_unit_test(icp_finds_a_small_motion),
        cmocka_unit_test(icp_refuses_what_it_cannot_know),
        cmocka_unit_test(global_registration_needs_no_start),
        cmocka_unit_test(global_registration_of_parts),
        cmocka_unit_test(global_registration_refuses_what_has_no_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
