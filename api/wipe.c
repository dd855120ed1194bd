#include "api/wipe.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (64 << 10)

void wipe_free(void *memory)
{
    if (memory)
        explicit_bzero(memory, malloc_usable_size(memory));
    free(memory);
}

void *wipe_realloc(void *old, size_t size, const char *reason)
{
    size_t had = old ? malloc_usable_size(old) : 0;
    void *fresh = size ? malloc(size) : NULL;

    (void)reason;
    if (size && !fresh)
        return NULL; /* the old one stays, as with realloc() */
    if (fresh && old)
        memcpy(fresh, old, had < size ? had : size);
    wipe_free(old);
    return fresh;
}

__attribute__((noinline)) void wipe_stack(void)
{
    char below[STACK_BYTES];

    explicit_bzero(below, sizeof below);
}
