/* A path from tracks (P1)-(P11): its arithmetic by hand, a drawn walk whose truth is known, and
 * what no path can be made of. */
#include "gpu/track/path_block.h"
#include "gpu/track/path_record.h"
#include "tests/support/views_case.h"
#include "tests/support/unit.h"

#define W 192
#define H 144
#define FRAMES 40

struct rig {
    struct track t;
    struct path p;
    uint8_t *track_arena, *arena;
    struct views_case scene;
    struct rigid guess, first; /* the drawn pose of the first frame */
    float turn[3], turn_s;     /* of the next frame */
    int n;
};

static void open_rig(struct rig *r)
{
    *r = (struct rig){.guess = rigid_identity()};
    r->track_arena = calloc(1, track_lay_out(&r->t, NULL, W, H));
    track_lay_out(&r->t, r->track_arena, W, H);
    r->arena = calloc(1, path_lay_out(&r->p, NULL, r->t.n_slots));
    path_lay_out(&r->p, r->arena, r->t.n_slots);
    views_case_open(&r->scene, W, H);
}

static void close_rig(struct rig *r)
{
    views_case_close(&r->scene);
    free(r->track_arena);
    free(r->arena);
}

/* The picture and the depth that the scene holds go in, with a guess that stands still. */
static uint32_t put(struct rig *r, int restart)
{
    const struct track_frame tf = {r->scene.rgb, NULL, restart};
    const struct path_frame f = {
        r->scene.depth, &r->guess, r->scene.frame.K, restart, {r->turn[0], r->turn[1], r->turn[2]},
        r->turn_s};
    if (r->n++ == 0)
        r->first = r->scene.frame.T_wc;
    track_cpu(&r->t, &tf);
    path_cpu(&r->p, &r->t, &f);
    r->guess = path_T_wc(&r->p);
    return r->p.told.state;
}

/* Metres between the path and the truth, after the first frame's own place is taken off, and the
 * path's scale. */
static float off(const struct rig *r, float scale)
{
    struct rigid inverse = rigid_inverse(&r->first);
    struct rigid truth = rigid_mul(&inverse, &r->scene.frame.T_wc), is = path_T_wc(&r->p);
    struct vec3 d = vec3_make(is.t[0] / scale - truth.t[0], is.t[1] / scale - truth.t[1],
                              is.t[2] / scale - truth.t[2]);
    return sqrtf(vec3_norm2(d));
}

TEST(logs_and_powers)
{
    for (double x = 1e-3; x < 1e4; x *= 1.07) {
        assert_true(fabs(path_log(x) - log(x)) < 1e-9);
        assert_true(fabs(path_exp(path_log(x) / 4) / pow(x, 0.25) - 1) < 1e-9);
    }
}

/* f = 100, c = 50: (1, -1, 2) from the origin is at (100, 0); when the camera has turned by a
 * quarter about its axis, at (100, 100). */
TEST(seen_by_hand)
{
    struct intrinsics K = {100, 100, 50, 50};
    struct path_pose T = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    const double p[3] = {1, -1, 2}, behind[3] = {1, -1, 0.01};
    const double d[6] = {0, 0, 0, 0, 0, 2}; /* half of it is a tangent: 90 degrees about z */
    double c[3], u[2];
    assert_int_equal(path_project(c, u, &K, &T, p), 1);
    assert_true(u[0] == 100 && u[1] == 0);
    assert_int_equal(path_project(c, u, &K, &T, behind), 0);
    path_move(&T, d);
    assert_int_equal(path_project(c, u, &K, &T, p), 1);
    assert_true(fabs(u[0] - 100) < 1e-12 && fabs(u[1] - 100) < 1e-12);
}

/* Each slope is what a small step changes. */
TEST(slopes_are_differences)
{
    struct intrinsics K = {210, 190, 60, 40};
    struct path_pose T = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0.1, -0.2, 0.3}};
    const double p[3] = {0.4, 0.3, 2}, turn[6] = {0, 0, 0, 0.3, -0.2, 0.5};
    double c[3], u[2], s[2][3], j[2][6];
    path_move(&T, turn);
    path_project(c, u, &K, &T, p);
    path_slope(s, &K, c);
    for (int r = 0; r < 2; r++)
        path_twist(j[r], s[r], c);
    for (int a = 0; a < 6; a++) {
        struct path_pose moved = T;
        double d[6] = {0}, v[2];
        d[a] = 1e-6;
        path_move(&moved, d);
        path_project(c, v, &K, &moved, p);
        for (int r = 0; r < 2; r++)
            assert_true(fabs((v[r] - u[r]) / 1e-6 - j[r][a]) < 1e-2);
    }
}

TEST(elements_have_their_place)
{
    uint32_t e = 0;
    for (uint32_t row = 0; row < PATH_UNKNOWNS; row++)
        for (uint32_t column = 0; column <= row; column++, e++) {
            struct path_at at = path_at_of(e);
            assert_int_equal(at.k * PATH_POSE + at.a, row);
            assert_int_equal(at.l * PATH_POSE + at.c, column);
        }
    assert_int_equal(e, PATH_PAIRS);
}

/* Depth counts where it is known all around, and is no edge. */
TEST(depths_of_edges_do_not_count)
{
    float depth[25];
    struct path p;
    params_fill(&p.params, &track_params_stage, NULL, NULL);
    for (int i = 0; i < 25; i++)
        depth[i] = 2.0f;
    assert_float_equal(path_depth(&p, depth, 5, 5, 2.2f, 1.8f), 0.693147f, 1e-6f);
    assert_true(path_depth(&p, depth, 5, 5, 0.4f, 2) == PATH_NO_DEPTH);
    for (int at = 6; at <= 8; at++)
        for (int k = 0; k < 5; k++) {
            static const float bad[] = {0, NAN, INFINITY, -1, 3};
            depth[at] = bad[k];
            assert_true(path_depth(&p, depth, 5, 5, 2, 2) == PATH_NO_DEPTH);
            depth[at] = 2.0f;
        }
    depth[12] = NAN;
    assert_true(path_depth(&p, depth, 5, 5, 2, 2) == PATH_NO_DEPTH);
}

/* A walk of 2.8 m whose depths are 10 % too large and bent by 10 %: its scale is theirs. */
TEST(walk_is_followed)
{
    struct rig r;
    float worst = 0;
    open_rig(&r);
    for (int i = 0; i < FRAMES; i++) {
        views_case_draw(&r.scene, i, 1.1f);
        assert_int_equal(put(&r, 0), i ? PATH_FOUND : PATH_BEGUN);
        worst = fmaxf(worst, off(&r, 1.1f));
        assert_true(r.p.n_kept <= PATH_KEPT);
    }
    print_message("# %.3f m off at most\n", (double)worst);
    assert_true(worst < 0.12f);
    close_rig(&r);
}

/* The same walk where every other frame's depths are a fifth larger. */
TEST(scales_of_frames_are_found)
{
    struct rig r;
    float worst = 0, apart = 0;
    open_rig(&r);
    for (int i = 0; i < FRAMES; i++) {
        views_case_draw(&r.scene, i, i % 2 ? 0.9f : 1.1f);
        (void)put(&r, 0);
        worst = fmaxf(worst, off(&r, 1.0f));
        if (i >= 10)
            apart += (i % 2 ? -1.0f : 1.0f) * r.p.told.log_scale / (0.5f * (FRAMES - 10));
    }
    print_message("# %.3f m off at most, %.3f between scales\n", (double)worst, (double)apart);
    assert_true(worst < 0.2f);
    assert_true(fabsf(apart - logf(1.1f / 0.9f)) < 0.06f);
    close_rig(&r);
}

/* Six depths of noise 0.12 that half err alike, beside a prior of 0.15, which is worth 0.64 of one;
 * none; many. Depth of a keyframe that is seen 25 % too deep times 0.8; a later frame has the
 * keyframe's, and e is the most. */
TEST(a_scale_by_hand)
{
    struct path p = {.n_kept = 2, .order = {1, 0}};
    struct path_told told;
    params_fill(&p.params, &track_params_stage, NULL, NULL);
    assert_float_equal(path_sigma(&p, 6.0), 0.12f / sqrtf(3.64f), 1e-7f); /* 3 + 0.64 depths */
    assert_float_equal(path_sigma(&p, 0.0), 0.15f, 1e-7f);
    assert_true(path_sigma(&p, 1e9) > 0.12f / 2.577f && path_sigma(&p, 1e3) < path_sigma(&p, 1e2));
    p.keyframe[0].bias = log(1.25);
    p.keyframe[1].bias = -3;
    p.bias = 0.5;
    path_tell_scale(&told, &p);
    assert_float_equal(told.log_scale, 0.5f, 1e-7f);
    assert_float_equal(told.correction, 0.8f, 1e-6f);
    p.order[1] = 1;
    path_tell_scale(&told, &p);
    assert_float_equal(told.correction, 2.7182818f, 1e-5f);
}

/* A lost frame has the last scale, and no error of its own. */
TEST(the_lost_keep_the_scale)
{
    struct rig r;
    float last;
    open_rig(&r);
    for (int i = 0; i < 12; i++) {
        views_case_draw(&r.scene, i, i < 6 ? 1.0f : 1.2f);
        (void)put(&r, 0);
        assert_true((r.p.told.log_sigma > 0) == (i > 0));
        assert_true(r.p.told.log_sigma < 0.075f);
    }
    last = r.p.told.correction;
    assert_true(last < 0.97f);
    memset(r.scene.rgb, 128, 3 * (size_t)W * H);
    assert_int_equal(put(&r, 0), PATH_LOST);
    assert_true(r.p.told.log_sigma == 0);
    assert_float_equal(r.p.told.correction, expf(-r.p.told.log_scale), 1e-6f);
    assert_float_equal(r.p.told.correction, last, 0.02f);
    close_rig(&r);
}

TEST(frozen_stands_still)
{
    struct rig r;
    open_rig(&r);
    views_case_draw(&r.scene, 3, 1.0f);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(put(&r, 0), i ? PATH_FOUND : PATH_BEGUN);
        assert_true(off(&r, 1.0f) < 1e-4f);
    }
    assert_int_equal(r.p.n_kept, 1);
    close_rig(&r);
}

/* Without texture the guess stands, and the path goes on when there is some again. */
TEST(nothing_to_see_is_lost)
{
    struct rig r;
    struct rigid T;
    open_rig(&r);
    for (int i = 0; i < 6; i++) {
        views_case_draw(&r.scene, i, 1.0f);
        (void)put(&r, 0);
    }
    memset(r.scene.rgb, 128, 3 * (size_t)W * H);
    r.guess.t[1] += 0.25f;
    T = r.guess;
    assert_int_equal(put(&r, 0), PATH_LOST);
    T = path_T_wc(&r.p);
    assert_true(fabsf(T.t[1] - r.guess.t[1]) < 1e-6f);
    assert_int_equal(put(&r, 0), PATH_LOST);
    views_case_draw(&r.scene, 7, 1.0f);
    assert_int_equal(put(&r, 0), PATH_LOST); /* its tracks are new */
    views_case_draw(&r.scene, 8, 1.0f);
    assert_int_equal(put(&r, 0), PATH_FOUND);
    assert_true(r.p.told.n_inliers > 100);
    close_rig(&r);
}

/* Frames 10 and 11 change places: the path goes there and back. */
TEST(swapped_frames_are_followed)
{
    static const int order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 10, 12, 13};
    struct rig r;
    open_rig(&r);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        views_case_draw(&r.scene, order[i], 1.0f);
        assert_int_equal(put(&r, 0), i ? PATH_FOUND : PATH_BEGUN);
        assert_true(off(&r, 1.0f) < 0.08f);
    }
    close_rig(&r);
}

/* A place from which nothing of the last one is seen; then a restart. */
TEST(jumps_are_lost)
{
    struct rig r;
    open_rig(&r);
    for (int i = 0; i < 8; i++) {
        views_case_draw(&r.scene, i, 1.0f);
        (void)put(&r, 0);
    }
    views_case_draw(&r.scene, 60, 1.0f);
    assert_int_equal(put(&r, 0), PATH_LOST);
    views_case_draw(&r.scene, 61, 1.0f);
    assert_int_equal(put(&r, 0), PATH_FOUND);
    views_case_draw(&r.scene, 62, 1.0f);
    assert_int_equal(put(&r, 1), PATH_BEGUN);
    assert_int_equal(r.p.n_kept, 1);
    close_rig(&r);
}

/* No depth at all: there are no landmarks, and each frame says so. */
TEST(no_depth_is_lost)
{
    struct rig r;
    open_rig(&r);
    for (int i = 0; i < 4; i++) {
        views_case_draw(&r.scene, i, 1.0f);
        memset(r.scene.depth, 0, (size_t)W * H * sizeof *r.scene.depth);
        if (i == 2)
            for (int k = 0; k < W * H; k++)
                r.scene.depth[k] = k % 3 ? NAN : INFINITY;
        assert_int_equal(put(&r, 0), i ? PATH_LOST : PATH_BEGUN);
        assert_true(off(&r, 1.0f) < 1.0f);
    }
    close_rig(&r);
}

/* The turn of the drawn camera since the pose before, as samples would have it. */
static void turn_of(struct rig *r, const struct rigid *before, float by)
{
    struct rigid inverse = rigid_inverse(before), d = rigid_mul(&inverse, &r->scene.frame.T_wc);
    float w = 1 + d.r[0] + d.r[4] + d.r[8]; /* 4 w^2 of the quaternion */
    r->turn[0] = by * 2 * (d.r[7] - d.r[5]) / w;
    r->turn[1] = by * 2 * (d.r[2] - d.r[6]) / w;
    r->turn[2] = by * 2 * (d.r[3] - d.r[1]) / w;
    r->turn_s = 0.0625f;
}

/* The angle in degrees between the path's turns and the drawn ones, root mean square of frames. */
static float turns_off(float by)
{
    struct rigid before = rigid_identity(), was = rigid_identity();
    struct rig r;
    float sum = 0;
    open_rig(&r);
    for (int i = 0; i < FRAMES; i++) {
        struct rigid is, inverse, a, t;
        views_case_draw(&r.scene, i, 1.0f);
        r.turn_s = 0;
        if (i && by > 0.0f)
            turn_of(&r, &before, by);
        (void)put(&r, 0);
        is = path_T_wc(&r.p);
        if (i) {
            inverse = rigid_inverse(&was);
            a = rigid_mul(&inverse, &is);
            inverse = rigid_inverse(&before);
            t = rigid_mul(&inverse, &r.scene.frame.T_wc);
            inverse = rigid_inverse(&t);
            a = rigid_mul(&inverse, &a);
            sum += a.r[7] * a.r[7] + a.r[2] * a.r[2] + a.r[3] * a.r[3];
        }
        was = is;
        before = r.scene.frame.T_wc;
    }
    close_rig(&r);
    return sqrtf(sum / (FRAMES - 1)) * 57.29578f;
}

/* (P10) Samples bring the turns nearer to the truth; wrong ones do not take the path over. */
TEST(samples_say_how_it_turned)
{
    float without = turns_off(0), with = turns_off(1), wrong = turns_off(1.5f);
    print_message("# %.3f degrees a frame without samples, %.3f with, %.3f with wrong ones\n",
                  (double)without, (double)with, (double)wrong);
    assert_true(with < 0.9f * without);
    assert_true(wrong < 3 * without + 0.5f);
}

/* The first version of the record knew of no turns. */
TEST(records_without_turns_are_read)
{
    struct path_record is, was;
    uint8_t v1[sizeof is];
    struct rig r;
    open_rig(&r);
    for (int i = 0; i < 9; i++) {
        views_case_draw(&r.scene, i, 1.0f);
        r.turn_s = i ? 0.0625f : 0.0f;
        (void)put(&r, 0);
    }
    is = path_record_of(&r.t, &r.p);
    assert_true(is.since.variance > 0 && is.keyframe[is.order[is.n_kept - 1]].turn.variance > 0);
    was = path_record_get((const uint8_t *)&is, 2);
    assert_memory_equal(&was, &is, sizeof is);
    memcpy(v1, &is, 104);
    for (size_t k = 0; k < PATH_KEPT; k++)
        memcpy(v1 + 104 * (1 + k), &is.keyframe[k], 104);
    memcpy(v1 + 728, is.order, 56);
    assert_int_equal(path_record_bytes(1), 784);
    was = path_record_get(v1, 1);
    assert_int_equal(was.n_kept, is.n_kept);
    assert_true(was.shift_y == is.shift_y && was.since.variance == 0);
    for (uint32_t k = 0; k < is.n_kept; k++) {
        assert_memory_equal(&was.keyframe[k].T, &is.keyframe[k].T, sizeof is.T);
        assert_true(was.keyframe[k].turn.variance == 0);
    }
    assert_int_equal(
        path_record_valid(&is, &r.t, (const uint8_t *)r.t.slot, (const uint8_t *)r.p.landmark), 1);
    is.since.r[4] = 3;
    assert_int_equal(
        path_record_valid(&is, &r.t, (const uint8_t *)r.t.slot, (const uint8_t *)r.p.landmark), 0);
    close_rig(&r);
}
