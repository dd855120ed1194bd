/*
 * checkpoint_internal.h - what checkpoint*.c share: one file of a session's folder
 */
#ifndef RECOND_DAEMON_CHECKPOINT_INTERNAL_H
#define RECOND_DAEMON_CHECKPOINT_INTERNAL_H

#include "daemon/disk/checkpoint.h"
#include "proto/lock.h"
#include "proto/wire/codec.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define CHECKPOINT_MAGIC 0x504b4352u /* "RCKP" */
#define CHECKPOINT_PREFIX_BYTES 88
#define CHECKPOINT_ENTRY_BYTES 28
#define CHECKPOINT_HEAD_MAX \
    (CHECKPOINT_PREFIX_BYTES + CHECKPOINT_ENTRY_BYTES * CHECKPOINT_SECTIONS_MAX + 4)
#define CHECKPOINT_WRITER_CAP 32

enum checkpoint_draft_state { CHECKPOINT_IDLE, CHECKPOINT_DRAFTED, CHECKPOINT_COMMITTED };

struct checkpoint {
    int sessions; /* the folder of all sessions, open */
    section_reads_fn *reads;
    const void *reads_ctx;

    struct lock lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool started, stopping;
    atomic_ullong beat;

    /* the draft: its holder's, then the thread's */
    enum checkpoint_draft_state state;
    struct checkpoint_draft draft;
    uint8_t *packed;
    size_t packed_cap;
    struct codec *codec;
    char id[CHECKPOINT_ID_CAP];
    uint64_t number;
    uint32_t rounds;
    checkpoint_done_fn *done;
    void *ctx;
};

/* A session's folder, opened. */
struct checkpoint_folder {
    int fd;
    const char *id;
    const struct checkpoint *c; /* says which sections this build reads */
};

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

/* ---- checkpoint_head.c: bytes, no I/O */
static inline size_t checkpoint_head_bytes(int n)
{
    return (size_t)(CHECKPOINT_PREFIX_BYTES + CHECKPOINT_ENTRY_BYTES * n + 4);
}
void checkpoint_head_put(uint8_t *out, const char *id, const struct checkpoint_head *h);
/*
 * checkpoint_head_get - check all of a head, and that the bodies fill a file of `size` bytes
 *
 * In:      in [len]: the file's first bytes, CHECKPOINT_HEAD_MAX or all that it has
 * Returns: 0; ERR_INPUT: damaged, or another session's; ERR_UNSUPPORTED: another build's
 */
MUST_CHECK int checkpoint_head_get(struct checkpoint_head *h, const uint8_t *in, size_t len,
                                   uint64_t size, const struct checkpoint_folder *f,
                                   uint64_t number, struct err *err);

/* ---- checkpoint_file.c */
/* close(f->fd) on 0. Returns 0; ERR_INPUT: not an id; ERR_NOT_FOUND; ERR_IO. */
MUST_CHECK int checkpoint_file_folder(struct checkpoint_folder *f, const struct checkpoint *c,
                                      const char *id, struct err *err);

/* Packs c->draft into a file of its own, durable when this returns 0; c->packed has room for
 * codec_bound() of each section. c->beat is renewed between steps. */
MUST_CHECK int checkpoint_file_write(const struct checkpoint_folder *f, struct checkpoint *c,
                                     struct err *err);

/* Keeps the file of c->number, the newest whole one before it and those of other builds. Returns
 * that one's number, 0 = none. */
uint64_t checkpoint_file_prune(const struct checkpoint_folder *f, struct checkpoint *c);

/* The largest number below `limit` that the folder has a checkpoint of; 0 = none. Negative: the
 * folder cannot be read. */
int checkpoint_file_below(int folder, uint64_t limit, uint64_t *number);
/* Removes those above `number`, or sets them aside if they are another build's, and removes what a
 * crash has left half written; *changed = how many. */
int checkpoint_file_cut(const struct checkpoint_folder *f, uint64_t number, int *changed);
/* Reads the head of a file. Returns as checkpoint_head_get(), and ERR_IO; *fd is open on 0. */
MUST_CHECK int checkpoint_file_open(const struct checkpoint_folder *f, uint64_t number,
                                    struct checkpoint_head *h, int *fd, struct err *err);
int checkpoint_file_set_aside(int folder, uint64_t number);

#endif
