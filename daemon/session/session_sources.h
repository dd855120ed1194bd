/* session_sources.h - the phones that feed a session: what of sources.h needs its lock */
#ifndef RECOND_DAEMON_SESSION_SOURCES_H
#define RECOND_DAEMON_SESSION_SOURCES_H

#include "daemon/session/jump.h"
#include "daemon/session/session.h"
#include "daemon/session/sources.h"

/* sources_take(), sources_untake() of its sources. */
enum control_reason session_take(struct session *s, int source, const struct frame *f,
                                 struct sources_world *world);
void session_untake(struct session *s, int source, uint64_t seq);
/* A frame of the source was refused because the phone had lost its tracking. */
void session_add_break(struct session *s, int source);
/* A frame that was taken has ended: before the queue lets go of it, and session_answer() is
 * called. */
void session_keep_verdict(struct session *s, int source, uint64_t t_capture_ns,
                          const struct control_ack *ack);
void session_source_name(struct session *s, int source, char name[CONTROL_SOURCE_CAP]);
/* Places of sources that are or were in use: 0 ... n - 1. */
int session_n_sources(struct session *s);
/* Poses of the trajectory's rows [first, first + n) are others, T_wc [n], from `revision` of the
 * cloud on: each client that feeds is told of its own. */
void session_correct_poses(struct session *s, uint32_t first, const struct rigid *T_wc, uint32_t n,
                           uint64_t revision);
/* The submap that the source was in when its poses jumped into this one; -1: it began otherwise. */
int session_world_before(struct session *s, uint32_t submap);

/* sources_learn(), sources_retake() of its sources. */
MUST_CHECK int session_learn_source(struct session *s, const struct sources_record *r,
                                    struct err *err);
void session_retake(struct session *s, int source, uint64_t seq);
/* A frame of the journal was taken then: how its source's poses go on behind it. */
struct jump session_retrace(struct session *s, int source, const struct frame *f);
/* The same as of a checkpoint, into a session that no other thread knows yet. */
void session_set_jump(struct session *s, int source, const struct jump *jump);

#endif
