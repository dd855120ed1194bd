/* Measures of depth against closed forms: what a wrong factor, a known ramp or a known noise must
 * give, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/eval/eval_depth.h"

#define W 64
#define H 48
#define N (W * H)

static struct eval_depth_pairs pairs;
static float map[N], truth[N];

static int setup(void **state)
{
    (void)state;
    return eval_depth_pairs_new(&pairs, W, H, NULL);
}

static int teardown(void **state)
{
    (void)state;
    eval_depth_pairs_free(&pairs);
    return 0;
}

static void take(float max_m)
{
    eval_depth_pairs_take(&pairs, map, W, H, truth, W, H, max_m);
}

/* d = 1.1 g with g = 2: |d-g|/g = 0.1, (d-g)^2/g = 0.02, rmse 0.2, ln 1.1; the median's scale
 * removes all of it. */
static void ten_percent_too_far(void **state)
{
    struct eval_depth_measures m;

    (void)state;
    for (int i = 0; i < N; i++) {
        truth[i] = 2.0f;
        map[i] = 2.2f;
    }
    take(80);
    assert_int_equal(pairs.n, N);
    m = eval_depth_measure(&pairs, 1);
    assert_float_equal(m.abs_rel, 0.1, 1e-6);
    assert_float_equal(m.sq_rel, 0.02, 1e-6);
    assert_float_equal(m.rmse, 0.2, 1e-6);
    assert_float_equal(m.rmse_log, log(1.1), 1e-6);
    assert_true(m.delta1 == 1 && m.delta2 == 1 && m.delta3 == 1);
    m = eval_depth_measure(
        &pairs, (double)(eval_depth_median(&pairs, pairs.g) / eval_depth_median(&pairs, pairs.d)));
    assert_true(m.abs_rel < 1e-6 && m.rmse < 1e-6 && m.rmse_log < 1e-6);
}

/* A quarter of the pixels each off by the factors 1.1, 1.4, 1.9 and 2.5: below 1.25 is one
 * quarter, below 1.5625 two, below 1.953 three. Too near counts as too far does. */
static void deltas_count_shares(void **state)
{
    static const float by[4] = {1.1f, 1 / 1.4f, 1.9f, 1 / 2.5f};
    struct eval_depth_measures m;

    (void)state;
    for (int i = 0; i < N; i++) {
        truth[i] = 1.0f + (float)(i / W);
        map[i] = truth[i] * by[i % 4];
    }
    eval_depth_pairs_take(&pairs, map, W, H, truth, W, H, 80);
    m = eval_depth_measure(&pairs, 1);
    assert_true(m.delta1 == 0.25 && m.delta2 == 0.5 && m.delta3 == 0.75);
    assert_float_equal(m.abs_rel, (0.1 + (1 - 1 / 1.4) + 0.9 + 0.6) / 4, 1e-6);
}

/* Relative noise, half of the pixels +s and half -s: abs_rel = s exactly. */
static void noise_of_known_size(void **state)
{
    struct eval_depth_measures m;

    (void)state;
    for (int i = 0; i < N; i++) {
        truth[i] = 3.0f;
        map[i] = 3.0f * (i % 2 ? 1.05f : 0.95f);
    }
    take(80);
    m = eval_depth_measure(&pairs, 1);
    assert_float_equal(m.abs_rel, 0.05, 1e-6);
    assert_float_equal(m.rmse, 0.15, 1e-6);
    assert_float_equal(m.rmse_log, sqrt((log(1.05) * log(1.05) + log(0.95) * log(0.95)) / 2), 1e-6);
}

/* What has no reading, is no number or lies beyond the bound takes no part; an estimate that is
 * missing counts as 1 mm. */
static void what_takes_part(void **state)
{
    struct eval_depth_measures m;

    (void)state;
    for (int i = 0; i < N; i++) {
        truth[i] = i == 5 * W + 7 ? 80.0f : i % 3 == 0 ? 0.0f : i % 3 == 1 ? NAN : 80.001f;
        map[i] = NAN;
    }
    take(80);
    assert_int_equal(pairs.n, 1);
    assert_int_equal(pairs.row[0], 5);
    m = eval_depth_measure(&pairs, 1);
    assert_float_equal(m.abs_rel, (80.0 - 0.001) / 80.0, 1e-6);
    truth[5 * W + 7] = -1;
    take(80);
    assert_int_equal(pairs.n, 0);
}

/* Ranges of a third of an octave from 0.25 m: 1 m begins the 7th, 2 m the 10th; d = 1.5 g after the
 * scale is off by a half in each; what is too near or too far is in the last one on its side. */
static void errors_by_depth(void **state)
{
    static const float at[4] = {1.001f, 2.001f, 0.01f, 1e4f};
    struct eval_depth_ranges r = {0};

    (void)state;
    for (int i = 0; i < N; i++) {
        truth[i] = at[i % 4];
        map[i] = i % 4 == 1 ? 0.6f * truth[i] : 0.75f * truth[i];
    }
    take(2e4f);
    eval_depth_ranges_add(&r, &pairs, 2);
    assert_true(r.n[6] == N / 4 && r.n[9] == N / 4 && r.n[0] == N / 4);
    assert_true(r.n[EVAL_DEPTH_RANGES - 1] == N / 4);
    assert_float_equal(eval_depth_ranges_mean(&r, 6), 0.5, 1e-6);
    assert_float_equal(eval_depth_ranges_mean(&r, 9), 0.2, 1e-6);
    assert_true(isnan(eval_depth_ranges_mean(&r, 7)));
    assert_float_equal(eval_depth_ranges_from(6), 1, 1e-9);
    assert_float_equal(eval_depth_ranges_from(EVAL_DEPTH_RANGES), 128, 1e-9);
}

/* A map of a quarter of the size that is linear over the picture is met exactly inside: pixel
 * x of the truth lies at (x + 0.5) / 4 - 0.5 of the map. At the border the outermost pixel
 * holds. */
static void maps_of_unlike_size(void **state)
{
    static float small[12 * 16];
    int k = 0;

    (void)state;
    for (int y = 0; y < 12; y++)
        for (int x = 0; x < 16; x++)
            small[16 * y + x] = 5.0f + 4.0f * (float)x + 0.5f * (float)y;
    for (int i = 0; i < N; i++)
        truth[i] = 1.0f;
    eval_depth_pairs_take(&pairs, small, 16, 12, truth, W, H, 80);
    assert_int_equal(pairs.n, N);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++, k++) {
            float u = ((float)x + 0.5f) / 4 - 0.5f, v = ((float)y + 0.5f) / 4 - 0.5f;

            u = u < 0 ? 0 : u > 15 ? 15 : u;
            v = v < 0 ? 0 : v > 11 ? 11 : v;
            assert_float_equal(pairs.d[k], 5.0f + 4.0f * u + 0.5f * v, 1e-4);
        }
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Against sorting: random, equal, rising and falling values, odd and even numbers. */
static void the_middle_is_the_sorted_middle(void **state)
{
    static float sorted[N];
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 400; round++) {
        size_t n = 1 + (size_t)(round < 40 ? round : (round * 37) % N);

        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            map[i] = round % 4 == 0   ? (float)(seed >> 8)
                     : round % 4 == 1 ? (float)(seed >> 30)
                     : round % 4 == 2 ? (float)i
                                      : (float)(n - i);
        }
        memcpy(sorted, map, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_value);
        pairs.n = n;
        assert_true(eval_depth_median(&pairs, map) == sorted[n / 2]);
    }
}

/* Two frames, of 10 pixels with error 0.1 and of 30 with 0.5: 0.3 over frames, 0.4 over pixels;
 * rmse over pixels is the root of the mean square, not the mean of roots. */
static void two_kinds_of_mean(void **state)
{
    struct eval_depth_measures a = {.abs_rel = 0.1, .rmse = 1, .delta1 = 1};
    struct eval_depth_measures b = {.abs_rel = 0.5, .rmse = 3, .delta1 = 0}, frames, pixels;
    struct eval_depth_sum sum = {0};

    (void)state;
    eval_depth_add(&sum, &a, 10);
    eval_depth_add(&sum, &b, 30);
    eval_depth_mean(&sum, &frames, &pixels);
    assert_float_equal(frames.abs_rel, 0.3, 1e-12);
    assert_float_equal(pixels.abs_rel, 0.4, 1e-12);
    assert_float_equal(frames.rmse, 2, 1e-12);
    assert_float_equal(pixels.rmse, sqrt((10 * 1 + 30 * 9) / 40.0), 1e-12);
    assert_float_equal(frames.delta1, 0.5, 1e-12);
    assert_float_equal(pixels.delta1, 0.25, 1e-12);
}

/* Of 1, 2 and 10 m in equal numbers, weights 1, 1/2, 1/10: half of 1.6 is reached at 1 m, where the
 * plain median would say 2. No other constant does better. */
static void the_best_constant(void **state)
{
    static const float depths[3] = {1, 2, 10};
    struct eval_depth_fit *fit = NULL;
    double best, other;
    float c;

    (void)state;
    assert_int_equal(eval_depth_fit_new(&fit, H, NULL), 0);
    for (int i = 0; i < N; i++) {
        truth[i] = depths[i % 3];
        map[i] = 1;
    }
    take(80);
    eval_depth_fit_add(fit, &pairs, 2);
    c = eval_depth_fit_constant(fit);
    assert_float_equal(c, 1.0, 0.006); /* a bin is 0.56 % wide */
    best = eval_depth_measure(&pairs, (double)c).abs_rel;
    for (int k = 1; k < 120; k++) {
        other = eval_depth_measure(&pairs, 0.1 * k).abs_rel;
        assert_true(best <= other + 0.006);
    }
    eval_depth_fit_free(&fit);
}

/* Depth that is (1 + row / 10) times something of each frame: the rows' shares are found whatever
 * the frames' scales, and rows that never had a reading take their neighbour's. */
static void the_best_of_each_row(void **state)
{
    struct eval_depth_fit *fit = NULL;
    float median;

    (void)state;
    assert_int_equal(eval_depth_fit_new(&fit, H, NULL), 0);
    for (int frame = 1; frame < 4; frame++) {
        for (int i = 0; i < N; i++)
            truth[i] = i / W < 10 ? 0 : (float)frame * (1.0f + 0.1f * (float)(i / W));
        take(80);
        median = eval_depth_median(&pairs, pairs.g);
        assert_float_equal(median, (float)frame * 3.9f, 1e-4); /* rows 10 ... 47: the 29th */
        eval_depth_fit_add(fit, &pairs, median);
    }
    for (int y = 10; y < H; y++)
        assert_float_equal(eval_depth_fit_row(fit, y), (1.0f + 0.1f * (float)y) / 3.9f, 0.004);
    assert_true(eval_depth_fit_row(fit, 0) == eval_depth_fit_row(fit, 10));
    eval_depth_fit_free(&fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_percent_too_far),
        cmocka_unit_test(deltas_count_shares),
        cmocka_unit_test(noise_of_known_size),
        cmocka_unit_test(what_takes_part),
        cmocka_unit_test(errors_by_depth),
        cmocka_unit_test(maps_of_unlike_size),
        cmocka_unit_test(the_middle_is_the_sorted_middle),
        cmocka_unit_test(two_kinds_of_mean),
        cmocka_unit_test(the_best_constant),
        cmocka_unit_test(the_best_of_each_row),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
