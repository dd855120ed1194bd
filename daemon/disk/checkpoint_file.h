/*
 * checkpoint_file.h - checkpoints in a session's folder: writing, listing and removing them
 */
#pragma once

#include "daemon/disk/checkpoint_head.h"
#include "proto/wire/codec.h"

#include <stdatomic.h>

/* A session's folder, opened. */
struct checkpoint_folder {
    int fd;
    struct checkpoint_reads reads;
};

/* What is written: a row of sections. */
struct checkpoint_draft {
    uint8_t *row;
    size_t cap, len;
};

/* Buffers of a writer, and its sign of life, which is renewed between steps. */
struct checkpoint_writer {
    uint8_t *packed; /* has room for codec_bound() of each section */
    size_t packed_cap;
    struct codec *codec;
    atomic_ullong beat;
};

/* Opens the folder of reads->id. Returns 0, then close(f->fd); ERR_INPUT: not an id; ERR_NOT_FOUND;
 * ERR_IO. */
MUST_CHECK int checkpoint_file_folder(struct checkpoint_folder *f, int sessions,
                                      const struct checkpoint_reads *reads, struct err *err);
/* Packs the draft into a file of its own, which is durable when this returns 0. */
MUST_CHECK int checkpoint_file_write(const struct checkpoint_folder *f, uint64_t number,
                                     const struct checkpoint_draft *draft,
                                     struct checkpoint_writer *w, struct err *err);
/* Keeps the file of this number, the newest whole one before it and those of other builds. Returns
 * the older one's number, 0 = none. */
uint64_t checkpoint_file_prune(const struct checkpoint_folder *f, uint64_t number,
                               const struct checkpoint_writer *w);
/* Finds the largest number below `limit` that the folder has a checkpoint of; 0 = none. Returns 0;
 * ERR_IO: the folder cannot be read. */
int checkpoint_file_below(int folder, uint64_t limit, uint64_t *number);
/* Removes those above `number`, or sets them aside if they are another build's, and removes partly
 * written files; *changed = how many. */
int checkpoint_file_cut(const struct checkpoint_folder *f, uint64_t number, int *changed);
/* Reads the head of a file. Returns as checkpoint_head_get(), and ERR_IO; *fd is open on 0. */
MUST_CHECK int checkpoint_file_open(const struct checkpoint_folder *f, uint64_t number,
                                    struct checkpoint_head *h, int *fd, struct err *err);
int checkpoint_file_set_aside(int folder, uint64_t number);
