/*
 * trajectory.h - the poses of a session's used frames
 *
 * Kept in pieces of 1,024 that are never moved: one allocation in a thousand frames. At most
 * TRAJECTORY_MAX poses are kept, ten hours at 30 frames a second; later ones are not.
 * Threads: one appends (committer), any correct and read; one mutex inside.
 */
#pragma once

#include "api/api.h"

#define TRAJECTORY_MAX (1u << 20)

struct trajectory;

MUST_CHECK int trajectory_new(struct trajectory **t, struct err *err);
void trajectory_free(struct trajectory **t);

/* Returns 0; ERR_LIMIT, ERR_MEMORY: it is not kept. */
MUST_CHECK int trajectory_append(struct trajectory *t, const struct session_pose *pose,
                                 struct err *err);
/* Copies poses [first, first + cap), as many as there are; returns their number. */
int trajectory_read(struct trajectory *t, uint64_t first, struct session_pose *poses, int cap);

/* Gets the pose of the last used frame. Returns false if there is none yet. */
bool trajectory_last(struct trajectory *t, struct session_pose *pose);

/* Replaces the poses of [first, first + n) that there are by T_wc [n]. Returns their number. */
uint32_t trajectory_correct(struct trajectory *t, uint32_t first, const struct rigid *T_wc,
                            uint32_t n);

/*
 * trajectory_save / trajectory_load - the poses as bytes, and back into a new trajectory
 *
 * Returns: 0; ERR_LIMIT: cap, for which trajectory_state_bytes() is enough until a pose is
 *          appended; ERR_STATE: not a new trajectory; ERR_INPUT: not such bytes, or a number that
 *          is none; ERR_MEMORY. On errors nothing changes.
 */
size_t trajectory_state_bytes(struct trajectory *t);
MUST_CHECK int trajectory_save(struct trajectory *t, uint8_t *buf, size_t cap, size_t *len,
                               struct err *err);
MUST_CHECK int trajectory_load(struct trajectory *t, const uint8_t *buf, size_t len,
                               struct err *err);
