/*
 * corrections.h - the corrected poses of a source that one client was not told yet
 *
 * Poses of frames may be corrected after their acks. A range of the trajectory's rows is
 * remembered, not poses: the client is told the newest, at the rate at which it reads, and some
 * rows that did not change.
 * Owner:   an outbox, under whose lock all but corrections_read() is called
 */
#pragma once

#include "daemon/session/trajectory.h"

#include <stdbool.h>

struct corrections {
    struct trajectory *of; /* NULL: the client feeds nothing and is told no poses */
    uint32_t source;
    enum frame_pose_convention convention;
    uint32_t first, last; /* rows to be told */
    uint64_t revision;
};

/* Rows [first, last) have new poses from `revision` of the cloud on. */
void corrections_add(struct corrections *c, uint32_t first, uint32_t last, uint64_t revision);
/* Fills *part with the next rows, at most CONTROL_POSES_MAX. Returns false if there are none. */
bool corrections_next(struct corrections *c, struct corrections *part);
/* Fills the message of these rows. Returns false if none is of its source. */
bool corrections_read(const struct corrections *part, struct control_poses *poses);
