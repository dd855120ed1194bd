#include "proto/cloud/cloud.h"

#include "proto/cloud/cloud_internal.h"

#include <stdlib.h>

int cloud_new(struct cloud **cloud, const struct cloud_limits *limits, struct err *err)
{
    struct cloud *c;

    *cloud = NULL;
    if (limits->max_blocks == 0 || limits->max_points == 0)
        return err_set(err, ERR_INPUT, "a cloud of %u blocks and %u points holds nothing",
                       (unsigned)limits->max_blocks, (unsigned)limits->max_points);
    c = calloc(1, sizeof *c);
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory for a cloud");
    c->limits = *limits;
    *cloud = c;
    return 0;
}

void cloud_free(struct cloud **cloud)
{
    struct cloud *c = *cloud;

    if (!c)
        return;
    cloud_block_free_all(c);
    free(c->slots);
    free(c->staged);
    free(c->staged_aux);
    free(c->changed);
    free(c->merged);
    free(c->submaps);
    free(c->net);
    free(c->net_aux);
    free(c->patch_removed);
    free(c->patch_added);
    delta_scratch_free(&c->delta);
    free(c);
    *cloud = NULL;
}

uint64_t cloud_points(const struct cloud *c)
{
    return c->points;
}

uint64_t cloud_hash(const struct cloud *c)
{
    return c->hash;
}

uint64_t cloud_revision(const struct cloud *c)
{
    return c->revision;
}

uint32_t cloud_epoch(const struct cloud *c)
{
    return c->epoch;
}

uint32_t cloud_blocks(const struct cloud *c)
{
    return c->n_blocks;
}

size_t cloud_bytes(const struct cloud *c)
{
    size_t n = sizeof *c + c->blocks_cap * sizeof *c->blocks + c->table_cap * sizeof *c->table;

    for (uint32_t i = 0; i < c->n_blocks; i++) {
        const struct cloud_entry *e = &c->blocks[i];

        n += ((size_t)e->cap + e->past_cap) * sizeof(uint64_t);
        n += e->commits_cap * sizeof *e->commits + e->ranks_cap * sizeof *e->ranks;
    }
    n += c->slots_touched * sizeof *c->slots;
    n += c->staged_touched * (sizeof *c->staged + sizeof *c->staged_aux);
    n += c->changed_cap * sizeof *c->changed + c->merged_cap * sizeof *c->merged;
    n += c->net_cap * (2 * sizeof *c->net + sizeof *c->patch_removed + sizeof *c->patch_added);
    return n;
}

uint64_t cloud_key_hash(const struct cloud_entry *e, uint64_t key)
{
    return key_mix64(key ^ e->name_mix);
}

bool cloud_place(const struct cloud *c, uint32_t submap, const struct rigid **T)
{
    const struct cloud_submap *at =
        c->submaps && submap < CLOUD_SUBMAPS_MAX ? &c->submaps[submap] : NULL;

    *T = at && at->told && !at->unplaced ? &at->T : NULL;
    return !at || !at->unplaced;
}

uint64_t cloud_unplaced(const struct cloud *c)
{
    const struct rigid *T;
    uint64_t n = 0;

    for (uint32_t i = 0; i < c->n_blocks; i++)
        n += cloud_place(c, c->blocks[i].name.submap, &T) ? 0 : c->blocks[i].n;
    return n;
}
