/*
 * pose.h - a rigid transform as it travels: unit quaternion x y z w and translation, seven f32
 *
 * Maths:   R(q) = [1-2(yy+zz) 2(xy-zw) 2(xz+yw); 2(xy+zw) 1-2(xx+zz) 2(yz-xw); 2(xz-yw) 2(yz+xw)
 *          1-2(xx+yy)]
 */
#ifndef RECOND_PROTO_POSE_H
#define RECOND_PROTO_POSE_H

#include "proto/bytes.h"
#include "proto/err.h"
#include "proto/types.h"

#define POSE_BYTES 28
/* least share of "up" within the picture: a camera 17 degrees off the vertical */
#define POSE_LEAN_MIN 0.3f
#define POSE_LEAN_HELD 0.6428f /* cosine of 50 degrees, the lean up to which a rotation is kept */
#define POSE_FAR_M 1e6f        /* farther away the step of a float is over 6 cm */
#define POSE_UNIT_TOLERANCE 1e-2f /* largest distance of |q| from one; q is normalised */

/*
 * pose_get - read and check a transform
 *
 * Out:     *T; untouched on an error
 * Returns: 0; ERR_INPUT: not finite, |q| off one, |t| > max_m, or the reader ran dry
 */
MUST_CHECK int pose_get(struct bytes_reader *r, struct rigid *T, float max_m, struct err *err);

/* The inverse of pose_get(). q and -q are one rotation; the one with w >= 0 is written. */
void pose_put(struct bytes_writer *w, const struct rigid *T);

/* Converts the same seven numbers without bytes. */
void pose_numbers(float v[7], const struct rigid *T);
MUST_CHECK int pose_from_numbers(struct rigid *T, const float v[7], float max_m, struct err *err);

/* Tells whether T is finite, within POSE_FAR_M, right-handed, and its rows orthonormal within
 * 1e-3. */
int pose_is_rigid(const struct rigid *T);
/* How far two poses are apart: the angle between them, and the square of their distance. */
float pose_angle(const struct rigid *a, const struct rigid *b);
float pose_distance2(const struct rigid *a, const struct rigid *b);

/*
 * pose_turn - by how many quarters, clockwise, a picture must be turned to stand upright
 *
 * In:      T_wc of its camera (x right, y down); up: the world's direction away from the ground, of
 *          length 1; last: of the picture before, -1 = there is none
 * Returns: 0...3; `last` while the picture leans less than 50 degrees away from it, so that a
 *          camera held between two turns does not change them, or looks so steeply up or down that
 *          it hardly leans anywhere
 * Maths:   MATH.md (U1)
 */
int pose_turn(const struct rigid *T_wc, struct vec3 up, int last);

/* The least rotation that takes a direction of the camera to one of the world, both of length 1.
 * The camera's place is the origin. Maths: MATH.md (U2) */
struct rigid pose_level(struct vec3 up_camera, struct vec3 up_world);

#endif
