/*
 * journal.h - the input of every session, stored before its sender is told so
 *
 * A session's log is a row of records, numbered from 1, kept in segments. Writers' threads take the
 * logs in turn, write all pending records of a log with one call, sync once and then report them,
 * in order: so the busier the disk, the more records share a sync.
 *
 * Folder   lock                                  flock'ed by the one process
 *          sessions/<id>/<first, 20 digits>.seg  first = number of the first record in it
 *          sessions/<id>/synced                  number of a synced record u64, its CRC-32C u32
 *          sessions/.gone-<id>                   being removed, at the next start at the latest
 *          quarantine/
 * Segment  a SEGMENT record, then others; at most one write past segment_bytes long
 * Record   little-endian, 24 bytes and the body:
 *
 *   offset  type  field
 *   0       u32   magic 0x4c4a4352, "RCJL"
 *   4       u8    type: enum journal_type
 *   5       u8    flags: 1 = the first of its group (below)
 *   6       u16   0
 *   8       u32   length of the body, at most JOURNAL_BODY_MAX
 *   12      u32   CRC-32C of the header with 0 here, then the body
 *   16      u64   number
 *
 * SEGMENT  u32 format version 1 | 26 characters of the session's id | 2 bytes 0; its number is that
 *          of the first record behind it and is not counted. It is written together with that one.
 * Group    the records of one write. The next group begins only when this one is written, and
 *          synced if the log is: so behind damage, a valid record that begins a group proves that
 *          the damaged bytes had been whole.
 * Damage   Recovery takes the longest valid prefix. Without a later group or segment behind the
 *          first bad byte the tail is cut, as a crash during a write leaves it, unless `synced`
 *          names a later record. Anything else is damage: it is reported, and no file is touched.
 * Errors   A failed write is taken back as far as possible, fails its records and fences its log:
 *          later appends fail too. A failed sync is never tried again, because the pages may be
 *          lost by then.
 * Threads: any, unless said. Steady state allocates nothing.
 */
#pragma once

#include "proto/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define JOURNAL_ID_LEN 26 /* base32, lower case; no other text becomes a path */
#define JOURNAL_HEADER_BYTES 24u
#define JOURNAL_BODY_MAX ((8u << 20) + 4096u)
#define JOURNAL_SEGMENT_BYTES (64ull << 20)
#define JOURNAL_THREADS_MAX 8

enum journal_type { JOURNAL_SEGMENT, JOURNAL_FRAME, JOURNAL_OUTCOME };

#define JOURNAL_PARTS_MAX 5 /* pieces of a body */

/* Embedded in its owner; zero is valid. */
struct journal_entry {
    struct journal_entry *next;
    enum journal_type type;               /* FRAME or OUTCOME */
    struct iovec part[JOURNAL_PARTS_MAX]; /* the body; stays valid and unchanged until done() */
    int n_parts;
    uint64_t number; /* out: the record's number; 0 if it was not written */
};

bool journal_id_valid(const char *id);

struct journal;     /* the folder, its threads and the watch over the disk */
struct journal_log; /* one session's records */

struct journal_config {
    const char *path;
    /* 1 to JOURNAL_THREADS_MAX; 0 = 4: threads share a commit of the file system */
    int threads;
    uint64_t segment_bytes; /* 0 = JOURNAL_SEGMENT_BYTES */
    int high_water_percent; /* fill of the file system that counts as full; 0 = 90 */
    uint64_t max_bytes;     /* of all segments together; 0 = the file system's size */
};

struct journal_stats {
    uint64_t records, bytes, groups, failures; /* failures: logs that were fenced */
    uint64_t syncs, sync_us;                   /* sync_us: their sum */
    /* bytes of segments; free bytes of the file system */
    uint64_t used_bytes, free_bytes;
    bool full;
};

/*
 * journal_open - take the folder, make it where it is missing (0700), start the threads
 *
 * Returns: 0; ERR_BUSY (another process has it); ERR_IO; ERR_MEMORY
 */
MUST_CHECK int journal_open(struct journal **j, const struct journal_config *config,
                            struct err *err);
/* Writes pending entries, calls done() for them, from this thread if necessary, and ends the
 * threads. No log is made or freed meanwhile. Later appends fail and call done() at once. */
void journal_stop(struct journal *j);
void journal_close(struct journal **j); /* call it after journal_stop(), when all logs are freed */

const char *journal_path(const struct journal *j);
/* Returns the open folder of the sessions. */
int journal_sessions(const struct journal *j);
/* Is the disk above the high-water mark or max_bytes? Then frames are refused. Cheap to ask. */
bool journal_full(const struct journal *j);
uint64_t journal_alive_us(const struct journal *j); /* oldest sign of life of its threads */
void journal_get_stats(const struct journal *j, struct journal_stats *out);

/* An entry is written (rc 0; synced, if the log is) or is not (ERR_IO, ERR_LIMIT: its body is too
 * long). From a journal thread, no lock held, the entries of a log in order, each exactly once. It
 * may append; it may not free its log. */
typedef void journal_done_fn(void *ctx, struct journal_entry *e, int rc);

/*
 * journal_log_new - a log to append to
 *
 * Makes sessions/<id> and syncs its parents where it is missing. The first append begins a segment.
 * In:      next_number: 1 for a new session, else the one after journal_scan()'s last
 * Returns: 0; ERR_INPUT (id, number); ERR_IO; ERR_MEMORY
 */
MUST_CHECK int journal_log_new(struct journal_log **log, struct journal *j, const char *id,
                               bool sync, uint64_t next_number, journal_done_fn *done, void *ctx,
                               struct err *err);
void journal_log_free(struct journal_log **log); /* waits until nothing is pending; files stay */

/* Never blocks on the disk, never allocates. */
void journal_append(struct journal_log *log, struct journal_entry *e);
void journal_log_cut(struct journal_log *log); /* the next group begins a new segment */
/* last record that was written and, if sync, synced */
uint64_t journal_log_last(const struct journal_log *log);
/* Returns the bytes of its segments. */
uint64_t journal_log_bytes(const struct journal_log *log);
bool journal_log_fenced(const struct journal_log *log);

/* Lets a journal thread remove segments wholly before this number, after a checkpoint. */
void journal_log_forget(struct journal_log *log, uint64_t before);

/* Removes a session's whole folder, whatever is in it; after a crash the next start goes on with
 * it. Its log is freed. Returns: 0, also if there was none; ERR_INPUT; ERR_IO */
MUST_CHECK int journal_remove(struct journal *j, const char *id, struct err *err);

struct journal_scan {
    uint64_t first, last; /* of the valid prefix; last < first if it is empty; 1, 0 without
                             segments */
    uint64_t bytes;       /* bytes of its segments */
    bool torn;            /* a torn tail was cut */
    bool damaged;         /* damage in the middle: the valid prefix ends before it */
    char damage[160];     /* description of the damage */
};

/*
 * journal_scan - check all of a session's segments, and cut a torn tail (truncate, sync)
 *
 * Call it before the session has a log. A last segment without a valid record is removed.
 * Returns: 0; ERR_INPUT (id); ERR_NOT_FOUND (no folder); ERR_IO (cannot list, or cut); ERR_MEMORY
 */
MUST_CHECK int journal_scan(struct journal *j, const char *id, struct journal_scan *scan,
                            struct err *err);

struct journal_reader; /* one thread */

/*
 * journal_read_open - records [from, last] of a log, in order, each checked again
 *
 * Returns: 0; ERR_INPUT (id); ERR_NOT_FOUND (no segment holds `from`); ERR_IO; ERR_MEMORY
 */
MUST_CHECK int journal_read_open(struct journal_reader **r, struct journal *j, const char *id,
                                 uint64_t from, uint64_t last, struct err *err);
/* Reads the next record; its body is borrowed until the next call. Returns: 0; ERR_END after
 * `last`; ERR_IO (cannot be read, or is damaged); ERR_MEMORY */
MUST_CHECK int journal_read_next(struct journal_reader *r, enum journal_type *type,
                                 uint64_t *number, const uint8_t **body, size_t *len,
                                 struct err *err);
void journal_read_close(struct journal_reader **r);
