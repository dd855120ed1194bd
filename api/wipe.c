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

__attribute__((noinline)) void wipe_stack(void)
{
    char below[STACK_BYTES];

    explicit_bzero(below, sizeof below);
}
