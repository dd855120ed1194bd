/* session_ends.h - closing a session, deleting it, and its expiry */
#pragma once

#include "daemon/session/outbox.h"
#include "daemon/session/session.h"

/* Takes no more frames; those in the queue are still used. */
void session_close(struct session *s);
bool session_closing(struct session *s);
/* It has closing rounds to come (daemon/work/closing.h), or none any more. */
void session_set_rounds(struct session *s, bool to_come);
/* Is it closing, have all of its frames ended, and are rounds still to come? */
bool session_waits_for_rounds(struct session *s);
/* It is to be bundled before it is closed (daemon/work/bundling.h), or not any more. */
void session_set_bundle(struct session *s, bool to_come);
/* Is it closing, have its frames and its rounds ended, and is it still to be bundled? */
bool session_waits_for_bundle(struct session *s);
/* Call it after a slot was freed or the rounds were over: sets CLOSED if nothing is left to do for
 * a closing session. Returns true if so. */
bool session_settle(struct session *s);
/* Takes it out of use: clients are told `bye`, queued frames are not used. False: it was
 * already. */
bool session_kill(struct session *s);
/* Answers frames in the queue without computing them. */
void session_hurry(struct session *s);
bool session_hurried(const struct session *s);
/* Tells all clients `bye`. */
void session_bye(struct session *s, const struct control_bye *bye, enum outbox_haste haste);
/* Has it been without clients and frames for its retention? */
bool session_expired(struct session *s, double now_s);
