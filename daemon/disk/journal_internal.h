/*
 * journal_internal.h - shared by journal*.c: records, segments, logs, the folder
 */
#pragma once

#include "daemon/disk/folder.h"
#include "daemon/disk/journal.h"
#include "daemon/turn.h"
#include "proto/lock.h"

#include <pthread.h>

#define JOURNAL_MAGIC 0x4c4a4352u
#define JOURNAL_VERSION 1u
#define JOURNAL_FLAG_GROUP 1u
#define JOURNAL_SUFFIX ".seg"
#define JOURNAL_SEGMENT_BODY 32u        /* bytes of a SEGMENT record's body */
#define JOURNAL_GROUP_MAX 128           /* records of one write at most */
#define JOURNAL_GROUP_BYTES (16u << 20) /* bytes after which a write takes no more records */

/* ---- journal_record.c: bytes and names; no I/O */
struct journal_head {
    enum journal_type type;
    uint8_t flags;
    uint32_t length, crc;
    uint64_t number;
};

/* Out: head [24], with the sum over it and the parts */
void journal_record_encode(uint8_t *head, enum journal_type type, uint8_t flags, uint64_t number,
                           const struct iovec *part, int n_parts, uint32_t length);
/* Does this look like the header of a record, as far as can be told without the body? */
bool journal_record_parse(struct journal_head *h, const uint8_t *head);
/* Is the record's checksum right? In: record, header and body */
bool journal_record_whole(const struct journal_head *h, const uint8_t *record);
void journal_record_segment_body(uint8_t *body, const char *id);
bool journal_record_is_segment_of(const struct journal_head *h, const uint8_t *record,
                                  const char *id);

/* ---- journal_window.c: reading a segment through a buffer (a bad sector under a mapping would
 * end the process) */
struct journal_window {
    int fd;
    uint64_t size; /* bytes of the file when it was opened */
    uint8_t *buf;
    size_t cap, len;
    uint64_t at; /* offset of buf[0] in the file */
};

int journal_window_open(struct journal_window *w, int dir, uint64_t first, struct err *err);
/* Returns bytes [off, off + n) of the file, borrowed until the next call; all of them lie in it.
 * Returns: 0; ERR_IO; ERR_MEMORY */
int journal_window_get(struct journal_window *w, const uint8_t **p, uint64_t off, size_t n,
                       struct err *err);
/* Reads the header at `off`, or the whole record, borrowed likewise.
 * Returns: 0; ERR_INPUT: there is noneor it is damaged; ERR_IO; ERR_MEMORY */
int journal_window_head(struct journal_window *w, struct journal_head *h, uint64_t off,
                        struct err *err);
int journal_window_record(struct journal_window *w, struct journal_head *h, const uint8_t **record,
                          uint64_t off, struct err *err);
void journal_window_close(struct journal_window *w); /* closes the file and keeps the buffer */
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
/* Returns the bytes of a session's segments. */
uint64_t journal_folder_bytes(int dir);
/* Finds the two segments with the smallest numbers, without allocating; 0 where there is none. */
int journal_folder_oldest(int dir, uint64_t *oldest, uint64_t *second);

/* ---- journal_mark.c: the number of a record that was synced, in a file beside the segments. It is
 * written behind each sync and not synced itself: so it is never ahead of what is durable, and a
 * journal that ends before it has lost records. */
int journal_mark_open(int dir); /* -1 on errors */
void journal_mark_write(int fd, uint64_t number);
uint64_t journal_mark_read(int dir); /* 0 = none, or unreadable: the records decide then */

/* ---- journal_segment.c: the writer's side; called by the thread that has the log's turn */
/* A writer's buffers. */
struct journal_group {
    uint8_t head[1 + JOURNAL_GROUP_MAX][JOURNAL_HEADER_BYTES];
    uint8_t segment[JOURNAL_SEGMENT_BODY];
    struct iovec iov[2 + (1 + JOURNAL_PARTS_MAX) * JOURNAL_GROUP_MAX];
    int n_iov, n_records;
    uint64_t bytes;
};

/* Write a chain of entries as one group and make it durable. Sets their numbers; an entry that is
 * too long gets none. Returns: 0; ERR_IO: nothing of it is acknowledged, the log is fenced */
int journal_segment_write(struct journal_log *log, struct journal_group *g,
                          struct journal_entry *chain);
void journal_segment_forget(struct journal_log *log, uint64_t before);
void journal_segment_close(struct journal_log *log);

/* ---- journal_log.c */
struct journal_log {
    struct turn_entry turn; /* first */
    struct journal *j;
    struct journal_log *next_log; /* guarded by journal.lock */
    char id[JOURNAL_ID_LEN + 1];
    bool sync;
    journal_done_fn *done;
    void *ctx;

    struct lock lock;
    pthread_cond_t idle;
    struct journal_entry *head, **tail;
    int n_pending; /* entries whose done() was not called yet */
    int refs;      /* references: the turn queue, and threads that are about to announce work */

    /* of the thread that has the turn */
    int dir, fd;      /* fd -1: the next group begins a segment */
    int mark;         /* journal_mark_open(), at the first sync; -1: none */
    uint64_t first;   /* first number of the open segment */
    uint64_t end;     /* offset behind its last good group */
    uint64_t number;  /* number of the next record */
    bool barrier;     /* all before the next group counts as durable */
    uint64_t sync_us; /* time of the last sync of an asynchronous log */

    atomic_ullong last, forget, bytes; /* bytes: sum of the segments */
    atomic_bool cut, fenced;
};

/* Serves a log whose turn the caller has. Returns true if it has more to write. */
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
    atomic_ullong next_measure_us;
    atomic_bool full, stopped;
    struct journal_counts counts;
    struct lock lock; /* guards the list */
    struct journal_log *logs;
};
