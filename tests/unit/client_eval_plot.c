/* Diagrams: a value is where the axes say that it is, and what cannot be shown is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/eval/eval_plot.h"
#include "proto/image/png.h"

static char file[64];

static int set_up(void **state)
{
    int fd;

    (void)state;
    strcpy(file, "/tmp/recond-plot-XXXXXX");
    fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(file);
}

/* Bounds and number of the first series' pixels between the axes. */
static int blue(int *x0, int *y0, int *x1, int *y1)
{
    uint8_t *rgb;
    int w, h, n = 0;

    assert_int_equal(png_read_rgb(file, &rgb, &w, &h, 4096, NULL), 0);
    assert_true(w == 960 && h == 540);
    *x0 = *y0 = 10000;
    *x1 = *y1 = -1;
    for (int y = 0; y < h - 60; y++)
        for (int x = 0; x < w; x++) {
            const uint8_t *p = rgb + 3 * (y * w + x);

            if (!(p[0] == 31 && p[1] == 119 && p[2] == 180))
                continue;
            n++;
            *x0 = x < *x0 ? x : *x0, *x1 = x > *x1 ? x : *x1;
            *y0 = y < *y0 ? y : *y0, *y1 = y > *y1 ? y : *y1;
        }
    free(rgb);
    return n;
}

/* Axes 0...10 and 0...100 over 852 x 416 pixels whose corner is (84, 480): the dot of (5, 50) has
 * its middle at (510, 272). */
static void a_dot_is_where_it_belongs(void **state)
{
    const double x[] = {5, NAN, INFINITY}, y[] = {50, 1, 2}, fx[] = {10}, fy[] = {100};
    struct eval_plot p = {.title = "T",
                          .x_label = "X",
                          .y_label = "Y",
                          .series = {{"A", x, y, 3, true}, {"B", fx, fy, 1, true}},
                          .n_series = 2};
    int x0, y0, x1, y1;

    (void)state;
    assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    assert_int_equal(blue(&x0, &y0, &x1, &y1), 16);
    assert_in_range(510, x0, x1);
    assert_in_range(272, y0, y1);
}

/* 0...10 and 0...1 alike: a square of 1 is as wide as it is high, on either longer axis. */
static void a_metre_is_a_metre(void **state)
{
    static const double flat[] = {0, 10, 10, 0, 0}, low[] = {0, 0, 1, 1, 0};
    struct eval_plot p = {.title = "", .x_label = "", .y_label = "", .n_series = 1, .equal = true};
    int x0, y0, x1, y1;

    (void)state;
    p.series[0] = (struct eval_plot_series){"", flat, low, 5, false};
    assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    blue(&x0, &y0, &x1, &y1);
    assert_in_range(x1 - x0, 10 * (y1 - y0 - 5), 10 * (y1 - y0 + 1));
    p.series[0] = (struct eval_plot_series){"", low, flat, 5, false};
    assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    blue(&x0, &y0, &x1, &y1);
    assert_in_range(y1 - y0, 10 * (x1 - x0 - 5), 10 * (x1 - x0 + 1));
}

/* A line from 0 to the end runs through all columns between, past a value that is none. */
static void a_line_is_whole(void **state)
{
    const double x[] = {0, 3, 7, 10}, y[] = {0, 30, NAN, 100};
    struct eval_plot p = {
        .title = "", .x_label = "", .y_label = "", .series = {{"", x, y, 4, false}}, .n_series = 1};
    int x0, y0, x1, y1;

    (void)state;
    assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    assert_true(blue(&x0, &y0, &x1, &y1) >= 2 * 852);
    assert_true(x0 <= 85 && x1 >= 935 && y0 <= 65 && y1 >= 478);
}

static void what_cannot_be_shown(void **state)
{
    const double none[] = {NAN};
    struct eval_plot p = {.title = "",
                          .x_label = "",
                          .y_label = "",
                          .series = {{"", none, none, 1, false}},
                          .n_series = 1};

    (void)state;
    assert_int_equal(eval_plot_write(file, &p, NULL), ERR_INPUT);
    p.n_series = 0;
    assert_int_equal(eval_plot_write(file, &p, NULL), ERR_INPUT);
    p.n_series = EVAL_PLOT_SERIES_MAX + 1;
    assert_int_equal(eval_plot_write(file, &p, NULL), ERR_INPUT);
}

/* All of one value, tiny and huge ones: the axes still end. */
static void odd_ranges(void **state)
{
    static const double at[][2] = {
        {0, 0}, {1e-300, 1e-300}, {1e300, -1e300}, {-5, -5}, {1e-9, 1e9}};
    struct eval_plot p = {.title = "", .x_label = "", .y_label = "", .n_series = 1};

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        p.series[0] = (struct eval_plot_series){"", &at[i][0], &at[i][1], 1, true};
        assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_dot_is_where_it_belongs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_is_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_metre_is_a_metre, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_ranges, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
