/*
 * checkpoint_rig.h - a journal's folder with one session, and checkpoints in it that a test can
 * tell apart
 */
#ifndef RECOND_TESTS_SUPPORT_CHECKPOINT_RIG_H
#define RECOND_TESTS_SUPPORT_CHECKPOINT_RIG_H

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

struct checkpoint_rig {
    char path[64], folder[128];
    struct checkpoint *c;
    sem_t done;
    int n_done, rc;
    uint64_t number, older;
};

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
    snprintf(r->folder, sizeof(r->folder), "%s/sessions/%s", r->path, CHECKPOINT_RIG_ID);
    mkdir(r->folder, 0700);
    sem_init(&r->done, 0, 0);
    return checkpoint_start(&r->c, r->path, NULL) == 0;
}

static inline void checkpoint_rig_close(struct checkpoint_rig *r)
{
    char command[160];

    checkpoint_close(&r->c);
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

static inline void checkpoint_rig_fill(struct checkpoint_draft *d, uint64_t number)
{
    for (int i = 0; i < CHECKPOINT_PARTS; i++) {
        d->len[i] = d->cap[i];
        for (size_t k = 0; k < d->len[i]; k++)
            d->part[i][k] = checkpoint_rig_byte(number, i, k);
    }
}

static inline bool checkpoint_rig_right(const struct checkpoint_state *s,
                                        const size_t bytes[CHECKPOINT_PARTS])
{
    for (int i = 0; i < CHECKPOINT_PARTS; i++) {
        if (s->len[i] != bytes[i])
            return false;
        for (size_t k = 0; k < s->len[i]; k++)
            if (s->part[i][k] != checkpoint_rig_byte(s->number, i, k))
                return false;
    }
    return true;
}

static inline void checkpoint_rig_done(void *ctx, uint64_t number, uint64_t older, int rc)
{
    struct checkpoint_rig *r = ctx;

    r->n_done++;
    r->number = number;
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
                                       const size_t bytes[CHECKPOINT_PARTS])
{
    struct checkpoint_draft *d = checkpoint_begin(r->c, bytes);

    if (!d)
        return ERR_BUSY;
    checkpoint_rig_fill(d, number);
    checkpoint_commit(r->c, CHECKPOINT_RIG_ID, number, checkpoint_rig_done, r);
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

#endif
