/*
 * reconctl_mrgingham.h - corners of a chessboard in a picture, through the program mrgingham
 *
 * It finds boards that mirrors and fisheyes bend, which most finders do not, and brings a C++
 * library with it; as a program it stays out of the build, and is missed by this command alone.
 */
#pragma once

#include "proto/err.h"

/*
 * reconctl_mrgingham_find - the inner corners of a board
 * In:      path of a JPEG or PNG; grid: corners along a side
 * Out:     at [grid * grid][2]: pixels, centres at integers, row by row of the board from one of
 *          its corners on
 * Returns: 0; ERR_NOT_FOUND: no board; ERR_UNSUPPORTED: mrgingham is not installed; ERR_INPUT: it
 *          prints no corners, or such as form no grid; where = path
 */
MUST_CHECK int reconctl_mrgingham_find(double (*at)[2], int grid, const char *path,
                                       struct err *err);
