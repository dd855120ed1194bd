/*
 * checkpoint_head.h - the head of a checkpoint's file and its table of sections: bytes, no I/O
 */
#pragma once

#include "proto/err.h"
#include "proto/section.h"

#define CHECKPOINT_ID_CAP 32
#define CHECKPOINT_PLAIN_MAX (1ull << 32) /* bytes of all sections of a file */
#define CHECKPOINT_SECTIONS_MAX 64
#define CHECKPOINT_PREFIX_BYTES 88
#define CHECKPOINT_ENTRY_BYTES 28
#define CHECKPOINT_HEAD_BYTES(n) (CHECKPOINT_PREFIX_BYTES + CHECKPOINT_ENTRY_BYTES * (n) + 4)
#define CHECKPOINT_HEAD_MAX CHECKPOINT_HEAD_BYTES(CHECKPOINT_SECTIONS_MAX)

/* A section in a file. */
struct checkpoint_entry {
    struct section s; /* its len is the plain one; body is not used */
    uint64_t packed;
    uint32_t crc;
    int passed_over; /* optional, and not read by this build */
};

struct checkpoint_head {
    uint64_t number;
    size_t bytes; /* of the head, with its table */
    int n;
    struct checkpoint_entry entry[CHECKPOINT_SECTIONS_MAX];
};

/* Whose checkpoints are read, and which sections this build reads. */
struct checkpoint_reads {
    const char *id;
    section_reads_fn *fn;
    const void *ctx;
};

void checkpoint_head_put(uint8_t *out, const char *id, const struct checkpoint_head *h);
/*
 * checkpoint_head_get - check all of a head, and that the bodies fill a file of `size` bytes
 *
 * In:      in [len]: the file's first bytes, CHECKPOINT_HEAD_MAX or all that it has
 * Returns: 0; ERR_INPUT: damaged, or another session's; ERR_UNSUPPORTED: another build's
 */
MUST_CHECK int checkpoint_head_get(struct checkpoint_head *h, const uint8_t *in, size_t len,
                                   uint64_t size, const struct checkpoint_reads *reads,
                                   uint64_t number, struct err *err);
