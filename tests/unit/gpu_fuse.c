/* Fusion by hand: (3)-(5), birth and stability of a point, removal, changes, parameters. */
#include "gpu/mono/change_point.h"
#include "gpu/mono/fuse_point.h"
#include "gpu/mono/remove_point.h"
#include "tests/support/scene.h"
#include "tests/support/unit.h"

static void near(float a, float b, float tolerance)
{
    if (!(fabsf(a - b) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", (double)a, (double)tolerance, (double)b);
}

/*
 * w_A = 2, w0 = 1, p = (1, 2, 3), p_i = (1.3, 2, 3.4), |p_i - p| = 0.5, C_c = 0.2:
 * (3) p = (2*1 + 1.3)/3 = 1.1, 2, (6 + 3.4)/3 = 3.133333   (4) C_c = (2*0.2 + 0.5)/3 = 0.3   (5)
 * w_A = 3 The red channel (2*30 + 60)/3 = 40.
 */
TEST(update_is_the_papers)
{
    struct fuse_params p;
    struct point_place place = {1, 2, 3, 77};
    struct point_stat stat = {{30, 60, 90}, 0.2f, 2.0f, 5, 4, 3, 2, POINT_UNSTABLE};
    const uint8_t rgb[3] = {60, 60, 0};
    fuse_params_default(&p);
    p.w0 = 1.0f;
    p.w_max = 100.0f;
    fuse_update(&place, &stat, vec3_make(1.3f, 2.0f, 3.4f), rgb, 3.0f, 1, 9, &p);
    near(place.x, 1.1f, 1e-6f);
    near(place.y, 2.0f, 1e-6f);
    near(place.z, 3.1333333f, 1e-6f);
    assert_int_equal(place.tag, 77);
    near(stat.c_c, 0.3f, 1e-6f);
    near(stat.w_a, 3.0f, 0);
    near(stat.rgb[0], 40.0f, 1e-5f);
    near(stat.rgb[1], 60.0f, 1e-5f);
    near(stat.rgb[2], 60.0f, 1e-5f);
    assert_int_equal(stat.last_seen, 9);
    assert_int_equal(stat.n_observations, 4);
    assert_int_equal(stat.votes, 0); /* an update takes votes back */
}

/* (5): W_eps = 100 is never passed, and there (3) weighs 100 : 1 */
TEST(weight_stops_at_the_truncation)
{
    struct fuse_params p;
    struct point_place place = {0, 0, 2, 1};
    struct point_stat stat = {{0, 0, 0}, 0.0f, 0.5f, 0, 0, 1, 0, POINT_UNSTABLE};
    const uint8_t rgb[3] = {0, 0, 0};
    fuse_params_default(&p);
    for (int i = 0; i < 300; i++) {
        fuse_update(&place, &stat, vec3_make(0, 0, 2), rgb, 2.0f, 1, (uint32_t)i, &p);
        assert_true(stat.w_a <= p.w_max);
    }
    near(stat.w_a, 100.0f, 0);
    fuse_update(&place, &stat, vec3_make(1.01f, 0, 2), rgb, 2.0f, 1, 300, &p);
    near(place.x, 0.01f, 1e-6f);
    near(stat.c_c, 0.01f, 1e-6f);
    assert_int_equal(stat.n_observations, 302);
}

/* (F1): gamma = 0 at the principal point, 1 at the farthest corner: exp(-1/0.36) = 0.062177 */
TEST(first_weight_falls_towards_the_corners)
{
    struct intrinsics K = {100, 100, 30, 20};
    float radius = fuse_radius_max(K, 101, 51); /* corner (100, 50): 70, 30 away -> sqrt(5800) */
    near(radius, 76.157731f, 1e-4f);
    near(fuse_first_weight(30, 20, K, radius, 0.6f), 1.0f, 0);
    near(fuse_first_weight(100, 50, K, radius, 0.6f), 0.0621765f, 1e-6f);
    near(fuse_first_weight(65, 35, K, radius, 0.6f), 0.4993518f,
         1e-6f); /* gamma 1/2: exp(-0.694444) */
}

TEST(a_point_is_born_unstable)
{
    struct fuse_params p;
    struct point_place place;
    struct point_stat stat;
    const uint8_t rgb[3] = {1, 2, 255};
    fuse_params_default(&p);
    p.initial_rel = 0.05f;
    fuse_create(&place, &stat, 0x1200000005ull, vec3_make(4, 5, 6), rgb, 3.0f, 0.7f, 1, 11, &p);
    assert_int_equal(place.tag, 5);
    near(place.z, 6, 0);
    near(stat.c_c, 0.15f, 1e-7f);
    near(stat.w_a, 0.7f, 0);
    near(stat.rgb[2], 255, 0);
    assert_int_equal(stat.state, POINT_UNSTABLE);
    assert_int_equal(stat.n_observations, 1);
    assert_int_equal(stat.last_seen, 11);
}

/* (F2): stable_rel 0.03, hysteresis 0.005, z = 2: becomes stable below 0.05 m, falls back above
 * 0.07 m */
TEST(stability_has_hysteresis)
{
    struct fuse_params p;
    fuse_params_default(&p);
    p.stable_rel = 0.03f;
    p.hysteresis_rel = 0.005f;
    p.min_observations = 3;
    assert_int_equal(fuse_state(POINT_UNSTABLE, 0.049f, 3, 2.0f, &p), POINT_STABLE);
    assert_int_equal(fuse_state(POINT_UNSTABLE, 0.049f, 2, 2.0f, &p), POINT_UNSTABLE);
    assert_int_equal(fuse_state(POINT_UNSTABLE, 0.051f, 9, 2.0f, &p), POINT_UNSTABLE);
    assert_int_equal(fuse_state(POINT_STABLE, 0.069f, 9, 2.0f, &p), POINT_STABLE);
    assert_int_equal(fuse_state(POINT_STABLE, 0.071f, 9, 2.0f, &p), POINT_UNSTABLE);
}

TEST(votes_count_once_a_frame)
{
    struct point_stat s = {{0}, 0, 1, 5, 0, 4, 0, POINT_STABLE};
    struct fuse_params p;
    fuse_params_default(&p);
    p.carve_votes = 3;
    /* the frame that updated it cannot see through it */
    assert_false(remove_vote(&s, 5, 0, 0, 1, &p));
    assert_int_equal(s.votes, 0);
    assert_false(remove_vote(&s, 6, 0, 0, 1, &p));
    assert_false(remove_vote(&s, 6, 0, 0, 1, &p));
    assert_int_equal(s.votes, 1);
    assert_false(remove_vote(&s, 7, 0, 0, 1, &p));
    assert_true(remove_vote(&s, 9, 0, 0, 1, &p));
    s.votes = 0;
    assert_true(remove_vote(&s, 10, 0, 0, 3, &p)); /* it may count for more */
    p.carve_votes = 255;
    s.votes = 253;
    assert_true(remove_vote(&s, 11, 0, 0, 3, &p)); /* the count does not begin anew */
}

/* (V26) */
TEST(what_is_measured_votes_against_points_a_little_off)
{
    const struct camera c = {rigid_identity(), rigid_identity(), {10, 10, 0.5f, 0.5f}, 2, 2};
    const float usable[4] = {2.0f, 2.0f, 2.0f, 2.0f};
    const uint8_t measured[4] = {192, 192, 192, 192}, filled[4] = {191, 191, 191, 191};
    const uint8_t drawn[4] = {48, 48, 48, 48};
    const struct view final = {.trust = measured, .camera = c};
    const struct view frame = {.trust = drawn, .camera = c};
    const struct view other = {.trust = filled, .camera = c}, plain = {.camera = c};
    const struct point_stat s = {{0}, 0, 1, 5, 0, 4, 0, POINT_STABLE, 0};
    const float off[] = {1.85f, 1.95f, 1.97f, 2.03f, 2.05f, 2.19f, 2.21f};
    const int goes[] = {1, 1, 0, 0, 1, 1, 0}, by_drawn[] = {1, 0, 0, 0, 0, 1, 0};
    const int counts[] = {3, 1, 1, 1, 1, 3, 3};
    struct fuse_params p;
    fuse_params_cells(&p);
    for (size_t i = 0; i < sizeof goes / sizeof *goes; i++) {
        const struct point_place place = {0, 0, off[i], 1};
        assert_int_equal(cell_unwanted(&place, &s, 1, &c, usable, &final, 6, 0, &p), goes[i]);
        assert_int_equal(cell_unwanted(&place, &s, 1, &c, usable, &frame, 6, 0, &p), by_drawn[i]);
        assert_false(cell_unwanted(&place, &s, 1, &c, usable, &other, 6, 0, &p));
        assert_false(cell_unwanted(&place, &s, 0, &c, usable, &final, 6, 0, &p));
        assert_int_equal(cell_vote(&final, usable, point_position(&place), &p), counts[i]);
        assert_int_equal(cell_vote(&frame, usable, point_position(&place), &p), 1);
        assert_int_equal(cell_vote(&plain, usable, point_position(&place), &p), 1);
    }
}

/* (V27) */
TEST(views_have_smaller_steps)
{
    struct fuse_params p;
    fuse_params_cells(&p);
    near(view_edge_rel(1, 256, &p), 0.045f, 1e-6f);
    near(view_edge_rel(1, 512, &p), 0.0225f, 1e-6f);
    near(view_edge_rel(1, 64, &p), p.edge_rel, 0);
    near(view_edge_rel(0, 256, &p), p.edge_rel, 0);
    p.edge_rel = 0.0f;
    near(view_edge_rel(1, 256, &p), 0.0f, 0);
}

/* (V22) */
TEST(a_provisional_point_begins_anew_or_goes_at_once)
{
    const struct camera c = {rigid_identity(), rigid_identity(), {10, 10, 0.5f, 0.5f}, 2, 2};
    const float usable[4] = {2.0f, 2.0f, 2.0f, 2.0f};
    const uint8_t rgb[3] = {10, 20, 30};
    struct point_stat s = {{200, 200, 200}, 0.1f, 40, 5, 0, 60, 1, POINT_STABLE, 1};
    struct point_place place = {0, 0, 2.9f, 1};
    const struct view frame = {0}, settles = {.settles = 1};
    struct fuse_params p;
    fuse_params_cells(&p);
    /* nothing of it lies before what is seen, but up to half as far behind it goes */
    assert_false(cell_unwanted(&place, &s, 1, &c, usable, &frame, 6, 0, &p));
    assert_true(cell_unwanted(&place, &s, 1, &c, usable, &settles, 6, 0, &p));
    assert_false(
        cell_unwanted(&place, &s, 0, &c, usable, &settles, 6, 0, &p)); /* of another world */
    place.z = 3.1f;
    assert_false(cell_unwanted(&place, &s, 1, &c, usable, &settles, 6, 0, &p));
    /* wherever it is, when all views of its time are there */
    assert_false(cell_unwanted(&place, &s, 1, &c, usable, &settles, 65, 0, &p));
    assert_true(cell_unwanted(&place, &s, 1, &c, usable, &settles, 66, 0, &p));
    assert_false(cell_unwanted(&place, &s, 1, &c, usable, &frame, 66, 0, &p));
    assert_false(cell_unwanted(&place, &s, 0, &c, usable, &settles, 66, 0, &p));
    place.z = 1.9f;
    assert_true(cell_unwanted(&place, &s, 1, &c, usable, &settles, 6, 0, &p));
    assert_false(remove_vote(&s, 6, 0, 0, 1, &p));
    assert_false(remove_vote(&s, 5, 0, 1, 1, &p)); /* the frame that updated it */
    assert_true(remove_vote(&s, 7, 0, 1, 1, &p));
    fuse_settle(&s, 0);
    assert_int_equal(s.n_observations, 60);
    fuse_settle(&s, 1);
    fuse_update(&place, &s, vec3_make(0.5f, 0, 2), rgb, 2.0f, 2, 8, &p);
    near(place.x, 0.5f, 0);
    near(place.z, 2.0f, 0);
    near(s.rgb[1], 20, 0);
    near(s.w_a, 2, 0);
    assert_int_equal(s.n_observations, 3);
    assert_int_equal(s.state, POINT_STABLE);
    s.provisional = 0;
    place.z = 2.9f;
    assert_false(cell_unwanted(&place, &s, 1, &c, usable, &settles, 9, 0, &p));
    assert_false(remove_vote(&s, 9, 0, 1, 1, &p));
    fuse_settle(&s, 1);
    assert_int_equal(s.n_observations, 3);
}

TEST(only_unstable_points_expire)
{
    struct point_stat s = {{0}, 0, 1, 100, 0, 1, 0, POINT_UNSTABLE};
    assert_false(remove_expired(&s, 114, 15));
    assert_true(remove_expired(&s, 115, 15));
    s.state = POINT_STABLE;
    assert_false(remove_expired(&s, 1000, 15));
}

TEST(positions_are_quantised_to_the_nearest_step)
{
    assert_int_equal(change_quantise(1.2344f, 0.001f), 1234);
    assert_int_equal(change_quantise(-1.2346f, 0.001f), -1235);
    assert_int_equal(change_quantise(0.5f, 1.0f), 1);
    assert_int_equal(change_quantise(-0.5f, 1.0f), -1);
    assert_int_equal(change_quantise(1e12f, 0.001f), 2147483392);
    assert_int_equal(change_quantise(-1e12f, 0.001f), -2147483392);
    assert_int_equal(change_colour(-3.0f), 0);
    assert_int_equal(change_colour(254.6f), 255);
    assert_int_equal(change_colour(300.0f), 255);
    assert_int_equal(change_colour(41.4f), 41);
    assert_int_equal(change_confidence(0), 1);
    assert_int_equal(change_confidence(7), 1);
    assert_int_equal(change_confidence(8), 2);
    assert_int_equal(change_confidence(15), 2);
    assert_int_equal(change_confidence(64), 5);
    assert_int_equal(change_confidence(65535), 14);
}

/* (C1): publish_rel 0.01 at z = 2: again after 20 mm, or after 16 of 255 in a channel */
TEST(clients_hear_of_what_matters)
{
    struct fuse_params p;
    struct point_place place = {0.1f, 0, 2, 3};
    struct point_stat stat = {{100, 100, 100}, 0, 1, 1, 0, 4, 0, POINT_UNSTABLE};
    struct point_normal normal = {{0, 0, -32767}, 0};
    struct point_out out = {{0, 0, 0}, {0, 0, 0}, 0};
    fuse_params_default(&p);
    p.publish_rel = 0.01f;
    p.publish_colour = 16;
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), 0);
    stat.state = POINT_STABLE;
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), GPU_CHANGE_PUT);
    assert_int_equal(out.p_q[0], 100);
    assert_int_equal(out.p_q[2], 2000);
    assert_int_equal(out.confidence, 1);
    assert_int_equal(normal.code, octa_encode(vec3_make(0, 0, -1), NORMAL_STEP));
    place.x = 0.119f;
    stat.n_observations = 15; /* a level of confidence, or a better normal, alone is not sent */
    normal.n[0] = 32767;
    normal.n[2] = 0;
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), 0);
    assert_int_equal(out.p_q[0], 100);
    place.x = 0.121f;
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), GPU_CHANGE_PUT);
    assert_int_equal(out.p_q[0], 121);
    assert_int_equal(out.confidence, 2);
    assert_int_equal(normal.code, octa_encode(vec3_make(1, 0, 0), NORMAL_STEP));
    stat.rgb[1] = 85;
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), 0);
    stat.rgb[1] = 84;
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), GPU_CHANGE_PUT);
    stat.n_observations = 31;
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), 0);
    stat.n_observations = 32; /* two levels are */
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), GPU_CHANGE_PUT);
    assert_int_equal(out.confidence, 4);
    stat.n_observations = 8; /* it began anew (V22) */
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), GPU_CHANGE_PUT);
    assert_int_equal(out.confidence, 2);
    stat.state = POINT_UNSTABLE;
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p),
                     GPU_CHANGE_REMOVE);
    assert_int_equal(change_updated(&place, &stat, &normal, &out, 2, 0.001f, &p), 0);
}

TEST(parameters_are_checked_by_name)
{
    struct fuse_params p;
    struct err err = {0};
    fuse_params_default(&p);
    assert_int_equal(fuse_params_check(&p, &err), 0);
    p.gate_rel = NAN;
    assert_int_equal(fuse_params_check(&p, &err), ERR_INPUT);
    assert_string_equal(err.where, "/fusion/gate_rel");
    fuse_params_default(&p);
    p.n_covisible = 10;
    assert_int_equal(fuse_params_check(&p, &err), ERR_INPUT);
    assert_string_equal(err.where, "/fusion/n_covisible");
    fuse_params_default(&p);
    p.max_keyframes = p.n_covisible;
    assert_int_equal(fuse_params_check(&p, &err), ERR_INPUT);
    assert_string_equal(err.where, "/fusion/max_keyframes");
    fuse_params_default(&p);
    p.max_depth_m = p.min_depth_m / 2;
    assert_int_equal(fuse_params_check(&p, &err), ERR_INPUT);
    assert_string_equal(err.where, "/fusion/max_depth_m");
}
