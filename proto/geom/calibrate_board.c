#include "proto/geom/calibrate.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIXEL_MAX 1e5

/* Finds the next line that is not a remark and where its fields x and y begin. Returns false at the
 * end. */
static bool calibrate_board_next_line(const char **text, const char **x, const char **y)
{
    while (**text == '#' || **text == '\n') {
        *text += strcspn(*text, "\n");
        *text += **text == '\n';
    }
    if (!**text)
        return false;
    *x = *text + strcspn(*text, " \n");
    *x += strspn(*x, " ");
    *y = *x + strcspn(*x, " \n");
    *y += strspn(*y, " ");
    *text += strcspn(*text, "\n");
    return true;
}

static bool calibrate_board_take(double *to, const char *text)
{
    char *end;

    if (isspace((unsigned char)*text)) /* strtod() would continue in the next line */
        return false;
    *to = strtod(text, &end);
    return end != text && (*end == ' ' || *end == '\n' || !*end) && fabs(*to) <= PIXEL_MAX;
}

static double side_of(const double a[2], const double b[2], const double c[2])
{
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/* The four corners of every cell turn right when they are walked along the row and then down. */
static bool is_grid(double (*at)[2], int grid)
{
    for (int i = 0; i < (grid - 1) * grid; i++) {
        double(*p)[2] = at + i, (*q)[2] = p + grid; /* the row below */

        if (i % grid == grid - 1)
            continue;
        if (!(side_of(p[0], p[1], q[1]) > 0 && side_of(p[1], q[1], q[0]) > 0 &&
              side_of(q[1], q[0], p[0]) > 0 && side_of(q[0], p[0], p[1]) > 0))
            return false;
    }
    return true;
}

int calibrate_board_parse(double (*at)[2], int grid, const char *text, struct err *err)
{
    const char *x, *y;
    int n = 0;

    while (calibrate_board_next_line(&text, &x, &y)) {
        if (n == 0 && strncmp(x, "- -", 3) == 0)
            return err_set(err, ERR_NOT_FOUND, "no board of %d x %d corners", grid, grid);
        if (n == grid * grid || !calibrate_board_take(&at[n][0], x) ||
            !calibrate_board_take(&at[n][1], y))
            return err_set(err, ERR_INPUT, "corner %d is not `filename x y level`", n);
        n++;
    }
    if (n != grid * grid)
        return err_set(err, ERR_INPUT, "%d corners, not %d x %d", n, grid, grid);
    if (!is_grid(at, grid))
        return err_set(err, ERR_INPUT, "its corners form no grid");
    return 0;
}
