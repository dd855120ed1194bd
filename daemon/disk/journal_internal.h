/*
 * journal_internal.h - what the journal's files share: records, segments, logs, the folder
 */
#ifndef RECOND_DAEMON_JOURNAL_INTERNAL_H
#define RECOND_DAEMON_JOURNAL_INTERNAL_H

#include "daemon/disk/folder.h"
#include "daemon/disk/journal.h"
#include "daemon/turn.h"
#include "proto/lock.h"

#include <pthread.h>

#define JOURNAL_MAGIC 0x4c4a4352u
#define JOURNAL_VERSION 1u
#define JOURNAL_FLAG_GROUP 1u
#define JOURNAL_SUFFIX ".seg"
#define JOURNAL_SEGMENT_BODY 32u        /* of a SEGMENT record */
#define JOURNAL_GROUP_MAX 128           /* records that one write takes at most ... */
#define JOURNAL_GROUP_BYTES (16u << 20) /* ... and bytes from which on it takes no more */

/* ---- journal_record.c: bytes and names; no I/O */
struct journal_head {
    enum journal_type type;
    uint8_t flags;
    uint32_t length, crc;
    uint64_t number;
};

/* Out: head [24], the sum over it and the parts */
void journal_record_encode(uint8_t *head, enum journal_type type, uint8_t flags, uint64_t number,
                           const struct iovec *part, int n_parts, uint32_t length);
/* Is this the header of a record, as far as one can see without the body? */
bool journal_record_parse(struct journal_head *h, const uint8_t *head);
/* Does its sum hold? In: record, header and body */
bool journal_record_whole(const struct journal_head *h, const uint8_t *record);
void journal_record_segment_body(uint8_t *body, const char *id);
bool journal_record_is_segment_of(const struct journal_head *h, const uint8_t *record,
                                  const char *id);

/* ---- journal_window.c: reading a segment through a buffer (a bad sector under a mapping would
 * end the process) */
struct journal_window {
    int fd;
    uint64_t size; /* of the file, when it was opened */
    uint8_t *buf;
    size_t cap, len;
    uint64_t at; /* where buf[0] is in the file */
};

int journal_window_open(struct journal_window *w, int dir, uint64_t first, struct err *err);
/* Bytes [off, off + n) of the file, borrowed until the next call; all of them lie in it.
 * Returns: 0; ERR_IO; ERR_MEMORY */
int journal_window_get(struct journal_window *w, const uint8_t **p, uint64_t off, size_t n,
                       struct err *err);
/* The header at `off`, and the whole record, borrowed likewise.
 * Returns: 0; ERR_INPUT: there is none, or (of the record) it is not what was written; ERR_IO;
 *          ERR_MEMORY */
int journal_window_head(struct journal_window *w, struct journal_head *h, uint64_t off,
                        struct err *err);
int journal_window_record(struct journal_window *w, struct journal_head *h, const uint8_t **record,
                          uint64_t off, struct err *err);
void journal_window_close(struct journal_window *w); /* the file; the buffer stays */
void journal_window_free(struct journal_window *w);

/* ---- journal_folder.c: what is in the folder */
struct journal_list {
    uint64_t *first; /* ascending; the caller frees it */
    int n;
};

int journal_folder_open(struct journal *j, const char *path, struct err *err);
void journal_folder_close(struct journal *j);
int journal_folder_session(const struct journal *j, const char *id, int *dir, struct err *err);
int journal_folder_make_session(struct journal *j, const char *id, int *dir, struct err *err);
int journal_folder_segments(struct journal_list *list, int dir, struct err *err);
/* Bytes of a session's segments. */
uint64_t journal_folder_bytes(int dir);
/* Segments of a folder, one after the other, without allocating: the two with the smallest numbers;
 * 0 where there is none. */
int journal_folder_oldest(int dir, uint64_t *oldest, uint64_t *second);

/* ---- journal_mark.c: the number of a record that was synced, in a file beside the segments. It is
 * written behind each sync and not synced itself: so it is never ahead of what is durable, and a
 * journal that ends before it has lost records. */
int journal_mark_open(int dir); /* -1 if it cannot be had */
void journal_mark_write(int fd, uint64_t number);
uint64_t
journal_mark_read(int dir); /* 0 = none, or it cannot be read: records speak for themselves */

/* ---- journal_segment.c: the writer's side; called by the thread that has the log's turn */
/* A writer's scratch. */
struct journal_group {
    uint8_t head[1 + JOURNAL_GROUP_MAX][JOURNAL_HEADER_BYTES];
    uint8_t segment[JOURNAL_SEGMENT_BODY];
    struct iovec iov[2 + (1 + JOURNAL_PARTS_MAX) * JOURNAL_GROUP_MAX];
    int n_iov, n_records;
    uint64_t bytes;
};

/* Write a chain of entries as one group and make it durable. Sets their numbers; an entry that is
 * too long stays without. Returns: 0; ERR_IO: nothing of it is acknowledged, the log is fenced */
int journal_segment_write(struct journal_log *log, struct journal_group *g,
                          struct journal_entry *chain);
void journal_segment_forget(struct journal_log *log, uint64_t before);
void journal_segment_close(struct journal_log *log);

/* ---- journal_log.c */
struct journal_log {
    struct turn_entry turn; /* first */
    struct journal *j;
    struct journal_log *next_log; /* under journal.lock */
    char id[JOURNAL_ID_LEN + 1];
    bool sync;
    journal_done_fn *done;
    void *ctx;

    struct lock lock;
    pthread_cond_t idle;
    struct journal_entry *head, **tail;
    int n_pending; /* entries that done() has not been called for */
    int refs;      /* of the queue of turns, and of threads that are about to announce work */

    /* of the thread that has the turn */
    int dir, fd;      /* fd -1: the next group begins a segment */
    int mark;         /* journal_mark_open(), at the first sync; -1: none */
    uint64_t first;   /* of the segment that is open */
    uint64_t end;     /* where the last good group of it ends */
    uint64_t number;  /* of the next record */
    bool barrier;     /* the next group begins behind what is durable, or as good as that */
    uint64_t sync_us; /* when an asynchronous log was synced */

    atomic_ullong last, forget, bytes; /* bytes: of the segments */
    atomic_bool cut, fenced;
};

/* Serve a log that the caller has the turn of. Returns true if it has more. */
bool journal_log_serve(struct journal_log *log, struct journal_group *g);
void journal_log_unref(struct journal_log *log);

/* ---- journal.c */
struct journal_counts {
    atomic_ullong records, bytes, groups, failures, syncs, sync_us, used_bytes, free_bytes;
};

struct journal {
    struct journal_config config;
    char *path;
    int dir, sessions, lock_file;
    struct turn_pool pool;
    struct journal_group groups[JOURNAL_THREADS_MAX]; /* by thread */
    atomic_ullong next_look_us;
    atomic_bool full, stopped;
    struct journal_counts counts;
    struct lock lock; /* guards the list */
    struct journal_log *logs;
};

#endif
