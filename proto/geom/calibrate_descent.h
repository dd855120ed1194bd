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

/* A descent: its parameters and its corners. */
struct calibrate_descent {
    const struct calibrate_corner *corners;
    size_t n;
    int n_cameras, n_globals, n_pictures;
    int has[CALIBRATE_PICTURES_MAX]; /* corners of the picture */
    double camera[2][CALIBRATE_PARAMS];
    struct calibrate_pose T_21, T[CALIBRATE_PICTURES_MAX];
};

/* Normal equations; each pose has a block of its own. */
struct calibrate_normal {
    double global[CALIBRATE_GLOBALS_MAX][CALIBRATE_GLOBALS_MAX], right[CALIBRATE_GLOBALS_MAX];
    struct own {
        double a[CALIBRATE_OWN][CALIBRATE_OWN], right[CALIBRATE_OWN],
            cross[CALIBRATE_OWN][CALIBRATE_GLOBALS_MAX];
    } own[CALIBRATE_PICTURES_MAX];
};

void calibrate_descent_multiply(double out[9], const double a[9], const double b[9]);
/* Solves a x = b for a symmetric positive a [n][n] in rows of `stride`. a becomes its factor, b
 * becomes x. Returns 0 if a is not positive. */
int calibrate_descent_cholesky(double *a, int stride, double *b, int n);

/* The distance of a corner from its prediction in pixels, and the sum of squares over all
 * corners. */
void calibrate_descent_residual(const struct calibrate_descent *d, const struct calibrate_corner *c,
                                double r[2]);
double calibrate_descent_cost(const struct calibrate_descent *d);

/* (C3) The damped equations of the global parameters after the poses were eliminated; x is their
 * right side. Returns 0 if the poses are not determined. */
int calibrate_descent_reduce(const struct calibrate_normal *m, const struct calibrate_descent *d,
                             double damp, double S[CALIBRATE_GLOBALS_MAX][CALIBRATE_GLOBALS_MAX],
                             double *x);

/* (C2) Returns the cost. m gets the equations at the end; `scratch` is a descent in which steps are
 * tried. */
double calibrate_descent_run(struct calibrate_descent *d, struct calibrate_normal *m,
                             struct calibrate_descent *scratch, int rounds);

#endif
