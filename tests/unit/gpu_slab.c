/* Pieces of a few large allocations never overlap, come back whole, and ask the source seldom. */
#include "gpu/base/slab.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (64u << 10)
#define LIVE 200

/* A source that counts, and gives `limit` bytes at most. */
struct source {
    atomic_size_t held, limit;
    atomic_int gets, puts, fail_with;
};

static int source_get(void **memory, size_t bytes, void *ctx, struct err *err)
{
    struct source *s = ctx;
    size_t *p;

    s->gets++;
    if (s->fail_with)
        return err_set(err, s->fail_with, "as planned");
    if (s->held + bytes > s->limit)
        return err_set(err, ERR_MEMORY, "no %zu bytes", bytes);
    p = malloc(bytes + 64);
    assert_non_null(p);
    *p = bytes;
    s->held += bytes;
    *memory = (uint8_t *)p + 64;
    return 0;
}

static void source_put(void *memory, void *ctx)
{
    struct source *s = ctx;
    size_t *p = (size_t *)(void *)((uint8_t *)memory - 64);

    s->puts++;
    s->held -= *p;
    free(p);
}

static struct slab *open_slab(struct source *s, size_t limit)
{
    const struct slab_source source = {source_get, source_put, s, CHUNK};
    struct slab *slab;

    memset(s, 0, sizeof(*s));
    s->limit = limit;
    assert_int_equal(slab_new(&slab, &source, NULL), 0);
    return slab;
}

static void *get(struct slab *s, size_t bytes)
{
    void *p;

    assert_int_equal(slab_get(s, &p, bytes, NULL), 0);
    assert_non_null(p);
    return p;
}

static size_t held(struct slab *s)
{
    size_t bytes, used;

    slab_get_bytes(s, &bytes, &used);
    assert_true(used <= bytes);
    return bytes;
}

static size_t used(struct slab *s)
{
    size_t bytes, n;

    slab_get_bytes(s, &bytes, &n);
    return n;
}

TEST(one_chunk_serves_many_in_turn)
{
    struct source source;
    struct slab *s = open_slab(&source, SIZE_MAX);
    void *a, *b, *c;

    a = get(s, 1);
    b = get(s, SLAB_ALIGN + 1);
    c = get(s, 3 * SLAB_ALIGN);
    assert_int_equal(source.gets, 1);
    assert_int_equal(used(s), 6 * SLAB_ALIGN);
    assert_ptr_equal((uint8_t *)b, (uint8_t *)a + SLAB_ALIGN);
    assert_ptr_equal((uint8_t *)c, (uint8_t *)a + 3 * SLAB_ALIGN);
    slab_put(s, a); /* the three join whatever the order they come back in */
    slab_put(s, c);
    slab_put(s, b);
    slab_put(s, NULL);
    assert_int_equal(used(s), 0);
    for (int i = 0; i < 1000; i++) {
        a = get(s, CHUNK);
        slab_put(s, a);
    }
    assert_int_equal(source.gets, 1);
    assert_int_equal(held(s), CHUNK);
    slab_free(&s);
    assert_null(s);
    assert_int_equal(source.held, 0);
}

/* The smallest hole that is large enough: the large one stays for requests that need it. */
TEST(holes_are_filled_tightly)
{
    struct source source;
    struct slab *s = open_slab(&source, SIZE_MAX);
    void *p[8], *small, *large;

    for (int i = 0; i < 8; i++)
        p[i] = get(s, 2 * SLAB_ALIGN);
    slab_put(s, p[0]);
    slab_put(s, p[1]);
    slab_put(s, p[4]);
    small = get(s, 2 * SLAB_ALIGN);
    assert_ptr_equal(small, p[4]);
    large = get(s, 4 * SLAB_ALIGN);
    assert_ptr_equal(large, p[0]);
    assert_int_equal(source.gets, 1);
    slab_put(s, get(s, CHUNK + 1)); /* larger than a chunk: one of its own, which stays */
    assert_int_equal(source.gets, 2);
    assert_int_equal(held(s), 2 * CHUNK + SLAB_ALIGN);
    slab_trim(s);
    assert_int_equal(held(s), CHUNK);
    assert_int_equal(source.puts, 1);
    slab_free(&s);
    assert_int_equal(source.held, 0);
}

TEST(memory_that_is_scarce_is_used_up)
{
    struct source source;
    struct slab *s = open_slab(&source, CHUNK + 3 * SLAB_ALIGN);
    struct err err = {0};
    void *a, *b, *c;

    assert_int_equal(slab_reserve(s, CHUNK, NULL), 0);
    a = get(s, CHUNK);
    b = get(s, 3 * SLAB_ALIGN); /* no chunk is left, but this much */
    assert_int_equal(slab_get(s, &c, 1, &err), ERR_MEMORY);
    assert_null(c);
    assert_non_null(strstr(err.text, "no 4096 bytes"));
    slab_put(s, a);
    slab_put(s, b);
    c = get(s, CHUNK + SLAB_ALIGN); /* fits once the empty chunks went back */
    assert_int_equal(held(s), CHUNK + SLAB_ALIGN);
    slab_put(s, c);
    assert_int_equal(slab_get(s, &c, SIZE_MAX, &err), ERR_MEMORY);
    assert_int_equal(slab_reserve(s, SIZE_MAX, &err), ERR_MEMORY);
    assert_int_equal(slab_reserve(s, 0, &err), 0);
    slab_trim(s);
    source.fail_with = ERR_DEVICE; /* is passed on, at once */
    source.gets = 0;
    assert_int_equal(slab_get(s, &c, 1, &err), ERR_DEVICE);
    assert_int_equal(source.gets, 1);
    assert_int_equal(slab_reserve(s, 1, &err), ERR_DEVICE);
    slab_free(&s);
    assert_int_equal(source.held, 0);
}

/* Each piece is filled with a byte of its own, and still is when it comes back. */
struct player {
    struct slab *slab;
    uint32_t random;
    int wrong;
};

static uint32_t draw(struct player *p)
{
    p->random = p->random * 1664525u + 1013904223u;
    return p->random >> 8;
}

static void *play(void *arg)
{
    struct player *p = arg;
    uint8_t *piece[LIVE] = {0};
    size_t bytes[LIVE] = {0};

    for (int i = 0; i < 20000; i++) {
        uint32_t at = draw(p) % LIVE;
        uint8_t mark = (uint8_t)(p->random & 0xff);
        if (piece[at]) {
            for (size_t k = 0; k < bytes[at]; k += 512)
                p->wrong += piece[at][k] != piece[at][bytes[at] - 1];
            slab_put(p->slab, piece[at]);
            piece[at] = NULL;
        } else {
            void *got;
            bytes[at] = 1 + draw(p) % (i % 100 == 0 ? 2 * CHUNK : CHUNK / 16);
            if (slab_get(p->slab, &got, bytes[at], NULL))
                continue;
            piece[at] = got;
            memset(got, mark, bytes[at]);
        }
    }
    for (int i = 0; i < LIVE; i++)
        slab_put(p->slab, piece[i]);
    return NULL;
}

TEST(pieces_of_many_threads_never_overlap)
{
    struct source source;
    struct slab *s = open_slab(&source, 24 * CHUNK);
    struct player players[3];
    pthread_t threads[3];

    for (int i = 0; i < 3; i++) {
        players[i] = (struct player){s, (uint32_t)i + 1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(players[i].wrong, 0);
    }
    assert_int_equal(used(s), 0);
    assert_true(source.held <= 24 * CHUNK);
    print_message("# 60,000 steps: %d chunks asked for, %zu bytes held at the end\n", source.gets,
                  held(s));
    slab_trim(s);
    assert_int_equal(held(s), 0); /* all had joined to whole chunks again */
    assert_int_equal(source.held, 0);
    slab_free(&s);
}
