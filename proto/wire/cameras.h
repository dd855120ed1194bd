/*
 * cameras.h - the cameras of a feeder, which it declares once and its frames' parts name
 *
 * Frames:  T_rc takes points of the camera to the rig, which is whatever the client calls so: of
 *          two cameras only the transform between them matters. Camera axes are OpenCV's here; on
 *          the wire they are as the client's `pose` says, and the caller converts them
 *          (frame_swap_axes()).
 * Models:  those of proto/geom/lens.h. A declaration whose model cannot be turned round all over
 *          the picture is refused, so what is declared can be computed with.
 */
#ifndef RECOND_PROTO_CAMERAS_H
#define RECOND_PROTO_CAMERAS_H

#include "proto/geom/lens.h"
#include "proto/json.h"

#define CAMERAS_MAX 16
#define CAMERAS_RIG_MAX_M 10.0f /* pose from the camera to the rig's origin */

struct cameras_entry {
    unsigned id; /* 1 ... 65535 */
    int width, height;
    struct intrinsics K; /* intrinsics at width x height; of a sphere lens_sphere_intrinsics() */
    struct rigid T_rc;
    struct lens lens;
};

struct cameras {
    int n;
    struct cameras_entry list[CAMERAS_MAX];
};

/* Reads the members of the op `camera`; what is wrong is noted at `at`. */
void cameras_parse(const struct json_at *at, struct cameras_entry *e);
void cameras_write(struct json_writer *w, const struct cameras_entry *e);

/* Declares a camera, in place of the one of its id. Returns 0; ERR_LIMIT: there are CAMERAS_MAX. */
MUST_CHECK int cameras_put(struct cameras *c, const struct cameras_entry *e, struct err *err);
/* Returns NULL if no camera is declared by this id. */
const struct cameras_entry *cameras_find(const struct cameras *c, unsigned id);

#endif
