/*
 * calibrate.h - what a camera of the unified model is, from pictures of a flat board
 *
 * Corners of the board, whose places on it are known, are seen in several pictures by one camera or
 * by two that are fixed to each other. Found are both cameras, where the second is, and where the
 * board was: those that bring the corners nearest to where they were seen, by Levenberg and
 * Marquardt's method.
 * Frames:  camera axes OpenCV; T takes points of the board (z = 0) to the first camera, T_21 points
 *          of the first camera to the second
 * Units:   metres, pixels (centres at integers)
 * Maths:   MATH.md (L9), (C1)-(C6)
 */
#ifndef RECOND_PROTO_CALIBRATE_H
#define RECOND_PROTO_CALIBRATE_H

#include "proto/err.h"
#include "proto/geom/calibrate_project.h"

#include <stdbool.h>
#include <stddef.h>

#define CALIBRATE_CORNERS_MAX 50000
#define CALIBRATE_PICTURES_LEAST 3
#define CALIBRATE_CORNERS_LEAST 8 /* corners of a picture */
#define CALIBRATE_GRID_LEAST 3    /* corners along a side of a board in pictures */
#define CALIBRATE_GRID_MAX 32

/* Reads a line `picture camera x y u v` of an untrusted file. Returns false if it is malformed or
 * not finite. calibrate_run() checks the ranges of pictures and cameras. */
MUST_CHECK bool calibrate_corner_parse(struct calibrate_corner *c, const char *line);

/*
 * calibrate_board_parse - the table that mrgingham prints about one picture
 *
 * Lines `filename x y level`, row by row of the board from one of its corners on; # begins a
 * remark.
 * In:      text, a stranger's; grid: corners along a side
 * Out:     at [grid * grid][2]: pixels; unspecified on an error
 * Returns: 0; ERR_NOT_FOUND: it says that there is no board; ERR_INPUT: it is no such table, or its
 *          corners form no grid: between them a cell is not convex, or is seen from behind
 */
MUST_CHECK int calibrate_board_parse(double (*at)[2], int grid, const char *text, struct err *err);

struct calibrate_camera {
    double param[CALIBRATE_PARAMS];
    /* standard deviation, estimated from the corners' own scatter */
    double error[CALIBRATE_PARAMS];
};

struct calibrate_result {
    int n_cameras, n_pictures; /* number of pictures: the highest one plus one */
    struct calibrate_camera camera[2];
    struct calibrate_pose T_21;
    struct calibrate_pose T[CALIBRATE_PICTURES_MAX];
    /* root mean square distances in pixels, of each camera's pictures and of all; 0 = the camera
     * sees no corner there */
    double rms_px[2][CALIBRATE_PICTURES_MAX], all_px;
    int blamed[2]; /* pictures that caused a refusal; -1 = none */
};

/*
 * calibrate_run - both cameras from corners
 *
 * In:      size_px [cameras][2]: width and height of the pictures; board_m: 0, or the board's
 *          corners fill a square of this side, 0 ... board_m, and each picture may have numbered
 *          them from any of its four corners on
 * In/out:  corners [n], finite; with board_m those of a picture that both cameras see come out with
 *          the same places for both
 * Returns: 0; ERR_INPUT: too few corners or pictures, numbers out of range, one picture twice, no
 *          camera of the model fits them, or they do not determine one: boards all in the same
 *          attitude, in a small part of the picture; text says which, and what to do; ERR_MEMORY
 */
MUST_CHECK int calibrate_run(struct calibrate_result *out, struct calibrate_corner *corners,
                             size_t n, int size_px[2][2], double board_m, struct err *err);

#endif
