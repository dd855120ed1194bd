/*
 * closing.h - the work of a closed session on its device before it is whole
 *
 * With many views a keyframe is final when later ones have seen the same; at a session's end some
 * wait in vain. A *closing round* is an item without a picture that begins a new walk, so that one
 * waiting keyframe becomes final (gpu/views/views.h, "Walks"). Rounds go on, source by source,
 * until no keyframe waits; then the session is closed.
 * Disk:    rounds are in no journal. A recovered session that was closing continues them from its
 *          last checkpoint, with the same points.
 * Ends:    a session that is deleted, hurried, or whose device fails skips them.
 * Threads: closing_take() and closing_keep() as session_work.h says for jobs; the others any
 */
#pragma once

#include "daemon/work/session_work.h"

/* A frame was used: session_waits_for_rounds() holds once the session is to be closed, and
 * session_waits_for_bundle() after them. */
void closing_note(struct session *s);
/* Calls session_work_restore(), and sets the rounds and the bundle that are still to come. */
void closing_restore(struct session *s, const struct session_work_kept *kept);
/* Has it no rounds to go, and is it bundled? Else continues that, in a recovered session. */
bool closing_done(struct session *s);
/* Returns the next round's item, ended by closing_keep() or closing_give_up(); NULL: no memory. */
struct queue_item *closing_take(struct session *s);
/* The round was computed; `unfinished`: its source has keyframes that wait. Call frame_end_settle()
 * next, as after closing_give_up(). */
void closing_keep(struct session *s, bool unfinished);
/* Skips all further rounds. */
void closing_give_up(struct session *s);
void closing_disown(struct session_work *k);
