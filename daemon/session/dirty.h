/*
 * dirty.h - the blocks to send to a client, the longest waiting first
 *
 * The list runs through an array: a block is in it once, and the array grows with the cloud alone.
 * Threads: any that has the lock of the outbox to which the list belongs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DIRTY_NONE UINT32_MAX

struct dirty {
    uint64_t *held; /* [cap] revision of each block that the client has */
    uint32_t *next; /* [cap] next block of the list, itself = last, DIRTY_NONE = not in it */
    uint32_t cap, head, tail;
};

void dirty_open(struct dirty *d);
void dirty_free(struct dirty *d);

/* They return false if there is no memory. */
bool dirty_hold(struct dirty *d, uint32_t block, uint64_t revision);
bool dirty_mark(struct dirty *d, uint32_t block);
/* Returns the first block; DIRTY_NONE: there is none. */
uint32_t dirty_pop(struct dirty *d);
/* Puts the block that was popped last back to the front, unless it was marked meanwhile. */
void dirty_put_back(struct dirty *d, uint32_t block);
