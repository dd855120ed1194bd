/*
 * calibrate_descent.h - the least squares that calibrate.c begins and ends (internal to it)
 *
 * Maths:   MATH.md (C2), (C3)
 */
#ifndef RECOND_PROTO_CALIBRATE_DESCENT_H
#define RECOND_PROTO_CALIBRATE_DESCENT_H

#include "proto/err.h"
#include "proto/geom/calibrate_project.h"

#include <stddef.h>

#define CALIBRATE_GLOBALS_MAX (2 * CALIBRATE_PARAMS + 6)
#define CALIBRATE_OWN 6 /* parameters of a pose */

/* A descent: its parameters, and the corners that it is about. */
struct calibrate_descent {
    const struct calibrate_corner *corners;
    size_t n;
    int n_cameras, n_globals, n_pictures;
    int has[CALIBRATE_PICTURES_MAX]; /* corners of the picture */
    double camera[2][CALIBRATE_PARAMS];
    struct calibrate_pose T_21, T[CALIBRATE_PICTURES_MAX];
};

/* Normal equations, the poses' blocks by themselves. */
struct calibrate_normal {
    double global[CALIBRATE_GLOBALS_MAX][CALIBRATE_GLOBALS_MAX], right[CALIBRATE_GLOBALS_MAX];
    struct own {
        double a[CALIBRATE_OWN][CALIBRATE_OWN], right[CALIBRATE_OWN],
            cross[CALIBRATE_OWN][CALIBRATE_GLOBALS_MAX];
    } own[CALIBRATE_PICTURES_MAX];
};

void calibrate_descent_multiply(double out[9], const double a[9], const double b[9]);
/* Solves a x = b, a [n][n] in rows of `stride`, symmetric and positive; a becomes its factor, b x.
 * Returns 0: a is not positive. */
int calibrate_descent_cholesky(double *a, int stride, double *b, int n);

/* How far a corner is from where the parameters have it, in pixels; the sum of squares of all. */
void calibrate_descent_residual(const struct calibrate_descent *d, const struct calibrate_corner *c,
                                double r[2]);
double calibrate_descent_cost(const struct calibrate_descent *d);

/* (C3) The globals' equations without the poses, damped; x: their right side. Returns 0: the poses
 * are not determined. */
int calibrate_descent_reduce(const struct calibrate_normal *m, const struct calibrate_descent *d,
                             double damp, double S[CALIBRATE_GLOBALS_MAX][CALIBRATE_GLOBALS_MAX],
                             double *x);

/* (C2) Returns the cost; m: the equations at the end, `scratch` a descent to try steps with. */
double calibrate_descent_run(struct calibrate_descent *d, struct calibrate_normal *m,
                             struct calibrate_descent *scratch, int rounds);

#endif
