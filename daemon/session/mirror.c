#include "daemon/session/mirror.h"

#include "proto/array.h"
#include "proto/lock.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VOXEL_CONFIDENCE 1 /* confidence of points without a count */
#define EXPECT_AHEAD 16    /* changes read ahead: each slot costs two cache misses */

struct mirror {
    struct lock lock;
    struct cloud *cloud;
    atomic_bool commits;           /* a commit has the lock, or waits for it */
    struct lock summary_lock;      /* taken under the other lock */
    struct mirror_summary summary; /* summary of the cloud after the last commit */
};

/* Under the lock. */
static void mirror_summarise(struct mirror *m)
{
    lock_take(&m->summary_lock);
    m->summary.revision = cloud_revision(m->cloud);
    m->summary.points = cloud_points(m->cloud);
    m->summary.hash = cloud_hash(m->cloud);
    m->summary.blocks = cloud_blocks(m->cloud);
    lock_give(&m->summary_lock);
}

int mirror_new(struct mirror **mirror, const struct cloud_limits *limits, struct err *err)
{
    struct mirror *m = calloc(1, sizeof(*m));
    int rc;

    *mirror = NULL;
    if (!m)
        return err_set(err, ERR_MEMORY, "no memory for a cloud");
    rc = cloud_new(&m->cloud, limits, err);
    if (rc) {
        free(m);
        return rc;
    }
    lock_init(&m->lock, LOCK_MIRROR);
    lock_init(&m->summary_lock, LOCK_MIRROR_SUMMARY);
    mirror_summarise(m);
    *mirror = m;
    return 0;
}

void mirror_free(struct mirror **mirror)
{
    struct mirror *m = *mirror;

    if (!m)
        return;
    cloud_free(&m->cloud);
    lock_destroy(&m->lock);
    lock_destroy(&m->summary_lock);
    free(m);
    *mirror = NULL;
}

static void mirror_begin(struct mirror *m, struct mirror_commit *out)
{
    out->n_left_out = 0;
    atomic_store(&m->commits, true);
    lock_take(&m->lock);
}

static void end_commit(struct mirror *m, struct mirror_commit *out)
{
    out->revision = cloud_commit(m->cloud, &out->changed, &out->n_changed);
    mirror_summarise(m);
    atomic_store(&m->commits, false);
    lock_give(&m->lock);
}

void mirror_commit(struct mirror *m, uint32_t submap, const struct gpu_change *changes, uint32_t n,
                   struct mirror_commit *out)
{
    mirror_begin(m, out);
    for (uint32_t i = 0; i < n; i++) {
        const struct gpu_change *c = &changes[i];
        const struct key_look look = {{c->rgb[0], c->rgb[1], c->rgb[2]}, c->confidence, c->normal};
        if (i + EXPECT_AHEAD < n)
            cloud_stage_expect(m->cloud, changes[i + EXPECT_AHEAD].slot);
        if (c->kind == GPU_CHANGE_REMOVE)
            cloud_stage_remove(m->cloud, c->slot);
        else if (cloud_stage_put(m->cloud, c->slot, submap, c->p_q, &look, NULL))
            out->n_left_out++;
    }
    end_commit(m, out);
}

uint32_t mirror_get_points(struct mirror *m, uint32_t *first, struct mirror_point *points,
                           uint32_t cap)
{
    uint32_t n = 0, last;

    lock_take(&m->lock);
    last = cloud_slots(m->cloud);
    if (last - *first > cap)
        last = *first + cap;
    for (; *first < last; ++*first) {
        struct mirror_point *p = &points[n];

        p->slot = *first;
        n += cloud_slot(m->cloud, *first, &p->submap, p->p_q, &p->look);
    }
    lock_give(&m->lock);
    return n;
}

void mirror_move_points(struct mirror *m, const struct mirror_point *points, uint32_t n,
                        struct mirror_commit *out)
{
    mirror_begin(m, out);
    for (uint32_t i = 0; i < n; i++)
        out->n_left_out += cloud_stage_put(m->cloud, points[i].slot, points[i].submap,
                                           points[i].p_q, &points[i].look, NULL) != 0;
    end_commit(m, out);
}

/* Returns the centre of a voxel in steps of the cloud. */
static void voxel_place(const struct gpu_volume *v, uint32_t voxel, int32_t p_q[3])
{
    uint32_t column = voxel / (uint32_t)v->n[2];
    uint32_t at[3] = {column % (uint32_t)v->n[0], column / (uint32_t)v->n[0],
                      voxel % (uint32_t)v->n[2]};

    for (int i = 0; i < 3; i++) {
        int axis = (v->up + 1 + i) % 3;
        double from = (double)v->min_m[axis] / (double)v->voxel_m * MIRROR_VOXEL_STEPS;

        p_q[axis] =
            (int32_t)lround(from) + (int32_t)at[i] * MIRROR_VOXEL_STEPS + MIRROR_VOXEL_STEPS / 2;
    }
}

/* Applies the changes of one kind. */
static void stage_voxels(struct cloud *cloud, const struct gpu_volume *v,
                         const struct gpu_voxel_change *changes, uint32_t n, uint8_t kind,
                         struct mirror_commit *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct gpu_voxel_change *c = &changes[i];
        const struct key_look look = {{c->rgb[0], c->rgb[1], c->rgb[2]}, VOXEL_CONFIDENCE, 0};
        int32_t p_q[3];

        if (c->kind != kind)
            continue;
        voxel_place(v, c->voxel, p_q);
        if (kind == GPU_CHANGE_REMOVE ? cloud_place_remove(cloud, 0, p_q, NULL)
                                      : cloud_place_put(cloud, 0, p_q, &look, NULL))
            out->n_left_out++;
    }
}

void mirror_commit_voxels(struct mirror *m, const struct gpu_volume *v,
                          const struct gpu_voxel_change *changes, uint32_t n,
                          struct mirror_commit *out)
{
    mirror_begin(m, out);
    stage_voxels(m->cloud, v, changes, n, GPU_CHANGE_REMOVE, out);
    stage_voxels(m->cloud, v, changes, n, GPU_CHANGE_PUT, out);
    end_commit(m, out);
}

void mirror_summary(struct mirror *m, struct mirror_summary *s)
{
    lock_take(&m->summary_lock);
    *s = m->summary;
    lock_give(&m->summary_lock);
}

uint32_t mirror_list(struct mirror *m, struct mirror_entry *entries, uint32_t first, uint32_t cap)
{
    uint32_t n = 0, all;

    lock_take(&m->lock);
    all = cloud_blocks(m->cloud);
    for (; n < cap && first + n < all; n++) {
        struct cloud_block b = cloud_block(m->cloud, first + n);
        entries[n] = (struct mirror_entry){b.name, b.revision, b.n, first + n};
    }
    lock_give(&m->lock);
    return n;
}

void mirror_copy_free(struct mirror_copy *copy)
{
    free(copy->keys);
    free(copy->removed);
    memset(copy, 0, sizeof(*copy));
}

static int mirror_reserve(struct mirror_copy *copy, size_t keys, size_t removed, struct err *err)
{
    if (array_grow(&copy->keys, &copy->keys_cap, keys, sizeof(*copy->keys)) ||
        array_grow(&copy->removed, &copy->removed_cap, removed, sizeof(*copy->removed)))
        return err_set(err, ERR_MEMORY, "no memory to copy %zu points and %zu indices", keys,
                       removed);
    return 0;
}

static int copy_patch(struct mirror_copy *copy, const struct cloud_patch *p, struct err *err)
{
    int rc = mirror_reserve(copy, p->n_added, p->n_removed, err);

    if (rc)
        return rc;
    if (p->n_added)
        memcpy(copy->keys, p->added, p->n_added * sizeof(*p->added));
    if (p->n_removed)
        memcpy(copy->removed, p->removed, p->n_removed * sizeof(*p->removed));
    copy->delta.op = DELTA_PATCH;
    copy->delta.base_revision = p->base_revision;
    copy->delta.n_added = p->n_added;
    copy->delta.n_removed = p->n_removed;
    return 0;
}

/* Sends a patch if the history reaches back and it is smaller: 4 bytes an index, 10 a key. */
static int copy_block(struct mirror *m, uint32_t index, const struct cloud_block *b, uint64_t held,
                      struct mirror_copy *copy, struct err *err)
{
    struct cloud_patch patch;
    int rc;

    if (b->n == 0) {
        copy->delta.op = DELTA_DELETE;
        return 0;
    }
    if (held && cloud_patch(m->cloud, index, held, &patch, NULL) == 0 &&
        4 * (uint64_t)patch.n_removed + 10 * (uint64_t)patch.n_added < 10 * (uint64_t)b->n)
        return copy_patch(copy, &patch, err);
    rc = mirror_reserve(copy, b->n, 0, err);
    if (rc)
        return rc;
    memcpy(copy->keys, b->keys, b->n * sizeof(*b->keys));
    copy->delta.op = DELTA_PUT;
    copy->delta.n_added = b->n;
    return 0;
}

int mirror_read(struct mirror *m, uint32_t index, uint64_t held, struct mirror_copy *copy,
                struct err *err)
{
    struct cloud_block b;
    int rc = ERR_END;

    if (!lock_try(&m->lock)) {
        if (atomic_load(&m->commits))
            return err_set(err, ERR_BUSY, "the cloud is being changed");
        lock_take(&m->lock); /* the copy is short */
    }
    if (index >= cloud_blocks(m->cloud))
        goto out;
    b = cloud_block(m->cloud, index);
    if (b.revision <= held)
        goto out;
    memset(&copy->delta, 0, sizeof(copy->delta));
    copy->delta.name = b.name;
    copy->delta.revision = b.revision;
    copy->delta.n_points = b.n;
    rc = copy_block(m, index, &b, held, copy, err);
    copy->delta.added = copy->keys;
    copy->delta.removed = copy->removed;
out:
    lock_give(&m->lock);
    return rc;
}

void mirror_snapshot_free(struct mirror_snapshot *s)
{
    free(s->blocks);
    free(s->keys);
    memset(s, 0, sizeof(*s));
}

static void copy_all(struct mirror *m, struct mirror_snapshot *s)
{
    uint32_t all = cloud_blocks(m->cloud);
    uint64_t at = 0;

    for (uint32_t i = 0; i < all; i++) {
        struct cloud_block b = cloud_block(m->cloud, i);
        if (b.n == 0)
            continue;
        memcpy(s->keys + at, b.keys, b.n * sizeof(*b.keys));
        s->blocks[s->n_blocks++] = (struct mirror_block){b.name, b.n, at};
        at += b.n;
    }
    s->points = at;
    s->hash = cloud_hash(m->cloud);
}

int mirror_snapshot(struct mirror *m, struct mirror_snapshot *s, struct err *err)
{
    struct mirror_summary size;
    uint64_t points, blocks;
    bool fits;

    do { /* memory is allocated outside the lock; the cloud may have grown meanwhile */
        memset(s, 0, sizeof(*s));
        mirror_summary(m, &size);
        points = size.points + size.points / 8 + 1024;
        blocks = size.blocks + size.blocks / 8 + 64;
        s->keys = malloc(points * sizeof(*s->keys));
        s->blocks = malloc(blocks * sizeof(*s->blocks));
        if (!s->keys || !s->blocks) {
            mirror_snapshot_free(s);
            return err_set(err, ERR_MEMORY, "no memory for a snapshot of %llu points",
                           (unsigned long long)size.points);
        }
        lock_take(&m->lock);
        fits = cloud_points(m->cloud) <= points && cloud_blocks(m->cloud) <= blocks;
        if (fits)
            copy_all(m, s);
        lock_give(&m->lock);
        if (!fits)
            mirror_snapshot_free(s);
    } while (!fits);
    return 0;
}

size_t mirror_state_bytes(struct mirror *m)
{
    size_t n;

    lock_take(&m->lock);
    n = cloud_state_bytes(m->cloud);
    lock_give(&m->lock);
    return n;
}

int mirror_save(struct mirror *m, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    int rc;

    lock_take(&m->lock);
    rc = cloud_state_save(m->cloud, buf, cap, len, err);
    lock_give(&m->lock);
    return rc;
}

int mirror_load(struct mirror *m, const uint8_t *buf, size_t len, struct err *err)
{
    int rc;

    lock_take(&m->lock);
    rc = cloud_state_load(m->cloud, buf, len, err);
    mirror_summarise(m);
    lock_give(&m->lock);
    return rc;
}

size_t mirror_bytes(const struct cloud_limits *limits)
{
    /* Arrays grow by a half ahead of need. A point takes 12 bytes of keys, 18 of history, 6 of
     * ranks and 16 of slots; a quarter of the points may be staged, with 16 bytes each. */
    return (size_t)limits->max_points * (12 + 18 + 6 + 16) + (size_t)limits->max_points / 4 * 16;
}
