/*
 * slab.h - pieces of a few large allocations, so that sessions come and go without
 * asking the driver
 *
 * Chunks are asked of a source and cut into pieces; a piece that comes back is joined with its free
 * neighbours. The smallest free run that is large enough is taken. Chunks stay: what was once
 * needed is there for the next one, until slab_trim() or slab_free(). The memory itself is never
 * touched, so it may be a device's.
 * Threads: any. While a source works for one thread, others can call slab_put(), and slab_get()
 *          where a free run is large enough.
 * Cost:    a walk through the pieces: microseconds for thousands
 */
#pragma once

#include "proto/err.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLAB_ALIGN 4096 /* of a piece within its chunk, and of its size */

/* Where chunks come from. get returns 0, ERR_MEMORY, or another error that is passed on. */
struct slab_source {
    int (*get)(void **memory, size_t bytes, void *ctx, struct err *err);
    void (*put)(void *memory, void *ctx);
    void *ctx;
    size_t chunk_bytes; /* asked for at once; a larger piece gets a chunk of its own size */
};

struct slab;

MUST_CHECK int slab_new(struct slab **s, const struct slab_source *source, struct err *err);
/* Gives all chunks back, also those with pieces that were not put. */
void slab_free(struct slab **s);

/* Asks the source for a chunk of this size now. */
MUST_CHECK int slab_reserve(struct slab *s, size_t bytes, struct err *err);

/*
 * slab_get - a piece of at least `bytes`
 *
 * Where no free run is large enough the source is asked for a chunk. If it has no memory for that,
 * it is asked for just the piece, and a last time after slab_trim().
 * Returns: 0; what the source says, *piece NULL
 */
MUST_CHECK int slab_get(struct slab *s, void **piece, size_t bytes, struct err *err);
void slab_put(struct slab *s, void *piece); /* NULL: nothing happens */

/* Chunks without a piece go back. */
void slab_trim(struct slab *s);

/* Bytes of chunks, and those of them in pieces. */
void slab_get_bytes(struct slab *s, size_t *held, size_t *used);

#ifdef __cplusplus
}
#endif
