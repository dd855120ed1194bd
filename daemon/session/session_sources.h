/* session_sources.h - sources of a session: the functions of sources.h that need its lock */
#pragma once

#include "daemon/session/jump.h"
#include "daemon/session/session.h"
#include "daemon/session/sources.h"

/* sources_take(), sources_untake() of its sources. */
enum control_reason session_take(struct session *s, int source, const struct frame *f,
                                 struct sources_submap *out);
void session_untake(struct session *s, int source, uint64_t seq);
/* Counts a frame of the source that was refused because the phone had lost its tracking. */
void session_add_break(struct session *s, int source);
/* A taken frame has ended; call it before the queue frees its slot and session_answer(). */
void session_keep_verdict(struct session *s, int source, uint64_t t_capture_ns,
                          const struct control_ack *ack);
void session_source_name(struct session *s, int source, char name[CONTROL_SOURCE_CAP]);
/* Returns n: sources 0 ... n - 1 are or were in use. */
int session_n_sources(struct session *s);
/* The trajectory's rows [first, first + n) have new poses T_wc [n] from `revision` of the cloud on:
 * each feeding client is told its own. */
void session_correct_poses(struct session *s, uint32_t first, const struct rigid *T_wc, uint32_t n,
                           uint64_t revision);
/* Returns the submap from which the source's poses jumped into this one; -1: none. */
int session_submap_before(struct session *s, uint32_t submap);

/* sources_learn(), sources_retake() of its sources. */
MUST_CHECK int session_learn_source(struct session *s, const struct sources_record *r,
                                    struct err *err);
void session_retake(struct session *s, int source, uint64_t seq);
/* Sets the source's motion behind a frame of the journal. */
struct jump session_retrace(struct session *s, int source, const struct frame *f);
/* The same from a checkpoint, into a session that no other thread knows yet. */
void session_set_jump(struct session *s, int source, const struct jump *jump);
