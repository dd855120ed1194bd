/* The blocks of a cloud. An open hash table finds them by name; a block keeps its index for
 * good. */
#include "proto/cloud/cloud_internal.h"

#include "proto/array.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS_FIRST 16u
#define KEYS_FIRST 64u
#define CACHE_KEYS 8u /* keys in a cache line */

static uint64_t name_mix(const struct cloud_name *n)
{
    uint64_t head = (uint64_t)n->submap | (uint64_t)(uint32_t)n->x << 32;
    uint64_t tail = (uint64_t)(uint32_t)n->y | (uint64_t)(uint32_t)n->z << 32;

    return key_mix64(key_mix64(head) ^ tail);
}

static int same_name(const struct cloud_name *a, const struct cloud_name *b)
{
    return a->submap == b->submap && a->x == b->x && a->y == b->y && a->z == b->z;
}

struct cloud_block cloud_block(const struct cloud *c, uint32_t index)
{
    const struct cloud_entry *e = &c->blocks[index];

    return (struct cloud_block){
        .name = e->name, .revision = e->revision, .keys = e->keys, .n = e->n};
}

/* Returns the cell of the table that holds a name's block, or the free one where it belongs. */
static uint32_t probe(const struct cloud *c, const struct cloud_name *name, uint64_t mix)
{
    uint32_t mask = c->table_cap - 1, at = (uint32_t)mix & mask;

    while (c->table[at] && !same_name(&c->blocks[c->table[at] - 1].name, name))
        at = (at + 1) & mask;
    return at;
}

struct cloud_entry *cloud_block_find(const struct cloud *c, const struct cloud_name *name)
{
    uint32_t cell;

    if (!c->table_cap)
        return NULL;
    cell = c->table[probe(c, name, name_mix(name))];
    return cell ? &c->blocks[cell - 1] : NULL;
}

/* Doubles the room for blocks, their table and the list of changed ones. */
static int cloud_block_grow(struct cloud *c, struct err *err)
{
    uint32_t cap = c->blocks_cap ? 2 * c->blocks_cap : BLOCKS_FIRST;
    struct cloud_entry *blocks = realloc(c->blocks, cap * sizeof *blocks);
    uint32_t *changed, *table;

    if (blocks)
        c->blocks = blocks;
    changed = realloc(c->changed, cap * sizeof *changed);
    if (changed)
        c->changed = changed;
    table = calloc(2 * (size_t)cap, sizeof *table);
    if (!blocks || !changed || !table) {
        free(table);
        return err_set(err, ERR_MEMORY, "no memory for %u blocks", (unsigned)cap);
    }
    free(c->table);
    c->table = table;
    c->table_cap = 2 * cap;
    c->blocks_cap = c->changed_cap = cap;
    for (uint32_t i = 0; i < c->n_blocks; i++)
        table[probe(c, &blocks[i].name, blocks[i].name_mix)] = i + 1;
    return 0;
}

int cloud_block_get(struct cloud *c, const struct cloud_name *name, struct cloud_entry **e,
                    struct err *err)
{
    uint64_t mix;
    int rc;

    *e = cloud_block_find(c, name);
    if (*e)
        return 0;
    mix = name_mix(name);
    if (c->n_blocks >= c->limits.max_blocks)
        return err_set(err, ERR_LIMIT, "more than %u blocks", (unsigned)c->limits.max_blocks);
    if (c->n_blocks == c->blocks_cap) {
        rc = cloud_block_grow(c, err);
        if (rc)
            return rc;
    }
    *e = &c->blocks[c->n_blocks];
    **e = (struct cloud_entry){.name = *name, .name_mix = mix};
    c->table[probe(c, name, mix)] = ++c->n_blocks;
    return 0;
}

int cloud_block_reserve(struct cloud_entry *e, uint32_t n, struct err *err)
{
    return array_grow_u32(&e->keys, &e->cap, n, sizeof *e->keys)
               ? err_set(err, ERR_MEMORY, "no memory for a block of %u points", (unsigned)n)
               : 0;
}

/* To pass `way` keys, way / stride strides are taken and then stride / CACHE_KEYS cache lines.
 * Their number is least where stride * stride = CACHE_KEYS * way. */
uint32_t cloud_block_stride(const struct cloud_entry *e, size_t n)
{
    uint32_t stride = CACHE_KEYS;

    while (n && (uint64_t)stride * stride * n < (uint64_t)CACHE_KEYS * e->n)
        stride *= 2;
    return stride;
}

/* The search only moves forward, first in strides, then in cache lines, then key by key. The
 * processor prefetches such reads and predicts their branches; a binary search takes twice as long
 * where the keys are not cached. */
uint32_t cloud_block_seek(const struct cloud_entry *e, uint32_t from, uint64_t key, uint32_t stride)
{
    while (e->n - from >= stride && e->keys[from + stride - 1] < key)
        from += stride;
    while (e->n - from >= CACHE_KEYS && e->keys[from + CACHE_KEYS - 1] < key)
        from += CACHE_KEYS;
    while (from < e->n && e->keys[from] < key)
        from++;
    return from;
}

/* An array that is at most a quarter full is cut to twice what it needs. */
static uint64_t *shrink(uint64_t *keys, uint32_t *cap, uint32_t n)
{
    uint64_t *less;

    if (*cap / 4 <= n + KEYS_FIRST)
        return keys;
    less = realloc(keys, (2 * (size_t)n + KEYS_FIRST) * sizeof *less);
    if (!less)
        return keys;
    *cap = 2 * n + KEYS_FIRST;
    return less;
}

static void free_arrays(struct cloud_entry *e)
{
    free(e->keys);
    free(e->past);
    free(e->commits);
    free(e->ranks);
    e->keys = e->past = NULL;
    e->commits = NULL;
    e->ranks = NULL;
    e->cap = e->past_cap = e->commits_cap = e->ranks_cap = 0;
    e->past_first = e->n_past = e->commits_first = e->n_commits = 0;
}

void cloud_block_trim(struct cloud_entry *e)
{
    if (e->n == 0) {
        free_arrays(e);
        return;
    }
    e->keys = shrink(e->keys, &e->cap, e->n);
    if (e->past_cap / 4 > e->n_past + KEYS_FIRST) {
        cloud_history_pack(e);
        e->past = shrink(e->past, &e->past_cap, e->n_past);
    }
}

void cloud_block_free_all(struct cloud *c)
{
    for (uint32_t i = 0; i < c->n_blocks; i++)
        free_arrays(&c->blocks[i]);
    free(c->blocks);
    free(c->table);
    c->blocks = NULL;
    c->table = NULL;
    c->n_blocks = c->blocks_cap = c->table_cap = c->recent = 0;
}
