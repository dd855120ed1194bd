/*
 * session_work.h - a session's part for decoders and its device: session_work()
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
#pragma once

#include "daemon/disk/store_state.h"
#include "daemon/session/jump.h"
#include "daemon/turn.h"
#include "proto/geom/upright.h"

struct worker;
struct loop_closure;
struct object_search;

/* A frame of the session on its way through the device, from the queue to its answer. A session has
 * one at a time, because its turn lasts until the job is done. The worker holds the job until its
 * device is done, then a committer (commit.h). */
struct job {
    struct session *session;
    struct queue_item *item;
    union { /* one member for each line */
        struct gpu_item on_device;
        struct gpu_frame frame;
        struct gpu_pair pair;
    };
    bool tie;    /* it is kept as a keyframe (loop_closure.h) */
    bool search; /* its depth is searched for objects (object_search.h) */
    /* it was on the device, and goes there again for the other part of its result */
    bool continues;
    /* set by finish(): it goes to the device again, or another round follows */
    bool unfinished;
    bool closing_round;     /* it is not a frame (closing.h) */
    struct turn_entry turn; /* commit.h */
};

/* Functions of the device's threads for this file, which does not know them. */
struct session_work_ops {
    void (*turn_over)(struct session *s);
    void (*retire)(struct session *s);
    void (*settle)(struct session *s); /* frame_end_settle() */
};

/* What a session waits for: state on its device, or the freeing of that. */
enum worker_waiting { WORKER_NEW, WORKER_LEAVING };

/* A session's rounds when it is closed (closing.h). */
struct closing {
    int source;             /* source whose keyframes are completed */
    struct queue_item item; /* item of the round under way; it is in no queue */
    uint8_t *blank;         /* its picture and its mask; NULL before the first round */
};

/* Is the session bundled, or is it to be, once more after a crash (daemon/work/bundling.h)? */
enum session_work_bundle { SESSION_WORK_UNBUNDLED, SESSION_WORK_BUNDLING, SESSION_WORK_BUNDLED };

/* The part that checkpoints keep, beside the device's state (work_state.h). */
struct session_work_kept {
    int jpeg_w, jpeg_h, w, h; /* size of every picture; of every decoded one */
    bool any;                 /* a frame was used; of the last one: */
    uint32_t submap, breaks;
    int turn;               /* gpu_item.turn */
    struct upright upright; /* how pictures of `submap` were held (session_work_see()) */
    uint32_t shape;         /* session_work_picture_shape() of its picture, 0 = not known */
    struct jump jumps[API_SOURCES_MAX]; /* motion behind the last used frame of each source */
    bool is_whole;                      /* its closing rounds are over (daemon/work/closing.h) */
    enum session_work_bundle bundle;
};

struct session_work {
    struct session *session;
    const struct session_setup *setup; /* the session's, as its queue is */
    struct queue *queue;
    struct worker *worker;
    const struct session_work_ops *ops;
    struct turn *decode_turns, *device_turns;
    struct turn_entry decode_turn, device_turn;

    /* next_waiting is indexed by enum worker_waiting */
    struct session_work *next_retired, *next_waiting[2];
    bool retiring, working; /* working: its device turn is not over */

    struct session_work_kept kept; /* jpeg_w is 0 before the first good frame */
    struct gpu_session *device;    /* NULL before the first frame and after it was retired */
    struct gpu_session *leaving;   /* the device state that is to be freed: worker_make.c */
    /* a HELD or UNFINISHED frame, which goes first; NULL: the queue's is next */
    struct queue_item *next;
    float *depth; /* [net_h][net_w]; NULL before the first frame whose depth is wanted */
    struct loop_closure *loops;   /* loop_closure.h */
    struct object_search *search; /* object_search.h */
    struct closing closing;
    struct job job;
};

/* The session has frames to decode, or room for decoded ones. Any thread. */
void session_work_kick_decoder(struct session *s);
/* The session has a decoded frame, or is to be saved. Any thread. */
void session_work_kick_device(struct session *s);
/* A frame of the session is being decoded, or is not any more: a batch may wait for it a moment. */
void session_work_due(struct session *s, bool due);
/* The session's job has ended, and its next turn may come. Called by the thread that ended it. */
void session_work_turn_over(struct session *s);
/* Takes the frame that goes to the device next; NULL if there is none. The worker's thread, and
 * while device state is made, the thread that makes it. */
struct queue_item *session_work_take_next(struct session_work *k);
/* Frees the session's device state, if store_may_suspend() agrees. Each session that ran must be
 * retired before its last reference goes. Any thread. */
void session_work_retire(struct session *s);
/* Saves the session soon, due or not, if it has a journal. It may be suspended if `suspend`. */
void session_work_save(struct session *s, bool suspend);
/* Takes over the state of a checkpoint. */
void session_work_restore(struct session *s, const struct session_work_kept *kept);

/* Returns session_work_kept.shape of its picture: it differs for another model or another shape. */
uint32_t session_work_picture_shape(const struct queue_item *item);
/* Returns gpu_item.turn of the session's next frame, from the options, its pose or its Exif, and
 * the frame before. The worker's thread. */
int session_work_picture_turn(const struct session_work *k, const struct queue_item *item);
/* The same, if only the pictures so far say what is up. Out: their estimate with this one, if it is
 * used: session_work_kept.upright. */
int session_work_see(const struct session_work *k, const struct queue_item *item,
                     struct upright *seen);

/* Estimates from the inertial samples of a frame without a pose how the camera rotated since the
 * last frame and, for the first frame, which way is up. The worker's thread. */
void session_work_put_inertial(const struct session_work *k, const struct queue_item *item,
                               struct gpu_frame *f);

/* later_kind.hold, let_go of tasks whose ctx is a session: a reference to it. */
void session_work_hold(void *session);
void session_work_let_go(void *session);

/* Return the session of an entry in decode_turns, in device_turns. */
struct session *session_work_of_decoder(struct turn_entry *e);
struct session *session_work_of_device(struct turn_entry *e);
