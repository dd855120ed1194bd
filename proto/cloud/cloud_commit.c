#include "proto/cloud/cloud_internal.h"

#include <string.h>

static uint32_t leaving(const struct cloud_change *change)
{
    return change->count < 0 ? (uint32_t)-change->count : 0;
}

/* Finds where the keys of sorted changes lie in the block. A key that leaves is always present,
 * because it was staged from a slot. */
static void rank(const struct cloud_entry *e, struct cloud_change *net, size_t n)
{
    uint32_t at = 0, stride = cloud_block_stride(e, n);

    for (size_t k = 0; k < n; k++) {
        at = cloud_block_seek(e, at, net[k].key, stride);
        net[k].rank = at;
        at += leaving(&net[k]);
    }
}

/* Moves the keys between change k and the next one to their new place. */
static void cloud_commit_move(struct cloud_entry *e, const struct cloud_change *net, size_t n,
                              size_t k, int64_t shift)
{
    uint32_t first = net[k].rank + leaving(&net[k]), end = k + 1 < n ? net[k + 1].rank : e->n;

    if (shift && first < end)
        memmove(e->keys + first + shift, e->keys + first, (end - first) * sizeof *e->keys);
}

/*
 * Applies ranked changes in place. The keys between two changes form a stretch, which moves as a
 * whole by the sum of the counts before it; a stretch that does not move is not even read.
 * Neighbouring stretches that move down are moved from first to last, those that move up from last
 * to first. So a run of such neighbours is only written over its own old places and over keys that
 * left.
 */
static void merge(struct cloud_entry *e, const struct cloud_change *net, size_t n)
{
    int64_t shift = 0;

    for (size_t k = 0, end; k < n; k = end) {
        shift += net[k].count;
        end = k + 1;
        if (shift <= 0) {
            cloud_commit_move(e, net, n, k, shift);
            continue;
        }
        while (end < n && shift + net[end].count > 0)
            shift += net[end++].count;
        for (size_t i = end, s = (size_t)shift; i-- > k; s -= (size_t)(int64_t)net[i].count)
            cloud_commit_move(e, net, n, i, (int64_t)s);
    }
    shift = 0;
    for (size_t k = 0; k < n; k++) {
        for (int32_t i = 0; i < net[k].count; i++)
            e->keys[net[k].rank + shift + i] = net[k].key;
        shift += net[k].count;
    }
    e->n = (uint32_t)(e->n + shift);
}

static void commit_block(struct cloud *c, struct cloud_entry *e, struct cloud_change *net, size_t n)
{
    rank(e, net, n);
    c->points -= e->n;
    merge(e, net, n);
    c->points += e->n;
    for (size_t k = 0; k < n; k++)
        c->hash += (uint64_t)(int64_t)net[k].count * cloud_key_hash(e, net[k].key);
    e->revision = c->revision;
    cloud_history_push(e, net, n);
    cloud_block_trim(e);
}

uint64_t cloud_commit(struct cloud *c, const uint32_t **changed, uint32_t *n_changed)
{
    size_t n;

    cloud_sort(c->staged, c->staged_aux, c->n_staged);
    n = cloud_sort_net(c->staged, c->n_staged);
    c->n_staged = 0;
    c->n_more = 0;
    *n_changed = 0;
    *changed = c->changed;
    if (n == 0)
        return c->revision;
    c->revision++;
    for (size_t i = 0; i < n;) {
        size_t first = i;
        uint32_t block = c->staged[i].block;

        while (i < n && c->staged[i].block == block)
            i++;
        commit_block(c, &c->blocks[block], c->staged + first, i - first);
        c->changed[(*n_changed)++] = block;
    }
    return c->revision;
}
