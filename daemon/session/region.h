/*
 * region.h - the points of a session's cloud that lie in a box
 *
 * The cloud is copied at one moment, as an export does (8 bytes a point), and the session may end
 * meanwhile: the mirror is locked for that copy alone. Submaps lie where they are placed; points of
 * unplaced ones are left out.
 * Threads: any
 */
#pragma once

#include "daemon/session/mirror.h"
#include "daemon/session/places.h"
#include "gpu/recognise/object.h"

/* The box's frame has its origin in the centre of the box, and its sides along the axes. */
struct region_box {
    struct rigid T_wb; /* box to the session's world */
    float half[3];     /* half sides, metres */
};

/*
 * region_box - a box with the world's axes, rotated about the up axis
 *
 * Returns: 0; ERR_INPUT, where = JSON pointer: it is rotated, and the session does not know what is
 *          up
 */
MUST_CHECK int region_box(struct region_box *box, const struct api_region *wanted,
                          enum session_up up, struct err *err);

/*
 * region_take - the points in a box, in the box's frame
 *
 * Out:     *points [*n], free() them; normals of length 1, or 0 0 0 where none was published
 * Returns: 0; ERR_INPUT: none; ERR_LIMIT: more than OBJECT_CLOUD_MAX; ERR_MEMORY
 */
MUST_CHECK int region_take(struct object_point **points, size_t *n, struct mirror *m,
                           const struct places *places, float step_m, const struct region_box *box,
                           struct err *err);
