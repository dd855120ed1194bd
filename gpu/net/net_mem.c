#include "gpu/net/net_mem.h"

#include <stdint.h>
#include <stdlib.h>

/* One malloc a block rather than one big arena: the sanitizers then see every overrun. */
struct net_mem_block {
    struct net_mem_block *next;
    void *adopted;
    _Alignas(16) unsigned char bytes[];
};

void net_mem_init(struct net_mem *m, size_t cap_bytes)
{
    m->head = NULL;
    m->used_bytes = 0;
    m->cap_bytes = cap_bytes;
}

static struct net_mem_block *push(struct net_mem *m, size_t bytes, size_t charge)
{
    struct net_mem_block *b;
    if (charge > m->cap_bytes - m->used_bytes)
        return NULL;
    b = calloc(1, sizeof *b + bytes);
    if (!b)
        return NULL;
    b->next = m->head;
    m->head = b;
    m->used_bytes += charge;
    return b;
}

void *net_mem_get(struct net_mem *m, size_t n, size_t size)
{
    struct net_mem_block *b;
    if (size && n > (SIZE_MAX / 2) / size)
        return NULL;
    b = push(m, n * size, n * size);
    return b ? b->bytes : NULL;
}

int net_mem_adopt(struct net_mem *m, void *block, size_t bytes)
{
    struct net_mem_block *b = push(m, 0, bytes);
    if (!b)
        return -1;
    b->adopted = block;
    return 0;
}

void net_mem_free(struct net_mem *m)
{
    while (m->head) {
        struct net_mem_block *b = m->head;
        m->head = b->next;
        free(b->adopted);
        free(b);
    }
    m->used_bytes = 0;
}
