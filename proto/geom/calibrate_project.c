#include "proto/geom/calibrate_project.h"

#include <math.h>

/* (L9) in double precision. */
int calibrate_project(const double c[CALIBRATE_PARAMS], const double p[3], double *u, double *v)
{
    double n = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), d = p[2] + c[CALIBRATE_XI] * n;
    double x, y, s, f;

    if (!(d > 1e-6 * n) || !(n > 0))
        return 0;
    x = p[0] / d;
    y = p[1] / d;
    s = x * x + y * y;
    f = 1 + s * (c[CALIBRATE_K1] + s * c[CALIBRATE_K2]);
    *u = c[CALIBRATE_FX] *
             (x * f + 2 * c[CALIBRATE_P1] * x * y + c[CALIBRATE_P2] * (s + 2 * x * x)) +
         c[CALIBRATE_CX];
    *v = c[CALIBRATE_FY] *
             (y * f + c[CALIBRATE_P1] * (s + 2 * y * y) + 2 * c[CALIBRATE_P2] * x * y) +
         c[CALIBRATE_CY];
    return 1;
}
