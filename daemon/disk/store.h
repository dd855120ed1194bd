/*
 * store.h - what the disk knows of the sessions: their frames, how those ended, where they stood
 *
 * Ties a session to its journal, its checkpoints and its meta file, and brings all of them back
 * after a start (store_recover.c). Where nothing else is said a session without a journal
 * (session_disk() is NULL) may be given, too, and nothing is done.
 *
 *   meta.json    what the session is: options, tokens, epoch, whether it was closed
 *   journal      FRAME records, each before its frame is decoded; OUTCOME records of frames that
 *                were not used, each before its client is told
 *   checkpoint   device, mirror, trajectory and counters after the last used frame
 *
 * A frame without an OUTCOME is used again when the journal is replayed, in its order, and gives
 * the same points in the same revisions; so what a client was told before a crash stays true.
 * Accounting: received = used + dropped + refused holds across crashes. Frames that end before the
 *          journal sees them are counted in the FRAME record that follows them.
 * Threads: any, but for what says otherwise. No lock is held across the calls below.
 */
#ifndef RECOND_DAEMON_STORE_H
#define RECOND_DAEMON_STORE_H

#include "daemon/disk/checkpoint.h"
#include "daemon/config.h"
#include "daemon/session/places.h"
#include "daemon/session/session.h"
#include "daemon/disk/suspect.h"
#include "proto/geom/upright.h"

struct recovery;

#define STORE_ORIGIN_CAP 512

/* What meta.json holds. */
struct store_manifest {
    char id[API_ID_CAP];
    uint32_t epoch;
    uint64_t rank;
    double created_s;
    bool closed;
    char boot[40];                 /* of the machine, when it was written last */
    char origin[STORE_ORIGIN_CAP]; /* what computes: another one gives other points */
    char owner[API_NAME_CAP];      /* "" in manifests of the first versions */
    struct session_options options;
    struct api_token tokens[SESSION_TOKENS_MAX];
    int n_tokens;
    struct places places;
};

/* Was it corrected at its end, or is it to be, once more after a crash (daemon/work/bundling.h)? */
enum store_bundle { STORE_UNBUNDLED, STORE_BUNDLING, STORE_BUNDLED };

/* What is kept of the session's part of daemon/work, beside the device's state. */
struct store_work {
    int jpeg_w, jpeg_h, w, h; /* of every picture, of every decoded one */
    bool any;                 /* a frame was used; of the last one: */
    uint32_t submap, breaks;
    int turn;               /* gpu_item.turn */
    struct upright upright; /* how pictures of `submap` were held (session_work_see()) */
    uint32_t shape;         /* of its picture (session_work_picture_shape()), 0 = not known */
    struct jump jumps[API_SOURCES_MAX]; /* behind the last used frame of each source */
    bool is_whole;                      /* its closing rounds are over (daemon/work/closing.h) */
    enum store_bundle bundle;
};

/* What the store asks of the rooms above. By any thread, no lock held. */
struct store_ops {
    /* The frame is on the disk: it may be decoded. What made room for it ends. */
    void (*stored)(struct session *s, struct queue_item *item, const struct queue_dropped *d);
    /* A frame that made room for one that could not be stored. */
    void (*displaced)(struct session *s, const struct queue_dropped *d);
    /* The frame's end is on the disk: it may be told. */
    void (*ended)(struct session *s, struct queue_item *item, const struct control_ack *ack);
    void (*save)(struct session *s);  /* the device's thread shall call store_checkpoint() */
    void (*leave)(struct session *s); /* the device's thread shall ask store_may_rest() */
    void (*restored)(struct session *s, const struct store_work *kept);
    /* After a replay: is a session that was closed whole again? It comes to be so meanwhile. */
    bool (*whole)(struct session *s);
    void (*recovered)(struct session *s); /* its frames have ended: it may have been closed */
    /* What is kept of keyframes (daemon/work/loop_closure.h): bytes that the next tied() may write,
     * 0 = there is none; on the device's thread, one after the other. */
    size_t (*tied_bytes)(struct session *s);
    int (*tied)(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err);
    /* The same back, into a session that no other thread knows yet. */
    int (*tied_again)(struct session *s, const uint8_t *buf, size_t len, struct err *err);
    /* The same of what was recognised (daemon/work/object_search.h). A checkpoint, and the end
     * of a replay, wait while settled() says that not all of it is known yet; save() follows. */
    bool (*settled)(struct session *s);
    size_t (*recognised_bytes)(struct session *s);
    int (*recognised)(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err);
    int (*recognised_again)(struct session *s, const uint8_t *buf, size_t len, struct err *err);
    /* What computes the session's points: another text means that they may differ. */
    void (*origin)(const struct session *s, char origin[STORE_ORIGIN_CAP]);
    void (*free)(struct session *s); /* store_session_free() included */
    /* After a start: the session again, known to no other thread yet, and for all to see. */
    int (*make)(void *core, const struct store_manifest *m, struct session **s, struct err *err);
    int (*add)(void *core, struct session *s, struct err *err);
    void *core;
};

struct store {
    struct store_ops ops;
    struct journal *journal;
    struct checkpoint *checkpoint;
    struct suspect *suspect;
    struct recovery *recovery;              /* where replayed frames are told, from the start on */
    atomic_int checkpoint_frames;           /* 0 = only when the session rests */
    _Atomic(struct session_disk *) to_reap; /* of sessions whose last reference is gone */
    atomic_ullong recovered, quarantined, damaged, checkpoints;
    atomic_bool blamed;
    char boot[40];
};

/* The folder, its threads. *store = NULL, and 0, if there is no folder. `arm`: handlers for crash
 * signals, which a process has once. */
MUST_CHECK int store_open(struct store **store, const struct config *config,
                          const struct store_ops *ops, bool arm, struct err *err);
/* Would store_open() find a folder that it may use? Touches nothing. */
MUST_CHECK int store_check(const struct config *config, struct err *err);
/* What is pending goes to the disk; threads end. */
void store_stop(struct store *st);
void store_close(struct store **store);
/* Takes over what a reload may change. */
void store_configure(struct store *st, const struct config *config);
/* Its threads' oldest sign of life, and of which part it is. */
uint64_t store_alive_us(const struct store *st, const char **part);
/* A device is lost and the process will end for it: frames at work are suspects. */
void store_blame(struct store *st);
/* No more frames fit the disk. */
bool store_full(const struct store *st);
void store_write_metrics(struct metrics_text *t, struct store *st);

/* ------------------------------------------------------------------------- sessions */

/* The store's part of a session that no other thread knows yet: session_disk(). Nothing is made for
 * a session with journal = off. */
MUST_CHECK int store_session_attach(struct store *st, struct session *s, struct err *err);
void store_session_free(struct session *s);
/* Its folder, its meta file on disk, its journal. */
MUST_CHECK int store_session_new(struct store *st, struct session *s, struct err *err);
/* The meta file again: tokens came, it was closed. One thread at a time (HTTP edge). */
MUST_CHECK int store_session_write(struct session *s, struct err *err);
/* Its files are no longer wanted: at once as far as a restart is concerned. */
void store_session_forget(struct session *s);
/* The last reference of a session with a journal went, perhaps on a thread of the journal, which
 * cannot close it: store_reap() frees the session. */
void store_reap_later(struct session *s);
void store_reap(struct store *st);
/* Bytes of its journal. */
uint64_t store_bytes(const struct session *s);
/* Nothing of this session can be stored any more. */
bool store_fenced(const struct session *s);

/* ------------------------------------------------------------------------- a frame */

/* A frame that queue_push() took, of a session with a journal, and the frame that made room for
 * it: on disk, then ops.stored(). */
void store_frame(struct session *s, struct queue_item *item, const struct queue_dropped *dropped);
/* A frame ended before the journal saw it: refused, or dropped. */
void store_front_end(struct session *s, enum control_status status);
/* A thread works on it until its end is told here: if the process dies of that, it is a suspect. */
void store_enter(struct session *s, struct queue_item *item);
/* The end of a frame of a session with a journal, if not used: on disk, then ops.ended(). */
void store_outcome(struct session *s, struct queue_item *item, const struct control_ack *ack);
/* A frame that was refused by the decoder, or by the device: for what checkpoints say. */
void store_decode_refused(struct session *s, const struct queue_item *item);
void store_device_refused(struct session *s, const struct queue_item *item);
/* A frame was used: by the committer. */
void store_used(struct session *s, struct queue_item *item);
/* A closing round changed what a checkpoint holds: likewise. */
void store_round(struct session *s);

/* ------------------------------------------------------------------------- where it stands */

/* Between two frames, on the worker's thread: save the session if that is due. */
void store_checkpoint(struct session *s, struct gpu_session *device, const struct store_work *w);
/*
 * store_save_again - the session as it is now into its newest checkpoint's place, with the device's
 * state of that
 *
 * For a session of which all frames have ended and are saved: nothing else changes it meanwhile.
 * Returns: 0: it is on its way, and store_saved_again() says how it ended; ERR_BUSY: another
 *          session's is; ERR_IO, ERR_MEMORY, ERR_INPUT, ERR_LIMIT: it cannot be
 */
MUST_CHECK int store_save_again(struct session *s, const struct store_work *w, struct err *err);
/* 1: it is on the disk; 0: not yet; -1: it could not be written */
int store_saved_again(const struct session *s);
/* A checkpoint of the session was asked for and is not made yet. */
bool store_wants_checkpoint(const struct session *s);
/* Save it soon, if it has a journal, whether due or not; it may rest then (SESSION_SUSPENDED) if
 * `rest`. */
void store_want_checkpoint(struct session *s, bool rest);
/* Is all of the session's state on the disk? */
bool store_settled(struct session *s);
/* The worker's question: may device state go now? */
bool store_may_rest(struct session *s);
/* Before its next frame is decoded, by the decoder: read what the device needs, if it lacks it. */
MUST_CHECK int store_fetch(struct session *s, struct err *err);
/* By the worker, into a session's new device state. */
MUST_CHECK int store_restore(struct session *s, struct gpu_session *device, struct err *err);

/* ------------------------------------------------------------------------- after a start */

/* All sessions of the folder, in the order in which they were made, into the registry, as
 * "recovering". What cannot be read is told in the log and kept. */
MUST_CHECK int store_recover(struct recovery **r, struct store *st, struct err *err);
/* Replay their journals, by a thread of its own; when the edges are there. r may be NULL. */
void store_replay(struct recovery *r);
/* Seconds after which it is worth asking for a session that comes back. */
int store_back_s(struct session *s);
/* A frame that came out of the journal (queue_item.replayed) has ended. */
void store_replayed(struct session *s);
/* Ends its thread, done or not; *r stays, for frames that are still under way. */
void store_recover_stop(struct recovery *r);
void store_recover_free(struct recovery **r);

#endif
