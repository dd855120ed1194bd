/*
 * tying.h - worlds of a session are found to be one place, and placed
 *
 * Of a session with the option `ties`, whose poses come with its frames, or with `bundle` some
 * frames are kept as keyframes:
 * a committer copies picture and depth with the frame's other results, and a thread of its own
 * keeps what gpu/tie makes of them. It compares keyframes of different worlds, one at a time, and
 * where worlds are tied it places those that no client has placed: what a PUT of submaps/{n} does,
 * and no point is sent again. A world that began because a pose jumped (jump.h) lies where the
 * poses have it until it is tied.
 * Keyframes and what they tie are part of a session's checkpoints. Those that came after the last
 * one are taken again when the journal is replayed.
 * Threads: tying_wants() and tying_keep() as session_work.h has it for jobs; the rest any. One
 *          mutex inside, and nothing else is locked under it.
 */
#ifndef RECOND_DAEMON_TYING_H
#define RECOND_DAEMON_TYING_H

#include "daemon/work/session_work.h"

struct tying;
struct tying_part; /* of a session, in its session_work; NULL where it has none */

/* ended: by its thread, a session was bundled, which may have been all that it waited for. */
MUST_CHECK int tying_start(struct tying **t, void (*ended)(struct session *s), struct err *err);
/* When the committers have stopped. */
void tying_stop(struct tying *t);
void tying_free(struct tying **t);

/* Bytes that a session with these options may come to hold for it. */
size_t tying_bytes(const struct session_options *o);
/* A session's part, before another thread knows it; NULL where its options ask for none. t may be
 * NULL: there are no ties. Returns 0; ERR_MEMORY. */
MUST_CHECK int tying_adopt(struct tying *t, struct session *s, struct tying_part **part,
                           struct err *err);
void tying_disown(struct tying_part **part);

/* Is the frame one to keep, by its pose? Its depth is wanted then. Pictures with distortion, or of
 * another shape than the network's, are not kept: their depth is of another camera. */
bool tying_wants(struct job *job);
/* A frame that was wanted has its result. */
void tying_keep(struct job *job);

/* Is the session to be bundled (bundling.h) before it is closed, and was not? */
bool tying_is_to_bundle(struct session *s);
/* All frames of the session have ended: its keyframes are bundled when all are described, unless
 * that is under way; then session_set_bundle(s, false) and `ended` follow. Returns false
 * if it has none, and is left as it is, but session_waits_for_bundle() no longer. */
bool tying_bundle(struct session *s);

/* There is no time for it any more. */
void tying_give_up(struct session *s);

/* The keyframes that are described, and what ties them. Where it is not loaded, the session begins
 * with none and places stay as they are. */
extern const struct state_section tying_state;

/* turn_pool_alive_us() of its thread */
uint64_t tying_alive_us(const struct tying *t);

#endif
