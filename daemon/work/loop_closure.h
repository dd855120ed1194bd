/*
 * loop_closure.h - keyframes of a session that show the same place tie its submaps together
 *
 * Sessions with the options `ties`, where poses come with frames, or `bundle` keep some frames as
 * keyframes: a committer copies their picture and depth. Slices of the pool (later.h) describe them
 * and compare those of different submaps, one keyframe a slice, in order (gpu/tie). Tied submaps
 * are placed, unless a client placed them, as by a PUT of submaps/{n}: no point is sent again. A
 * submap that began with a jump (jump.h) lies where its poses have it until it is tied. A bundle
 * (bundling.h) is more slices of the same task. Checkpoints hold keyframes and ties; a replay takes
 * later keyframes again.
 * Threads: wants, keep as session_work.h has it for jobs; state_bytes, save the worker's; others
 *          any. No lock inside
 */
#pragma once

#include "daemon/work/later.h"
#include "daemon/work/session_work.h"

struct loop_closure; /* a session's part, in its session_work; NULL where it has none */

/* Returns the most bytes that a session with these options holds for it. */
size_t loop_closure_bytes(const struct session_options *o);
/* Makes a session's part, before another thread knows it; NULL where its options ask for none, or
 * `later` is NULL. Returns 0; ERR_MEMORY; ERR_BUSY: the pool was stopped. */
MUST_CHECK int loop_closure_adopt(struct later *later, struct session *s,
                                  struct loop_closure **part, struct err *err);
void loop_closure_disown(struct loop_closure **part);

/* Does the frame become a keyframe, by its pose? Then its depth is wanted. Pictures with
 * distortion, or of another shape than the network's, do not: their depth has another camera. */
bool loop_closure_wants(struct job *job);
/* A wanted frame has its result. */
void loop_closure_keep(struct job *job);

/* Is the session to be bundled before it is closed, and was not? */
bool loop_closure_is_to_bundle(struct session *s);
/* All frames of the session have ended: bundles its keyframes when all are described, unless that
 * is under way; session_set_bundle(s, false) and session_work_ops.settle follow. Returns false if
 * it has none: then session_waits_for_bundle() ends at once. */
bool loop_closure_bundle(struct session *s);
/* Skips the bundle. */
void loop_closure_give_up(struct session *s);

/* Sections of the described keyframes and their ties. A session that lacks them begins with none,
 * and places stay as they are. */
extern const struct state_section loop_closure_state;
