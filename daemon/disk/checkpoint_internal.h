/*
 * checkpoint_internal.h - what checkpoint*.c share: one file of a session's folder
 */
#ifndef RECOND_DAEMON_CHECKPOINT_INTERNAL_H
#define RECOND_DAEMON_CHECKPOINT_INTERNAL_H

#include "daemon/disk/checkpoint.h"
#include "proto/wire/codec.h"

#include <stdatomic.h>

#define CHECKPOINT_HEADER_BYTES (48 + 20 * CHECKPOINT_PARTS + 4)
#define CHECKPOINT_NAME_CAP 40

/* The header of a file: what its parts are. */
struct checkpoint_head {
    uint64_t number;
    uint64_t plain[CHECKPOINT_PARTS], packed[CHECKPOINT_PARTS];
    uint32_t crc[CHECKPOINT_PARTS];
};
void checkpoint_head_put(uint8_t out[CHECKPOINT_HEADER_BYTES], const char *id,
                         const struct checkpoint_head *h);
/* Checks all of it, and that the parts fill a file of `size` bytes. */
MUST_CHECK int checkpoint_head_get(struct checkpoint_head *h,
                                   const uint8_t in[CHECKPOINT_HEADER_BYTES], uint64_t size,
                                   const char *id, uint64_t number, struct err *err);

/* "<20 digits>.ckpt" */
void checkpoint_name(char name[CHECKPOINT_NAME_CAP], uint64_t number);
/* Folder of a session, opened; negative: ERR_INPUT (not an id), ERR_NOT_FOUND, ERR_IO. */
int checkpoint_folder(const char *journal_path, const char *id, struct err *err);

/*
 * checkpoint_file_write - pack the draft into a file of its own, durable when this returns 0
 *
 * In:      packed [cap] scratch, large enough for codec_bound() of each part
 * Out:     *beat is renewed between steps
 */
MUST_CHECK int checkpoint_file_write(int folder, const char *id, uint64_t number,
                                     const struct checkpoint_draft *draft, struct codec *codec,
                                     uint8_t *packed, size_t cap, atomic_ullong *beat,
                                     struct err *err);

/* Keeps `number` and the newest whole one before it; returns that one's number, 0 = none. */
uint64_t checkpoint_file_prune(int folder, const char *id, uint64_t number, uint8_t *scratch,
                               size_t cap);

/* The largest number below `limit` that the folder has a checkpoint of; 0 = none. Negative: the
 * folder cannot be read. */
int checkpoint_file_below(int folder, uint64_t limit, uint64_t *number);
/* Remove those above `number` and what a crash has left half written; *removed = how many. */
int checkpoint_file_cut(int folder, uint64_t number, int *removed);

#endif
