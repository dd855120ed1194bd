/* Point functions against numbers worked out by hand: (1), (2), claims, ids, image, depth, motion,
 * views. */
#include <stdlib.h>

#include "gpu/mono/associate_point.h"
#include "gpu/mono/covisible_point.h"
#include "gpu/mono/depth_point.h"
#include "gpu/mono/keyframe_point.h"
#include "gpu/mono/motion_point.h"
#include "tests/support/image_box.h"
#include "tests/support/unit.h"

static void near(float a, float b, float tolerance)
{
    if (!(fabsf(a - b) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", (double)a, (double)tolerance, (double)b);
}

/* A camera at (1, 2, 3) that looks along world +x: camera z -> world x, camera x -> world -z. */
static struct camera camera_along_x(void)
{
    struct rigid T = {{0, 0, 1, 0, 1, 0, -1, 0, 0}, {1, 2, 3}};
    struct intrinsics K = {100, 50, 32, 24};
    return camera_make(&T, K, 64, 48);
}

/* (1) pixel (42, 34), z = 2: camera point ((42-32)/100*2, (34-24)/50*2, 2) = (0.2, 0.4, 2)
 * -> world (1 + 2, 2 + 0.4, 3 - 0.2) */
TEST(back_projection_goes_through_the_pose)
{
    struct camera c = camera_along_x();
    struct vec3 p = point_back_project(&c, 42, 34, 2.0f);
    near(p.x, 3.0f, 1e-6f);
    near(p.y, 2.4f, 1e-6f);
    near(p.z, 2.8f, 1e-6f);
}

/* (2) world (5, 2.4, 2.8) -> camera (0.2, 0.4, 4) -> u = 100*0.05 + 32 = 37, v = 50*0.1 + 24 =
 * 29 */
TEST(projection_rounds_to_the_nearest_pixel)
{
    struct camera c = camera_along_x();
    uint32_t pixel = 0;
    float z = 0;
    assert_true(point_project(&c, vec3_make(5.0f, 2.4f, 2.8f), &pixel, &z));
    assert_int_equal(pixel, 29 * 64 + 37);
    near(z, 4.0f, 1e-6f);
    /* u = 37.48 stays 37, 37.52 becomes 38: camera x = (u - 32)/100*4 */
    assert_true(point_project(&c, vec3_make(5.0f, 2.4f, 3.0f - 0.2192f), &pixel, &z));
    assert_int_equal(pixel, 29 * 64 + 37);
    assert_true(point_project(&c, vec3_make(5.0f, 2.4f, 3.0f - 0.2208f), &pixel, &z));
    assert_int_equal(pixel, 29 * 64 + 38);
}

TEST(projection_refuses_what_is_not_in_view)
{
    struct camera c = camera_along_x();
    uint32_t pixel;
    float z;
    assert_false(point_project(&c, vec3_make(0.5f, 2.0f, 3.0f), &pixel, &z)); /* behind */
    assert_false(point_project(&c, vec3_make(1.0f, 2.0f, 3.0f), &pixel, &z)); /* in the camera */
    assert_false(point_project(&c, vec3_make(2.0f, 2.0f, 3.0f - 0.32f), &pixel, &z)); /* u = 64 */
    assert_true(point_project(&c, vec3_make(2.0f, 2.0f, 3.0f - 0.31f), &pixel, &z));  /* u = 63 */
    assert_true(point_project(&c, vec3_make(2.0f, 2.0f, 3.0f + 0.324f), &pixel, &z)); /* u = -0.4 */
    assert_int_equal(pixel, 24 * 64);
    assert_false(
        point_project(&c, vec3_make(2.0f, 2.0f, 3.0f + 0.326f), &pixel, &z)); /* u = -0.6 */
    assert_false(point_project(&c, vec3_make(NAN, 2.0f, 3.0f), &pixel, &z));
    assert_false(point_project(&c, vec3_make(INFINITY, 2.0f, 3.0f), &pixel, &z));
}

TEST(projection_undoes_back_projection)
{
    struct camera c = camera_along_x();
    for (int y = 0; y < c.h; y += 5)
        for (int x = 0; x < c.w; x += 7) {
            uint32_t pixel;
            float z;
            assert_true(point_project(&c, point_back_project(&c, x, y, 1.7f), &pixel, &z));
            assert_int_equal(pixel, y * c.w + x);
            near(z, 1.7f, 1e-5f);
        }
}

/* (A2) is a minimum of unique keys: any order of the same claims ends with the same winner. */
TEST(claims_order_by_distance_then_pixel)
{
    const float d[6] = {0.25f, 0.0f, 1e-30f, 3.0f, 0.25f, 0.0f};
    const uint32_t pixel[6] = {7, 90, 4, 1, 6, 80};
    assert_true(point_claim(0.1f, 9) < point_claim(0.2f, 1));
    assert_true(point_claim(0.1f, 1) < point_claim(0.1f, 2));
    assert_true(point_claim(0.0f, 0xfffffffeu) < point_claim(1e-45f, 0));
    assert_true(point_claim(INFINITY, 0xfffffffeu) < POINT_UNCLAIMED);
    for (int first = 0; first < 6; first++) {
        uint64_t held = POINT_UNCLAIMED;
        for (int i = 0; i < 6; i++) {
            int j = (first + 5 * i) % 6; /* six different orders */
            uint64_t key = point_claim(d[j], pixel[j]);
            held = key < held ? key : held;
        }
        assert_int_equal((uint32_t)held, 80);
    }
}

TEST(ids_never_have_tag_zero)
{
    assert_int_equal(point_first_id(1, 100), 1);
    assert_int_equal(point_first_id(0xfffffff0u, 16), 0xfffffff0u); /* ...f0 to ...ff: 16 ids */
    assert_int_equal(point_first_id(0xfffffff0u, 17), 0x100000001ull);
    assert_int_equal(point_first_id(0x100000000ull, 5), 0x100000001ull);
    assert_int_equal(point_first_id(0x2ffffffffull, 2), 0x300000001ull);
}

TEST(cells_of_another_life_are_stale)
{
    struct point_place place[2] = {{0, 0, 0, 7}, {0, 0, 0, 0}};
    assert_true(point_cell_live((struct map_cell){0, 7}, place));
    assert_false(point_cell_live((struct map_cell){0, 6}, place)); /* the slot lives again as 7 */
    assert_false(point_cell_live((struct map_cell){1, 3}, place)); /* freed */
    assert_false(point_cell_live((struct map_cell){1, 0}, place)); /* empty cell, free slot */
}

/* (I1) 3 -> 2: the boxes are [0, 1.5) and [1.5, 3): weights 2 1 0 and 0 1 2 (thirds of a box) */
TEST(boxes_overlap_by_whole_numbers)
{
    assert_int_equal(image_overlap(0, 0, 2, 3), 2);
    assert_int_equal(image_overlap(0, 1, 2, 3), 1);
    assert_int_equal(image_overlap(0, 2, 2, 3), 0);
    assert_int_equal(image_overlap(1, 1, 2, 3), 1);
    assert_int_equal(image_overlap(1, 2, 2, 3), 2);
    assert_int_equal(image_first(1, 2, 3), 1);
    assert_int_equal(image_end(0, 2, 3), 2);
    for (int n_in = 1; n_in < 40; n_in++)
        for (int n_out = 1; n_out < 40; n_out++)
            for (int i = 0; i < n_out; i++) {
                uint32_t sum = 0;
                for (int j = image_first(i, n_out, n_in); j < image_end(i, n_out, n_in); j++)
                    sum += image_overlap(i, j, n_out, n_in);
                assert_int_equal(sum, n_in);
            }
}

/* 3x2 -> 2x1, one channel: left box = (2*(10+40) + 1*(20+50)) / 6 = 170/6 = 28.33 */
TEST(box_average_is_exact)
{
    uint8_t rgb[3 * 2 * 3] = {0};
    const uint8_t v[6] = {10, 20, 30, 40, 50, 60};
    uint64_t sum;
    for (int i = 0; i < 6; i++)
        rgb[3 * i + 1] = v[i];
    sum = image_box(rgb, 3, 2, 2, 1, 0, 0, 1);
    assert_int_equal(sum, 170);
    assert_int_equal(image_round(sum, 6), 28);
    assert_int_equal(image_box(rgb, 3, 2, 2, 1, 1, 0, 1), 250); /* (20+50) + 2*(30+60) */
    assert_int_equal(image_round(250, 6), 42);                  /* 41.67 */
    near(image_normalise(sum, 6, 0.5f, 0.25f), (170.0f / 6 / 255 - 0.5f) / 0.25f, 0x1p-11f);
}

/* Between 1 and 2 halves lie 2^-10 apart, between 0.25 and 0.5 2^-12. */
TEST(pictures_are_halves)
{
    assert_true(image_half(0.0f) == 0.0f && image_half(-1.5f) == -1.5f);
    assert_true(image_half(1.0f + 0x1p-11f) == 1.0f); /* to the even one */
    assert_true(image_half(1.0f + 0x1.8p-10f) == 1.0f + 0x1p-9f);
    assert_true(image_half(1.0f + 0x1.01p-11f) == 1.0f + 0x1p-10f);
    assert_true(image_half(-2.0f + 0x1p-12f) == -2.0f);
    for (int i = 0; i < 1000; i++) {
        float v = 0.25f + (float)i * 0.00025f, h = image_half(v);

        assert_true(fabsf(h - v) <= 0x1p-13f && h * 0x1p12f == floorf(h * 0x1p12f));
        assert_true(image_half(-v) == -h && image_half(h) == h);
    }
}

/* (D1)-(D4) */
TEST(outputs_become_metres)
{
    struct gpu_model_info info = {
        .output = GPU_OUTPUT_DEPTH, .min_depth_m = 0.5f, .max_depth_m = 20.0f};
    struct depth_scale s = depth_scale_make(&info, 200.0f);
    near(depth_metres(&s, 3.0f), 3.0f, 0);
    near(depth_metres(&s, 0.4f), 0.0f, 0);
    near(depth_metres(&s, 20.5f), 0.0f, 0);
    near(depth_metres(&s, NAN), 0.0f, 0);
    near(depth_metres(&s, INFINITY), 0.0f, 0);
    near(depth_metres(&s, -1.0f), 0.0f, 0);
    info.focal_px = 250.0f; /* trained at 250 px, run at 200: everything is nearer */
    s = depth_scale_make(&info, 200.0f);
    near(depth_metres(&s, 3.0f), 2.4f, 1e-6f);
    /* pixels that are not square: through 400 x 225 px areas look as large as through 300 */
    near(depth_focal((struct intrinsics){400.0f, 225.0f, 0, 0}), 300.0f, 0);
    near(depth_focal((struct intrinsics){211.0f, 211.0f, 0, 0}), 211.0f, 0);
    info.output = GPU_OUTPUT_INVERSE;
    s = depth_scale_make(&info, 200.0f);
    near(depth_metres(&s, 0.25f), 3.2f, 1e-6f);
    near(depth_metres(&s, 0.0f), 0.0f, 0);
    info.focal_px = 0.0f;
    info.output = GPU_OUTPUT_LOG;
    s = depth_scale_make(&info, 200.0f);
    near(depth_metres(&s, 0.6931472f), 2.0f, 1e-6f);
    info.output = GPU_OUTPUT_DISPARITY; /* 1/d = 0.01 + s (2 - 0.01) for 0.5...100 m */
    info.disparity_range_m[0] = 0.5f;
    info.disparity_range_m[1] = 100.0f;
    s = depth_scale_make(&info, 200.0f);
    near(depth_metres(&s, 1.0f), 0.5f, 1e-6f);
    near(depth_metres(&s, 0.5f), 1.0f / 1.005f, 1e-6f);
    near(depth_metres(&s, 0.0f), 0.0f, 0); /* 100 m, beyond max_depth_m */
}

/* (M1) a quarter turn about z takes x to y; (M2) then translation in the previous camera's frame */
TEST(motions_compose)
{
    const float quarter = 1.5707963f;
    const float m[6] = {1, 2, 3, 0, 0, quarter};
    const float bad[6] = {NAN, 0, 0, 0, 0, 0};
    struct rigid T = rigid_identity(), U;
    struct vec3 p;
    T = motion_compose(&T, m);
    p = rigid_apply(&T, vec3_make(1, 0, 0));
    near(p.x, 1, 1e-6f);
    near(p.y, 3, 1e-6f);
    near(p.z, 3, 1e-6f);
    T = motion_compose(&T, m); /* t = (1,2,3) + Rz(90) (1,2,3) = (1-2, 2+1, 6); half a turn */
    near(T.t[0], -1, 1e-5f);
    near(T.t[1], 3, 1e-5f);
    near(T.t[2], 6, 1e-5f);
    near(T.r[0], -1, 1e-6f);
    near(T.r[4], -1, 1e-6f);
    U = motion_compose(&T, bad);
    assert_memory_equal(&U, &T, sizeof T);
}

TEST(rotations_near_zero_are_smooth)
{
    for (double t = 1e-12; t < 1e-2; t *= 3.0) {
        const double r[3] = {0.6 * t, 0.0, 0.8 * t};
        double R[9];
        motion_rotation(r, R);
        assert_true(fabs(R[3] - 0.8 * sin(t)) < 1e-14);
        assert_true(fabs(R[7] - 0.6 * sin(t)) < 1e-14);
        assert_true(fabs(R[4] - cos(t)) < 1e-14);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double dot =
                    R[3 * i] * R[3 * j] + R[3 * i + 1] * R[3 * j + 1] + R[3 * i + 2] * R[3 * j + 2];
                assert_true(fabs(dot - (i == j)) < 1e-14);
            }
    }
}

/* (M3) ten thousand small turns stay a rotation, and come back after whole turns */
TEST(poses_stay_rotations)
{
    const float step = 6.2831853f / 1000.0f;
    const float m[6] = {0.001f, 0, 0, 0.6f * step, 0, 0.8f * step};
    struct rigid T = rigid_identity();
    for (int i = 0; i < 10000; i++)
        T = motion_compose(&T, m);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const float *a = T.r + 3 * i, *b = T.r + 3 * j;
            near(a[0] * b[0] + a[1] * b[1] + a[2] * b[2], i == j, 3e-7f);
        }
    near(keyframe_cos_angle(&T, &(struct rigid){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0}}), 1.0f, 1e-4f);
}

/* (K2) */
TEST(keyframes_are_near_in_place_and_angle)
{
    struct fuse_params p;
    struct rigid a = rigid_identity(), b = rigid_identity();
    fuse_params_default(&p);
    p.kf_translation_rel = 0.1f;
    p.kf_rotation_rad = 0.2f;
    b.t[0] = 0.29f;
    assert_true(keyframe_near(&a, &b, 3.0f, &p));
    assert_false(keyframe_near(&a, &b, 2.8f, &p));
    b.t[0] = 0.0f;
    b.r[0] = b.r[8] = cosf(0.19f);
    b.r[2] = sinf(0.19f);
    b.r[6] = -b.r[2];
    assert_true(keyframe_near(&a, &b, 3.0f, &p));
    b.r[0] = b.r[8] = cosf(0.21f);
    b.r[2] = sinf(0.21f);
    b.r[6] = -b.r[2];
    assert_false(keyframe_near(&a, &b, 3.0f, &p));
    assert_false(keyframe_much_new(100, 70, 0.3f));
    assert_true(keyframe_much_new(100, 69, 0.3f));
}

/* (K1) the same view shares all of both grids; a view turned away shares nothing */
TEST(overlap_counts_both_ways)
{
    struct intrinsics K = {64, 64, 31.5f, 23.5f};
    struct rigid there = rigid_identity(), away = {{-1, 0, 0, 0, 1, 0, 0, 0, -1}, {0, 0, 0}};
    struct camera a = camera_make(&there, K, 64, 48), b = camera_make(&away, K, 64, 48);
    struct covisible_grid g;
    for (int i = 0; i < COVISIBLE_GRID; i++) {
        uint32_t pixel = covisible_pixel(i, 64, 48);
        g.p[i] = point_back_project(&a, (int)pixel % 64, (int)pixel / 64, 2.0f);
        g.valid[i] = 1;
    }
    assert_int_equal(covisible_pixel(0, 64, 48), 4 * 64 + 4);
    assert_int_equal(covisible_pixel(47, 64, 48), 44 * 64 + 60);
    assert_int_equal(covisible_overlap(&g, &a, &g, &a), 96);
    assert_int_equal(covisible_seen(&g, &b), 0);
    g.valid[3] = 0;
    assert_int_equal(covisible_seen(&g, &a), 47);
    /* moved right by 0.5 m at 2 m: 16 px, two columns of six leave the picture */
    there.t[0] = 0.5f;
    g.valid[3] = 1;
    a = camera_make(&there, K, 64, 48);
    assert_int_equal(covisible_seen(&g, &a), 36);
    assert_true(covisible_before(10, 1, 9, 5));
    assert_true(covisible_before(10, 5, 10, 1));
    assert_false(covisible_before(10, 1, 10, 5));
}

/* (E1) */
TEST(pixels_beside_steps_are_not_used)
{
    struct fuse_params p;
    float d[9] = {2, 2, 2, 2, 2, 2.3f, 0, 2, 2};
    const uint8_t trust[9] = {0, 1, 1, 1, 1, 1, 1, 1, 1};
    fuse_params_default(&p);
    near(associate_depth(d, NULL, 1, 1, 3, 3, 0.1f, &p), 0.0f, 0); /* 0.3 > 0.1*2 to its right */
    near(associate_depth(d, NULL, 2, 1, 3, 3, 0.1f, &p), 0.0f, 0);
    near(associate_depth(d, NULL, 0, 1, 3, 3, 0.1f, &p), 2.0f, 0); /* a hole below is no step */
    near(associate_depth(d, NULL, 0, 2, 3, 3, 0.1f, &p), 0.0f, 0); /* the hole itself */
    near(associate_depth(d, trust, 0, 1, 3, 3, 0.1f, &p), 2.0f, 0);
    near(associate_depth(d, trust, 0, 0, 3, 3, 0.1f, &p), 0.0f, 0); /* nothing vouches for it */
    near(associate_depth(d, NULL, 1, 1, 3, 3, 0.2f, &p), 2.0f, 0);
    d[5] = 50.0f;
    near(associate_depth(d, NULL, 1, 1, 3, 3, 0.0f, &p), 2.0f, 0);
    p.max_depth_m = 1.9f;
    near(associate_depth(d, NULL, 1, 1, 3, 3, 0.0f, &p), 0.0f, 0);
    d[4] = NAN;
    near(associate_depth(d, NULL, 1, 1, 3, 3, 0.0f, &p), 0.0f, 0);
}

TEST(median_bins_cover_depths_evenly)
{
    for (float z = 0.01f; z < 400.0f; z *= 1.07f)
        near(associate_bin_depth(associate_bin(z)) / z, 1.0f, 1.0f / 128.0f);
    assert_int_equal(associate_bin(1e-6f), 0);
    assert_int_equal(associate_bin(1e9f), ASSOCIATE_BINS - 1);
}

/* (A1) gate 0.05*2 = 0.1 m; (A3) depth 2 m, carve_rel 0.1: seen through before 1.8 m */
TEST(gate_and_see_through_have_their_limits)
{
    struct rigid T = rigid_identity();
    struct intrinsics K = {64, 64, 31.5f, 23.5f};
    struct camera c = camera_make(&T, K, 64, 48);
    float *usable = malloc(64 * 48 * sizeof *usable), z;
    assert_true(associate_in_gate(0.0099f, 2.0f, 0.05f));
    assert_false(associate_in_gate(0.0101f, 2.0f, 0.05f));
    for (int i = 0; i < 64 * 48; i++)
        usable[i] = 2.0f;
    assert_true(associate_through(&c, usable, vec3_make(0, 0, 1.79f), 0.1f, &z));
    near(z, 1.79f, 0);
    assert_false(associate_through(&c, usable, vec3_make(0, 0, 1.81f), 0.1f, &z));
    assert_false(associate_through(&c, usable, vec3_make(0, 0, 2.5f), 0.1f, &z));
    assert_false(associate_through(&c, usable, vec3_make(5, 0, 1.0f), 0.1f, &z)); /* not in view */
    for (int i = 0; i < 64 * 48; i++)
        usable[i] = 0.0f; /* nothing was measured there */
    assert_false(associate_through(&c, usable, vec3_make(0, 0, 1.0f), 0.1f, &z));
    free(usable);
}
