/*
 * render.h - the depth picture of a mesh
 *
 * Enrolment draws an object's mesh from all around, so that an object need not be filmed. It runs
 * on the host with either back end, since no frame needs it.
 */
#pragma once

#include "proto/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RENDER_NEAR_M 0.01f
/* Most pixels in the boxes of a picture's triangles, about a quarter of a second's work. A real
 * mesh of a million triangles has some million. */
#define RENDER_WORK_MAX (32u << 20)
#define RENDER_TOO_MUCH SIZE_MAX

/* A camera at `from` that looks at `at`; `up` points up in its picture, unless it looks along
 * `up`. */
struct rigid render_look(struct vec3 from, struct vec3 at, struct vec3 up);

/*
 * render_depth - what a camera sees of triangles
 *
 * A triangle with a corner nearer than RENDER_NEAR_M is left out.
 * Frames:  T_oc takes the camera's points to the mesh's frame
 * In:      xyz [n_points][3], corner [n_triangles][3], each below n_points; sides: 2, both sides of
 *          a triangle show; 1, only the side on which its corners run counter-clockwise; the other
 *          side hides what is behind it
 * Out:     depth [h][w], metres along z, at the pixels' centres; 0: nothing
 * Maths:   MATH.md (O18)
 * Returns: pixels that see something; RENDER_TOO_MUCH: depth is not complete
 */
size_t render_depth(float *depth, int w, int h, struct intrinsics K, const struct rigid *T_oc,
                    const float *xyz, const uint32_t *corner, size_t n_triangles, int sides);

#ifdef __cplusplus
}
#endif
