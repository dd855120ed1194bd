/* store_internal.h - shared by store*.c */
#pragma once

#include "daemon/disk/checkpoint.h"
#include "daemon/disk/comeback.h"
#include "daemon/disk/journal.h"
#include "daemon/disk/store_recover.h"
#include "daemon/disk/store_state.h"
#include "daemon/disk/suspect.h"
#include "proto/lock.h"

#include <pthread.h>

#define STORE_META_BYTES 88

#define STORE_FRAME_CV 1u        /* the header's pose has OpenCV axes */
#define STORE_FRAME_DISPLACED 2u /* another frame was dropped for it */
#define STORE_FRAME_RIG 4u       /* frame_rig_put() of its depth follows */
#define STORE_FRAME_LENSES 8u    /* frame_lenses_put() follows that */
#define STORE_FRAME_CUT 16u      /* its submap continues another one (sources.h) */

/* A frame's record besides the frame itself, STORE_META_BYTES on disk. */
struct store_meta {
    uint32_t flags, breaks;
    uint64_t displaced; /* number of the record of the frame that was dropped for this one */
    uint64_t front_refused, front_dropped; /* frames that ended before they reached the journal */
    uint64_t ordinal;                      /* frames in the journal, this one included */
    uint64_t displaced_seq;                /* seq of the dropped frame, and its source */
    uint32_t displaced_source;
    uint32_t source, submap; /* this frame's source and submap */
    char name[CONTROL_SOURCE_CAP];
};
/* Returns false if a number is out of its bounds. */
bool store_meta_decode(struct store_meta *m, const uint8_t in[STORE_META_BYTES]);

/* The journal entries of a frame and of its end; one for each slot of the session's queue. */
struct store_ticket {
    struct queue_item *item;
    uint8_t meta[STORE_META_BYTES], rig[FRAME_RIG_BYTES], lenses[FRAME_LENSES_BYTES];
    struct journal_entry entry;
    struct queue_dropped displaced; /* the frame that was dropped for it */
    struct control_ack end;         /* how it ended, if it was not used */
    uint64_t ordinal;               /* frames in the journal up to this one */
    uint64_t refused_before;        /* earlier ones that the decoder refused */
    uint64_t skipped;               /* earlier ones that a replay found refused */
};

/* What the store keeps of a session in memory: session_disk(). */
struct session_disk {
    struct session *session;
    struct store *store;
    struct journal_log *log;
    char origin[STORE_ORIGIN_CAP]; /* identifies what computes its points */
    struct session_disk *next_reaped;
    atomic_bool unwanted;                       /* its files are removed with the session */
    atomic_bool damaged;                        /* its files are left as they are */
    struct lock storing;                        /* guards stored_frames and the order of appends */
    uint64_t stored_frames;                     /* frames in the journal */
    atomic_ullong front_refused, front_dropped; /* frames that never reached the journal */
    atomic_ullong skipped;                      /* frames that a replay found refused */
    atomic_uint replaying;                      /* frames of the journal that are being replayed */
    uint64_t decode_refused; /* owned by the decoder: frames of the journal that it refused */
    /* owned by the thread that has the session's device turn */
    atomic_ullong number; /* record of the last used frame */
    uint64_t ordinal;     /* frames up to it, of which */
    /* refused by the decoder, refused by the device, used */
    uint64_t refused_before, refused, used;
    uint64_t unsaved;    /* frames used since the last checkpoint */
    atomic_ullong saved; /* number of the newest checkpoint */
    /* closing rounds since it was opened or recovered, and those in the newest checkpoint */
    atomic_uint rounds, saved_rounds;
    atomic_bool want_save;                      /* a checkpoint was asked for, due or not */
    atomic_int again;                           /* store_saved_again() */
    _Atomic(struct checkpoint_state *) fetched; /* the newest checkpoint, read for the worker */
    struct store_ticket tickets[];              /* [queue_frames] */
};
/* Returns the ticket of a frame that has just come into its slot. */
struct store_ticket *store_ticket_new(struct session_disk *d, struct queue_item *item);

/* number u64, seq u64, status u32, reason u32, source u16, part u16, t_capture_ns u64 */
#define STORE_OUTCOME_BYTES 36

/* Returns 0; ERR_NOT_FOUND: there is none; ERR_INPUT: not what we write; ERR_IO; ERR_MEMORY */
MUST_CHECK int store_manifest_read(int sessions, const char *id, struct store_manifest *m,
                                   struct err *err);
#define STORE_GONE "meta.gone" /* stands in place of the meta.json of a deleted session */

/* Later starts treat the session as deleted. */
void store_manifest_remove(int sessions, const char *id);

MUST_CHECK int store_session_log(struct store *st, struct session *s, uint64_t next_number,
                                 struct err *err);
/* Returns the highest version of a section of a checkpoint that this build reads. */
unsigned store_reads(const void *store, uint32_t tag);
/* Do all rows allow to save the session now? */
bool store_is_settled(struct session *s);
/* Loads all rows of a checkpoint into a session that no other thread knows yet. */
MUST_CHECK int store_unpack(struct session *s, const struct checkpoint_state *c, struct err *err);
void store_drop_fetched(struct session_disk *d);

/* ------------------------------------------------------------------------- recovery */

enum store_end { STORE_END_USED, STORE_END_DROPPED, STORE_END_REFUSED };

/* A session that is being recovered. */
struct store_returning {
    struct session *s;
    struct journal_reader *reader; /* NULL: all records are fed */
    uint64_t from, last;           /* records to replay: (from, last] */
    uint8_t *ends;                 /* [last - from] enum store_end of each record's frame */
    uint64_t unfed;                /* frames that count as queued and are not in the queue yet */
    bool fed;
    bool replaced; /* it is replayed without another build's checkpoint */
    bool unread;   /* it cannot be replayed: its files stay as they are */
};

struct recovery {
    struct store *st;
    pthread_t thread;
    bool started;
    atomic_bool stop;
    struct lock lock;
    pthread_cond_t ended; /* signalled when a frame of the journal has ended */
    struct store_returning *list;
    int n;
    struct suspect_frame suspects[SUSPECT_LIST];
    int n_suspects;
    uint64_t began_us;        /* clock_us() of the start */
    struct comeback comeback; /* guarded by the lock */
};

/* The session can be read but takes no frames; `what` says why. */
void store_damage(struct session *s, const char *what);
/* Thread function: replays all sessions. */
void *store_replay_run(void *recovery);
