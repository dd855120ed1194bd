#include "daemon/session/dirty.h"

#include <stdlib.h>
#include <string.h>

void dirty_open(struct dirty *d)
{
    *d = (struct dirty){.head = DIRTY_NONE, .tail = DIRTY_NONE};
}

void dirty_free(struct dirty *d)
{
    free(d->held);
    free(d->next);
}

/* Reserves room for the block; the arrays grow with the cloud, by halves. */
static bool dirty_reserve(struct dirty *d, uint32_t block)
{
    uint32_t cap = block + block / 2 + 256;
    uint64_t *held;
    uint32_t *next;

    if (block < d->cap)
        return true;
    held = realloc(d->held, cap * sizeof(*held));
    if (held)
        d->held = held;
    next = realloc(d->next, cap * sizeof(*next));
    if (next)
        d->next = next;
    if (!held || !next)
        return false;
    memset(held + d->cap, 0, (cap - d->cap) * sizeof(*held));
    memset(next + d->cap, 0xff, (cap - d->cap) * sizeof(*next));
    d->cap = cap;
    return true;
}

bool dirty_hold(struct dirty *d, uint32_t block, uint64_t revision)
{
    if (!dirty_reserve(d, block))
        return false;
    d->held[block] = revision;
    return true;
}

bool dirty_mark(struct dirty *d, uint32_t block)
{
    if (!dirty_reserve(d, block))
        return false;
    if (d->next[block] != DIRTY_NONE)
        return true;
    if (d->head == DIRTY_NONE)
        d->head = block;
    else
        d->next[d->tail] = block;
    d->next[block] = block;
    d->tail = block;
    return true;
}

uint32_t dirty_pop(struct dirty *d)
{
    uint32_t block = d->head;

    if (block == DIRTY_NONE)
        return DIRTY_NONE;
    d->head = d->next[block] == block ? DIRTY_NONE : d->next[block];
    d->next[block] = DIRTY_NONE;
    return block;
}

void dirty_put_back(struct dirty *d, uint32_t block)
{
    if (d->next[block] != DIRTY_NONE)
        return;
    if (d->head == DIRTY_NONE)
        d->tail = block;
    d->next[block] = d->head == DIRTY_NONE ? block : d->head;
    d->head = block;
}
