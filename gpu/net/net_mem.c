#include "gpu/net/net_mem.h"

#include <stdint.h>
#include <stdlib.h>

/* Each block has a malloc of its own, so that the sanitizers see every overrun. */
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

static struct net_mem_block *net_mem_push(struct net_mem *m, size_t bytes, size_t charge)
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
    b = net_mem_push(m, n * size, n * size);
    return b ? b->bytes : NULL;
}

int net_mem_adopt(struct net_mem *m, void *block, size_t bytes)
{
    struct net_mem_block *b = net_mem_push(m, 0, bytes);
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

/* ------------------------------------------------------------------------- arena */

static int larger_first(const void *a, const void *b)
{
    const struct net_mem_span *x = *(struct net_mem_span *const *)a;
    const struct net_mem_span *y = *(struct net_mem_span *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

size_t net_mem_arrange(struct net_mem_span **spans, int n, size_t align)
{
    size_t bytes = 0;
    qsort(spans, (size_t)n, sizeof(struct net_mem_span *), larger_first);
    for (int i = 0; i < n; i++) { /* spans[0 ... i) are ordered by place */
        struct net_mem_span *s = spans[i];
        size_t size = (s->bytes + align - 1) / align * align, at = 0;
        int k;
        for (k = 0; k < i; k++) {
            const struct net_mem_span *o = spans[k];
            size_t end = o->at + (o->bytes + align - 1) / align * align;
            if (o->last < s->first || s->last < o->first || end <= at)
                continue;
            if (at + size <= o->at)
                break;
            at = end;
        }
        s->at = at;
        bytes = at + size > bytes ? at + size : bytes;
        for (k = i; k > 0 && spans[k - 1]->at > at; k--)
            spans[k] = spans[k - 1];
        spans[k] = s;
    }
    return bytes;
}
