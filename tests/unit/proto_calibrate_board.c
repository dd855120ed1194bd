/* What mrgingham prints about a picture: a grid comes through, nothing else does. */
#include "proto/geom/calibrate.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define GRID 4

static double at[GRID * GRID][2];
static struct err err;

/* A table of a grid whose rows are `right` and then `down`; corner `bad` is written as `text`. */
static const char *table(const double right[2], const double down[2], int bad, const char *text)
{
    static char out[GRID * GRID * 64];
    int n = snprintf(out, sizeof out, "## remarks\n# filename x y level\n");

    for (int i = 0; i < GRID * GRID; i++) {
        int r = i % GRID, d = i / GRID;

        if (i == bad)
            n += snprintf(out + n, sizeof out - (size_t)n, "%s", text);
        else
            n += snprintf(out + n, sizeof out - (size_t)n, "/dev/stdin %.6f %.6f 0\n",
                          100 + r * right[0] + d * down[0], 100 + r * right[1] + d * down[1]);
    }
    return out;
}

TEST(a_grid_is_read_in_order)
{
    const double right[2] = {9.5, 2}, down[2] = {-3, 11.25};

    assert_int_equal(calibrate_board_parse(at, GRID, table(right, down, -1, ""), &err), 0);
    assert_true(at[0][0] == 100 && at[0][1] == 100);
    assert_true(at[3][0] == 128.5 && at[3][1] == 106);
    assert_true(at[GRID][0] == 97 && at[GRID][1] == 111.25);
}

TEST(a_picture_without_a_board_is_told_apart)
{
    assert_int_equal(calibrate_board_parse(at, GRID, "# filename x y level\na.jpg - - -\n", &err),
                     ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "4 x 4"));
    assert_int_equal(calibrate_board_parse(at, GRID, "", &err), ERR_INPUT);
}

TEST(what_is_no_table_is_refused)
{
    static const char *const bad[] = {"",
                                      "/dev/stdin\n",
                                      "/dev/stdin 10\n",
                                      "/dev/stdin \n10 10\n",
                                      "/dev/stdin nan 10 0\n",
                                      "/dev/stdin 1e9 10 0\n",
                                      "/dev/stdin 10x 10 0\n",
                                      "/dev/stdin - - -\n",
                                      "/dev/stdin 1 1 0\n/dev/stdin 1 1 0\n"};
    const double right[2] = {10, 0}, down[2] = {0, 10};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(calibrate_board_parse(at, GRID, table(right, down, 5, bad[i]), &err),
                         ERR_INPUT);
}

TEST(corners_must_form_a_grid)
{
    const double right[2] = {10, 0}, down[2] = {0, 10}, none[2] = {0, 0};

    assert_int_equal(calibrate_board_parse(at, GRID, table(down, right, -1, ""), &err), ERR_INPUT);
    assert_int_equal(calibrate_board_parse(at, GRID, table(right, none, -1, ""), &err), ERR_INPUT);
    assert_int_equal(calibrate_board_parse(at, GRID, table(right, right, -1, ""), &err), ERR_INPUT);
    /* one corner in its neighbour's place, each of them in a row, in a column, inside */
    for (int i = 0; i < GRID * GRID - 1; i++) {
        char text[64];

        snprintf(text, sizeof text, "f %d %d 0\n", 100 + (i + 1) % GRID * 10,
                 100 + (i + 1) / GRID * 10);
        assert_int_equal(calibrate_board_parse(at, GRID, table(right, down, i, text), &err),
                         ERR_INPUT);
    }
    assert_non_null(strstr(err.text, "grid"));
}
