/*
 * net_mem.h - memory of a model: a list of allocations that are freed together, with a hard cap,
 * and the arena of a plan
 *
 * Parsing and planning a model make many small arrays that live as long as the model. One cap
 * bounds them all, so that a hostile file cannot make them large one by one.
 */
#pragma once

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
/* Takes over a block from malloc(), which is freed with the rest. Returns 0, or -1: it was not
 * taken. */
int net_mem_adopt(struct net_mem *m, void *block, size_t bytes);
void net_mem_free(struct net_mem *m);

/* Bytes that some jobs of a plan use, and their place in its arena. */
struct net_mem_span {
    size_t bytes, at;
    int first, last; /* the first and the last job that use it; -1 = none yet */
};

/*
 * net_mem_arrange - places spans so that those in use by a job at the same time do not overlap
 *
 * The largest span is placed first, and each at the lowest place that is free during its whole
 * life.
 * In/out:  spans [n], which change their order; `at` becomes a multiple of align
 * Returns: bytes of the arena
 */
size_t net_mem_arrange(struct net_mem_span **spans, int n, size_t align);
