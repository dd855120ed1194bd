/*
 * session_work.h - what a session has for its way through decoders and a device: session_work()
 *
 * Its worker makes and frees it (worker_adopt(), worker_disown()).
 *
 * Which thread may touch what
 *   what worker_adopt() sets       all, it does not change
 *   sizes in `kept`                the decode thread whose turn the session has (turn.h: one at a
 *                                  time), until a frame was used
 *   links, `retiring`, `working`   all, under the worker's lock
 *   the rest                       the worker's thread; while a job is with a committer, that one;
 *                                  while device state is made, the thread that makes it
 */
#ifndef RECOND_DAEMON_SESSION_WORK_H
#define RECOND_DAEMON_SESSION_WORK_H

#include "daemon/disk/store_state.h"
#include "daemon/session/jump.h"
#include "daemon/turn.h"
#include "proto/geom/upright.h"

struct worker;
struct loop_closure;
struct object_search;

/* A frame of the session on its way through the device, from the queue to its answer. A session has
 * one at a time, for its turn lasts until the job is done. The worker holds it until its device is
 * done, then a committer (commit.h). */
struct job {
    struct session *session;
    struct queue_item *item;
    union { /* by the session's line */
        struct gpu_item on_device;
        struct gpu_frame frame;
        struct gpu_pair pair;
    };
    bool tie;               /* it is kept as a keyframe (loop_closure.h) */
    bool search;            /* objects are looked for in its depth (object_search.h) */
    bool continues;         /* it was on the device, and goes there for the rest of its result */
    bool unfinished;        /* finish() says: it has to go once more, or there is another round */
    bool closing_round;     /* no frame (closing.h) */
    struct turn_entry turn; /* commit.h */
};

/* What the threads of the device do for this file, which does not know them. */
struct session_work_ops {
    void (*turn_over)(struct session *s);
    void (*retire)(struct session *s);
    void (*settle)(struct session *s); /* frame_end_settle() */
};

/* For which a session waits: for state on its device, or for that to be freed. */
enum worker_waiting { WORKER_NEW, WORKER_LEAVING };

/* A session's rounds when it is closed (closing.h). */
struct closing {
    int source;             /* whose keyframes are looked after */
    struct queue_item item; /* of the round under way; no queue has it */
    uint8_t *blank;         /* its picture and its mask; NULL before the first round */
};

/* Was it corrected at its end, or is it to be, once more after a crash (daemon/work/bundling.h)? */
enum session_work_bundle { SESSION_WORK_UNBUNDLED, SESSION_WORK_BUNDLING, SESSION_WORK_BUNDLED };

/* What of this outlives the process, beside the device's state (work_state.h). */
struct session_work_kept {
    int jpeg_w, jpeg_h, w, h; /* of every picture, of every decoded one */
    bool any;                 /* a frame was used; of the last one: */
    uint32_t submap, breaks;
    int turn;               /* gpu_item.turn */
    struct upright upright; /* how pictures of `submap` were held (session_work_see()) */
    uint32_t shape;         /* of its picture (session_work_picture_shape()), 0 = not known */
    struct jump jumps[API_SOURCES_MAX]; /* behind the last used frame of each source */
    bool is_whole;                      /* its closing rounds are over (daemon/work/closing.h) */
    enum session_work_bundle bundle;
};

struct session_work {
    struct session *session;
    const struct session_setup *setup; /* the session's, as its queue */
    struct queue *queue;
    struct worker *worker;
    const struct session_work_ops *ops;
    struct turn *decode_turns, *device_turns;
    struct turn_entry decode_turn, device_turn;

    struct session_work *next_retired, *next_waiting[2]; /* the latter by enum worker_waiting */
    bool retiring, working; /* working: its turn at the device is not over */

    struct session_work_kept kept; /* jpeg_w is 0 before the first good frame */
    struct gpu_session *device;    /* NULL before the first frame and after it was retired */
    struct gpu_session *leaving;   /* what it was, until it is given back: worker_make.c */
    struct queue_item *next; /* HELD or UNFINISHED: it goes before all else; NULL: the queue's */
    float *depth;            /* [net_h][net_w]; NULL before the first frame whose depth is wanted */
    struct loop_closure *loops;   /* loop_closure.h */
    struct object_search *search; /* object_search.h */
    struct closing closing;
    struct job job;
};

/* The session has frames to decode, or room for decoded ones. Any thread. */
void session_work_kick_decoder(struct session *s);
/* The session has a decoded frame, or shall be saved. Any thread. */
void session_work_kick_device(struct session *s);
/* A frame of the session is being decoded, or is no more: a batch may wait for it a moment. */
void session_work_due(struct session *s, bool due);
/* The session's job has ended; its next turn may come. By the thread that ended it. */
void session_work_turn_over(struct session *s);
/* The frame that goes to the device next, taken; NULL if there is none. The worker's thread, and
 * while device state is made, the thread that makes it. */
struct queue_item *session_work_take_next(struct session_work *k);
/* The session needs its device state no more, if store_may_rest() agrees. Before the last reference
 * goes, each session that ran must have been retired. Any thread. */
void session_work_retire(struct session *s);
/* Saves the session soon, due or not, if it has a journal. It may rest then if `rest`. */
void session_work_save(struct session *s, bool rest);
/* Takes over what a checkpoint kept. */
void session_work_restore(struct session *s, const struct session_work_kept *kept);

/* session_work_kept.shape of its picture: another one for another model or another shape. */
uint32_t session_work_picture_shape(const struct queue_item *item);
/* gpu_item.turn of the session's next frame: by the options, its pose or its Exif, and the turn of
 * the frame before. The worker's thread. */
int session_work_picture_turn(const struct session_work *k, const struct queue_item *item);
/* That, if nothing says what is up but the pictures so far. Out: what they say with this one, if it
 * is used: session_work_kept.upright. */
int session_work_see(const struct session_work *k, const struct queue_item *item,
                     struct upright *seen);

/* What the inertial samples of a frame without a pose say: how the camera turned since the last
 * frame, and, of the first frame, which way is up. The worker's thread. */
void session_work_put_inertial(const struct session_work *k, const struct queue_item *item,
                               struct gpu_frame *f);

/* later_kind.hold, let_go of tasks whose ctx is a session: a reference to it. */
void session_work_hold(void *session);
void session_work_let_go(void *session);

/* The session of an entry in decode_turns, in device_turns. */
struct session *session_work_of_decoder(struct turn_entry *e);
struct session *session_work_of_device(struct turn_entry *e);

#endif
