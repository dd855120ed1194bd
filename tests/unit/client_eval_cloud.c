/* Clouds against truth: closed forms, and registration without a start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/eval/eval_cloud.h"
#include "api/eval/eval_rank.h"
#include "api/eval/eval_register.h"
#include "tests/support/geom_case.h"

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
    assert_int_equal(eval_cloud_measure(&r, NULL, one, 1, one, 1, &eval_cloud_defaults, NULL), 0);
    near(r.chamfer_sum, 0, 0);
    near(r.a_to_b.p90, 0, 0);
}

/* -------------------------------------------------------------------------------- registration */

/* B is seen from elsewhere, and sampled anew in the second run: then not one point is the same. */
static void global_registration_needs_no_start(void **unused)
{
    const size_t n = 60000;
    const double axes[][3] = {{0, 0, 1}, {1, 1, 0.3}, {0.2, -1, 2}};
    const double degrees[] = {90, 170, 90};
    struct icp_options icp = icp_defaults;
    struct eval_register_result r, again;
    struct icp_result near_by;
    struct tree *tree;

    (void)unused;
    state = 0x6548a03723142d3d; /* one sample of the room: others leave up to 0.6 degrees */
    icp.max_iterations = 200;
    for (int run = 0; run < 3; run++) {
        struct sim3 should = motion_of(axes[run], degrees[run], 2, -1, 0.5, 1);
        float *a = scene(n), *b = run == 1 ? scene(n) : cloud_of(n);

        icp_apply(b, run == 1 ? b : a, n, &should);
        assert_int_equal(eval_register_global(&r, a, n, b, n, &eval_register_global_defaults, NULL),
                         0);
        assert_true(r.fit.converged);
        near(sim3_angle_deg(&r.fit.motion, &should), 0, 0.5);
        near(distance(r.fit.motion.t, should.t), 0, run == 1 ? 0.05 : 0.01); /* a cell is 0.07 m */
        again = r;
        if (run == 0)
            assert_int_equal(
                eval_register_global(&again, a, n, b, n, &eval_register_global_defaults, NULL), 0);
        assert_memory_equal(&r.fit.motion, &again.fit.motion, sizeof r.fit.motion);
        assert_int_equal(tree_new(&tree, b, n, 3, NULL), 0);
        assert_int_equal(icp_fit(&near_by, a, n, b, tree, &again.fit.motion, &icp, NULL), 0);
        if (run != 1)
            same_motion(&near_by.motion, &should, 1e-4, 1e-4 / DEGREE, 0);
        else
            same_motion(&near_by.motion, &should, 0.005, 0.1, 0);
        tree_free(&tree);
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
    const struct sim3 should = motion_of(axis, 120, -3, 1, 0.2, 1);
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
    icp_apply(b, b, n_b, &should);
    assert_int_equal(eval_register_global(&r, a, n_a, b, n_b, &eval_register_global_defaults, NULL),
                     0);
    near(sim3_angle_deg(&r.fit.motion, &should), 0, 1.5);
    near(distance(r.fit.motion.t, should.t), 0, 0.1);
    assert_int_equal(r.n_matches, 3 * o.max_tuples);
    o.tuple_ratio = 0.9999;
    assert_int_equal(eval_register_global(&r, a, n_a, b, n_b, &o, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "too little to register by"));
    free(a);
    free(b);
}

/* A point far away makes cloud A more cells long than there may be of those chosen by cloud B. */
static void cells_of_our_own_choice_are_never_refused(void **unused)
{
    const size_t n = 20000;
    const double axis[3] = {0, 1, 1};
    const struct sim3 should = motion_of(axis, 70, 1, 2, 0.5, 1);
    struct eval_register_global_options o = eval_register_global_defaults;
    struct eval_register_result r;
    float *a = scene(n), *b = cloud_of(n);
    struct err err;

    (void)unused;
    icp_apply(b, a, n, &should);
    a[0] = 1e5f;
    assert_int_equal(eval_register_global(&r, a, n, b, n, &o, &err), 0);
    near(sim3_angle_deg(&r.fit.motion, &should), 0, 3);
    o.voxel_m = 0.05;
    assert_int_equal(eval_register_global(&r, a, n, b, n, &o, &err), ERR_LIMIT);
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

/* ------------------------------------------------------------------------------------- ranks */

/* Levels 1 2 2 3 have ranks 0, 1.5, 1.5, 3; with values of ranks 1 0 2 3 the sum of products of the
 * differences from 1.5 is 3, that of squares is 4.5 and 5. */
static void ranks_of_few(void **unused)
{
    static const uint8_t level[] = {1, 2, 2, 3}, same[] = {7, 7, 7, 7};
    static const double value[] = {0.02, 0.01, 0.5, 90};
    double r;

    (void)unused;
    assert_int_equal(eval_rank_correlation(&r, level, value, 4, NULL), 0);
    near(r, 3 / sqrt(22.5), 1e-12);
    assert_int_equal(eval_rank_correlation(&r, same, value, 4, NULL), 0);
    assert_true(isnan(r));
    assert_int_equal(eval_rank_correlation(&r, level, value, 0, NULL), 0);
    assert_true(isnan(r));
}

static void ranks_of_many(void **unused)
{
    uint8_t level[1000];
    double value[1000], r;

    (void)unused;
    for (int i = 0; i < 1000; i++) {
        level[i] = (uint8_t)(i / 4);
        value[i] = exp(-0.01 * (i / 4)); /* the order alone counts */
    }
    assert_int_equal(eval_rank_correlation(&r, level, value, 1000, NULL), 0);
    near(r, -1, 1e-12);
    for (int i = 0; i < 1000; i++)
        value[i] = i % 4; /* alike at all levels */
    assert_int_equal(eval_rank_correlation(&r, level, value, 1000, NULL), 0);
    near(r, 0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plane_moved_by_3_cm),
        cmocka_unit_test(a_subset_and_strangers),
        cmocka_unit_test(spheres),
        cmocka_unit_test(what_is_no_cloud_is_refused),
        cmocka_unit_test(ranks_of_few),
        cmocka_unit_test(ranks_of_many),
        cmocka_unit_test(global_registration_needs_no_start),
        cmocka_unit_test(global_registration_of_parts),
        cmocka_unit_test(cells_of_our_own_choice_are_never_refused),
        cmocka_unit_test(global_registration_refuses_what_has_no_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
