/*
 * arena.h - hands out pieces of one allocation, each from a multiple of `align` on
 *
 * With base NULL it only adds up: the same calls first measure, then lay out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena {
    uint8_t *base;
    size_t align, used;
};

/* Room for n elements; NULL while only adding up. */
static inline void *arena_take(struct arena *a, size_t n, size_t size)
{
    size_t at = a->used;

    a->used += (n * size + a->align - 1) / a->align * a->align;
    return a->base ? a->base + at : NULL;
}
