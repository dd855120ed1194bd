/*
 * store.h - sessions on the disk: their folders, their frames, how those ended
 *
 * Connects a session with its journal and its meta file; store_state.h makes checkpoints,
 * store_recover.h recovers sessions after a start. Unless a comment says otherwise, calls for a
 * session without a journal (session_disk() is NULL) do nothing.
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
#pragma once

#include "daemon/config.h"
#include "daemon/disk/folder.h"
#include "daemon/session/places.h"
#include "daemon/session/session.h"
#include "daemon/session/state_section.h"

struct checkpoint;
struct recovery;
struct suspect;

#define STORE_ORIGIN_CAP 512

/* The content of meta.json. */
struct store_manifest {
    char id[API_ID_CAP];
    uint32_t epoch;
    uint64_t rank;
    double created_s;
    bool closed;
    char boot[FOLDER_BOOT_CAP];    /* boot id when it was written last */
    char origin[STORE_ORIGIN_CAP]; /* identifies what computes: another one gives other points */
    char owner[API_NAME_CAP];      /* "" in manifests of the first versions */
    struct session_options options;
    struct api_token tokens[SESSION_TOKENS_MAX];
    int n_tokens;
    struct places places;
};

/* Callbacks of the store to the core. Any thread calls them, with no lock held. */
struct store_ops {
    /* sections of a session beside its device's state, ended by NULL */
    const struct state_section *const *sections;
    /* The frame is on the disk: it may be decoded. The frame that was dropped for it ends. */
    void (*stored)(struct session *s, struct queue_item *item, const struct queue_dropped *d);
    /* A frame was dropped for one that could not be stored. */
    void (*displaced)(struct session *s, const struct queue_dropped *d);
    /* The frame's end is on the disk: its client may be told. */
    void (*ended)(struct session *s, struct queue_item *item, const struct control_ack *ack);
    void (*leave)(struct session *s); /* the device's thread shall call store_may_suspend() */
    /* All frames of its journal have ended. True: session_recovered() was called. False: more is to
     * come, and this is called again. */
    bool (*back)(struct session *s, bool had_frames);
    void (*free)(struct session *s); /* calls store_session_free() */
    /* After a start: make the session, known to no other thread yet; then register it. Out: origin,
     * what computes its points: another text means that they may differ. */
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
    struct recovery *recovery;              /* set from the start on; told of replayed frames */
    atomic_int checkpoint_frames;           /* 0 = only when the session is suspended */
    _Atomic(struct session_disk *) to_reap; /* sessions without references */
    atomic_ullong recovered, quarantined, damaged, checkpoints;
    atomic_bool blamed;
    char boot[FOLDER_BOOT_CAP];
};

/* Opens the folder and starts the threads. *store = NULL, and 0, if there is no folder. `arm`
 * installs handlers for crash signals, which a process has once. */
MUST_CHECK int store_open(struct store **store, const struct config *config,
                          const struct store_ops *ops, bool arm, struct err *err);
/* Would store_open() find a folder that it may use? Changes nothing. */
MUST_CHECK int store_check(const struct config *config, struct err *err);
/* Writes what is pending and ends the threads. */
void store_stop(struct store *st);
void store_close(struct store **store);
/* Takes over the configuration that a reload may change. */
void store_configure(struct store *st, const struct config *config);
/* Returns the oldest sign of life of its threads, and the name of that part. */
uint64_t store_alive_us(const struct store *st, const char **part);
/* A device is lost and the process will end for it: frames at work become suspects. */
void store_blame(struct store *st);
/* Is the disk full? */
bool store_full(const struct store *st);
void store_write_metrics(struct metrics_text *t, struct store *st);

/* ------------------------------------------------------------------------- sessions */

/* Makes the store's part of a session that no other thread knows yet: session_disk(). Makes nothing
 * for a session with journal = off. */
MUST_CHECK int store_session_attach(struct store *st, struct session *s,
                                    const char origin[STORE_ORIGIN_CAP], struct err *err);
void store_session_free(struct session *s);
/* Makes its folder, its meta file and its journal. */
MUST_CHECK int store_session_new(struct store *st, struct session *s,
                                 const char origin[STORE_ORIGIN_CAP], struct err *err);
/* Writes the meta file again, after new tokens or a close. One thread at a time (HTTP edge). */
MUST_CHECK int store_session_write(struct session *s, struct err *err);
/* Removes its files; later starts do not find the session from now on. */
void store_session_forget(struct session *s);
/* The last reference of a session with a journal went, perhaps on a thread of the journal, which
 * cannot close it: store_reap() frees the session. */
void store_reap_later(struct session *s);
void store_reap(struct store *st);
/* Returns the bytes of its journal. */
uint64_t store_bytes(const struct session *s);
/* Has its journal failed, so that it stores nothing more? */
bool store_fenced(const struct session *s);

/* ------------------------------------------------------------------------- a frame */

/* Stores a frame that queue_push() took, of a session with a journal, with the frame that was
 * dropped for it; then ops.stored() is called. */
void store_frame(struct session *s, struct queue_item *item, const struct queue_dropped *dropped);
/* A frame ended before it reached the journal: refused, or dropped. */
void store_front_end(struct session *s, enum control_status status);
/* A thread begins to work on a frame, until its end is told here: if the process crashes meanwhile,
 * the frame is a suspect. */
void store_enter(struct session *s, struct queue_item *item);
/* Stores the end of an unused frame of a session with a journal; then ops.ended() is called. */
void store_outcome(struct session *s, struct queue_item *item, const struct control_ack *ack);
/* Counts a frame that the decoder or the device refused, for checkpoints. */
void store_decode_refused(struct session *s, const struct queue_item *item);
void store_device_refused(struct session *s, const struct queue_item *item);
/* A frame was used; called by the committer. */
void store_used(struct session *s, struct queue_item *item);
/* A closing round changed the session's state; called by the committer. */
void store_round(struct session *s);
