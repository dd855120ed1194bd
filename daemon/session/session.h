/*
 * session.h - one scan: its options, its state, its counters and the clients that watch it
 *
 * A session is counted: the registry, each client, each list of turns that it stands in and each
 * thread that works on it hold a reference. session_kill() takes it out of use at any moment;
 * memory goes with the last reference, device state was given back by the worker before that
 * (worker_retire()).
 *
 * Who touches what
 *   fixed at creation          everybody, without a lock
 *   `decode`                   the decode thread whose turn the session has (turn.h: one at a time)
 *   `work`                     the worker; while a job is with a committer, that one; while
 *                              device state is made, the thread that makes it
 *   the rest                   under `lock`, through session_*() alone
 * queue, mirror and trajectory have locks of their own. Clients' outboxes are locked under the
 * session's lock; edge_ops are called with no lock held.
 */
#ifndef RECOND_DAEMON_SESSION_H
#define RECOND_DAEMON_SESSION_H

#include "api/api.h"
#include "daemon/budget.h"
#include "daemon/metrics.h"
#include "daemon/session/mirror.h"
#include "daemon/session/outbox.h"
#include "daemon/session/queue.h"
#include "daemon/session/trajectory.h"
#include "daemon/work/turn.h"
#include "gpu/gpu.h"

#include <pthread.h>

#define SESSION_STREAMS_MAX 64
#define SESSION_TOKENS_MAX 8
#define SESSION_FPS_FRAMES 128 /* used frames whose time is remembered for the frame rate */

struct worker;
struct decode;
struct store;
struct checkpoint_state;

/* The edges, as the core knows them; empty before core_set_edges(). */
struct session_edges {
    const struct edge_ops *ops;
    void *edge;
};

/* What session_new() is given; everything it points to outlives the session. */
struct session_setup {
    struct session_options options; /* resolved: nothing is left at "default" but net_w, net_h */
    const struct gpu_model_info *depth, *motion; /* motion: NULL if poses come with the frames */
    int queue_frames, multiple;                  /* multiple: of the networks' sides */
    size_t max_payload_bytes;
    uint32_t max_blocks;
    uint64_t rank;         /* order of creation */
    uint64_t memory_bytes; /* taken from `budget`, given back with the session */
    struct budget *budget;
    struct metrics *metrics;
    const struct session_edges *edges;
    struct worker *worker;
    struct decode *decode;
    struct store *store; /* NULL: nothing of it is kept */
    /* a session that was there before a restart; "" and 0: a new one */
    char id[API_ID_CAP];
    uint32_t epoch;
    double created_s;
};

/* One WebSocket client of the session; made and freed by stream.c. */
struct session_client {
    uint64_t serial; /* names the client in frames; never used again */
    enum control_role role;
    bool started; /* said `start`; under the session's lock */
    void *cookie;
    struct outbox *outbox;
};

/* A frame of the session on its way through the device (job.h); one at a time, for the session's
 * turn lasts until it is done. */
struct job {
    struct session *session;
    struct queue_item *item;
    struct gpu_frame frame;
    struct turn_entry turn; /* commit.h */
};

struct session {
    char id[API_ID_CAP];
    uint32_t epoch;
    double created_s;
    struct session_setup setup;
    struct queue *queue;
    struct mirror *mirror;
    struct trajectory *trajectory;
    atomic_int refs;
    atomic_bool dead;
    atomic_uint breaks; /* frames refused because the phone had lost its tracking */

    struct turn_entry decode_turn, work_turn;   /* turn.h */
    struct session *next_retired;               /* worker.c, under its lock */
    bool retiring, working;                     /* the same; working: its turn is not over */
    struct session *next_made, *next_leaving;   /* worker_make.c, the same */
    struct session *next_hashed, *next, **prev; /* registry.c */

    struct {
        int jpeg_w, jpeg_h; /* of every frame; 0 before the first good one */
        int w, h;           /* decoded */
        uint64_t refused;   /* frames of the journal that were no good */
    } decode;
    struct {
        struct gpu_session *device;  /* NULL before the first frame and after it was retired */
        struct gpu_session *leaving; /* what it was, until it is given back: worker_make.c */
        float *depth;                /* [net_h][net_w] if preview */
        bool any;
        uint32_t world_epoch, breaks; /* of the frame before */
        struct job job;
        /* of the journal: the last used frame's record, frames up to it, of those refused by the
         * decoder, by the device, and used; used since the last checkpoint */
        atomic_ullong number;
        uint64_t ordinal, refused_before, refused, used, unsaved;
    } work;

    /* the disk's part (store.h); log NULL: there is none */
    struct journal_log *log;
    pthread_mutex_t storing;                    /* of stored_frames and the order of appends */
    uint64_t stored_frames;                     /* in the journal */
    atomic_ullong front_refused, front_dropped; /* frames that the journal never saw */
    atomic_ullong skipped; /* frames that were found refused when the journal was replayed */
    atomic_ullong saved;   /* number that the newest checkpoint holds */
    atomic_bool want_save; /* a checkpoint, due or not ... */
    atomic_bool may_rest;  /* ... and then the device state may go */
    atomic_bool resting;   /* device state is in a checkpoint alone */
    _Atomic(struct checkpoint_state *) fetched; /* that, read for the worker */
    atomic_bool unwanted;                       /* files go with the session */
    atomic_uint replaying;                      /* frames of the journal that are under way */
    struct session *next_grave;

    pthread_mutex_t lock;
    enum session_state state;
    bool closing;
    double changed_s; /* Unix time of the last change of state or of the set of clients */
    uint64_t last_seq;
    bool any_seq;
    struct session_counts counts;
    bool recovering;
    char fault[API_TEXT_CAP], damaged[API_TEXT_CAP];
    struct api_token tokens[SESSION_TOKENS_MAX];
    int n_tokens;
    int net_w, net_h;
    uint32_t keyframes_kept, model_points, model_stable;
    uint64_t used_us[SESSION_FPS_FRAMES];
    uint32_t n_used_us;
    float latency_ms;
    float *preview; /* [net_h][net_w] metres, 0 = none; NULL before the first */
    uint64_t preview_seq;
    struct session_client *clients[SESSION_STREAMS_MAX];
    int n_clients;
};

MUST_CHECK int session_new(struct session **s, const struct session_setup *setup, struct err *err);
struct session *session_ref(struct session *s);
/* The last one frees it; with a journal, store_bury() does. */
void session_unref(struct session *s);
void session_free(struct session *s);

/* ------------------------------------------------------------------------- clients */

/* Returns 0; ERR_BUSY: SESSION_STREAMS_MAX are connected; ERR_STATE: the session is gone. */
MUST_CHECK int session_attach(struct session *s, struct session_client *c, struct err *err);
void session_detach(struct session *s, struct session_client *c);
/* ERR_BUSY while its journal is being replayed: what it made of its frames is not all there yet. */
MUST_CHECK int session_is_back(struct session *s, struct err *err);
/* The client said `start`. A second client that sends frames replaces the first, whose connection
 * is likely half dead; it is told `bye`. Returns ERR_STATE if the session takes no more frames. */
MUST_CHECK int session_start(struct session *s, struct session_client *c, struct err *err);

/* ------------------------------------------------------------------------- frames */

/*
 * session_admit - count a frame that came in, before anything is done with it
 *
 * In:      seq, or `readable` = false if the header told none
 * Returns: CONTROL_REASON_NONE: go on; CONTROL_DUPLICATE or CONTROL_CLOSED: the caller refuses it
 */
enum control_reason session_admit(struct session *s, uint64_t seq, bool readable, size_t bytes);

/*
 * session_answer - the one place where a frame ends: counted, its client told
 *
 * In:      received_us: 0 if it never entered the queue
 */
void session_answer(struct session *s, uint64_t stream, const struct control_ack *ack,
                    uint64_t received_us);

/* A frame was fused: its result, and what its commit changed in the mirror. */
void session_publish(struct session *s, const struct gpu_result *result,
                     const struct mirror_commit *commit);
/* A message went to a client. */
void session_sent(struct session *s, const struct outbox_sent *sent);
/* depth [net_h][net_w] metres, 0 = none */
void session_set_preview(struct session *s, const float *depth, uint64_t seq);
void session_set_net(struct session *s, int w, int h);
void session_get_net(struct session *s, int *w, int *h);
/* Returns 0; ERR_LIMIT: more than SESSION_TOKENS_MAX. */
MUST_CHECK int session_keep_tokens(struct session *s, const struct api_token *tokens, int n,
                                   struct err *err);
/* Returns their number. */
int session_get_tokens(struct session *s, struct api_token tokens[SESSION_TOKENS_MAX]);
/* It can take no more frames, and why. */
void session_set_fault(struct session *s, const char *why);
/* Its journal is replayed. */
void session_recovered(struct session *s);
/* Nobody came for so long that its device state may go. */
bool session_idle(struct session *s, double now_s, int suspend_s);
/* Its device state went or came; for the state that it shows. */
void session_set_resting(struct session *s, bool resting);

/* ------------------------------------------------------------------------- ends */

/* No more frames; those in the queue are still used. */
void session_finalize(struct session *s);
/* After a slot was released: CLOSED if it was the last of a finalized session. Returns true if
 * so. */
bool session_settle(struct session *s);
/* Out of use: clients are told `bye`, frames in the queue are nobody's. Returns false if it was
 * already. */
bool session_kill(struct session *s);
/* Tell all clients `bye`. */
void session_bye(struct session *s, const struct control_bye *bye, bool at_once);
/* Has nobody wanted it for its retention? */
bool session_expired(struct session *s, double now_s);

void session_get_info(struct session *s, struct session_info *info);
/* Frames a second that it asks of its device: those of late; one that is young and has not begun
 * counts as much as a camera. */
float session_load(struct session *s);
/* The latest depth map. Returns 0; ERR_STATE: none kept; ERR_LIMIT: cap pixels are too few. */
MUST_CHECK int session_get_depth(struct session *s, float *buf, size_t cap, int *w, int *h,
                                 uint64_t *seq, struct err *err);

#endif
