/*
 * mirror.h - the host's copy of a session's cloud (proto/cloud) and its lock
 *
 * A committer writes the device's changes; streams and exports copy under the lock and encode
 * afterwards, so a commit waits for the copy of one block at most. A commit of a million voxels
 * has the lock for half a second: threads that serve many sessions do not wait for it.
 * Threads: any; nothing of others is locked under the mutexes inside.
 */
#pragma once

#include "gpu/gpu.h"
#include "proto/cloud/cloud.h"
#include "proto/wire/delta.h"

struct mirror;

MUST_CHECK int mirror_new(struct mirror **m, const struct cloud_limits *limits, struct err *err);
void mirror_free(struct mirror **m);

struct mirror_commit {
    uint64_t revision;
    const uint32_t *changed; /* [n_changed] block indices, until the next commit */
    uint32_t n_changed;
    uint32_t n_left_out; /* points beyond the limits, or for which there was no memory */
};

/* Called by the committer of the session's job. The points put are of `submap`. */
void mirror_commit(struct mirror *m, uint32_t submap, const struct gpu_change *changes, uint32_t n,
                   struct mirror_commit *out);

/* Points of the mirror that move when no frame changes it any more. */
struct mirror_point {
    uint32_t slot, submap;
    int32_t p_q[3];
    struct key_look look;
};
/* Copies points of the slots [*first, *first + cap); *first moves on. Returns how many there were;
 * at the end *first stays. */
uint32_t mirror_get_points(struct mirror *m, uint32_t *first, struct mirror_point *points,
                           uint32_t cap);
/* Moves or recolours points. */
void mirror_move_points(struct mirror *m, const struct mirror_point *points, uint32_t n,
                        struct mirror_commit *out);

/*
 * mirror_commit_voxels - commit changes of voxels, which are named by their places in the volume
 *
 * In:      changes [n], no voxel twice. What is removed makes room for what is put, wherever they
 *          stand in the list. A voxel's centre is published in steps of 1/MIRROR_VOXEL_STEPS of its
 *          side
 */
#define MIRROR_VOXEL_STEPS 16
void mirror_commit_voxels(struct mirror *m, const struct gpu_volume *v,
                          const struct gpu_voxel_change *changes, uint32_t n,
                          struct mirror_commit *out);

struct mirror_summary {
    uint64_t revision, points, hash;
    uint32_t blocks;
};
/* Returns the summary of the last commit; does not wait for one under way. */
void mirror_summary(struct mirror *m, struct mirror_summary *s);

/* Fills the keys of blocks [first, first + cap); returns how many there were. */
struct mirror_entry {
    struct cloud_name name;
    uint64_t revision;
    uint32_t n_points, index;
};
uint32_t mirror_list(struct mirror *m, struct mirror_entry *entries, uint32_t first, uint32_t cap);

/* One block to be sent to a client; buffers grow to the largest block and stay. */
struct mirror_copy {
    struct delta delta; /* op, name, revisions, arrays; the caller sets epoch and codec */
    uint64_t *keys;
    uint32_t *removed;
    size_t keys_cap, removed_cap;
};
void mirror_copy_free(struct mirror_copy *copy);

/*
 * mirror_read - the smallest message that brings a client's block up to date
 *
 * In:      revision of the block that the client holds, 0 = none
 * Returns: 0; ERR_END: the client is up to date; ERR_BUSY: a commit is under way, which a stream's
 *          thread with all of its clients does not wait for; ERR_MEMORY
 */
MUST_CHECK int mirror_read(struct mirror *m, uint32_t block, uint64_t held,
                           struct mirror_copy *copy, struct err *err);

/* A copy of the whole cloud; freed by mirror_snapshot_free(). */
struct mirror_block {
    struct cloud_name name;
    uint32_t n;
    uint64_t first; /* rank of its first point in the snapshot, index into keys */
};
struct mirror_snapshot {
    struct mirror_block *blocks; /* [n_blocks], none empty */
    uint64_t *keys;              /* [points] */
    uint32_t n_blocks;
    uint64_t points, hash;
};
MUST_CHECK int mirror_snapshot(struct mirror *m, struct mirror_snapshot *s, struct err *err);
void mirror_snapshot_free(struct mirror_snapshot *s);

/* The cloud as bytes, and back into a new mirror: cloud_state_save() and cloud_state_load() under
 * the lock. No commit may come between mirror_state_bytes() and mirror_save(). */
size_t mirror_state_bytes(struct mirror *m);
MUST_CHECK int mirror_save(struct mirror *m, uint8_t *buf, size_t cap, size_t *len,
                           struct err *err);
MUST_CHECK int mirror_load(struct mirror *m, const uint8_t *buf, size_t len, struct err *err);

/* The bytes that a mirror of these limits may grow to, for admission. */
size_t mirror_bytes(const struct cloud_limits *limits);
