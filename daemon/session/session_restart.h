/* session_restart.h - a session is suspended, or recovered after a start */
#pragma once

#include "daemon/session/session.h"

/* Has it been without a sending client for so long that its device state may go? */
bool session_idle(struct session *s, double now_s, int suspend_s);
/* Lets its device state go once it is saved: until a client that sends frames starts, or the state
 * is on the device again. */
void session_allow_suspend(struct session *s);
bool session_may_suspend(const struct session *s);
/* Its device state went to the disk, or is on the device again. */
void session_set_suspended(struct session *s, bool suspended);
bool session_is_suspended(const struct session *s);

/* Counters of a session in its checkpoints, beside how its frames ended. */
struct session_saved {
    /* again, keyframes, bytes_in, bytes_out, blocks_out, points_out */
    struct session_counts counts;
    uint32_t keyframes_kept, model_points, model_stable;
    int net_w, net_h;
    bool has_position; /* of the last used frame: */
    struct frame_position position;
};
void session_save(struct session *s, struct session_saved *saved);
/* The next three set a session that no other thread knows yet. */
void session_restore(struct session *s, const struct session_saved *saved);
/* Is its journal being replayed? */
bool session_recovering(struct session *s);
/* Sets it to SESSION_RECOVERING until session_recovered(). */
void session_set_recovering(struct session *s, bool closed, const struct api_token *tokens,
                            int n_tokens);
/* Sets the ends of the frames of its journal. */
void session_set_ends(struct session *s, uint64_t used, uint64_t dropped, uint64_t refused,
                      uint64_t queued);
/* Makes clients start over, because its points may differ from theirs. */
void session_renew_epoch(struct session *s);
/* The session can be read but takes no frames; `what` says why. False: a reason is known. */
bool session_set_damaged(struct session *s, const char *what);
/* n of its frames that count as queued will not be read from the journal. */
void session_unqueue(struct session *s, uint64_t n);
/* Its journal is replayed; frame_end_settle() is next. */
void session_recovered(struct session *s, bool had_frames);
