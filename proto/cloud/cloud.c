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

/* ------------------------------------------------------------------------- keys */

uint8_t cloud_colour(uint8_t channel)
{
    unsigned drop = 8 - CLOUD_COLOUR_BITS, most = (1u << CLOUD_COLOUR_BITS) - 1;
    unsigned v = (channel + (1u << (drop - 1))) >> drop;

    return (uint8_t)((v < most ? v : most) << drop);
}

/* Spread ten bits so that two zeros follow each. */
static uint32_t spread(uint32_t v)
{
    v &= 0x3ff;
    v = (v | v << 16) & 0x030000ff;
    v = (v | v << 8) & 0x0300f00f;
    v = (v | v << 4) & 0x030c30c3;
    v = (v | v << 2) & 0x09249249;
    return v;
}

static uint32_t gather(uint32_t v)
{
    v &= 0x09249249;
    v = (v | v >> 2) & 0x030c30c3;
    v = (v | v >> 4) & 0x0300f00f;
    v = (v | v >> 8) & 0x030000ff;
    v = (v | v >> 16) & 0x3ff;
    return v;
}

uint32_t cloud_morton(uint32_t x, uint32_t y, uint32_t z)
{
    return spread(x) | spread(y) << 1 | spread(z) << 2;
}

void cloud_demorton(uint32_t m, uint32_t *x, uint32_t *y, uint32_t *z)
{
    *x = gather(m);
    *y = gather(m >> 1);
    *z = gather(m >> 2);
}

void cloud_key_position(struct cloud_name name, uint64_t key, int32_t p_q[3])
{
    uint32_t x, y, z;

    cloud_demorton((uint32_t)(key >> 32), &x, &y, &z);
    p_q[0] = name.x * CLOUD_BLOCK_STEPS + (int32_t)x;
    p_q[1] = name.y * CLOUD_BLOCK_STEPS + (int32_t)y;
    p_q[2] = name.z * CLOUD_BLOCK_STEPS + (int32_t)z;
}

uint64_t cloud_mix64(uint64_t v)
{
    v += 0x9e3779b97f4a7c15ull;
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
    v = (v ^ v >> 27) * 0x94d049bb133111ebull;
    return v ^ v >> 31;
}

uint64_t cloud_key_hash(const struct cloud_entry *e, uint64_t key)
{
    return cloud_mix64(key ^ e->name_mix);
}
