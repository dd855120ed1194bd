/* The Monte-Carlo optimiser: (T1)-(T5) by hand and by a naive search, and against
 * Levenberg-Marquardt. */
#include <string.h>

#include "tests/support/landmark_case.h"
#include "tests/support/unit.h"

static float *noise;

FIXTURE(make_noise)
{
    noise = malloc(LANDMARK_SEARCH_NOISE_BYTES);
    assert_non_null(noise);
    landmark_search_noise(noise);
    return 0;
}

FIXTURE(free_noise)
{
    free(noise);
    return 0;
}

/* (T1) Counts of 65,536 in octants have a deviation of sqrt(65536 / 8 * 7 / 8) = 85: five of
 * these. */
TEST(noise_fills_the_cube)
{
    uint32_t octant[8] = {0};
    for (uint32_t axis = 0; axis < 3; axis++)
        assert_true(noise[axis * LANDMARK_SEARCH_HYPOTHESES] == 0.0f);
    for (uint32_t j = 0; j < LANDMARK_SEARCH_HYPOTHESES; j++) {
        uint32_t at = 0;
        for (uint32_t axis = 0; axis < 3; axis++) {
            float n = noise[axis * LANDMARK_SEARCH_HYPOTHESES + j];
            assert_true(n >= -1.0f && n < 1.0f);
            at |= (uint32_t)(n >= 0.0f) << axis;
        }
        octant[at]++;
    }
    for (int i = 0; i < 8; i++)
        assert_in_range(octant[i], 8192 - 425, 8192 + 425);
}

/*
 * (T3) A camera at the origin, f = 100 and 50, c = (32, 24). The place (1 + 0.5 n, 2, 4) with n = 1
 * is seen at (100 * 1.5/4 + 32, 50 * 2/4 + 24) = (69.5, 49); observed at (66.5, 45): the error is
 * |(3, 4)| = 5.
 */
TEST(error_by_hand)
{
    struct landmark_search_camera c = {rigid_identity(), {100, 50, 32, 24}};
    struct landmark_search_observation o = {0, 66.5f, 45.0f};
    struct landmark_search_box box = {{0, 0, 1}, 0.5f, 0.0f};
    struct landmark_search_row r = landmark_search_row_make(&c, &o, vec3_make(1, 2, 4), &box);
    float nearest = INFINITY;
    assert_float_equal(landmark_search_error(&r, 1, 0, 0, &nearest), 5.0f, 1e-5f);
    assert_true(nearest == 4.0f);
    /* one step towards the camera by 0.5 * 0.5: (100 * 1/3.75 + 32, 50 * 2/3.75 + 24) */
    assert_float_equal(landmark_search_error(&r, 0, 0, -0.5f, &nearest),
                       hypot(32 + 100 / 3.75 - 66.5, 24 + 100 / 3.75 - 45), 1e-5f);
    assert_true(nearest == 3.75f);
    /* the same box three times as long along z: 0.75 */
    box.longer = 2.0f;
    r = landmark_search_row_make(&c, &o, vec3_make(1, 2, 4), &box);
    assert_float_equal(landmark_search_error(&r, 0, 0, -0.5f, &nearest),
                       hypot(32 + 100 / 3.25 - 66.5, 24 + 100 / 3.25 - 45), 1e-5f);
}

/* (T2) Two cameras see a landmark 4 m off, f = 100: a pixel is 4 cm there. Errors of 3 and 5
 * pixels: s = 2 * 4 * 0.04. A metre along the ray changes errors by 5 pixels on average, a metre
 * across it by 25: the box is five times as long. */
TEST(first_box_by_hand)
{
    struct landmark_search_params p = {1024, 1, 2.0f, 0.5f, 100.0f};
    struct landmark_search_state st = {.n = 2};
    landmark_search_begin(&st, 8.0f, 0.08f, 10.0f, &p);
    assert_float_equal(st.box.s, 0.32f, 1e-6f);
    assert_float_equal(st.box.longer, 4.0f, 1e-5f);
    p.stretch = 1.0f;
    landmark_search_begin(&st, 8.0f, 0.08f, 10.0f, &p);
    assert_true(st.box.longer == 0.0f);
    landmark_search_begin(&st, INFINITY, 0.08f, 10.0f, &p);
    assert_true(st.box.s == 0.0f);
}

/* (T2) Cameras at x = -1 and x = 1 look along z at (0, 0, 4), f = 100: the mean ray is z, and a
 * metre along it moves what they see by 100 * 1 / 4^2 pixels. */
TEST(ray_and_slope_by_hand)
{
    const struct landmark_search_box unit = {{0, 0, 0}, 1.0f, 0.0f};
    struct vec3 p = vec3_make(0, 0, 4), sum = {0, 0, 0}, mean;
    for (int i = -1; i < 2; i += 2) {
        struct landmark_search_camera c = {rigid_identity(), {100, 100, 32, 24}};
        struct landmark_search_observation o = {0, 32.0f - 25.0f * (float)i, 24.0f};
        struct landmark_search_row r;
        struct vec3 ray;
        c.T_cw.t[0] = -(float)i;
        ray = landmark_search_ray(&c, p);
        assert_true(ray.x == -(float)i && ray.y == 0.0f && ray.z == 4.0f);
        sum = vec3_make(sum.x + ray.x, sum.y + ray.y, sum.z + ray.z);
        r = landmark_search_row_make(&c, &o, p, &unit);
        assert_float_equal(landmark_search_slope(&r, vec3_make(0, 0, 1)), 100.0f / 16.0f, 1e-4f);
        assert_float_equal(landmark_search_slope(&r, vec3_make(1, 0, 0)), 100.0f / 4.0f, 1e-4f);
    }
    mean = landmark_search_mean_ray(sum);
    assert_true(mean.x == 0.0f && mean.y == 0.0f && mean.z == 1.0f);
    mean = landmark_search_mean_ray(vec3_make(0, 0, 0));
    assert_true(mean.z == 0.0f);
}

/* (T4) The paper's round ends where a plain search in double ends. Two hypotheses whose residuals
 * differ by less than float can tell may change places: the bound is 60 roundings. */
TEST(winner_is_that_of_a_naive_search)
{
    struct landmark_case c;
    struct landmark_search_params p = landmark_search_params_paper();
    p.n_hypotheses = 4096;
    landmark_case_open(&c, 8, 12, 0.5f, 0.05f);
    for (int i = 0; i < c.b.n_landmarks; i++) {
        struct landmark_search_landmark *m = &c.b.landmark[i], was = *m;
        struct landmark_search_batch one = c.b;
        double start[3] = {was.p.x, was.p.y, was.p.z}, least = INFINITY, unit = 0, s, got[3];
        for (uint32_t k = 0; k < was.n; k++)
            unit += (double)rigid_apply(&c.b.camera[k].T_cw, was.p).z / sqrt(220.0 * 221.0);
        s = (double)p.reach * landmark_case_residual(&c.b, &was, start) * unit / was.n;
        for (uint32_t j = 0; j < p.n_hypotheses; j++) {
            double at[3], r;
            for (uint32_t a = 0; a < 3; a++)
                at[a] = start[a] + s * (double)noise[a * LANDMARK_SEARCH_HYPOTHESES + j];
            r = landmark_case_residual(&c.b, &was, at);
            least = r < least ? r : least;
        }
        one.landmark = m;
        one.n_landmarks = 1;
        landmark_search_cpu(&one, noise, &p);
        got[0] = m->p.x, got[1] = m->p.y, got[2] = m->p.z;
        assert_float_equal(landmark_case_residual(&c.b, m, got), least, 60 * 6e-8 * 10 * least);
        assert_float_equal(m->residual_px, least, 1e-4 * least);
        assert_float_equal(m->prior_px, landmark_case_residual(&c.b, &was, start),
                           1e-4 * (double)m->prior_px);
    }
    landmark_case_close(&c);
}

static double mean_residual(const struct landmark_case *c)
{
    double sum = 0;
    for (int i = 0; i < c->b.n_landmarks; i++)
        sum += (double)c->b.landmark[i].residual_px / c->b.n_landmarks;
    return sum;
}

static double mean_of_lm(const struct landmark_case *c)
{
    double sum = 0;
    for (int i = 0; i < c->b.n_landmarks; i++) {
        const struct landmark_search_landmark *m = &c->b.landmark[i];
        double p[3] = {m->p.x, m->p.y, m->p.z};
        landmark_case_lm(&c->b, m, p);
        sum += landmark_case_residual(&c->b, m, p) / c->b.n_landmarks;
    }
    return sum;
}

/* (T5) It minimises the mean error itself, Levenberg-Marquardt that of squares. With even noise the
 * one is at most a little smaller; where single observations are wrong it is smaller by far. */
TEST(rounds_end_below_levenberg_marquardt)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        struct landmark_case c;
        struct landmark_search_params p = landmark_search_params_default();
        double lm, paper;
        struct landmark_search_landmark was[25];
        landmark_case_open(&c, 25, 15, 0.5f, 0.05f);
        for (int i = 0; wrong && i < c.b.n_observations; i += 7)
            ((struct landmark_search_observation *)(uintptr_t)c.b.observation)[i].x += 4.0f;
        memcpy(was, c.b.landmark, sizeof was);
        lm = mean_of_lm(&c);
        landmark_search_cpu(&c.b, noise, &p);
        print_message("# Levenberg-Marquardt %.5f px, rounds %.5f px\n", lm, mean_residual(&c));
        assert_true(mean_residual(&c) * (wrong ? 1.1 : 1.005) <= lm);
        memcpy(c.b.landmark, was, sizeof was);
        p = landmark_search_params_paper();
        landmark_search_cpu(&c.b, noise, &p);
        paper = mean_residual(&c);
        print_message("# one round of 65,536: %.5f px\n", paper);
        assert_true(paper < 1.15 * lm);
        landmark_case_close(&c);
    }
}

TEST(nothing_gets_worse)
{
    struct landmark_case c;
    struct landmark_search_params p = landmark_search_params_default();
    landmark_case_open(&c, 6, 10, 0.0f, 0.0f);
    c.b.landmark[1].n = 0;
    c.b.landmark[2].p.z = -5.0f;
    c.b.landmark[3].n = 1; /* a ray: any place on it will do */
    landmark_search_cpu(&c.b, noise, &p);
    for (int i = 0; i < 6; i++) {
        const struct landmark_search_landmark *m = &c.b.landmark[i];
        if (i == 1 || i == 2) {
            assert_true(isinf(m->prior_px) && isinf(m->residual_px));
            assert_true(m->p.x == c.truth[i].x && m->p.y == c.truth[i].y);
            continue;
        }
        assert_true(m->residual_px <= m->prior_px);
        assert_true(m->residual_px < 1e-4f);
        assert_true(sqrtf(vec3_norm2(vec3_sub(m->p, c.truth[i]))) < 1e-3f);
    }
    landmark_case_close(&c);
}

TEST(company_changes_nothing)
{
    struct landmark_case c;
    struct landmark_search_params p = {256, 5, 4.0f, 0.4f, 10.0f};
    struct landmark_search_landmark was[9];
    landmark_case_open(&c, 9, 7, 0.7f, 0.1f);
    memcpy(was, c.b.landmark, sizeof was);
    landmark_search_cpu(&c.b, noise, &p);
    for (int i = 8; i >= 0; i--) {
        struct landmark_search_batch one = c.b;
        one.landmark = &was[i];
        one.n_landmarks = 1;
        landmark_search_cpu(&one, noise, &p);
        assert_memory_equal(&was[i], &c.b.landmark[i], sizeof was[i]);
    }
    landmark_case_close(&c);
}

TEST(what_cannot_be_is_refused)
{
    struct landmark_case c;
    struct landmark_search_params p = landmark_search_params_paper(), bad;
    struct landmark_search_observation *o;
    struct err err;
    assert_int_equal(landmark_search_check_params(&p, &err), 0);
    for (int i = 0; i < 8; i++) {
        bad = p;
        if (i < 3)
            bad.n_hypotheses = i == 0 ? 0 : i == 1 ? 100 : 65600;
        else if (i == 3)
            bad.n_rounds = 0;
        else if (i == 4)
            bad.n_rounds = LANDMARK_SEARCH_ROUNDS + 1;
        else if (i == 5)
            bad.reach = NAN;
        else if (i == 6)
            bad.shrink = 1.0f;
        else
            bad.stretch = 0.5f;
        assert_int_equal(landmark_search_check_params(&bad, &err), ERR_INPUT);
    }
    landmark_case_open(&c, 2, 5, 0.1f, 0.1f);
    o = (struct landmark_search_observation *)(uintptr_t)c.b.observation;
    assert_int_equal(landmark_search_check(&c.b, &err), 0);
    c.b.landmark[1].n = 6;
    assert_int_equal(landmark_search_check(&c.b, &err), ERR_INPUT);
    c.b.landmark[1].n = 5;
    c.b.landmark[1].first = 0xffffffffu;
    assert_int_equal(landmark_search_check(&c.b, &err), ERR_INPUT);
    c.b.landmark[1].first = 5;
    c.b.landmark[0].p.y = NAN;
    assert_int_equal(landmark_search_check(&c.b, &err), ERR_INPUT);
    c.b.landmark[0].p.y = 0;
    o[3].camera = 5;
    assert_int_equal(landmark_search_check(&c.b, &err), ERR_INPUT);
    o[3].camera = 4;
    o[9].y = INFINITY;
    assert_int_equal(landmark_search_check(&c.b, &err), ERR_INPUT);
    o[9].y = 0;
    ((struct landmark_search_camera *)(uintptr_t)c.b.camera)[2].K.fx = 0;
    assert_int_equal(landmark_search_check(&c.b, &err), ERR_INPUT);
    landmark_case_close(&c);
}

TEST_GROUP(make_noise, free_noise)
