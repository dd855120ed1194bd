/* array.h - the one way in which an array grows */
#pragma once

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * array_grow - make room for n elements
 * In/out:  array, the address of a pointer to the elements (NULL or from malloc); *cap, how many
 *          there is room for. The room grows by half at least, so that n appends move 3 n elements
 *          at most. Elements keep their values, new ones have none.
 * Returns: 0; ERR_MEMORY: the array is as it was
 */
MUST_CHECK int array_grow(void *array, size_t *cap, size_t n, size_t size);
/* The same for an array that counts in 32 bits. */
MUST_CHECK int array_grow_u32(void *array, uint32_t *cap, uint64_t n, size_t size);

#ifdef __cplusplus
}
#endif
