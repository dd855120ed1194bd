/*
 * checkpoint_rig.h - a journal's folder with one session, and checkpoints in it that a test can
 * tell apart
 */
#pragma once

#include "daemon/disk/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKPOINT_RIG_ID "abcdefghijklmnopqrstuvwxyz"
#define CHECKPOINT_RIG_PARTS 4
#define CHECKPOINT_RIG_HEAD (88 + 28 * CHECKPOINT_RIG_PARTS + 4) /* of the file */

struct checkpoint_rig {
    char path[64], folder[128];
    int sessions;
    struct checkpoint *c;
    sem_t done;
    int n_done, rc;
    uint64_t number, older;
    uint32_t rounds;
};

/* Sections "T0  " ... "T3  ", of which this build reads version 1. */
static inline uint32_t checkpoint_rig_tag(int part)
{
    return SECTION_TAG('T', '0' + part, ' ', ' ');
}

static inline unsigned checkpoint_rig_reads(const void *ctx, uint32_t tag)
{
    (void)ctx;
    for (int i = 0; i < CHECKPOINT_RIG_PARTS; i++)
        if (tag == checkpoint_rig_tag(i))
            return 1;
    return (tag & 0xff) == 'D' || (tag & 0xff) == 'G';
}

static inline bool checkpoint_rig_open(struct checkpoint_rig *r)
{
    memset(r, 0, sizeof(*r));
    snprintf(r->path, sizeof(r->path), "/dev/shm/recond-checkpoint-XXXXXX"); /* fsync is quick */
    if (!mkdtemp(r->path)) {
        snprintf(r->path, sizeof(r->path), "/tmp/recond-checkpoint-XXXXXX");
        if (!mkdtemp(r->path))
            return false;
    }
    snprintf(r->folder, sizeof(r->folder), "%s/sessions", r->path);
    mkdir(r->folder, 0700);
    r->sessions = open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(r->folder, sizeof(r->folder), "%s/sessions/%s", r->path, CHECKPOINT_RIG_ID);
    mkdir(r->folder, 0700);
    sem_init(&r->done, 0, 0);
    return checkpoint_start(&r->c, r->sessions, checkpoint_rig_reads, NULL, NULL) == 0;
}

static inline void checkpoint_rig_close(struct checkpoint_rig *r)
{
    char command[160];

    checkpoint_close(&r->c);
    close(r->sessions);
    sem_destroy(&r->done);
    snprintf(command, sizeof(command), "rm -rf '%s'", r->path);
    if (system(command))
        printf("# %s is left\n", r->path);
}

/* Byte `at` of a part of checkpoint `number`: runs, so that it packs, and noise. */
static inline uint8_t checkpoint_rig_byte(uint64_t number, int part, size_t at)
{
    uint64_t v = number * 0x9e3779b97f4a7c15ull + (uint64_t)part * 77 + at / 8;

    v = (v ^ v >> 29) * 0xbf58476d1ce4e5b9ull;
    return at % 64 < 40 ? (uint8_t)(number + (uint64_t)part) : (uint8_t)(v >> (at % 8 * 8));
}

/* A section of `bytes` bytes at the end of the draft. */
static inline void checkpoint_rig_add(struct checkpoint_draft *d, uint64_t number, int part,
                                      uint32_t tag, unsigned version, unsigned flags, size_t bytes)
{
    uint8_t *body = section_open(d->row, d->cap, d->len, bytes);

    if (!body)
        abort();
    for (size_t k = 0; k < bytes; k++)
        body[k] = checkpoint_rig_byte(number, part, k);
    section_close(d->row, &d->len, tag, version, flags, bytes);
}

/* Room for the sections, and for one more. */
static inline struct checkpoint_draft *
checkpoint_rig_begin(struct checkpoint_rig *r, const size_t bytes[CHECKPOINT_RIG_PARTS])
{
    size_t total = section_bytes(100);

    for (int i = 0; i < CHECKPOINT_RIG_PARTS; i++)
        total += section_bytes(bytes[i]);
    return checkpoint_begin(r->c, total);
}

static inline void checkpoint_rig_fill(struct checkpoint_draft *d, uint64_t number,
                                       const size_t bytes[CHECKPOINT_RIG_PARTS])
{
    for (int i = 0; i < CHECKPOINT_RIG_PARTS; i++)
        checkpoint_rig_add(d, number, i, checkpoint_rig_tag(i), 1, 0, bytes[i]);
}

static inline int checkpoint_rig_load(const struct checkpoint_rig *r, struct checkpoint_state *s,
                                      uint64_t max)
{
    return checkpoint_load(s, r->c, CHECKPOINT_RIG_ID, max, NULL);
}

static inline bool checkpoint_rig_right(const struct checkpoint_state *state,
                                        const size_t bytes[CHECKPOINT_RIG_PARTS])
{
    struct section s;
    size_t at = 0;

    for (int i = 0; i < CHECKPOINT_RIG_PARTS; i++) {
        if (section_next(&s, state->row, state->len, &at, NULL) != 1 ||
            s.tag != checkpoint_rig_tag(i) || s.len != bytes[i])
            return false;
        for (size_t k = 0; k < s.len; k++)
            if (s.body[k] != checkpoint_rig_byte(state->number, i, k))
                return false;
    }
    return at == state->len;
}

static inline void checkpoint_rig_done(void *ctx, uint64_t number, uint32_t rounds, uint64_t older,
                                       int rc)
{
    struct checkpoint_rig *r = ctx;

    r->n_done++;
    r->number = number;
    r->rounds = rounds;
    r->older = older;
    r->rc = rc;
    sem_post(&r->done);
}

/* Until done() was called once more; a fuzzer's timer interrupts every second. */
static inline void checkpoint_rig_wait(struct checkpoint_rig *r)
{
    while (sem_wait(&r->done) && errno == EINTR)
        continue;
}

/* One checkpoint, waited for. Returns what done() was told. */
static inline int checkpoint_rig_write(struct checkpoint_rig *r, uint64_t number,
                                       const size_t bytes[CHECKPOINT_RIG_PARTS])
{
    struct checkpoint_draft *d = checkpoint_rig_begin(r, bytes);

    if (!d)
        return ERR_BUSY;
    checkpoint_rig_fill(d, number, bytes);
    checkpoint_commit(r->c, CHECKPOINT_RIG_ID, number, 0, checkpoint_rig_done, r);
    checkpoint_rig_wait(r);
    return r->rc;
}

static inline void checkpoint_rig_name(const struct checkpoint_rig *r, char path[192],
                                       uint64_t number, const char *suffix)
{
    snprintf(path, 192, "%s/%020llu.ckpt%s", r->folder, (unsigned long long)number, suffix);
}

static inline bool checkpoint_rig_has(const struct checkpoint_rig *r, uint64_t number,
                                      const char *suffix)
{
    char path[192];

    checkpoint_rig_name(r, path, number, suffix);
    return access(path, F_OK) == 0;
}

/* Change one byte of a file. */
static inline bool checkpoint_rig_hurt(const struct checkpoint_rig *r, uint64_t number, off_t at)
{
    char path[192];
    uint8_t byte;
    bool ok;
    int fd;

    checkpoint_rig_name(r, path, number, "");
    fd = open(path, O_RDWR);
    ok = pread(fd, &byte, 1, at) == 1;
    byte ^= 0x10;
    ok = ok && pwrite(fd, &byte, 1, at) == 1;
    close(fd);
    return ok;
}
