#include "proto/array.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 256

int array_grow(void *array, size_t *cap, size_t n, size_t size)
{
    size_t more = *cap + *cap / 2 + FIRST_BYTES / size + 1;
    void *elements;

    if (n <= *cap)
        return 0;
    if (more < n)
        more = n;
    if (more > SIZE_MAX / size)
        return ERR_MEMORY;
    memcpy(&elements, array, sizeof elements);
    elements = realloc(elements, more * size);
    if (!elements)
        return ERR_MEMORY;
    memcpy(array, &elements, sizeof elements);
    *cap = more;
    return 0;
}

int array_grow_u32(void *array, uint32_t *cap, uint64_t n, size_t size)
{
    size_t more = *cap;

    if (n > UINT32_MAX || array_grow(array, &more, n, size))
        return ERR_MEMORY;
    *cap = more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
    return 0;
}
