/* session_restart.h - a session rests on the disk, or comes back after a start */
#ifndef RECOND_DAEMON_SESSION_RESTART_H
#define RECOND_DAEMON_SESSION_RESTART_H

#include "daemon/session/session.h"

/* Has it been without a client that sends frames for so long that its device state may go? */
bool session_idle(struct session *s, double now_s, int suspend_s);
/* Its device state may go once it is saved: until a client that sends frames starts, or the state
 * is on the device again. */
void session_allow_rest(struct session *s);
bool session_may_rest(const struct session *s);
/* Its device state went to the disk, or came back; for the state that it shows. */
void session_set_resting(struct session *s, bool resting);
bool session_resting(const struct session *s);

/* What outlives the process of a session's counters, beside how its frames ended. */
struct session_saved {
    /* again, keyframes, bytes_in, bytes_out, blocks_out, points_out */
    struct session_counts counts;
    uint32_t keyframes_kept, model_points, model_stable;
    int net_w, net_h;
    bool has_position; /* the last that a used frame brought: */
    struct frame_position position;
};
void session_save(struct session *s, struct session_saved *saved);
/* session_restore(), session_set_recovering(), session_set_ends(): into a session that no other
 * thread knows yet. */
void session_restore(struct session *s, const struct session_saved *saved);
/* Is its journal being replayed? */
bool session_recovering(struct session *s);
/* It comes back: SESSION_RECOVERING until session_recovered(). */
void session_set_recovering(struct session *s, bool closed, const struct api_token *tokens,
                            int n_tokens);
/* How the frames of its journal ended. */
void session_set_ends(struct session *s, uint64_t used, uint64_t dropped, uint64_t refused,
                      uint64_t queued);
/* Clients start over, for its points may differ from those that they hold. */
void session_renew_epoch(struct session *s);
/* The session can be read but takes no frames, and `what` says why. Returns false if a reason is
 * known already. */
bool session_set_damaged(struct session *s, const char *what);
/* n of the frames that count as queued will not be read from the journal. */
void session_unqueue(struct session *s, uint64_t n);
/* Its journal is replayed; frame_end_settle() is next. */
void session_recovered(struct session *s, bool had_frames);

#endif
