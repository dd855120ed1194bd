/* Diagrams: a value is where the axes say that it is, and what cannot be shown is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/eval/eval_plot.h"
#include "api/file.h"

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

static char *content(void)
{
    struct file_content c = {0};

    assert_int_equal(file_load(&c, file, file, 1 << 20, NULL), 0);
    return (char *)c.data;
}

/* The points of the k-th series in the picture; returns how many. */
static int points_of(int k, double x[8], double y[8])
{
    char *svg = content(), *at = svg;
    int n = 0, used;

    for (int i = 0; i <= k; i++) {
        at = strstr(at + 1, "<path fill=\"none\"");
        assert_non_null(at);
    }
    for (at = strstr(at, " d=\"") + 4; *at != '"'; at += used) {
        assert_true(n < 8 && strchr("ML", *at));
        assert_int_equal(sscanf(at + 1, "%lf %lf%n", &x[n], &y[n], &used), 2);
        used++;
        used += strncmp(at + used, "h0", 2) ? 0 : 2;
        n++;
    }
    free(svg);
    return n;
}

/* Axes 0...10 and 0...100 over 852 x 416 units whose corner is (84, 480): (5, 50) is at (510,
 * 272). */
static void a_dot_is_where_it_belongs(void **state)
{
    const double x[] = {5, NAN, INFINITY}, y[] = {50, 1, 2}, fx[] = {10}, fy[] = {100};
    struct eval_plot p = {.title = "T",
                          .x_label = "X",
                          .y_label = "Y",
                          .series = {{"A", x, y, 3}, {"B", fx, fy, 1}},
                          .n_series = 2};
    double at_x[8], at_y[8];

    (void)state;
    assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    assert_int_equal(points_of(0, at_x, at_y), 1);
    assert_float_equal(at_x[0], 510, 0.01);
    assert_float_equal(at_y[0], 272, 0.01);
    assert_int_equal(points_of(1, at_x, at_y), 1);
    assert_float_equal(at_x[0], 936, 0.01);
    assert_float_equal(at_y[0], 64, 0.01);
}

/* 0...10 and 0...1 alike: a square of 1 is as wide as it is high, on either longer axis. */
static void a_metre_is_a_metre(void **state)
{
    static const double flat[] = {0, 10, 10, 0, 0}, low[] = {0, 0, 1, 1, 0};
    struct eval_plot p = {.title = "", .x_label = "", .y_label = "", .n_series = 1, .equal = true};
    double x[8], y[8];

    (void)state;
    p.series[0] = (struct eval_plot_series){"", flat, low, 5};
    assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    assert_int_equal(points_of(0, x, y), 5);
    assert_true(x[1] - x[0] > 400);
    assert_float_equal(x[1] - x[0], 10 * (y[1] - y[2]), 0.2);
    p.series[0] = (struct eval_plot_series){"", low, flat, 5};
    assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    assert_int_equal(points_of(0, x, y), 5);
    assert_true(y[0] - y[1] > 200);
    assert_float_equal(y[0] - y[1], 10 * (x[2] - x[1]), 0.2);
}

/* A line from 0 to the end goes on past a value that is none. */
static void a_line_is_whole(void **state)
{
    const double x[] = {0, 3, 7, 10}, y[] = {0, 30, NAN, 100};
    struct eval_plot p = {
        .title = "", .x_label = "", .y_label = "", .series = {{"", x, y, 4}}, .n_series = 1};
    double at_x[8], at_y[8];
    char *svg;

    (void)state;
    assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    assert_int_equal(points_of(0, at_x, at_y), 3);
    assert_float_equal(at_x[0], 84, 0.01);
    assert_float_equal(at_y[0], 480, 0.01);
    assert_float_equal(at_x[2], 936, 0.01);
    assert_float_equal(at_y[2], 64, 0.01);
    svg = content();
    assert_non_null(strstr(svg, "L936.00 64.00\"/>"));
    free(svg);
}

/* Text is text; what XML takes for its own is escaped. */
static void words_are_read_as_they_are(void **state)
{
    const double v[] = {1};
    struct eval_plot p = {.title = "a < b & c",
                          .x_label = "Zeit, s",
                          .y_label = "H\xc3\xb6he",
                          .series = {{"one & all", v, v, 1}},
                          .n_series = 1};
    char *svg;

    (void)state;
    assert_int_equal(eval_plot_write(file, &p, NULL), 0);
    svg = content();
    assert_true(strncmp(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39) == 0);
    assert_non_null(strstr(svg, ">a &lt; b &amp; c</text>"));
    assert_non_null(strstr(svg, ">Zeit, s</text>"));
    assert_non_null(strstr(svg, ">H\xc3\xb6he</text>"));
    assert_non_null(strstr(svg, "one &amp; all</tspan>"));
    assert_non_null(strstr(svg, "</svg>\n"));
    free(svg);
}

static void what_cannot_be_shown(void **state)
{
    const double none[] = {NAN}, some[] = {1};
    struct eval_plot p = {
        .title = "", .x_label = "", .y_label = "", .series = {{"", none, none, 1}}, .n_series = 1};

    (void)state;
    assert_int_equal(eval_plot_write(file, &p, NULL), ERR_INPUT);
    p.n_series = 0;
    assert_int_equal(eval_plot_write(file, &p, NULL), ERR_INPUT);
    p.n_series = EVAL_PLOT_SERIES_MAX + 1;
    assert_int_equal(eval_plot_write(file, &p, NULL), ERR_INPUT);
    p.n_series = 1;
    p.series[0] = (struct eval_plot_series){"", some, some, 1};
    assert_int_equal(eval_plot_write("/nothing/there.svg", &p, NULL), ERR_IO);
    assert_int_equal(eval_plot_write("/dev/full", &p, NULL), ERR_IO);
}

/* All of one value, tiny and huge ones: the axes still end. */
static void odd_ranges(void **state)
{
    static const double at[][2] = {
        {0, 0}, {1e-300, 1e-300}, {1e300, -1e300}, {-5, -5}, {1e-9, 1e9}};
    struct eval_plot p = {.title = "", .x_label = "", .y_label = "", .n_series = 1};
    char *svg;

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        p.series[0] = (struct eval_plot_series){"", &at[i][0], &at[i][1], 1};
        assert_int_equal(eval_plot_write(file, &p, NULL), 0);
        svg = content();
        assert_null(strstr(svg, "nan"));
        assert_null(strstr(svg, "inf"));
        free(svg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_dot_is_where_it_belongs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_is_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_metre_is_a_metre, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_are_read_as_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_ranges, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
