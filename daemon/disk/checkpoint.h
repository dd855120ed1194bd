/*
 * checkpoint.h - a session's state between two of its frames, in a file that is whole or not there
 *
 * A checkpoint says what a session was as of record `number` of its journal; recovery loads the
 * newest whole one and replays what stands behind that record. Each session keeps two, so that a
 * damaged one costs a longer replay and nothing else.
 *
 * File:    <journal>/sessions/<id>/<number, 20 digits>.ckpt, integers little-endian:
 *            magic "RCKP" u32 | version u32 | id [32], NUL-padded | number u64
 *            | for each part: plain bytes u64, packed bytes u64, CRC-32C of the packed bytes u32
 *            | CRC-32C of all that stands before it u32
 *            | the parts, packed with zstd, in a row up to the end of the file
 * Write:   to <name>.part, fsync, rename, fsync of the folder; then all but the new one and the
 *          newest whole one before it go. A .part that a crash has left goes at the next write.
 * Memory:  room for the largest session's state and for its largest part packed; it grows and
 *          stays, so that checkpoints of sessions that are no larger allocate nothing of ours.
 * Threads: one inside, which packs and writes. begin, commit and abandon may come from any; one
 *          draft is under way at a time.
 */
#ifndef RECOND_DAEMON_CHECKPOINT_H
#define RECOND_DAEMON_CHECKPOINT_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

#define CHECKPOINT_ID_CAP 32
#define CHECKPOINT_PLAIN_MAX (1ull << 32) /* of all parts of a file */

enum checkpoint_part {
    CHECKPOINT_CORE,
    CHECKPOINT_DEVICE,
    CHECKPOINT_MIRROR,
    CHECKPOINT_TRAJECTORY,
    CHECKPOINT_PARTS
};

/* What begin() hands out: the caller fills part[i] [cap[i]] and sets len[i]. */
struct checkpoint_draft {
    uint8_t *part[CHECKPOINT_PARTS];
    size_t cap[CHECKPOINT_PARTS], len[CHECKPOINT_PARTS];
};

struct checkpoint;

MUST_CHECK int checkpoint_start(struct checkpoint **c, const char *journal_path, struct err *err);

/*
 * checkpoint_begin - room for the state of a session
 *
 * In:      bytes wanted for each part
 * Returns: the draft, until commit() or abandon(), one of which follows; NULL: another one is under
 *          way, or there is no memory for it: the next frame may ask again
 */
struct checkpoint_draft *checkpoint_begin(struct checkpoint *c,
                                          const size_t bytes[CHECKPOINT_PARTS]);

/*
 * A commit has ended. From the thread inside (or, after checkpoint_stop(), the committing one), no
 * lock held.
 * In:      older: number of the older one of the two that are kept, 0 = there is only this one;
 *          what journal_log_forget() may be told. rc: 0, ERR_IO, ERR_MEMORY, ERR_INPUT (id, or
 *          number 0), ERR_STATE (stopped): those kept before are as they were, or were joined by
 *          this one whole, and older is 0
 */
typedef void checkpoint_done_fn(void *ctx, uint64_t number, uint64_t older, int rc);

/* Write the draft; done() is called once. The session's folder is there already. */
void checkpoint_commit(struct checkpoint *c, const char *id, uint64_t number,
                       checkpoint_done_fn *done, void *ctx);
void checkpoint_abandon(struct checkpoint *c);

/* Ends the thread, after what was committed is written. */
void checkpoint_stop(struct checkpoint *c);
void checkpoint_close(struct checkpoint **c);
/* When the thread last showed that it makes progress. A disk that does not answer stops it. */
uint64_t checkpoint_alive_us(const struct checkpoint *c);

/* ------------------------------------------------------------------------- recovery */

struct checkpoint_state {
    uint64_t number;
    uint8_t *part[CHECKPOINT_PARTS]; /* each aligned for any type */
    size_t len[CHECKPOINT_PARTS];
    int skipped;  /* newer ones that were damaged */
    void *memory; /* the allocation that holds all parts */
};

/*
 * checkpoint_load - the newest whole checkpoint that is not above max_number
 *
 * Out:     *out, to be freed; out->skipped is valid on failure, too
 * Returns: 0; ERR_NOT_FOUND: there is none; ERR_INPUT: not an id; ERR_MEMORY; ERR_IO: the folder
 *          cannot be read
 */
MUST_CHECK int checkpoint_load(struct checkpoint_state *out, const char *journal_path,
                               const char *id, uint64_t max_number, struct err *err);
void checkpoint_state_free(struct checkpoint_state *s);

/*
 * checkpoint_cut - remove checkpoints above max_number
 *
 * A journal that was not synced can have lost records that a checkpoint has seen. What follows from
 * here on is another future, in which that checkpoint never was: it has to go before the journal
 * reaches its number again.
 * Returns: 0; ERR_INPUT; ERR_IO
 */
MUST_CHECK int checkpoint_cut(const char *journal_path, const char *id, uint64_t max_number,
                              struct err *err);

#endif
