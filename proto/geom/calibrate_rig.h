/* calibrate_rig.h - how the second camera stands to the first (internal to calibrate.c) */
#pragma once

#include "proto/geom/calibrate_descent.h"

/*
 * calibrate_rig_join - the descents of both cameras as one
 * In:      second: the second camera as if it were the first
 * In/out:  d: the first camera; gets the second one, T_21, and poses of boards that the second one
 *          alone sees; corners [n] of both cameras: those of the second are numbered from the same
 *          corner of the board on as the first one's, where board_m says that they need not be
 * Returns: 0; ERR_INPUT: no picture by both
 * Maths:   MATH.md (C5)
 */
MUST_CHECK int calibrate_rig_join(struct calibrate_descent *d,
                                  const struct calibrate_descent *second,
                                  struct calibrate_corner *corners, size_t n, double board_m,
                                  struct err *err);
