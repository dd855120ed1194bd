/*
 * fuzz_proto_calibrate - a line of a stranger's file of corners, and a table of a picture's corners
 *
 * Any bytes, as both. What is accepted holds finite numbers, and is read as the same when it is
 * written again.
 */
#include "proto/geom/calibrate.h"
#include "tests/support/fuzz_case.h"

#include <stdio.h>

#define GRID 3

static void try_line(const uint8_t *data, size_t size)
{
    struct calibrate_corner c, again;
    char line[256];
    size_t n = size < sizeof line ? size : sizeof line - 1;

    if (n)
        memcpy(line, data, n);
    line[n] = '\0';
    if (!calibrate_corner_parse(&c, line))
        return;
    check(isfinite(c.x_m) && isfinite(c.y_m) && isfinite(c.u) && isfinite(c.v));
    snprintf(line, sizeof line, "%d %d %.17g %.17g %.17g %.17g\n", c.picture, c.camera, c.x_m,
             c.y_m, c.u, c.v);
    check(calibrate_corner_parse(&again, line));
    check(again.picture == c.picture && again.camera == c.camera && again.x_m == c.x_m &&
          again.y_m == c.y_m && again.u == c.u && again.v == c.v);
}

static void try_table(const uint8_t *data, size_t size)
{
    double at[GRID * GRID][2], again[GRID * GRID][2];
    char *text = malloc(size + 1), written[GRID * GRID * 64];
    struct err err;
    int rc, n = 0;

    if (!text)
        return;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    rc = calibrate_board_parse(at, GRID, text, &err);
    free(text);
    check(rc == 0 || rc == ERR_INPUT || rc == ERR_NOT_FOUND);
    for (int i = 0; rc == 0 && i < GRID * GRID; i++) {
        check(isfinite(at[i][0]) && isfinite(at[i][1]));
        n += snprintf(written + n, sizeof written - (size_t)n, "f %.17g %.17g 0\n", at[i][0],
                      at[i][1]);
    }
    if (rc == 0)
        check(calibrate_board_parse(again, GRID, written, &err) == 0 &&
              memcmp(again, at, sizeof at) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_line(data, size);
    try_table(data, size);
    return 0;
}
