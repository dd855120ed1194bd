/*
 * session.h - one scan: its options, its state, its counters and the clients that watch it
 *
 * A session is counted: the registry, each client, each list of turns that it stands in and each
 * thread that works on it hold a reference. session_kill() takes it out of use at any moment. With
 * the last reference the session goes to its owner (session_setup.last), which frees it.
 *
 * Two other rooms keep a part of their own with each session: daemon/work what its device needs
 * (session_work()), daemon/disk what its journal needs (session_disk()). Nothing here looks inside.
 *
 * Threads: any. What session_setup() returns never changes; the rest is under a lock inside. Queue,
 *          mirror and trajectory have locks of their own. Clients' outboxes are locked under the
 *          session's lock; edge_ops are called with no lock held.
 */
#ifndef RECOND_DAEMON_SESSION_H
#define RECOND_DAEMON_SESSION_H

#include "api/api.h"
#include "daemon/metrics.h"
#include "daemon/session/tracked_objects.h"
#include "daemon/session/mirror.h"
#include "daemon/session/outbox.h"
#include "daemon/session/pace.h"
#include "daemon/session/places.h"
#include "daemon/session/queue.h"
#include "daemon/session/results.h"
#include "daemon/session/sources.h"
#include "daemon/session/trajectory.h"
#include "gpu/gpu.h"

#define SESSION_VIEWERS_MAX 250
/* One of each source that sends, and those that they replaced and that are closing. */
#define SESSION_FEEDERS_MAX (2 * API_SOURCES_MAX)
#define SESSION_TOKENS_MAX API_SESSION_TOKENS

struct session;
struct pipeline;     /* pipeline.h */
struct tenant;       /* tenant.h */
struct session_work; /* daemon/work */
struct session_disk; /* daemon/disk */

/* The edges, as the core knows them; empty before core_set_edges(). */
struct session_edges {
    const struct edge_ops *ops;
    void *edge;
};

/* What session_new() is given; everything it points to outlives the session. */
struct session_setup {
    const struct pipeline *kind;
    struct tenant *tenant;          /* its owner */
    struct session_options options; /* resolved: nothing is left at "default" but net_w, net_h */
    /* depth: NULL if the kind has none; motion: NULL if poses come with the frames */
    const struct gpu_model_info *depth, *motion;
    int queue_frames, multiple; /* multiple: of the networks' sides */
    int max_viewers;            /* at most SESSION_VIEWERS_MAX */
    size_t max_payload_bytes;
    uint32_t max_blocks;
    uint64_t rank;         /* order of creation */
    uint64_t memory_bytes; /* that the session holds at most, on its device and beside it */
    struct metrics *metrics;
    const struct session_edges *edges;
    void (*last)(struct session *s); /* the last reference went; ends in session_free() */
    /* of a session that was there before a restart; "" and 0: session_new() chooses them */
    char id[API_ID_CAP];
    uint32_t epoch;
    double created_s;
};

/* One WebSocket client of the session; made and freed by core_stream.c. */
struct session_client {
    uint64_t serial; /* names the client in frames; never used again */
    enum control_role role;
    enum frame_pose_convention convention; /* of poses to it and from it */
    bool started;                          /* said `start`; under the session's lock */
    /* it is told the result of every n-th used frame, 0 = of none; set before it starts */
    uint32_t result_every;
    int source; /* of an ingest client that has started, else -1 */
    void *cookie;
    struct outbox *outbox;
    /* under the session's lock */
    struct pace_link link;
    float told_rate; /* of what is of use, the last that it was told; 0 = nothing yet */
    int told_jpeg;
};

MUST_CHECK int session_new(struct session **s, const struct session_setup *setup, struct err *err);
struct session *session_ref(struct session *s);
void session_unref(struct session *s);
/* By the owner, when the parts of the other rooms are gone. */
void session_free(struct session *s);

const char *session_id(const struct session *s);
uint32_t session_epoch(const struct session *s);
const struct session_setup *session_setup(const struct session *s);
struct queue *session_queue(const struct session *s);
struct mirror *session_mirror(const struct session *s);
struct trajectory *session_trajectory(const struct session *s);
struct results *session_results(const struct session *s);
/* The parts of the other rooms, NULL = none; set before any other thread knows the session. */
struct session_work *session_work(const struct session *s);
struct session_disk *session_disk(const struct session *s);
void session_set_work(struct session *s, struct session_work *work);
void session_set_disk(struct session *s, struct session_disk *disk);
/* Is its journal being replayed? */
bool session_recovering(struct session *s);
/* session_kill() was called. */
bool session_dead(const struct session *s);

/* ------------------------------------------------------------------------- clients */

/* Clients that watch and those that send frames have their own places, so that neither lock out the
 * others. Returns 0; ERR_BUSY: all places of its role are taken; ERR_STATE: the session is gone. */
MUST_CHECK int session_attach(struct session *s, struct session_client *c, struct err *err);
void session_detach(struct session *s, struct session_client *c);
/* ERR_BUSY while its journal is being replayed: what it made of its frames is not all there yet. To
 * ask puts it before the sessions that no client has asked for. */
MUST_CHECK int session_is_back(struct session *s, struct err *err);
bool session_asked_for(const struct session *s);
/*
 * session_start - the client said `start`
 *
 * A second client that sends frames of a source replaces the first, whose connection is likely half
 * dead; it is told `bye`. A session that is closed is fed no more, but frames that are sent again
 * are told their verdicts.
 * In:      source: its name, of a client that sends frames
 * Out:     c->source; *at: what is known of it
 * Returns: 0; ERR_BUSY: as session_is_back(); ERR_LIMIT, ERR_MEMORY: as sources_join()
 */
MUST_CHECK int session_start(struct session *s, struct session_client *c, const char *source,
                             struct api_source *at, struct err *err);

/* ------------------------------------------------------------------------- frames */

/* A frame of the source was refused because the phone had lost its tracking. */
void session_add_break(struct session *s, int source);

/* Is it a frame that was answered before? Then its client is told so once more, and it is counted
 * as such and nowhere else. */
bool session_again(struct session *s, struct session_client *c, const struct frame *f,
                   size_t bytes);
/* Count a frame that came in, before anything is done with it. Returns CONTROL_REASON_NONE: go on;
 * CONTROL_CLOSED: the caller refuses it. */
enum control_reason session_admit(struct session *s, size_t bytes);
/* As those of sources.h. */
enum control_reason session_take(struct session *s, int source, const struct frame *f,
                                 struct sources_world *world);
void session_untake(struct session *s, int source, uint64_t seq);
/* A frame that was taken has ended: before the queue lets go of it, and session_answer() is
 * called. */
void session_keep_verdict(struct session *s, int source, uint64_t t_capture_ns,
                          const struct control_ack *ack);
void session_source_name(struct session *s, int source, char name[CONTROL_SOURCE_CAP]);

/* What the client is told in its `ready` of rate and quality. */
void session_tell_pace(struct session *s, struct session_client *c, float *rate, uint8_t *jpeg);
/* A frame of the client came in that could be taken. Returns false if it came too soon after the
 * one before it, by their times and the session's `fps`. Lossless sessions take all. */
bool session_in_time(struct session *s, struct session_client *c, uint64_t t_capture_ns);
/* A frame that session_admit() has `counted`, or that is not counted yet, does not fit the window
 * of a lossless session: it counts as never received, its client is answered `later`. */
void session_later(struct session *s, struct session_client *c, uint64_t seq, bool counted);

/*
 * session_answer - count the end of a frame and tell its client; frame_end.h alone calls it
 *
 * In:      received_us: 0 if it never entered the queue
 */
void session_answer(struct session *s, uint64_t stream, const struct control_ack *ack,
                    uint64_t received_us);

/* Poses of the trajectory's rows [first, first + n) are others, T_wc [n], from `revision` of the
 * cloud on: each client that feeds is told of its own. */
void session_correct_poses(struct session *s, uint32_t first, const struct rigid *T_wc, uint32_t n,
                           uint64_t revision);
/* A frame of a source was fused: its result, and what its commit changed in the mirror. */
void session_publish(struct session *s, int source, const struct gpu_result *result,
                     const struct mirror_commit *commit);
/* The same of a closing round, which shows nothing (daemon/work/closing.h). */
void session_publish_round(struct session *s, int source, const struct gpu_result *result,
                           const struct mirror_commit *commit);
/* Points lie elsewhere, and no frame was fused. */
void session_publish_moved(struct session *s, const struct mirror_commit *commit);
/* Is a client told the result of the frame that is used next? */
bool session_result_wanted(struct session *s);
/* A frame was used: its result, whose reference this takes. Its sender gets it with
 * session_answer(), clients that view at once. */
void session_show(struct session *s, struct frame_result *result);
/*
 * session_search_begin / session_search_end - a frame's picture is searched for objects
 *
 * For sessions with `objects` alone, whose tracked objects one thread changes at a time: what
 * session_get_objects() gave it and tracked_objects_update() changed. Clients are not told that all
 * is said until the search has ended.
 * In:      now: what is known by the picture, NULL = nothing came of it; news: mask of what clients
 *          are told of
 */
void session_search_begin(struct session *s);
void session_search_end(struct session *s, const struct tracked_objects *now, uint64_t news);
/* How often a picture that was due was not searched, because others were waiting. */
void session_search_skipped(struct session *s);
/* What is known of tracked objects, into `out`; and of pictures. False: the session looks for
 * none. */
bool session_get_objects(struct session *s, struct tracked_objects *out);
/* Into a session that no other thread knows yet. */
void session_set_objects(struct session *s, const struct tracked_objects *in);
/* A message went to a client. */
void session_sent(struct session *s, const struct outbox_sent *sent);
/* depth [net_h][net_w] metres, 0 = none */
void session_set_preview(struct session *s, const float *depth, uint64_t seq);
void session_set_net(struct session *s, int w, int h);
void session_get_net(struct session *s, int *w, int *h);
/* In place of those of before. Returns 0; ERR_LIMIT: more than SESSION_TOKENS_MAX. */
MUST_CHECK int session_keep_tokens(struct session *s, const struct api_token *tokens, int n,
                                   struct err *err);
/* Returns their number. */
int session_get_tokens(struct session *s, struct api_token tokens[SESSION_TOKENS_MAX]);

/* The worlds of a session and where they lie; list [API_SUBMAPS_MAX]. Returns how many there
 * are. */
int session_submaps(struct session *s, struct api_submap *list);
/*
 * session_place_begin / session_place_end - a submap lies elsewhere
 *
 * Between the two the caller writes session_get_next_places() to the disk. Until its end nothing is
 * told: a place that clients have heard of is there after a crash.
 * In:      kept: it was written; else all is as it was
 * Returns: 0; ERR_NOT_FOUND: no frame was taken of such a world, which is not the first one
 */
MUST_CHECK int session_place_begin(struct session *s, uint32_t submap, const float pose[7],
                                   struct err *err);
void session_place_end(struct session *s, uint32_t submap, const float pose[7], bool kept);
void session_get_next_places(struct session *s, struct places *p);
/* What ties say of where submaps lie, `told` where they do: as the disk is to have it, and when it
 * does as clients are told. */
void session_tie_places(struct session *s, const struct places *by_ties);
void session_tell_places(struct session *s, const struct places *by_ties);
/* The submap that the source was in when its poses jumped into this one; -1: it began otherwise. */
int session_world_before(struct session *s, uint32_t submap);
void session_get_places(struct session *s, struct places *p);
void session_set_places(struct session *s, const struct places *p);
/* Its poses do not mean what they should: `what` (static) is shown to its clients. */
void session_set_bad_pose(struct session *s, const char *what);
/* The session takes no more frames; `why` is shown to its clients. */
void session_set_fault(struct session *s, const char *why);

/* ------------------------------------------------------------------------- rest */

/* Has it been without a client that sends frames for so long that its device state may go? */
bool session_idle(struct session *s, double now_s, int suspend_s);
/* Its device state may go once it is saved: until a client that sends frames starts, or the state
 * is on the device again. */
void session_allow_rest(struct session *s);
bool session_may_rest(const struct session *s);
/* Its device state went to the disk, or came back; for the state that it shows. */
void session_set_resting(struct session *s, bool resting);
bool session_resting(const struct session *s);

/* ------------------------------------------------------------------------- after a restart */

/* What outlives the process of a session's counters, beside how its frames ended. */
struct session_saved {
    /* again, keyframes, bytes_in, bytes_out, blocks_out, points_out */
    struct session_counts counts;
    uint32_t keyframes_kept, model_points, model_stable;
    int net_w, net_h;
    bool has_position; /* the last that a used frame brought: */
    struct frame_position position;
};
/* A frame was used: its position, if it brought one. */
void session_set_position(struct session *s, const struct frame *f);
void session_save(struct session *s, struct session_saved *saved);
/* Into a session that no other thread knows yet, as are the two below. */
void session_restore(struct session *s, const struct session_saved *saved);
/* It comes back: SESSION_RECOVERING until session_recovered(). */
void session_set_recovering(struct session *s, bool closed, const struct api_token *tokens,
                            int n_tokens);
/* How the frames of its journal ended. */
void session_set_ends(struct session *s, uint64_t used, uint64_t dropped, uint64_t refused,
                      uint64_t queued);
/* sources_save(), sources_load(), sources_learn(), sources_retake() of its sources. */
MUST_CHECK int session_save_sources(struct session *s, uint8_t *buf, size_t cap, size_t *len,
                                    struct err *err);
MUST_CHECK int session_load_sources(struct session *s, const uint8_t *buf, size_t len,
                                    struct err *err);
MUST_CHECK int session_learn_source(struct session *s, const struct sources_record *r,
                                    struct err *err);
void session_retake(struct session *s, int source, uint64_t seq);
/* A frame of the journal was taken then: how its source's poses go on behind it. */
struct jump session_retrace(struct session *s, int source, const struct frame *f);
/* The same as of a checkpoint, into a session that no other thread knows yet. */
void session_set_jump(struct session *s, int source, const struct jump *jump);
/* Clients start over, for its points may differ from those that they hold. */
void session_renew_epoch(struct session *s);
/* The session can be read but takes no frames, and `what` says why. Returns false if a reason is
 * known already. */
bool session_set_damaged(struct session *s, const char *what);
/* n of the frames that count as queued will not be read from the journal. */
void session_unqueue(struct session *s, uint64_t n);
/* Its journal is replayed; frame_end_settle() is next. */
void session_recovered(struct session *s, bool had_frames);

/* ------------------------------------------------------------------------- ends */

/* No more frames; those in the queue are still used. */
void session_close(struct session *s);
bool session_closing(struct session *s);
/* Places of sources that are or were in use: 0 ... n - 1. */
int session_n_sources(struct session *s);
/* It is to be bundled before it is closed (daemon/work/bundling.h), or not any more. */
void session_set_bundle(struct session *s, bool to_come);
/* Is it closing, have all of its frames ended and its rounds, and is it still to be bundled? */
bool session_waits_for_bundle(struct session *s);
/* What is shown of it. */
void session_tell_bundle(struct session *s, const struct api_bundle *told);
/* It has closing rounds to come (daemon/work/closing.h), or none any more. */
void session_set_rounds(struct session *s, bool to_come);
/* Is it closing, have all of its frames ended, and are rounds still to come? */
bool session_waits_for_rounds(struct session *s);
/* After a slot was released or the rounds were over: CLOSED if nothing else is to come of a session
 * that is closing. Returns true if so. */
bool session_settle(struct session *s);
/* Out of use: clients are told `bye`, frames in the queue are used no more. Returns false if it was
 * already. */
bool session_kill(struct session *s);
/* What waits in the queue is not computed any more, but answered. */
void session_hurry(struct session *s);
bool session_hurried(const struct session *s);
/* Tell all clients `bye`. */
void session_bye(struct session *s, const struct control_bye *bye, enum outbox_haste haste);
/* Has it been without clients and frames for its retention? */
bool session_expired(struct session *s, double now_s);

void session_get_info(struct session *s, struct session_info *info);
/* Frames a second that it asks of its device: those of late; one that is young and has not begun
 * counts as much as a camera. */
float session_load(struct session *s);
/* The latest depth map; with cap 0 only w, h and seq. Returns 0; ERR_STATE: none kept; ERR_LIMIT:
 * cap pixels are too few. */
MUST_CHECK int session_get_depth(struct session *s, float *buf, size_t cap, int *w, int *h,
                                 uint64_t *seq, struct err *err);

#endif
