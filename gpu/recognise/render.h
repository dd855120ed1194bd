/*
 * render.h - the depth picture of a mesh
 *
 * Enrolment draws an object's mesh from all around, so that one that was never filmed is found as
 * one that was. It runs on the host with either back end: nothing of it is done for a frame.
 */
#pragma once

#include "proto/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RENDER_NEAR_M 0.01f
/* Pixels of the boxes around all triangles of a picture: more take too long, a quarter of a second
 * about. A million triangles of a real mesh have some million. */
#define RENDER_WORK_MAX (32u << 20)
#define RENDER_TOO_MUCH SIZE_MAX

/* A camera at `from` that looks at `at`; `up` is up in its picture, unless it looks along it. */
struct rigid render_look(struct vec3 from, struct vec3 at, struct vec3 up);

/*
 * render_depth - what a camera sees of triangles
 *
 * A triangle with a corner nearer than RENDER_NEAR_M is left out.
 * Frames:  T_oc takes the camera's points to the mesh's frame
 * In:      xyz [n_points][3], corner [n_triangles][3], each below n_points; sides: 2, both of a
 *          triangle are seen; 1, that from which its corners run counter-clockwise, while the other
 *          one hides what is behind it and shows nothing
 * Out:     depth [h][w], metres along z, at the pixels' centres; 0: nothing
 * Maths:   MATH.md (O18)
 * Returns: pixels that see something; RENDER_TOO_MUCH: depth is not complete
 */
size_t render_depth(float *depth, int w, int h, struct intrinsics K, const struct rigid *T_oc,
                    const float *xyz, const uint32_t *corner, size_t n_triangles, int sides);

#ifdef __cplusplus
}
#endif
