/*
 * checkpoint.h - a session's state between two of its frames, in a file that is whole or not there
 *
 * A checkpoint says what a session was as of record `number` of its journal; recovery loads the
 * newest whole one and replays what stands behind that record. Each session keeps two, so that a
 * damaged one costs a longer replay and nothing else.
 *
 * File:    <journal>/sessions/<id>/<number, 20 digits>.ckpt, integers little-endian:
 *            magic "RCKP" u32 | version 2 u32 | id [32], NUL-padded | number u64
 *            | version of the program that wrote it [32], NUL-padded | sections u32
 *            | CRC-32C of all that stands before it u32
 *            | for each section: tag u32, version u16, flags u16, plain bytes u64, packed bytes
 *              u64, CRC-32C of the packed bytes u32
 *            | CRC-32C of this table u32
 *            | the sections' bodies, packed with zstd, in a row up to the end of the file
 * Builds:  a file with a section that this build needs and does not read, by section_use(), is
 *          another build's: it is never removed, and counts neither as the newest nor as the older
 *          one. checkpoint_set_aside() renames it.
 * Write:   to <name>.part, fsync, rename, fsync of the folder; then all others go but the newest
 *          whole one before it. The next write removes a .part that a crash has left.
 * Memory:  buffers for the largest session and its largest packed section, which are kept.
 * Threads: one inside, which packs and writes. begin, commit and abandon may come from any; one
 *          draft is under way at a time.
 */
#pragma once

#include "daemon/disk/checkpoint_file.h"

struct checkpoint;

/* In: sessions, the open folder of all sessions; reads: the sections that this build reads. */
MUST_CHECK int checkpoint_start(struct checkpoint **c, int sessions, section_reads_fn *reads,
                                const void *reads_ctx, struct err *err);

/*
 * checkpoint_begin - room for the state of a session
 *
 * In:      bytes wanted for the row
 * Returns: the draft, until commit() or abandon(), one of which follows; NULL: another one is under
 *          way, or there is no memory for it: the next frame may ask again
 */
struct checkpoint_draft *checkpoint_begin(struct checkpoint *c, size_t bytes);

/*
 * A commit has ended. From the thread inside (or, after checkpoint_stop(), the committing one), no
 * lock held.
 * In:      older: number of the older one of the two that are kept and that this build reads, 0 =
 *          there is only this one; what journal_log_forget() may be told. rc: 0, ERR_IO,
 *          ERR_MEMORY, ERR_INPUT (id, number 0, or not a row of sections), ERR_STATE (stopped):
 *          those kept before are as they were, or were joined by this one whole, and older is 0
 */
typedef void checkpoint_done_fn(void *ctx, uint64_t number, uint32_t rounds, uint64_t older,
                                int rc);

/* Write the draft; done() is called once, with the same number and rounds: a checkpoint replaces
 * one of its number. The session's folder is there already. */
void checkpoint_commit(struct checkpoint *c, const char *id, uint64_t number, uint32_t rounds,
                       checkpoint_done_fn *done, void *ctx);
void checkpoint_abandon(struct checkpoint *c);

/* Ends the thread, after committed drafts are written. */
void checkpoint_stop(struct checkpoint *c);
void checkpoint_close(struct checkpoint **c);
/* Time of the thread's last sign of life. A disk that does not answer stops it. */
uint64_t checkpoint_alive_us(const struct checkpoint *c);

/* ------------------------------------------------------------------------- recovery */

struct checkpoint_state {
    uint64_t number;
    uint8_t *row; /* its sections without those that are passed over */
    size_t len;
    int skipped;      /* newer damaged checkpoints */
    uint64_t foreign; /* number of the newest later one of another build; 0 = there is none */
    char why[160];    /* that build, and what this one does not read of it */
};

/*
 * checkpoint_load - the newest whole checkpoint that is not above max_number and that this build
 * reads
 *
 * Out:     *out, to be freed; skipped, foreign and why are valid on failure, too
 * Returns: 0; ERR_NOT_FOUND: there is none; ERR_INPUT: not an id; ERR_MEMORY; ERR_IO: the folder
 *          cannot be read
 */
MUST_CHECK int checkpoint_load(struct checkpoint_state *out, const struct checkpoint *c,
                               const char *id, uint64_t max_number, struct err *err);
void checkpoint_state_free(struct checkpoint_state *s);

/*
 * checkpoint_set_aside - call other builds' checkpoints <name>.aside, .aside2, ... from now on
 *
 * For a journal that is replayed without them: what follows is another future. They stay for the
 * operator until the session is deleted.
 * Returns: 0; ERR_INPUT; ERR_IO
 */
MUST_CHECK int checkpoint_set_aside(const struct checkpoint *c, const char *id, struct err *err);

/*
 * checkpoint_cut - remove checkpoints above max_number, and set those of other builds aside
 *
 * A journal that was not synced can have lost records that a checkpoint has seen. What follows from
 * here on is another future, in which that checkpoint never was: it has to go before the journal
 * reaches its number again.
 * Returns: 0; ERR_INPUT; ERR_IO
 */
MUST_CHECK int checkpoint_cut(const struct checkpoint *c, const char *id, uint64_t max_number,
                              struct err *err);
