/*
 * cloud.h - the point cloud as daemon and clients both hold it: blocks of quantised, coloured
 * points
 *
 * Points are keys in blocks (key.h). A block's content is a *multiset* of keys, always sorted
 * ascending.
 *
 * Hash:    cloud_hash = sum over all points of mix64(key ^ mix64(name)), modulo 2^64, with
 *             name     = mix64(submap | x << 32) ^ (y | z << 32), x y z as unsigned 32-bit numbers
 *             mix64(v) = key_mix64()
 *          It does not depend on order, so two mirrors that hold the same points hash alike; the
 *          hash of an empty cloud is 0 (docs/PROTOCOL.md, "Cloud hash").
 * Threads: none inside; the daemon guards its mirror with the session's lock.
 */
#ifndef RECOND_PROTO_CLOUD_H
#define RECOND_PROTO_CLOUD_H

#include "proto/cloud/key.h"
#include "proto/err.h"
#include "proto/types.h"

#define CLOUD_SUBMAPS_MAX 256         /* submaps whose places a consumer is told */
#define CLOUD_BLOCK_POINTS (1u << 20) /* points of one block, as many as one message carries */

/* What a consumer may read of a block; borrowed until the next call that changes the cloud. */
struct cloud_block {
    struct cloud_name name;
    uint64_t revision;    /* revision of the commit that changed the block last; 0 = none did */
    const uint64_t *keys; /* [n], ascending */
    uint32_t n;           /* 0 = a deleted block, kept so that clients can be told */
};

struct cloud_limits {
    uint32_t max_blocks;
    uint32_t max_points; /* points of the whole cloud; for a producer also the number of slots */
};

struct cloud;

MUST_CHECK int cloud_new(struct cloud **cloud, const struct cloud_limits *limits, struct err *err);
void cloud_free(struct cloud **cloud);

uint64_t cloud_points(const struct cloud *c);
uint64_t cloud_hash(const struct cloud *c);
/* revision of the last commit, or the newest one applied */
uint64_t cloud_revision(const struct cloud *c);
uint32_t cloud_epoch(const struct cloud *c); /* epoch of the applied messages; 0 before the first */
uint32_t cloud_blocks(const struct cloud *c); /* blocks ever named, deleted ones included */
struct cloud_block cloud_block(const struct cloud *c, uint32_t index);
size_t cloud_bytes(const struct cloud *c); /* memory held, without untouched pages */

/* ------------------------------------------------------------------------ producer (the daemon) */

/*
 * cloud_stage_put / cloud_stage_remove - one changed point, named by the slot that the device keeps
 * it in
 *
 * A put replaces whatever the slot held. Nothing is visible before cloud_commit().
 * Returns: 0; ERR_LIMIT: slot not below max_points, block over max_blocks or CLOUD_BLOCK_POINTS;
 *          ERR_MEMORY. Only that point is left out (a valid slot is empty afterwards); the caller
 *          counts it.
 */
MUST_CHECK int cloud_stage_put(struct cloud *c, uint32_t slot, uint32_t submap,
                               const int32_t p_q[3], const struct key_look *look, struct err *err);
void cloud_stage_remove(struct cloud *c, uint32_t slot);
/* Prefetches a slot, so that its memory has arrived when the slot is changed some calls later. */
void cloud_stage_expect(const struct cloud *c, uint32_t slot);

/* Slots that were ever put are 0 ... n - 1. Both calls below tell what was staged last; the second
 * returns false for an empty slot. */
uint32_t cloud_slots(const struct cloud *c);
bool cloud_slot(const struct cloud *c, uint32_t slot, uint32_t *submap, int32_t p_q[3],
                struct key_look *look);

/*
 * cloud_place_put / cloud_place_remove - one changed point, named by where it lies: for producers
 * that keep at most one point at a place, and no slots
 *
 * A put replaces what lay there. A place may be named once between two commits, and one cloud takes
 * either slots or places. A point then costs its key alone, 8 bytes, beside history and what is
 * staged.
 * Returns: as cloud_stage_put(); ERR_LIMIT also beyond max_points
 */
MUST_CHECK int cloud_place_put(struct cloud *c, uint32_t submap, const int32_t p_q[3],
                               const struct key_look *look, struct err *err);
MUST_CHECK int cloud_place_remove(struct cloud *c, uint32_t submap, const int32_t p_q[3],
                                  struct err *err);

/*
 * cloud_commit - merge what was staged into the sorted blocks
 *
 * Out:     *n_changed, and the list of changed block indices, borrowed until the next commit
 * Returns: the new revision (old + 1), or the old one if nothing changed
 * Cost:    sort of the staged keys plus one linear merge of each touched block
 */
uint64_t cloud_commit(struct cloud *c, const uint32_t **changed, uint32_t *n_changed);

/*
 * cloud_patch - how a block changed since a revision that a client holds
 *
 * Each block remembers its last commits, as long as they are smaller than the block itself. Removed
 * points are named by their index in the block as it was at base_revision, ascending.
 * In:      base_revision of the content that the client holds, 0 = none
 * Out:     *patch, arrays borrowed until the next call on this cloud
 * Returns: 0; ERR_NOT_FOUND: the history does not reach back so far (send the whole block);
 *          ERR_MEMORY
 */
struct cloud_patch {
    uint64_t base_revision, revision;
    const uint32_t *removed; /* [n_removed] indices, ascending */
    const uint64_t *added;   /* [n_added] keys, ascending */
    uint32_t n_removed, n_added;
};
MUST_CHECK int cloud_patch(struct cloud *c, uint32_t block, uint64_t base_revision,
                           struct cloud_patch *patch, struct err *err);

/*
 * cloud_state_save / cloud_state_load - a producer's cloud as bytes, between two commits
 *
 * A cloud that was loaded goes on as the saved one would have: same blocks by index, same
 * revisions, same hashes. Histories are not kept: a client that is behind gets whole blocks.
 * In:      save: buf [cap], cloud_state_bytes() of now is enough. load: a new cloud; the bytes
 *          cannot be trusted and are checked: counts, names, order, hash, slots against blocks
 * Returns: 0; ERR_LIMIT: cap; ERR_STATE: changes are staged, no producer; not a new cloud;
 *          ERR_INPUT: not such a state, or over the limits; ERR_MEMORY. On errors nothing changes.
 */
size_t cloud_state_bytes(const struct cloud *c);
MUST_CHECK int cloud_state_save(const struct cloud *c, uint8_t *buf, size_t cap, size_t *len,
                                struct err *err);
MUST_CHECK int cloud_state_load(struct cloud *c, const uint8_t *buf, size_t len, struct err *err);

/* ------------------------------------------------------------------------- consumer (a client) */

/*
 * cloud_apply - apply one block message (delta.h) to the mirror
 *
 * Idempotent: a message of a revision not newer than the block's own changes nothing; a newer patch
 *          applies only to its exact base revision. A clear empties the mirror, forgets its blocks
 *          and sets the epoch; without one the first message sets it. Transforms change no block;
 *          those of submaps are kept until a clear, those of objects are checked and dropped.
 * Returns: 0; ERR_INPUT: malformed; ERR_STATE: a patch for another base (the client asks for the
 *          block again), another epoch, or a mirror that is itself a producer; ERR_LIMIT: over the
 *          limits; ERR_MEMORY. Nothing changes on any error.
 */
MUST_CHECK int cloud_apply(struct cloud *c, const uint8_t *msg, size_t len, struct err *err);

/* Where a submap lies: *T is borrowed until the next message. NULL = where its own coordinates say.
 * Returns false for a submap without a place; *T is NULL then. */
bool cloud_place(const struct cloud *c, uint32_t submap, const struct rigid **T);
uint64_t cloud_unplaced(const struct cloud *c); /* points of unplaced submaps */

#endif
