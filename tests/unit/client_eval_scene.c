/* Clouds of depth maps: pixels to points by hand, cubes that are counted, means over frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/eval/eval_cloud.h"
#include "api/eval/eval_scene.h"
#include "api/eval/eval_tsdf.h"
#include "api/eval/eval_wall.h"

static const struct intrinsics K = {2, 4, 1, 0.5f};

static void near(const float *is, float x, float y, float z)
{
    if (fabsf(is[0] - x) > 1e-6f || fabsf(is[1] - y) > 1e-6f || fabsf(is[2] - z) > 1e-6f)
        fail_msg("(%g %g %g) is not (%g %g %g)", (double)is[0], (double)is[1], (double)is[2],
                 (double)x, (double)y, (double)z);
}

static struct eval_scene *grid(double cell_m)
{
    struct eval_scene *s;

    assert_int_equal(eval_scene_new(&s, cell_m, NULL), 0);
    return s;
}

/* 3 x 2 pixels; what is no depth, or too far after the scale, is no point. */
static void pixels_become_points(void **state)
{
    const float depth[6] = {1, 0, NAN, -2, 3, 5.5f};
    struct eval_scene_view v = {depth, 3, 2, K, 2, 10};
    float xyz[18];

    (void)state;
    assert_int_equal(eval_scene_points(xyz, &v), 2);
    near(xyz, 2 * (0 - 1) / 2.0f, 2 * -0.5f / 4, 2);
    near(xyz + 3, 0, 6 * 0.5f / 4, 6);
    v.max_m = 11;
    assert_int_equal(eval_scene_points(xyz, &v), 3);
    near(xyz + 6, 11 * 1 / 2.0f, 11 * 0.5f / 4, 11);
    v.scale = (double)INFINITY;
    assert_int_equal(eval_scene_points(xyz, &v), 0);
    v.scale = (double)NAN;
    assert_int_equal(eval_scene_points(xyz, &v), 0);
}

/* A map of 1 x 1 looked up at the pixels of a mask of 4 x 2 with its own camera. */
static void points_where_truth_is(void **state)
{
    const float depth[1] = {3}, mask[8] = {0, 1, NAN, 99, 2, 0, 0, 0.5f};
    struct eval_scene_view v = {depth, 1, 1, {9, 9, 9, 9}, 1, 10};
    float xyz[24];

    (void)state;
    assert_int_equal(eval_scene_points_at(xyz, &v, mask, 4, 2, K), 3);
    near(xyz, 0, 3 * -0.5f / 4, 3);
    near(xyz + 3, 3 * -1 / 2.0f, 3 * 0.5f / 4, 3);
    near(xyz + 6, 3 * 2 / 2.0f, 3 * 0.5f / 4, 3);
}

/* One pixel on the axis, seen by a camera at 0 and by one turned half around behind it: both put it
 * at z = 2, give or take; a third frame sees something else. */
static void cubes_hold_means_and_frames(void **state)
{
    const struct intrinsics axis = {1, 1, 0, 0};
    const struct rigid here = rigid_identity(), there = {{-1, 0, 0, 0, 1, 0, 0, 0, -1}, {0, 0, 5}};
    float depth = 2.02f;
    struct eval_scene_view v = {&depth, 1, 1, axis, 1, 10};
    struct eval_scene *s = grid(0.1);
    float *xyz;
    size_t n;

    (void)state;
    assert_int_equal(eval_scene_add(s, &v, &here, NULL), 0);
    depth = 2.94f; /* 5 - 2.94 = 2.06 */
    assert_int_equal(eval_scene_add(s, &v, &there, NULL), 0);
    depth = 7;
    assert_int_equal(eval_scene_add(s, &v, &here, NULL), 0);
    assert_int_equal(eval_scene_cloud(s, 2, 0, &xyz, NULL, &n, NULL), 0);
    assert_int_equal(n, 1);
    near(xyz, 0, 0, 2.04f);
    free(xyz);
    assert_int_equal(eval_scene_cloud(s, 0, 0, &xyz, NULL, &n, NULL), 0);
    assert_int_equal(n, 2);
    near(xyz + 3, 0, 0, 7);
    free(xyz);
    assert_int_equal(eval_scene_cloud(s, 3, 0, &xyz, NULL, &n, NULL), 0);
    assert_int_equal(n, 0);
    free(xyz);
    eval_scene_free(&s);
}

/* More cubes than the first table has, on both sides of zero: each is found again. */
static void many_cubes(void **state)
{
    enum { W = 300, H = 200 };
    const struct intrinsics wide = {1, 1, W / 2, H / 2};
    const struct rigid here = rigid_identity();
    struct eval_scene *s = grid(0.5);
    float *depth = malloc(sizeof *depth * W * H), *xyz;
    struct eval_scene_view v = {depth, W, H, wide, 1, 10};
    size_t n;

    (void)state;
    assert_non_null(depth);
    for (int i = 0; i < W * H; i++)
        depth[i] = 1.25f;
    for (int run = 0; run < 3; run++)
        assert_int_equal(eval_scene_add(s, &v, &here, NULL), 0);
    assert_int_equal(eval_scene_cloud(s, 3, 0, &xyz, NULL, &n, NULL), 0);
    assert_int_equal(n, W * H); /* 1.25 m apart: one a cube */
    for (int i = 0; i < W * H; i++)
        near(xyz + 3 * i, 1.25f * (float)(i % W - W / 2), 1.25f * (float)(i / W - H / 2), 1.25f);
    free(xyz);
    /* one frame fills a cube once, however often it hits it */
    eval_scene_free(&s);
    s = grid(1e4);
    assert_int_equal(eval_scene_add(s, &v, &here, NULL), 0);
    assert_int_equal(eval_scene_cloud(s, 2, 0, &xyz, NULL, &n, NULL), 0);
    assert_int_equal(n, 0);
    free(xyz);
    assert_int_equal(eval_scene_cloud(s, 1, 0, &xyz, NULL, &n, NULL), 0);
    assert_int_equal(n, 4); /* the quarters around the axis */
    free(xyz);
    free(depth);
    eval_scene_free(&s);
}

static void what_has_no_cube(void **state)
{
    const struct rigid far = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {2e6f, 0, 0}},
                       none = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {NAN, 0, 0}};
    const float depth = 1;
    struct eval_scene_view v = {&depth, 1, 1, K, 1, 10};
    struct eval_scene *s = grid(1);
    float *xyz;
    size_t n;

    (void)state;
    assert_int_equal(eval_scene_add(s, &v, &far, NULL), 0);
    assert_int_equal(eval_scene_add(s, &v, &none, NULL), 0);
    assert_int_equal(eval_scene_cloud(s, 1, 0, &xyz, NULL, &n, NULL), 0);
    assert_int_equal(n, 0);
    free(xyz);
    eval_scene_free(&s);
    assert_int_equal(eval_scene_new(&s, 0, NULL), ERR_INPUT);
    assert_int_equal(eval_scene_new(&s, (double)NAN, NULL), ERR_INPUT);
    assert_int_equal(eval_scene_new(&s, (double)INFINITY, NULL), ERR_INPUT);
    assert_null(s);
}

/* Colours are the mean of what a cube's points looked like; a cube needs enough points. */
static void cubes_have_colours(void **state)
{
    const uint8_t rgb[6] = {10, 20, 30, 200, 100, 0};
    const float depth[4] = {2, 2, 2, 0};
    const struct rigid here = rigid_identity();
    struct eval_scene_view v = {depth, 4, 1, {1000, 1000, 0, 0}, 1, 10, rgb, 2, 1};
    struct eval_scene *s = grid(1);
    uint8_t *colour;
    float *xyz;
    size_t n;

    (void)state;
    assert_int_equal(eval_scene_add(s, &v, &here, NULL), 0);
    assert_int_equal(eval_scene_cloud(s, 1, 3, &xyz, &colour, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(colour[0], 73); /* (10 + 10 + 200) / 3 */
    assert_int_equal(colour[1], 47);
    assert_int_equal(colour[2], 20);
    free(xyz);
    free(colour);
    assert_int_equal(eval_scene_cloud(s, 1, 4, &xyz, &colour, &n, NULL), 0);
    assert_int_equal(n, 0);
    free(xyz);
    free(colour);
    eval_scene_free(&s);
}

/* A wall at 1.01 m, seen at 1 and at 1.02 m by cameras on both sides of zero: the surface lies
 * between, where a mean of distances crosses zero, at every voxel that both saw and at no other
 * depth. */
static void surface_of_a_wall(void **state)
{
    enum { W = 64, H = 48 };
    const struct intrinsics k = {60, 60, 31.5f, 23.5f};
    const struct rigid here = rigid_identity();
    float *depth = malloc(sizeof *depth * W * H), *xyz;
    struct eval_scene_view v = {depth, W, H, k, 1, 5};
    struct eval_tsdf *t;
    size_t n;

    (void)state;
    assert_non_null(depth);
    assert_int_equal(eval_tsdf_new(&t, 0.02, 0.08, NULL), 0);
    for (int run = 0; run < 2; run++) {
        for (int i = 0; i < W * H; i++)
            depth[i] = run ? 1.02f : 1.0f;
        assert_int_equal(eval_tsdf_add(t, &v, &here, NULL), 0);
    }
    assert_int_equal(eval_tsdf_cloud(t, 2, &xyz, &n, NULL), 0);
    assert_true(n > 1500 && n < 2500); /* 53 x 40 voxels of 2 cm */
    for (size_t i = 0; i < n; i++)
        assert_float_equal(xyz[3 * i + 2], 1.01, 1e-4);
    free(xyz);
    assert_int_equal(eval_tsdf_cloud(t, 3, &xyz, &n, NULL), 0);
    assert_int_equal(n, 0);
    free(xyz);
    free(depth);
    eval_tsdf_free(&t);
    assert_int_equal(eval_tsdf_new(&t, 0, 0.08, NULL), ERR_INPUT);
    assert_int_equal(eval_tsdf_new(&t, 0.02, (double)NAN, NULL), ERR_INPUT);
    assert_null(t);
}

/* A slanted wall of 2 x 2 m whose points lie up to 4 cm on both sides of it, evenly: four fifths of
 * the range are 6.4 cm. A second cloud has points on the wall alone, and some too far away to be of
 * any wall. */
static void walls_are_thick(void **state)
{
    enum { N = 200 };
    float *truth = malloc(sizeof *truth * 3 * N * N), *cloud = malloc(sizeof *cloud * 3 * N * N);
    struct eval_wall_report r;

    (void)state;
    assert_true(truth && cloud);
    for (int i = 0; i < N * N; i++) {
        float x = (float)(i % N) * 0.01f, y = (float)(i / N) * 0.01f;
        float off = 0.0008f * (float)(i * 37 % 101 - 50);

        truth[3 * i] = 0.8f * x;
        truth[3 * i + 1] = y;
        truth[3 * i + 2] = 0.6f * x;
        cloud[3 * i] = 0.8f * x - 0.6f * off;
        cloud[3 * i + 1] = y;
        cloud[3 * i + 2] = 0.6f * x + 0.8f * off;
    }
    assert_int_equal(eval_wall_measure(&r, cloud, N * N, truth, N * N, &eval_wall_defaults, NULL),
                     0);
    assert_true(r.patches > 80);
    assert_float_equal(r.median_m, 0.064, 0.003);
    assert_float_equal(r.p90_m, 0.064, 0.006);
    memcpy(cloud, truth, sizeof *truth * 3 * N * N);
    for (int i = 0; i < N; i++)
        cloud[3 * i + 1] += 1e3f;
    assert_int_equal(eval_wall_measure(&r, cloud, N * N, truth, N * N, &eval_wall_defaults, NULL),
                     0);
    assert_float_equal(r.p90_m, 0, 1e-5);
    assert_int_equal(eval_wall_measure(&r, cloud, 0, truth, N * N, &eval_wall_defaults, NULL), 0);
    assert_true(r.patches == 0 && isnan(r.median_m));
    free(truth);
    free(cloud);
}

/* Two frames: points 3 cm and 1 m off their truth. L_E is the mean of the one that was found. */
static void frames_are_averaged(void **state)
{
    const float zero[3] = {0, 0, 0}, near_it[3] = {0.03f, 0, 0}, off[6] = {1, 0, 0, 0, 1, 0};
    struct eval_cloud_sum sum = {0};
    struct eval_cloud_report r, m;

    (void)state;
    assert_int_equal(eval_cloud_measure(&r, NULL, near_it, 1, zero, 1, &eval_cloud_defaults, NULL),
                     0);
    eval_cloud_add(&sum, &r);
    assert_int_equal(eval_cloud_measure(&r, NULL, off, 2, zero, 1, &eval_cloud_defaults, NULL), 0);
    eval_cloud_add(&sum, &r);
    m = eval_cloud_mean(&sum);
    assert_true(m.n_b == 1 && m.n_radii == 7 && m.threshold == 0.05);
    assert_float_equal(m.chamfer_sum, (0.06 + 2) / 2, 1e-6);
    assert_float_equal(m.completeness, 0.5, 1e-6);
    assert_float_equal(m.a_to_b.rms, 0.515, 1e-6);
    assert_float_equal(m.at[0].l_e_mean, 0.03, 1e-6);
    assert_float_equal(m.at[0].fne, 0.5, 1e-6);
    assert_float_equal(m.at[6].fpe, 0.5, 1e-6);
    memset(&sum, 0, sizeof sum);
    m = eval_cloud_mean(&sum);
    assert_true(isnan(m.chamfer_sum) && m.n_radii == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_become_points),
        cmocka_unit_test(points_where_truth_is),
        cmocka_unit_test(cubes_hold_means_and_frames),
        cmocka_unit_test(many_cubes),
        cmocka_unit_test(what_has_no_cube),
        cmocka_unit_test(cubes_have_colours),
        cmocka_unit_test(surface_of_a_wall),
        cmocka_unit_test(walls_are_thick),
        cmocka_unit_test(frames_are_averaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
