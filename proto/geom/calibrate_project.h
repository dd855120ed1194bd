/*
 * calibrate_project.h - a camera of the unified model, and what it sees of a board
 *
 * Maths:   MATH.md (L9)
 */
#ifndef RECOND_PROTO_CALIBRATE_PROJECT_H
#define RECOND_PROTO_CALIBRATE_PROJECT_H

#define CALIBRATE_PICTURES_MAX 128

enum calibrate_param {
    CALIBRATE_XI,
    CALIBRATE_FX,
    CALIBRATE_FY,
    CALIBRATE_CX,
    CALIBRATE_CY,
    CALIBRATE_K1,
    CALIBRATE_K2,
    CALIBRATE_P1,
    CALIBRATE_P2,
    CALIBRATE_PARAMS
};

struct calibrate_corner {
    int picture, camera; /* picture 0 ... CALIBRATE_PICTURES_MAX - 1; camera 0 or 1 */
    double x_m, y_m;     /* place on the board, metres */
    double u, v;         /* place in the picture, pixels */
};

struct calibrate_pose {
    double r[9], t[3];
};

/* Computes the pixel of p, which is in camera axes. Returns 0 if it has none. */
int calibrate_project(const double param[CALIBRATE_PARAMS], const double p[3], double *u,
                      double *v);

#endif
