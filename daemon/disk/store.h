/*
 * store.h - what the disk knows of the sessions: their folders, their frames, how those ended
 *
 * Ties a session to its journal and its meta file; store_state.h says how it gets to its
 * checkpoints, store_recover.h how all come back after a start. Where nothing else is said, a
 * session without a journal (session_disk() is NULL) may be given, too, and nothing is done.
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

#include "daemon/config.h"
#include "daemon/disk/folder.h"
#include "daemon/session/places.h"
#include "daemon/session/session.h"
#include "daemon/session/state_section.h"

struct checkpoint;
struct recovery;
struct suspect;

#define STORE_ORIGIN_CAP 512

/* What meta.json holds. */
struct store_manifest {
    char id[API_ID_CAP];
    uint32_t epoch;
    uint64_t rank;
    double created_s;
    bool closed;
    char boot[FOLDER_BOOT_CAP];    /* of the machine, when it was written last */
    char origin[STORE_ORIGIN_CAP]; /* what computes: another one gives other points */
    char owner[API_NAME_CAP];      /* "" in manifests of the first versions */
    struct session_options options;
    struct api_token tokens[SESSION_TOKENS_MAX];
    int n_tokens;
    struct places places;
};

/* What the store asks of the rooms above. By any thread, no lock held. */
struct store_ops {
    /* What is kept of a session beside its device's state: rows up to NULL. */
    const struct state_section *const *sections;
    /* The frame is on the disk: it may be decoded. What made room for it ends. */
    void (*stored)(struct session *s, struct queue_item *item, const struct queue_dropped *d);
    /* A frame that made room for one that could not be stored. */
    void (*displaced)(struct session *s, const struct queue_dropped *d);
    /* The frame's end is on the disk: it may be told. */
    void (*ended)(struct session *s, struct queue_item *item, const struct control_ack *ack);
    void (*leave)(struct session *s); /* the device's thread shall ask store_may_rest() */
    /* All frames of its journal have ended. True: it is back, session_recovered(). False: more is
     * to come of it, and this is asked again. */
    bool (*back)(struct session *s, bool had_frames);
    void (*free)(struct session *s); /* store_session_free() included */
    /* After a start: the session again, known to no other thread yet, and for all to see. Out:
     * origin, what computes its points: another text means that they may differ. */
    int (*make)(void *core, const struct store_manifest *m, struct session **s,
                char origin[STORE_ORIGIN_CAP], struct err *err);
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
    char boot[FOLDER_BOOT_CAP];
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
MUST_CHECK int store_session_attach(struct store *st, struct session *s,
                                    const char origin[STORE_ORIGIN_CAP], struct err *err);
void store_session_free(struct session *s);
/* Its folder, its meta file on disk, its journal. */
MUST_CHECK int store_session_new(struct store *st, struct session *s,
                                 const char origin[STORE_ORIGIN_CAP], struct err *err);
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

#endif
