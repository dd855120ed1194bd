/*
 * slab.h - pieces of a few large allocations, so that sessions need no calls of the driver
 *
 * A source gives chunks, which are cut into pieces; a returned piece is joined with its free
 * neighbours. A piece comes from the smallest free run that is large enough. Chunks stay for later
 * pieces until slab_trim() or slab_free(). The memory itself is never touched, so it may be a
 * device's.
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

#define SLAB_ALIGN 4096 /* alignment of a piece within its chunk, and of its size */

/* The source of chunks. get returns 0, ERR_MEMORY, or another error that is passed on. */
struct slab_source {
    int (*get)(void **memory, size_t bytes, void *ctx, struct err *err);
    void (*put)(void *memory, void *ctx);
    void *ctx;
    size_t chunk_bytes; /* size of a chunk; a larger piece gets a chunk of its own size */
};

struct slab;

MUST_CHECK int slab_new(struct slab **s, const struct slab_source *source, struct err *err);
/* Returns all chunks, also those with pieces that were not put. */
void slab_free(struct slab **s);

/* Asks the source for a chunk of this size now. */
MUST_CHECK int slab_reserve(struct slab *s, size_t bytes, struct err *err);

/*
 * slab_get - a piece of at least `bytes`
 *
 * If no free run is large enough, it asks the source for a chunk; if that fails for lack of memory,
 * for just the piece, and a last time after slab_trim(). Returns: 0; the source's error, *piece
 * NULL
 */
MUST_CHECK int slab_get(struct slab *s, void **piece, size_t bytes, struct err *err);
void slab_put(struct slab *s, void *piece); /* NULL: nothing happens */

/* Returns the chunks without a piece to the source. */
void slab_trim(struct slab *s);

/* The bytes of all chunks, and of all pieces. */
void slab_get_bytes(struct slab *s, size_t *held, size_t *used);

#ifdef __cplusplus
}
#endif
