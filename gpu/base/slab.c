#include "gpu/base/slab.h"

#include "proto/lock.h"

#include <stdint.h>
#include <stdlib.h>

/* A run of bytes is a piece or free. The list is in memory order; free runs are never
 * neighbours. */
struct run {
    struct run *next, *prev;
    uint8_t *at;
    size_t bytes;
    int used;
};

struct chunk {
    struct chunk *next;
    struct run *first;
    uint8_t *memory;
    size_t bytes;
};

struct slab {
    struct slab_source source;
    /* only one thread asks the source at a time; it takes this lock before `lock` */
    struct lock growing;
    struct lock lock;
    struct chunk *chunks;
    size_t held, used;
};

static size_t aligned(size_t bytes)
{
    return bytes > SIZE_MAX - SLAB_ALIGN ? 0 : (bytes + SLAB_ALIGN - 1) / SLAB_ALIGN * SLAB_ALIGN;
}

/* ------------------------------------------------------------------------- chunks */

/* Returns a list of chunks to the source. */
static void chunks_free(struct slab *s, struct chunk *c)
{
    while (c) {
        struct chunk *next = c->next;

        for (struct run *r = c->first, *behind; r; r = behind) {
            behind = r->next;
            free(r);
        }
        s->source.put(c->memory, s->source.ctx);
        free(c);
        c = next;
    }
}

/* Under `growing`. */
static int slab_grow(struct slab *s, size_t bytes, struct err *err)
{
    struct chunk *c = calloc(1, sizeof *c);
    struct run *r = calloc(1, sizeof *r);
    void *memory = NULL;
    int rc = c && r ? 0 : err_set(err, ERR_MEMORY, "no memory for the list of pieces");

    if (rc == 0)
        rc = s->source.get(&memory, bytes, s->source.ctx, err);
    if (rc) {
        free(c);
        free(r);
        return rc;
    }
    *r = (struct run){.at = memory, .bytes = bytes};
    *c = (struct chunk){.first = r, .memory = memory, .bytes = bytes};
    lock_take(&s->lock);
    c->next = s->chunks;
    s->chunks = c;
    s->held += bytes;
    lock_give(&s->lock);
    return 0;
}

/* Takes the chunks without a piece out of the list. Call it under `lock`. */
static struct chunk *unused(struct slab *s)
{
    struct chunk **at = &s->chunks, *out = NULL, *c;

    while ((c = *at)) {
        if (c->first->used || c->first->next) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        s->held -= c->bytes;
        c->next = out;
        out = c;
    }
    return out;
}

void slab_trim(struct slab *s)
{
    struct chunk *c;

    lock_take(&s->lock);
    c = unused(s);
    lock_give(&s->lock);
    chunks_free(s, c);
}

/* ------------------------------------------------------------------------- pieces */

/* Returns the smallest free run of at least so many bytes. Call it under `lock`. */
static struct run *best(const struct slab *s, size_t bytes)
{
    struct run *found = NULL;

    for (struct chunk *c = s->chunks; c; c = c->next)
        for (struct run *r = c->first; r; r = r->next)
            if (!r->used && r->bytes >= bytes && (!found || r->bytes < found->bytes))
                found = r;
    return found;
}

/* Makes the rest of a run free; without memory for that the piece stays larger. Under `lock`. */
static void split(struct run *r, size_t bytes)
{
    struct run *rest = r->bytes > bytes ? calloc(1, sizeof *rest) : NULL;

    if (!rest)
        return;
    *rest =
        (struct run){.next = r->next, .prev = r, .at = r->at + bytes, .bytes = r->bytes - bytes};
    if (rest->next)
        rest->next->prev = rest;
    r->next = rest;
    r->bytes = bytes;
}

static void *slab_take(struct slab *s, size_t bytes)
{
    struct run *r;
    void *at = NULL;

    lock_take(&s->lock);
    r = best(s, bytes);
    if (r) {
        split(r, bytes);
        r->used = 1;
        s->used += r->bytes;
        at = r->at;
    }
    lock_give(&s->lock);
    return at;
}

/* Under `growing`. Another thread may have asked the source in the meantime, so we search once
 * more. */
static int take_more(struct slab *s, void **piece, size_t bytes, struct err *err)
{
    int rc = ERR_MEMORY;

    *piece = slab_take(s, bytes);
    if (*piece)
        return 0;
    if (bytes < s->source.chunk_bytes)
        rc = slab_grow(s, s->source.chunk_bytes, err);
    if (rc == ERR_MEMORY)
        rc = slab_grow(s, bytes, err);
    if (rc == ERR_MEMORY) {
        slab_trim(s);
        rc = slab_grow(s, bytes, err);
    }
    if (rc == 0)
        *piece = slab_take(s, bytes);
    return rc || *piece ? rc : err_set(err, ERR_MEMORY, "others were quicker");
}

int slab_get(struct slab *s, void **piece, size_t bytes, struct err *err)
{
    size_t n = aligned(bytes ? bytes : 1);
    int rc;

    *piece = NULL;
    if (n == 0)
        return err_set(err, ERR_MEMORY, "a piece of %zu bytes", bytes);
    *piece = slab_take(s, n);
    if (*piece)
        return 0;
    lock_take(&s->growing);
    rc = take_more(s, piece, n, err);
    lock_give(&s->growing);
    return rc;
}

/* Joins a free run with the next one, which is also free. */
static void join_next(struct run *r)
{
    struct run *next = r->next;

    r->bytes += next->bytes;
    r->next = next->next;
    if (r->next)
        r->next->prev = r;
    free(next);
}

void slab_put(struct slab *s, void *piece)
{
    uint8_t *at = piece;
    struct chunk *c;
    struct run *r;

    if (!piece)
        return;
    lock_take(&s->lock);
    c = s->chunks;
    while (c && (at < c->memory || at >= c->memory + c->bytes))
        c = c->next;
    r = c ? c->first : NULL;
    while (r && r->at != at)
        r = r->next;
    if (r && r->used) {
        r->used = 0;
        s->used -= r->bytes;
        if (r->next && !r->next->used)
            join_next(r);
        if (r->prev && !r->prev->used)
            join_next(r->prev);
    }
    lock_give(&s->lock);
}

/* ------------------------------------------------------------------------- whole */

int slab_new(struct slab **slab, const struct slab_source *source, struct err *err)
{
    struct slab *s = calloc(1, sizeof *s);

    *slab = s;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for the list of pieces");
    s->source = *source;
    s->source.chunk_bytes = aligned(source->chunk_bytes);
    lock_init(&s->growing, LOCK_SLAB_GROWING);
    lock_init(&s->lock, LOCK_SLAB);
    return 0;
}

void slab_free(struct slab **slab)
{
    struct slab *s = *slab;

    if (!s)
        return;
    chunks_free(s, s->chunks);
    lock_destroy(&s->growing);
    lock_destroy(&s->lock);
    free(s);
    *slab = NULL;
}

int slab_reserve(struct slab *s, size_t bytes, struct err *err)
{
    size_t n = aligned(bytes);
    int rc;

    if (n == 0)
        return bytes ? err_set(err, ERR_MEMORY, "a reserve of %zu bytes", bytes) : 0;
    lock_take(&s->growing);
    rc = slab_grow(s, n, err);
    lock_give(&s->growing);
    return rc;
}

void slab_get_bytes(struct slab *s, size_t *held, size_t *used)
{
    lock_take(&s->lock);
    *held = s->held;
    *used = s->used;
    lock_give(&s->lock);
}
