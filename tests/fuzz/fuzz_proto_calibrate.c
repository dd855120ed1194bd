/*
 * fuzz_proto_calibrate - a line of a stranger's file of corners
 *
 * Any bytes. A corner that is accepted holds finite numbers, and is read as the same one when it is
 * written again.
 */
#include "proto/geom/calibrate.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct calibrate_corner c, again;
    char line[256];
    size_t n = size < sizeof line ? size : sizeof line - 1;

    if (n)
        memcpy(line, data, n);
    line[n] = '\0';
    if (!calibrate_corner_parse(&c, line))
        return 0;
    check(isfinite(c.x_m) && isfinite(c.y_m) && isfinite(c.u) && isfinite(c.v));
    snprintf(line, sizeof line, "%d %d %.17g %.17g %.17g %.17g\n", c.picture, c.camera, c.x_m,
             c.y_m, c.u, c.v);
    check(calibrate_corner_parse(&again, line));
    check(again.picture == c.picture && again.camera == c.camera && again.x_m == c.x_m &&
          again.y_m == c.y_m && again.u == c.u && again.v == c.v);
    return 0;
}
