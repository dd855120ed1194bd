/* Changes that the device reports, by slot, collected until the next commit. */
#include "proto/cloud/cloud_internal.h"

#include <stdlib.h>
#include <string.h>

/* Slots and staged changes are allocated at their largest size. All staged changes together remove
 * at most one key and add at most one key per slot. With three changes a slot there is always room
 * for one more after the changes that cancel out were dropped. */
int cloud_stage_open(struct cloud *c, struct err *err)
{
    size_t n = c->limits.max_points, cap = 3 * n + 64;

    c->slots = calloc(n, sizeof *c->slots);
    c->staged = malloc(cap * sizeof *c->staged);
    c->staged_aux = malloc(cap * sizeof *c->staged_aux);
    if (c->slots && c->staged && c->staged_aux) {
        c->staged_cap = cap;
        return 0;
    }
    free(c->slots);
    free(c->staged);
    free(c->staged_aux);
    c->slots = NULL;
    c->staged = c->staged_aux = NULL;
    return err_set(err, ERR_MEMORY, "no memory for %zu slots of points", n);
}

static void cloud_stage_push(struct cloud *c, uint32_t block, uint64_t key, int count)
{
    if (c->n_staged == c->staged_cap) {
        cloud_sort(c->staged, c->staged_aux, c->n_staged);
        c->n_staged = cloud_sort_net(c->staged, c->n_staged);
    }
    c->staged[c->n_staged++] = (struct cloud_change){.key = key, .block = block, .count = count};
    if (c->n_staged > c->staged_touched)
        c->staged_touched = c->n_staged;
}

void cloud_stage_expect(const struct cloud *c, uint32_t slot)
{
    if (!c->slots || slot >= c->limits.max_points)
        return;
    __builtin_prefetch(&c->slots[slot], 1);
}

void cloud_stage_remove(struct cloud *c, uint32_t slot)
{
    struct cloud_slot *s;

    if (!c->slots || slot >= c->limits.max_points || !c->slots[slot].block)
        return;
    s = &c->slots[slot];
    c->blocks[s->block - 1].n_next--;
    cloud_stage_push(c, s->block - 1, s->key, -1);
    s->block = 0;
}

/* Finds the block of a name. The block of the last call is tried first, because the points of a
 * surface come block by block. */
static int cloud_stage_find(struct cloud *c, const struct cloud_name *name, struct cloud_entry **e,
                            struct err *err)
{
    int rc = 0;

    if (c->n_blocks && memcmp(&c->blocks[c->recent].name, name, sizeof *name) == 0)
        *e = &c->blocks[c->recent];
    else
        rc = cloud_block_get(c, name, e, err);
    if (!rc)
        c->recent = (uint32_t)(*e - c->blocks);
    return rc;
}

uint32_t cloud_slots(const struct cloud *c)
{
    return c->slots_touched;
}

bool cloud_slot(const struct cloud *c, uint32_t slot, uint32_t *submap, int32_t p_q[3],
                struct key_look *look)
{
    const struct cloud_entry *e;

    if (slot >= c->slots_touched || !c->slots[slot].block)
        return false;
    e = &c->blocks[c->slots[slot].block - 1];
    *submap = e->name.submap;
    key_position(e->name, c->slots[slot].key, p_q);
    *look = key_look(c->slots[slot].key);
    return true;
}

int cloud_stage_put(struct cloud *c, uint32_t slot, uint32_t submap, const int32_t p_q[3],
                    const struct key_look *look, struct err *err)
{
    struct cloud_name name = {submap, p_q[0] >> KEY_BLOCK_BITS, p_q[1] >> KEY_BLOCK_BITS,
                              p_q[2] >> KEY_BLOCK_BITS};
    uint64_t key = key_make(p_q, look);
    struct cloud_entry *e;
    int rc = 0;

    if (slot >= c->limits.max_points)
        return err_set(err, ERR_LIMIT, "slot %u of a cloud of at most %u points", (unsigned)slot,
                       (unsigned)c->limits.max_points);
    if (c->by_place)
        rc = err_set(err, ERR_STATE, "a cloud of places takes no points by slots");
    else if (!c->staged_cap)
        rc = cloud_stage_open(c, err);
    if (rc)
        return rc;
    cloud_stage_remove(c, slot);
    rc = cloud_stage_find(c, &name, &e, err);
    if (!rc && e->n_next >= CLOUD_BLOCK_POINTS)
        rc = err_set(err, ERR_LIMIT, "more than %u points in one block", CLOUD_BLOCK_POINTS);
    if (!rc)
        rc = cloud_block_reserve(e, e->n_next + 1, err);
    if (rc)
        return rc;
    e->n_next++;
    cloud_stage_push(c, c->recent, key, +1);
    c->slots[slot] = (struct cloud_slot){key, c->recent + 1};
    if (slot >= c->slots_touched)
        c->slots_touched = slot + 1;
    return 0;
}
