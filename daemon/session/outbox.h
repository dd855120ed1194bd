/*
 * outbox.h - the messages that one client has still to get: a set of blocks, not a queue of changes
 *
 * A client that reads slowly, or not at all, costs twelve bytes a block and a ring of answers that
 * is bounded by the frames it may have in flight; it holds no other client back, and when it reads
 * again it gets each block once, in its newest state. Blocks go out oldest first, so that one that
 * changes with every frame is sent once a round like any other.
 *
 * Invariant: when the set is empty and a `sync` goes out, the client holds exactly the cloud whose
 *            revision, number of points and hash the `sync` names.
 * Threads: the client's WebSocket thread calls outbox_start() and outbox_next(), any thread
 *          the others; one mutex inside. The mirror's lock is never taken under it.
 */
#pragma once

#include "api/api.h"
#include "daemon/session/mirror.h"
#include "daemon/session/places.h"
#include "daemon/session/results.h"
#include "daemon/session/trajectory.h"

#define OUTBOX_WINDOWS 4 /* frames in flight and unread answers of a client at most, in windows */

struct outbox;

struct outbox_sent { /* counts of one outbox_next() */
    uint64_t bytes, blocks, points;
};

MUST_CHECK int outbox_new(struct outbox **o, struct mirror *mirror, uint32_t epoch, int window,
                          struct err *err);
void outbox_free(struct outbox **o);

/*
 * outbox_start - the client said `start`
 *
 * In:      ready: the answer; start: the client's message
 * After:   next come `ready`, then a `clear` unless it resumes this epoch, then the blocks that it
 *          lacks: those that did not change since, by the revision and the name of each, so that a
 *          client which is cut off among them may go on behind the last one
 * Returns: 0; ERR_STATE: started already; ERR_MEMORY
 */
MUST_CHECK int outbox_start(struct outbox *o, const struct control_ready *ready,
                            const struct control_start *start, struct err *err);

/* Counts a frame that came in. Returns 0; ERR_LIMIT with where = "flood". Every frame that is let
 * in is answered by one outbox_ack(), so the ring of answers cannot overflow. */
MUST_CHECK int outbox_admit(struct outbox *o, struct err *err);
void outbox_ack(struct outbox *o, const struct control_ack *ack);
/* Queues a frame's result. The client that sent it gets each one, before its ack, for which
 * outbox_ack() is called next; others get the newest only. */
void outbox_result(struct outbox *o, struct frame_result *result, bool sender);

/* Marks blocks that a commit changed, perhaps none. Commits are marked in their order. Returns
 * whether to wake the client: there is something for it, or it waited for the end of the commit. */
bool outbox_mark(struct outbox *o, const uint32_t *blocks, uint32_t n, uint64_t revision);

/* A submap exists or has moved. Call it before its first block is marked. */
void outbox_place(struct outbox *o, const struct places *places, uint32_t submap);

/* Tracked objects, of which those of the mask are due; all [TRACKED_OBJECTS_MAX]. While pictures
 * are searched, `ended` and `closed` wait. */
void outbox_objects(struct outbox *o, const struct control_object *all, uint64_t mask,
                    uint32_t searching);

/* The client feeds a source, and is told its corrected poses; call it before it starts. */
void outbox_follow(struct outbox *o, struct trajectory *of, int source,
                   enum frame_pose_convention convention);
/* The poses of [first, last) of the trajectory changed with `revision`. */
void outbox_poses(struct outbox *o, uint32_t first, uint32_t last, uint64_t revision);

/* The client sends no more frames: `ended` follows when all is answered and sent. */
void outbox_end(struct outbox *o);
/* The session takes no more frames: `closed` follows likewise. */
void outbox_session_closed(struct outbox *o);
/* When `bye` is sent: after `closed`, with the cloud complete and all frames answered; after all
 * answers; after the answers that are ready. */
enum outbox_haste { OUTBOX_COMPLETE, OUTBOX_ANSWERED, OUTBOX_AT_ONCE };
/* Sends `bye` and closes. A second call can only make it sooner. */
void outbox_bye(struct outbox *o, const struct control_bye *bye, enum outbox_haste haste);

/*
 * outbox_next - the next message, borrowed until the next call
 * Order:   ready, answers and results with a block between two results, clear, places of submaps,
 *          blocks with corrected poses and objects between them, sync, ended, closed, bye, close
 */
enum stream_kind outbox_next(struct outbox *o, const uint8_t **msg, size_t *len,
                             struct outbox_sent *sent);
