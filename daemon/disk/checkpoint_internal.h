/* checkpoint_internal.h - shared by checkpoint.c and checkpoint_load.c */
#pragma once

#include "daemon/disk/checkpoint.h"
#include "proto/lock.h"

#include <pthread.h>
#include <stdbool.h>

enum checkpoint_draft_state { CHECKPOINT_IDLE, CHECKPOINT_DRAFTED, CHECKPOINT_COMMITTED };

struct checkpoint {
    int sessions; /* the folder of all sessions, open */
    section_reads_fn *reads;
    const void *reads_ctx;

    struct lock lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool started, stopping;

    /* owned by the holder of the draft, then by the thread */
    enum checkpoint_draft_state state;
    struct checkpoint_draft draft;
    struct checkpoint_writer writer;
    char id[CHECKPOINT_ID_CAP];
    uint64_t number;
    uint32_t rounds;
    checkpoint_done_fn *done;
    void *ctx;
};

/* Opens a session's folder, as checkpoint_file_folder(). */
MUST_CHECK static inline int checkpoint_folder(struct checkpoint_folder *f,
                                               const struct checkpoint *c, const char *id,
                                               struct err *err)
{
    const struct checkpoint_reads reads = {id, c->reads, c->reads_ctx};

    return checkpoint_file_folder(f, c->sessions, &reads, err);
}
