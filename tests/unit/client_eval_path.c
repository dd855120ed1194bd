/* Camera paths against closed forms: known motions, scales and noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/eval/eval_path.h"

#define N 200
#define RAD (3.14159265358979323846 / 180)

static struct eval_path_pose truth[N], estimate[N];
static struct eval_path_pair pairs[N];
static double scratch[3 * N];

static void about(double q[4], double x, double y, double z, double degrees)
{
    double n = sqrt(x * x + y * y + z * z), s = sin(0.5 * degrees * RAD) / n;

    q[0] = x * s, q[1] = y * s, q[2] = z * s, q[3] = cos(0.5 * degrees * RAD);
}

/* a b */
static void product(double out[4], const double a[4], const double b[4])
{
    out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

/* q v q* */
static void turn(double out[3], const double q[4], const double v[3])
{
    const double p[4] = {v[0], v[1], v[2], 0}, back[4] = {-q[0], -q[1], -q[2], q[3]};
    double a[4], b[4];

    product(a, q, p);
    product(b, a, back);
    memcpy(out, b, 3 * sizeof *out);
}

/* A winding walk, 0.05 m or so a step, the camera turning. */
static void walk(void)
{
    for (int i = 0; i < N; i++) {
        double a = 0.05 * i;

        truth[i].t_s = 100 + i / 15.0;
        truth[i].p[0] = cos(a) + 0.2 * a;
        truth[i].p[1] = 0.3 * sin(2.3 * a);
        truth[i].p[2] = sin(a);
        about(truth[i].q, 0.2, 1, 0.1 * sin(a), 3.0 * i);
        estimate[i] = truth[i];
        pairs[i] = (struct eval_path_pair){&estimate[i], &truth[i]};
    }
}

/* The estimate in a world that is turned, moved and s times as small. */
static void move_world(const double q[4], const double t[3], double s)
{
    double p[3];

    for (int i = 0; i < N; i++) {
        turn(p, q, estimate[i].p);
        for (int k = 0; k < 3; k++)
            estimate[i].p[k] = p[k] / s + t[k];
        product(estimate[i].q, q,
                (double[4]){truth[i].q[0], truth[i].q[1], truth[i].q[2], truth[i].q[3]});
    }
}

/* Whatever the turn, also by half a circle, the similarity is found and nothing remains; motions
 * within the path are the same in any world. */
static void a_known_similarity_is_found(void **state)
{
    static const double axes[][4] = {
        {0, 1, 0, 90}, {1, 2, 3, 30}, {1, 0, 0, 180}, {-1, 1, 0.5, 179.9}, {0, 0, 1, 0}};
    const double t[3] = {5, -3, 0.25};
    struct sim3 a;
    struct eval_path_stats s;
    struct eval_path_rpe r;
    double q[4], back[3];

    (void)state;
    for (size_t k = 0; k < sizeof axes / sizeof *axes; k++) {
        walk();
        about(q, axes[k][0], axes[k][1], axes[k][2], axes[k][3]);
        move_world(q, t, 2.0);
        a = eval_path_align(pairs, N, 1);
        assert_float_equal(a.s, 2.0, 1e-9);
        s = eval_path_ate(pairs, N, &a, scratch);
        assert_true(s.max < 1e-9 && s.n == N);
        /* R takes the estimate's world back */
        turn(back, q, (double[3]){1, 2, 3});
        for (int i = 0; i < 3; i++)
            assert_float_equal(a.r[3 * i] * back[0] + a.r[3 * i + 1] * back[1] +
                                   a.r[3 * i + 2] * back[2],
                               i + 1, 1e-9);
        r = eval_path_rpe(pairs, N, 0, scratch);
        assert_float_equal(r.scale, 2.0, 1e-9);
        assert_true(r.scaled.max < 1e-9 && r.rotation_deg.max < 1e-6);
        /* unscaled, half of each true step is missing */
        assert_true(r.translation.rmse > 0.02 && r.translation.rmse < 0.05);
        r = eval_path_rpe(pairs, N, 1, scratch);
        assert_true(r.scaled.max < 1e-9 && r.scaled.n > 100 && r.scaled.n < N - 15);
    }
}

/* Three points, by hand: the truth is the estimate times 2, so that without scale each centre
 * stays as far from its truth as it is from the middle: (-1,-1), (2,-1), (-1,2). */
static void without_scale_the_rest_is_known(void **state)
{
    static const double p[3][3] = {{0, 0, 0}, {3, 0, 0}, {0, 3, 0}};
    struct sim3 a;
    struct eval_path_stats s;

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            estimate[i].p[k] = p[i][k];
            truth[i].p[k] = 2 * p[i][k];
        }
    for (int i = 0; i < 3; i++)
        pairs[i] = (struct eval_path_pair){&estimate[i], &truth[i]};
    a = eval_path_align(pairs, 3, 0);
    assert_true(a.s == 1);
    s = eval_path_ate(pairs, 3, &a, scratch);
    assert_float_equal(s.rmse, sqrt(12.0 / 3), 1e-12);
    assert_float_equal(s.median, sqrt(5), 1e-12);
    assert_float_equal(s.mean, (sqrt(2) + 2 * sqrt(5)) / 3, 1e-12);
    assert_float_equal(s.max, sqrt(5), 1e-12);
    a = eval_path_align(pairs, 3, 1);
    assert_float_equal(a.s, 2, 1e-12);
    assert_true(eval_path_ate(pairs, 3, &a, scratch).max < 1e-9);
}

static double gauss(uint32_t *seed)
{
    double sum = -6;

    for (int i = 0; i < 12; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        sum += (double)(*seed >> 8) / 16777216.0;
    }
    return sum;
}

/* Noise of 1 cm in each direction: ATE is sqrt(3) cm but for the 6 or 7 of 600 freedoms that the
 * alignment takes, and for chance: the sum of 600 squares has a relative deviation of
 * sqrt(2 / 600) = 5.8 %, so the root lies within 10 % in more than three deviations. */
static void noise_of_known_size(void **state)
{
    struct sim3 a;
    uint32_t seed = 7;
    double rmse;

    (void)state;
    walk();
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++)
            estimate[i].p[k] += 0.01 * gauss(&seed);
    a = eval_path_align(pairs, N, 0);
    rmse = eval_path_ate(pairs, N, &a, scratch).rmse;
    assert_float_equal(rmse, 0.01 * sqrt(3), 0.1 * 0.01 * sqrt(3));
    a = eval_path_align(pairs, N, 1);
    assert_true(eval_path_ate(pairs, N, &a, scratch).rmse <= rmse + 1e-12);
}

/* A straight way of 0.1 m a step; the estimate turns 0.5 degrees too far and goes 1 cm too far
 * sideways each step. A frame: 1 cm and 0.5 degrees. A metre: ten steps. */
static void errors_of_each_step(void **state)
{
    struct eval_path_rpe r;
    double q[4], side[3], at[3] = {0, 0, 0};

    (void)state;
    for (int i = 0; i < N; i++) {
        about(truth[i].q, 0, 1, 0, 0);
        truth[i].p[0] = truth[i].p[1] = 0;
        truth[i].p[2] = 0.1 * i;
        about(q, 0, 1, 0, 0.5 * i);
        memcpy(estimate[i].q, q, sizeof q);
        memcpy(estimate[i].p, at, sizeof at);
        turn(side, q, (double[3]){0.01, 0, 0.1});
        for (int k = 0; k < 3; k++)
            at[k] += side[k];
        pairs[i] = (struct eval_path_pair){&estimate[i], &truth[i]};
    }
    r = eval_path_rpe(pairs, N, 0, scratch);
    assert_float_equal(r.translation.rmse, 0.01, 1e-9);
    assert_float_equal(r.translation.max, 0.01, 1e-9);
    assert_float_equal(r.rotation_deg.median, 0.5, 1e-7);
    /* m = (0.01, 0, 0.1), truth (0, 0, 0.1): s = 0.01 / 0.0101 */
    assert_float_equal(r.scale, 0.01 / 0.0101, 1e-9);
    assert_int_equal(r.scaled.n, N - 1);
    r = eval_path_rpe(pairs, N, 0.999999, scratch);
    assert_int_equal(r.rotation_deg.n, N - 10);
    assert_float_equal(r.rotation_deg.mean, 5.0, 1e-5);
    r = eval_path_rpe(pairs, N, 0.55, scratch); /* six steps, 0.6 m: 3 degrees, divided by them */
    assert_int_equal(r.rotation_deg.n, N - 6);
    assert_float_equal(r.rotation_deg.mean, 5.0, 1e-5);
    r = eval_path_rpe(pairs, N, 1000, scratch);
    assert_int_equal(r.translation.n, 0);
}

/* An estimate that stands still has no scale: 1, and the error is the spread of the truth. */
static void standing_still(void **state)
{
    struct sim3 a;
    struct eval_path_rpe r;

    (void)state;
    walk();
    for (int i = 0; i < N; i++)
        memset(estimate[i].p, 0, sizeof estimate[i].p);
    a = eval_path_align(pairs, N, 1);
    assert_true(a.s == 1 && isfinite(a.t[0]) && isfinite(a.r[0]));
    r = eval_path_rpe(pairs, N, 0, scratch);
    assert_true(r.scale == 1 && isfinite(r.translation.rmse) && r.translation.rmse > 0.01);
}

/* A camera on a circle, turning as it goes, never changes its motion: nothing is wrong with going
 * on, over any number of frames. From pair 100 on it stands: one frame goes on by a step, and all
 * legs of a metre that begin there by as much as they have frames. */
static void motion_that_stays(void **state)
{
    struct eval_path_pose poses[N];
    struct eval_path_pair now[N];
    struct eval_path_rpe r;
    double s = 2 * sin(0.025);

    (void)state;
    walk();
    for (int i = 0; i < N; i++) {
        double a = 0.05 * i;

        truth[i].p[0] = cos(a), truth[i].p[1] = 0, truth[i].p[2] = sin(a);
        about(truth[i].q, 0, -1, 0, a / RAD);
    }
    r = eval_path_constant_rpe(pairs, N, 0, scratch);
    assert_int_equal(r.translation.n, N - 2);
    assert_true(r.translation.max < 1e-9 && r.rotation_deg.max < 1e-6);
    r = eval_path_constant_rpe(pairs, N, 0.5, scratch);
    assert_true(r.translation.n > 100 && r.translation.max < 1e-9 && r.rotation_deg.max < 1e-6);
    for (int i = 101; i < N; i++)
        truth[i] = truth[100], truth[i].t_s = 100 + i / 15.0;
    r = eval_path_constant_rpe(pairs, N, 0, scratch);
    assert_float_equal(r.translation.max, s, 1e-9);
    assert_float_equal(r.translation.mean, s / (N - 2), 1e-9);
    assert_float_equal(r.rotation_deg.max, 0.05 / RAD, 1e-6);
    for (int i = 0; i < N; i++) /* straight at an even step */
        truth[i].p[0] = 0.1 * i, truth[i].p[1] = 0.2 * i, truth[i].p[2] = 7;
    assert_true(eval_path_constant_ate(pairs, N, poses, now, scratch).max < 1e-9);
    truth[N / 2].p[2] += 2;
    assert_true(eval_path_constant_ate(pairs, N, poses, now, scratch).max > 1.9);
}

/* A straight way of 0.1 m a step. The estimate goes half as far until step 100, then as far: the
 * scale is 1 for the first step, 2 then, and goes to 1 by halves of 5 steps: the k-th motion after
 * the change has an error of the scale that the weights before it give. */
static void online_scale_follows(void **state)
{
    struct eval_path_pose moved[N];
    double scale[N], old, want, at = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        about(truth[i].q, 0, 1, 0, 0);
        about(estimate[i].q, 0, 1, 0, 0);
        memset(truth[i].p, 0, sizeof truth[i].p);
        memset(estimate[i].p, 0, sizeof estimate[i].p);
        truth[i].p[2] = 0.1 * i;
        estimate[i].p[2] = at;
        at += i < 100 ? 0.05 : 0.1;
        pairs[i] = (struct eval_path_pair){&estimate[i], &truth[i]};
    }
    eval_path_online(moved, scale, pairs, N, 5);
    assert_true(scale[0] == 1);
    for (int i = 1; i <= 100; i++)
        assert_float_equal(scale[i], 2, 1e-12);
    assert_float_equal(moved[100].p[2], 0.05 + 99 * 0.1, 1e-12);
    for (int i = 101; i < N - 1; i++) { /* weights of motions: own^2 = 0.0025 before, 0.01 since */
        old = exp2(-(i - 100) / 5.0);
        want = (old * 0.005 + (1 - old) * 0.01) / (old * 0.0025 + (1 - old) * 0.01);
        assert_float_equal(scale[i], want, 1e-5);
        assert_float_equal(moved[i + 1].p[2] - moved[i].p[2], 0.1 * want, 1e-5);
    }
    /* causal: what comes later changes nothing before */
    estimate[150].p[2] = 77;
    eval_path_online(moved, NULL, pairs, N, 5);
    assert_float_equal(moved[149].p[2] - moved[148].p[2], 0.1 * scale[148], 1e-6);
    /* an estimate that goes backwards has no scale below 0 */
    for (int i = 0; i < N; i++)
        estimate[i].p[2] = -0.1 * i;
    eval_path_online(moved, scale, pairs, N, 5);
    assert_true(scale[0] == 1 && scale[1] == 0 && scale[N - 2] == 0);
}

static void parse(struct eval_path *path, const char *text, double hz)
{
    assert_int_equal(eval_path_parse(path, text, strlen(text), "a.txt", hz, NULL), 0);
}

static void files_are_read(void **state)
{
    static const char *const bad[] = {
        "",
        "# nothing\n",
        "1 0 0 0 0 0 0\n",
        "1 0 0 0 0 0 0 1 9\n",
        "1 0 0 0 0 0 0 0\n",
        "1 0 nan 0 0 0 0 1\n",
        "1 0 inf 0 0 0 0 1\n",
        "1 0 0 0 0 0 0 1\n1 1 0 0 0 0 0 1\n",
        "x 0 0 0 0 0 0 1\n",
    };
    struct eval_path path;
    char line[700];
    struct err err;

    (void)state;
    parse(&path, "# t\n\n 2.5 1 2 3 0 0 0 2\r\n1305031102.175304 0 0 0 0 0 1 1\n0.5 9 9 9 0 0 0 1",
          0);
    assert_int_equal(path.n, 3);
    assert_true(path.pose[0].t_s == 0.5 && path.pose[1].t_s == 2.5 && path.pose[1].p[1] == 2);
    assert_true(path.pose[1].q[3] == 1 && path.pose[2].t_s == 1305031102.175304);
    assert_float_equal(path.pose[2].q[2], sqrt(0.5), 1e-12);
    eval_path_free(&path);
    parse(&path, "30 0 0 0 0 0 0 1\n", 15);
    assert_true(path.pose[0].t_s == 2);
    eval_path_free(&path);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(eval_path_parse(&path, bad[i], strlen(bad[i]), "a.txt", 0, &err),
                         ERR_INPUT);
        assert_null(path.pose);
    }
    assert_int_equal(eval_path_parse(&path, "1 0 0 0 0 0 0 1\nrubbish\n", 24, "a.txt", 0, &err),
                     ERR_INPUT);
    assert_string_equal(err.where, "a.txt:2");
    memset(line, '1', sizeof line);
    assert_int_equal(eval_path_parse(&path, line, sizeof line, "a.txt", 0, &err), ERR_INPUT);
}

/* Nearest in time, each true pose once, none beyond the gap. */
static void moments_are_paired(void **state)
{
    struct eval_path a, b;
    struct eval_path_pair found[8];
    struct err err;
    size_t n;

    (void)state;
    parse(&a,
          "1.00 0 0 0 0 0 0 1\n1.06 0 0 0 0 0 0 1\n1.08 0 0 0 0 0 0 1\n2 0 0 0 0 0 0 1\n"
          "3.1 0 0 0 0 0 0 1\n5.0 0 0 0 0 0 0 1\n",
          0);
    parse(&b, "1.01 0 0 0 0 0 0 1\n1.09 0 0 0 0 0 0 1\n2.05 0 0 0 0 0 0 1\n3 0 0 0 0 0 0 1\n", 0);
    assert_int_equal(eval_path_associate(found, &n, &a, &b, 0.06, &err), 0);
    assert_int_equal(n, 3);
    assert_true(found[0].estimate->t_s == 1.00 && found[0].truth->t_s == 1.01);
    assert_true(found[1].estimate->t_s == 1.08 && found[1].truth->t_s == 1.09);
    assert_true(found[2].estimate->t_s == 2 && found[2].truth->t_s == 2.05);
    assert_int_equal(eval_path_associate(found, &n, &a, &b, 0.02, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "1.000...5.000"));
    eval_path_free(&a);
    eval_path_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_similarity_is_found),
        cmocka_unit_test(noise_of_known_size),
        cmocka_unit_test(without_scale_the_rest_is_known),
        cmocka_unit_test(errors_of_each_step),
        cmocka_unit_test(standing_still),
        cmocka_unit_test(motion_that_stays),
        cmocka_unit_test(online_scale_follows),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(moments_are_paired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
