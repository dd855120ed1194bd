/*
 * cloud_internal.h - what the cloud_*.c files share; no other file includes it
 *
 * Memory:  tables that are as large as the limits (slots, staged changes) are allocated at once and
 *          touched as they fill, so that a sparse cloud takes little memory; blocks grow by half.
 *          Everything that a commit needs is reserved while points are staged, so a commit cannot
 *          fail.
 */
#ifndef RECOND_PROTO_CLOUD_INTERNAL_H
#define RECOND_PROTO_CLOUD_INTERNAL_H

#include "proto/cloud/cloud.h"
#include "proto/wire/delta.h"

#define CLOUD_COMMIT_WEIGHT 2 /* size of a struct cloud_commit_entry in units of 8 bytes */

/* `count` copies of the key enter a block, or leave it where count is negative */
struct cloud_change {
    uint64_t key;
    union {
        uint32_t block; /* staged */
        uint32_t rank;  /* keys of the block that were below this one */
    };
    int32_t count;
};

struct cloud_slot { /* One point of the device. Both members are read together. */
    uint64_t key;
    uint32_t block; /* block index + 1; 0 = empty */
};

struct cloud_commit_entry { /* One commit in the history of a block. */
    uint64_t revision;
    uint32_t n;      /* The commit's keys in `past` begin here: */
    uint32_t n_left; /* first the keys that left, then the keys that entered */
};

struct cloud_entry {
    struct cloud_name name;
    uint64_t name_mix; /* mix64(name), which hashes the block's keys */
    uint64_t revision;
    uint64_t *keys;
    uint32_t n, cap;
    uint32_t n_next; /* number of points after the staged changes */
    /* The history: revision past_base, changed by the keys past[past_first, past_first + n_past),
     * is the present content. The oldest commit stands first, forgotten keys stand before it;
     * `commits` is laid out alike. */
    uint64_t past_base;
    uint64_t *past;
    struct cloud_commit_entry *commits;
    uint32_t past_first, n_past, past_cap, commits_first, n_commits, commits_cap;
    /* [ranks_cap] indices of the keys that left with the newest commit, in the block before it */
    uint32_t *ranks;
    uint32_t ranks_cap;
};

struct cloud_submap { /* a submap's place as a consumer was told it */
    bool told, unplaced;
    struct rigid T;
};

struct cloud {
    struct cloud_limits limits;
    struct cloud_entry *blocks;
    uint32_t n_blocks, blocks_cap;
    uint32_t
        *table; /* open addressing: block index + 1, 0 = free; a power of two >= 2 blocks_cap */
    uint32_t table_cap;
    uint64_t points, hash, revision;
    uint32_t epoch;
    int has_epoch;

    /* producer */
    struct cloud_slot *slots; /* [limits.max_points] */
    uint32_t slots_touched;
    uint32_t recent; /* block of the last put; the next put is often in it too */
    struct cloud_change *staged, *staged_aux;
    size_t n_staged, staged_cap, staged_touched;
    /* points are named by places: there are no slots, and the list of staged changes grows */
    int by_place;
    int64_t n_more; /* points that the next commit adds, if by_place */
    uint32_t *changed;
    uint32_t changed_cap;

    /* consumer */
    struct cloud_submap *submaps; /* [CLOUD_SUBMAPS_MAX], NULL before the first is told */

    /* scratch */
    uint64_t *merged;
    size_t merged_cap;
    struct cloud_change *net, *net_aux;
    uint32_t *patch_removed;
    uint64_t *patch_added;
    size_t net_cap;
    struct delta_scratch *delta;
};

/* cloud.c */
uint64_t cloud_key_hash(const struct cloud_entry *e, uint64_t key);

/* cloud_block.c: the table of blocks and their arrays */
struct cloud_entry *cloud_block_find(const struct cloud *c, const struct cloud_name *name);
MUST_CHECK int cloud_block_get(struct cloud *c, const struct cloud_name *name,
                               struct cloud_entry **e, struct err *err);
/* Room for n keys in the block. */
MUST_CHECK int cloud_block_reserve(struct cloud_entry *e, uint32_t n, struct err *err);
/* Returns the first index from `from` on whose key is not below `key`. The stride of the search is
 * a power of two; cloud_block_stride() gives the best one for n keys. */
uint32_t cloud_block_seek(const struct cloud_entry *e, uint32_t from, uint64_t key,
                          uint32_t stride);
uint32_t cloud_block_stride(const struct cloud_entry *e, size_t n);
/* Frees memory that a block no longer needs after it shrank. */
void cloud_block_trim(struct cloud_entry *e);
void cloud_block_free_all(struct cloud *c);

/* cloud_stage.c: makes the cloud a producer with empty slots. */
MUST_CHECK int cloud_stage_open(struct cloud *c, struct err *err);

/* cloud_sort.c */
/* Sorts by block, then by key, into `changes`; aux has the same size. */
void cloud_sort(struct cloud_change *changes, struct cloud_change *aux, size_t n);
/* Adds up the counts of equal keys in sorted changes and drops zeros. Returns how many are left. */
size_t cloud_sort_net(struct cloud_change *changes, size_t n);

/* cloud_history.c */
/* Remembers the net changes of one commit with their ranks; e has the new content. */
void cloud_history_push(struct cloud_entry *e, const struct cloud_change *net, size_t n);
/* Finds the commits after a revision, which are the newest ones of e->commits, as far back as the
 * history reaches. Returns the number of their keys; *past points to these keys, *n_commits is the
 * number of commits. e->ranks belongs to a single commit. */
uint32_t cloud_history_since(const struct cloud_entry *e, uint64_t revision, const uint64_t **past,
                             uint32_t *n_commits);
/* Moves the history to the front of its arrays, over the forgotten commits. */
void cloud_history_pack(struct cloud_entry *e);

#endif
