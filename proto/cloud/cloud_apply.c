#include "proto/cloud/cloud_internal.h"

#include "proto/array.h"

#include <stdlib.h>
#include <string.h>

/* Returns 1 where the message is to be applied, 0 where the block is as new as the message, or an
 * error. */
static int check_turn(const struct cloud *c, const struct cloud_entry *e, const struct delta *d,
                      struct err *err)
{
    uint64_t held = e ? e->revision : 0;
    uint32_t n = e ? e->n : 0;

    if (d->revision <= held)
        return 0;
    if (d->op == DELTA_PATCH && d->base_revision != held)
        return err_set(err, ERR_STATE, "patch from revision %llu, the mirror holds %llu",
                       (unsigned long long)d->base_revision, (unsigned long long)held);
    if (c->points - n + d->n_points > c->limits.max_points)
        return err_set(err, ERR_LIMIT, "more than %u points", (unsigned)c->limits.max_points);
    return 1;
}

static int check_patch(const struct delta *d, uint32_t n, struct err *err)
{
    if (d->n_removed > n || (d->n_removed && d->removed[d->n_removed - 1] >= n))
        return err_set(err, ERR_INPUT, "a removed index is beyond the %u points of the block",
                       (unsigned)n);
    if (n - d->n_removed + d->n_added != d->n_points)
        return err_set(err, ERR_INPUT, "%u points - %u + %u are not %u", (unsigned)n,
                       (unsigned)d->n_removed, (unsigned)d->n_added, (unsigned)d->n_points);
    return 0;
}

/* Puts the patched content into c->merged and leaves the block as it was. */
static void merge(struct cloud *c, const struct cloud_entry *e, const struct delta *d)
{
    uint64_t *out = c->merged;
    uint32_t i = 0, a = 0, r = 0, n = 0;

    while (i < e->n) {
        if (r < d->n_removed && d->removed[r] == i) {
            r++;
            i++;
        } else if (a < d->n_added && d->added[a] < e->keys[i]) {
            out[n++] = d->added[a++];
        } else {
            out[n++] = e->keys[i++];
        }
    }
    while (a < d->n_added)
        out[n++] = d->added[a++];
}

static uint64_t hash_of(const struct cloud_entry *e, const uint64_t *keys, uint32_t n)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += cloud_key_hash(e, keys[i]);
    return sum;
}

static void set_content(struct cloud *c, struct cloud_entry *e, const struct delta *d,
                        const uint64_t *keys)
{
    if (d->op == DELTA_PATCH) {
        for (uint32_t i = 0; i < d->n_removed; i++)
            c->hash -= cloud_key_hash(e, e->keys[d->removed[i]]);
    } else {
        c->hash -= hash_of(e, e->keys, e->n);
    }
    c->hash += hash_of(e, d->added, d->n_added);
    c->points = c->points - e->n + d->n_points;
    if (d->n_points)
        memcpy(e->keys, keys, d->n_points * sizeof *keys);
    e->n = e->n_next = d->n_points;
    e->revision = d->revision;
    e->past_base = d->revision;
    cloud_block_trim(e);
}

static int apply_block(struct cloud *c, const struct delta *d, struct err *err)
{
    struct cloud_entry *e = cloud_block_find(c, &d->name);
    int rc = check_turn(c, e, d, err);

    if (rc <= 0)
        return rc;
    rc = d->op == DELTA_PATCH ? check_patch(d, e ? e->n : 0, err) : 0;
    if (!rc)
        rc = cloud_block_get(c, &d->name, &e, err);
    if (!rc)
        rc = cloud_block_reserve(e, d->n_points, err);
    if (!rc && d->op == DELTA_PATCH &&
        array_grow(&c->merged, &c->merged_cap, d->n_points, sizeof *c->merged))
        rc = err_set(err, ERR_MEMORY, "no memory to merge %u points", (unsigned)d->n_points);
    if (rc)
        return rc;
    if (d->op == DELTA_PATCH)
        merge(c, e, d);
    set_content(c, e, d, d->op == DELTA_PATCH ? c->merged : d->added);
    return 0;
}

static void cloud_apply_clear(struct cloud *c, const struct delta *d)
{
    cloud_block_free_all(c);
    free(c->submaps);
    c->submaps = NULL;
    c->points = c->hash = 0;
    c->revision = d->revision;
    c->epoch = d->epoch;
    c->has_epoch = 1;
}

static int apply_submap(struct cloud *c, const struct delta *d, struct err *err)
{
    if (d->id >= CLOUD_SUBMAPS_MAX)
        return err_set(err, ERR_LIMIT, "submap %u, a session has up to %d", (unsigned)d->id,
                       CLOUD_SUBMAPS_MAX);
    if (!c->submaps)
        c->submaps = calloc(CLOUD_SUBMAPS_MAX, sizeof *c->submaps);
    if (!c->submaps)
        return err_set(err, ERR_MEMORY, "no memory for the places of submaps");
    c->submaps[d->id] = (struct cloud_submap){true, d->unplaced, d->T};
    return 0;
}

int cloud_apply(struct cloud *c, const uint8_t *msg, size_t len, struct err *err)
{
    struct delta d;
    int rc = 0;

    if (c->staged_cap)
        return err_set(err, ERR_STATE, "a mirror that a producer fills takes no block messages");
    if (!c->delta)
        rc = delta_scratch_new(&c->delta, err);
    if (!rc)
        rc = delta_decode(c->delta, &d, msg, len, err);
    if (rc)
        return rc;
    if (d.op == DELTA_CLEAR) {
        cloud_apply_clear(c, &d);
        return 0;
    }
    if (c->has_epoch && d.epoch != c->epoch)
        return err_set(err, ERR_STATE, "message of epoch %u, the mirror is of %u",
                       (unsigned)d.epoch, (unsigned)c->epoch);
    if (d.op == DELTA_PUT || d.op == DELTA_PATCH || d.op == DELTA_DELETE)
        rc = apply_block(c, &d, err);
    else if (d.op == DELTA_SUBMAP)
        rc = apply_submap(c, &d, err);
    if (rc)
        return rc;
    c->epoch = d.epoch;
    c->has_epoch = 1;
    if (d.revision > c->revision)
        c->revision = d.revision;
    return 0;
}
