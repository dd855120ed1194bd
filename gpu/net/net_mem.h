/*
 * net_mem.h - a list of allocations that are freed together, with a hard cap
 *
 * Parsing and planning a model make many small arrays whose lifetimes are the model's. One cap
 * bounds them all, so that a hostile file cannot make them large one by one.
 */
#ifndef RECOND_GPU_NET_MEM_H
#define RECOND_GPU_NET_MEM_H

#include <stddef.h>

struct net_mem_block;

struct net_mem {
    struct net_mem_block *head;
    size_t used_bytes;
    size_t cap_bytes;
};

void net_mem_init(struct net_mem *m, size_t cap_bytes);
/* n * size zeroed bytes, aligned for any scalar. Returns NULL over the cap, on overflow, without
 * memory. */
void *net_mem_get(struct net_mem *m, size_t n, size_t size);
/* Take over a block from malloc(): freed with the rest. Returns 0, or -1: nothing was taken. */
int net_mem_adopt(struct net_mem *m, void *block, size_t bytes);
void net_mem_free(struct net_mem *m);

#endif
