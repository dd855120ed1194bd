/*
 * upright.h - which pictures of a world lie on their side, where no axis is known to point up
 *
 * A camera is held so that the horizon lies along the picture's x axis, more or less, however
 * steeply it looks, and the top of the picture points up rather than down. Sums over the pictures
 * that stand upright as they come tell what is up in their world, and so which others lie on their
 * side.
 *
 * Maths: MATH.md (U3)
 */
#ifndef RECOND_PROTO_UPRIGHT_H
#define RECOND_PROTO_UPRIGHT_H

#include "proto/types.h"

/* Sums of one world; all 0: it has no picture. */
struct upright {
    float top[3];    /* sum of the directions to the top, over standing pictures */
    float spread[6]; /* sum of t t^T - 4 x x^T of tops and x axes: xx xy xz yy yz zz */
    /* number of pictures that stand as they are shown to people, and of others */
    uint32_t n_stand, n_lie;
};

/*
 * upright_turn - by how many quarters, clockwise, a picture must be turned to stand upright
 *
 * In/out:  u: what the pictures before say, then with this one
 * In:      T_wc of its camera (x right, y down); shown: quarters by which it is shown to people, as
 *          its Exif says; last: what the picture before was turned by, -1 = there is none
 * Returns: 0...3; `shown` of a world's first picture, and of one after which more of a world's
 *          pictures would lie than stand: the world is then judged anew, from this one on
 */
int upright_turn(struct upright *u, const struct rigid *T_wc, int shown, int last);

#endif
