/*
 * calibrate_check.h - what sets of corners say nothing, and what to do about it (internal to
 * calibrate.c)
 */
#ifndef RECOND_PROTO_CALIBRATE_CHECK_H
#define RECOND_PROTO_CALIBRATE_CHECK_H

#include "proto/geom/calibrate_descent.h"

#include <stdbool.h>

/* The first two pictures that show the board to each camera at the same place, or neither to it;
 * false: there are none. corners [n] in range. */
bool calibrate_check_twice(int pictures[2], const struct calibrate_corner *corners, size_t n);

/* What a descent whose corners leave a parameter of a camera open is in need of. Maths: (C6) */
const char *calibrate_check_advice(const struct calibrate_descent *d, int camera,
                                   const int size_px[2]);

#endif
