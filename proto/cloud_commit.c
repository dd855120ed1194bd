#include "proto/cloud_internal.h"

#include <string.h>

/* Merge net changes (sorted, of this block) into c->merged; answers how many keys came out. */
static uint32_t merge(struct cloud *c, const struct cloud_entry *e, const struct cloud_change *net,
                      size_t n_net)
{
    uint64_t *out = c->merged;
    uint32_t i = 0, n = 0;

    for (size_t k = 0; k < n_net; k++) {
        uint32_t from = i;

        while (i < e->n && e->keys[i] < net[k].key)
            i++;
        memcpy(out + n, e->keys + from, (i - from) * sizeof *out);
        n += i - from;
        if (net[k].count < 0)
            i += (uint32_t)-net[k].count; /* staged from slots, so that many are there */
        for (int32_t copies = net[k].count; copies > 0; copies--)
            out[n++] = net[k].key;
    }
    if (i < e->n)
        memcpy(out + n, e->keys + i, (e->n - i) * sizeof *out);
    return n + (e->n - i);
}

static void commit_block(struct cloud *c, struct cloud_entry *e, const struct cloud_change *net,
                         size_t n_net)
{
    uint32_t n = merge(c, e, net, n_net);

    if (n)
        memcpy(e->keys, c->merged, n * sizeof *e->keys);
    for (size_t k = 0; k < n_net; k++)
        c->hash += (uint64_t)(int64_t)net[k].count * cloud_key_hash(e, net[k].key);
    c->points += (uint64_t)n - e->n;
    e->n = n;
    e->revision = c->revision;
    cloud_history_push(e, net, n_net);
    cloud_block_trim(e);
}

uint64_t cloud_commit(struct cloud *c, const uint32_t **changed, uint32_t *n_changed)
{
    size_t n;

    cloud_sort(c->staged, c->staged_aux, c->n_staged);
    n = cloud_sort_net(c->staged, c->n_staged);
    c->n_staged = 0;
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
