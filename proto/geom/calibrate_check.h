/*
 * calibrate_check.h - what sets of corners say nothing, and what to do about it (internal to
 * calibrate.c)
 */
#ifndef RECOND_PROTO_CALIBRATE_CHECK_H
#define RECOND_PROTO_CALIBRATE_CHECK_H

#include "proto/geom/calibrate_descent.h"

#include <stdbool.h>

/* Finds the first two pictures that show the board to each camera at the same place, or neither to
 * it. Returns false if there are none. All corners [n] are in range. */
bool calibrate_check_twice(int pictures[2], const struct calibrate_corner *corners, size_t n);

/* Says what pictures are missing when the corners leave a camera's parameter open. Maths: (C6) */
const char *calibrate_check_advice(const struct calibrate_descent *d, int camera,
                                   const int size_px[2]);

#endif
