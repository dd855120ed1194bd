/*
 * reconctl_boards.h - corners of a chessboard in the pictures of a folder, or of two
 */
#ifndef RECOND_API_RECONCTL_BOARDS_H
#define RECOND_API_RECONCTL_BOARDS_H

#include "proto/geom/calibrate.h"

struct reconctl_boards {
    struct calibrate_corner *corners; /* [n] */
    size_t n;
    int n_cameras;
    int size_px[2][2]; /* size of each camera's pictures */
    char *names[CALIBRATE_PICTURES_MAX];
    int n_names;                              /* names of both cameras' pictures, in order */
    bool no_board[2][CALIBRATE_PICTURES_MAX]; /* the picture exists and shows no board */
};

/*
 * reconctl_boards_find - look for a board in all pictures (JPEG, PNG)
 *
 * Pictures of one name were taken by both cameras at the same moment. One without a board is named
 * on standard error.
 * In:      folders of both cameras' pictures, the second NULL: folder/second, if there is one;
 *          grid: corners along a side of the board; square_m: of its squares
 * Out:     b, zero before: reconctl_boards_free() it, after an error too
 * Returns: 0; ERR_NOT_FOUND: no folder, no pictures; ERR_UNSUPPORTED: nothing to find boards with;
 *          ERR_INPUT: a picture is none, is of another size than those before it, or is to be
 *          turned; ERR_LIMIT: too many; ERR_MEMORY
 */
MUST_CHECK int reconctl_boards_find(struct reconctl_boards *b, const char *folder,
                                    const char *second, int grid, double square_m, struct err *err);
void reconctl_boards_free(struct reconctl_boards *b);

#endif
