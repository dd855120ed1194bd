/* store_internal.h - what the store_*.c files share */
#ifndef RECOND_DAEMON_STORE_INTERNAL_H
#define RECOND_DAEMON_STORE_INTERNAL_H

#include "daemon/disk/store.h"

#include <pthread.h>

/* What is kept of a session beside its files: session_disk(). */
struct session_disk {
    struct session *session;
    struct store *store;
    struct journal_log *log;
    struct session_disk *next_reaped;
    atomic_bool unwanted;                       /* files go with the session */
    atomic_bool damaged;                        /* its files stay as they are */
    pthread_mutex_t storing;                    /* of stored_frames and the order of appends */
    uint64_t stored_frames;                     /* in the journal */
    atomic_ullong front_refused, front_dropped; /* frames that the journal never saw */
    atomic_ullong skipped;   /* frames that were found refused when the journal was replayed */
    atomic_uint replaying;   /* frames of the journal that are under way */
    uint64_t decode_refused; /* of the decoder: frames of the journal that were no good */
    /* of the thread that has the session's turn at the device: the last used frame's record, frames
     * up to it, of those refused by the decoder, by the device, and used; used since the last
     * checkpoint */
    atomic_ullong number;
    uint64_t ordinal, refused_before, refused, used, unsaved;
    atomic_ullong saved;                        /* number that the newest checkpoint holds */
    atomic_bool want_save;                      /* a checkpoint, due or not */
    _Atomic(struct checkpoint_state *) fetched; /* the newest, read for the worker */
};

#define STORE_OUTCOME_BYTES 24 /* number u64, seq u64, status u32, reason u32 */

/* What meta.json holds. */
struct store_manifest {
    char id[API_ID_CAP];
    uint32_t epoch;
    uint64_t rank;
    double created_s;
    bool finalized;
    char boot[40];                 /* of the machine, when it was written last */
    char origin[STORE_ORIGIN_CAP]; /* what computes: another one gives other points */
    struct session_options options;
    struct api_token tokens[SESSION_TOKENS_MAX];
    int n_tokens;
};

MUST_CHECK int store_manifest_write(const char *path, const struct store_manifest *m,
                                    struct err *err);
/* Returns 0; ERR_NOT_FOUND: there is none; ERR_INPUT: not what we write; ERR_IO; ERR_MEMORY */
MUST_CHECK int store_manifest_read(const char *path, const char *id, struct store_manifest *m,
                                   struct err *err);
#define STORE_GONE "meta.gone" /* what a deleted session has instead of a meta.json */

/* The session is gone for every later start. */
void store_manifest_remove(const char *path, const char *id);
/* What computes this session's cloud: back end, processor, networks' files, program. */
void store_origin(char origin[STORE_ORIGIN_CAP], struct session *s);

MUST_CHECK int store_session_log(struct store *st, struct session *s, uint64_t next_number,
                                 struct err *err);
/* Which version of a section of a checkpoint this build reads at most. */
unsigned store_reads(uint32_t tag);
/* Mirror, trajectory and counters of a session that no other thread knows yet. */
MUST_CHECK int store_unpack(struct session *s, const struct checkpoint_state *c, struct err *err);
void store_drop_fetched(struct session_disk *d);

/* ------------------------------------------------------------------------- recovery */

enum store_end { STORE_END_USED, STORE_END_DROPPED, STORE_END_REFUSED };

/* A session that is coming back. */
struct store_returning {
    struct session *s;
    struct journal_reader *reader; /* NULL: all is fed */
    uint64_t from, last;           /* records to replay: (from, last] */
    uint8_t *ends;                 /* [last - from] enum store_end of the record's frame */
    bool fed;
    bool replaced; /* it is replayed without another build's checkpoint */
    bool unread;   /* it cannot be: its files stay as they are */
};

struct recovery {
    struct core *core;
    struct store *st;
    pthread_t thread;
    bool started;
    atomic_bool stop, done;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a frame of the journal has */
    struct store_returning *list;
    int n;
    struct suspect_frame suspects[SUSPECT_LIST];
    int n_suspects;
    uint64_t began_us;
};

/* It can be read, not fed, and why. */
void store_damage(struct session *s, const char *what);
/* Thread function: feeds all sessions of the recovery. */
void *store_replay_run(void *recovery);

#endif
