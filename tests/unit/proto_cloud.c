/* The mirror: staging and commit against a naive model, clients at random rates, hostile
 * patches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "proto/cloud.h"
#include "proto/delta.h"

#define SLOTS 3000u
#define CLIENTS 4

static const struct cloud_limits limits = {.max_blocks = 64, .max_points = SLOTS};

static uint64_t random_state;

static uint32_t rnd(uint32_t below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((random_state >> 33) % below);
}

static uint64_t mix64(uint64_t v)
{
    v += 0x9e3779b97f4a7c15ull;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
    return v ^ (v >> 31);
}

/* The hash as PROTOCOL.md states it, from positions, without anything of cloud.c. */
static uint64_t hash_point(uint32_t submap, const int32_t p[3], const uint8_t rgb[3], uint8_t conf)
{
    uint64_t m = 0, name, key;
    int32_t b[3];

    for (int i = 0; i < 3; i++) {
        int32_t in = p[i] % 1024 < 0 ? p[i] % 1024 + 1024 : p[i] % 1024;

        b[i] = (p[i] - in) / 1024;
        for (int bit = 0; bit < 10; bit++)
            m |= (uint64_t)((in >> bit) & 1) << (3 * bit + i);
    }
    key = m << 32 | conf;
    for (int i = 0; i < 3; i++)
        key |= (uint64_t)(rgb[i] >= 250 ? 252 : (rgb[i] + 2) / 4 * 4) << (24 - 8 * i);
    name = mix64(submap | (uint64_t)(uint32_t)b[0] << 32) ^
           ((uint64_t)(uint32_t)b[1] | (uint64_t)(uint32_t)b[2] << 32);
    return mix64(key ^ mix64(name));
}

static void put(struct cloud *c, uint32_t slot, int32_t x, int32_t y, int32_t z, uint8_t shade)
{
    int32_t p[3] = {x, y, z};
    uint8_t rgb[3] = {shade, (uint8_t)(shade + 1), (uint8_t)(shade + 2)};

    assert_int_equal(cloud_stage_put(c, slot, 0, p, rgb, 7, NULL), 0);
}

static uint64_t commit(struct cloud *c)
{
    const uint32_t *changed;
    uint32_t n;

    return cloud_commit(c, &changed, &n);
}

static struct cloud *cloud(void)
{
    struct cloud *c;

    assert_int_equal(cloud_new(&c, &limits, NULL), 0);
    return c;
}

/* ------------------------------------------------------------------------- keys and hash */

static void morton_interleaves_ten_bits(void **state)
{
    uint32_t x, y, z;

    (void)state;
    assert_int_equal(cloud_morton(1, 0, 0), 1);
    assert_int_equal(cloud_morton(0, 1, 0), 2);
    assert_int_equal(cloud_morton(0, 0, 1), 4);
    assert_int_equal(cloud_morton(3, 5, 1), 0x8f); /* 011 101 001: bits 0,3 + 1,7 + 2 */
    assert_int_equal(cloud_morton(1023, 1023, 1023), 0x3fffffff);
    assert_int_equal(cloud_morton(512, 0, 0), 1u << 27);
    for (uint32_t v = 0; v < 1024; v++) {
        cloud_demorton(cloud_morton(v, 1023 - v, v ^ 0x155), &x, &y, &z);
        assert_int_equal(x, v);
        assert_int_equal(y, 1023 - v);
        assert_int_equal(z, v ^ 0x155);
    }
}

static void colours_round_to_six_bits(void **state)
{
    (void)state;
    assert_int_equal(cloud_colour(0), 0);
    assert_int_equal(cloud_colour(1), 0);
    assert_int_equal(cloud_colour(2), 4);
    assert_int_equal(cloud_colour(5), 4);
    assert_int_equal(cloud_colour(128), 128);
    assert_int_equal(cloud_colour(249), 248);
    assert_int_equal(cloud_colour(250), 252);
    assert_int_equal(cloud_colour(255), 252);
    for (int v = 0; v < 256; v++)
        assert_int_equal(cloud_colour(cloud_colour((uint8_t)v)), cloud_colour((uint8_t)v));
}

static void negative_positions_fall_into_lower_blocks(void **state)
{
    struct cloud *c = cloud();
    struct cloud_block b;
    int32_t p[3];

    (void)state;
    put(c, 0, -1, -1024, -1025, 10);
    assert_int_equal(commit(c), 1);
    assert_int_equal(cloud_blocks(c), 1);
    b = cloud_block(c, 0);
    assert_int_equal(b.name.x, -1);
    assert_int_equal(b.name.y, -1);
    assert_int_equal(b.name.z, -2);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.revision, 1);
    assert_int_equal(b.keys[0] >> 32, cloud_morton(1023, 0, 1023));
    assert_int_equal(b.keys[0] & 0xffffffff, 0x0c0c0c07); /* 10, 11, 12 in steps of four */
    cloud_key_position(b.name, b.keys[0], p);
    assert_int_equal(p[0], -1);
    assert_int_equal(p[1], -1024);
    assert_int_equal(p[2], -1025);
    cloud_free(&c);
    assert_null(c);
}

static void hash_is_the_documented_one(void **state)
{
    struct cloud *c = cloud();
    int32_t p[3] = {5, -3000, 70000}, far[3] = {INT32_MIN, INT32_MAX, 0};
    uint8_t rgb[3] = {200, 100, 50};
    uint64_t both;

    (void)state;
    assert_int_equal(cloud_hash(c), 0);
    assert_int_equal(mix64(0), 0xe220a8397b1dcdafull); /* splitmix64's first output for seed 0 */
    assert_int_equal(cloud_stage_put(c, 1, 3, p, rgb, 9, NULL), 0);
    assert_int_equal(cloud_hash(c), 0); /* nothing is visible before the commit */
    commit(c);
    assert_int_equal(cloud_hash(c), hash_point(3, p, rgb, 9));
    assert_int_equal(cloud_stage_put(c, 2, 3, far, rgb, 9, NULL), 0);
    commit(c);
    both = hash_point(3, p, rgb, 9) + hash_point(3, far, rgb, 9);
    assert_int_equal(cloud_hash(c), both);
    cloud_stage_remove(c, 1);
    commit(c);
    assert_int_equal(cloud_hash(c), both - hash_point(3, p, rgb, 9));
    assert_int_equal(cloud_points(c), 1);
    cloud_free(&c);
}

/* ------------------------------------------------------------------------- staging */

static void put_replaces_and_removal_empties(void **state)
{
    struct cloud *c = cloud();

    (void)state;
    put(c, 5, 1, 2, 3, 1);
    put(c, 5, 4, 5, 6, 1);
    assert_int_equal(commit(c), 1);
    assert_int_equal(cloud_points(c), 1);
    assert_int_equal(cloud_block(c, 0).keys[0] >> 32, cloud_morton(4, 5, 6));
    put(c, 5, 4, 5, 6, 1); /* the same again is no change */
    assert_int_equal(commit(c), 1);
    put(c, 6, 4, 5, 6, 1); /* equal keys are a multiset */
    assert_int_equal(commit(c), 2);
    assert_int_equal(cloud_points(c), 2);
    cloud_stage_remove(c, 5);
    cloud_stage_remove(c, 5);
    cloud_stage_remove(c, 6);
    cloud_stage_remove(c, SLOTS + 1);
    assert_int_equal(commit(c), 3);
    assert_int_equal(cloud_points(c), 0);
    assert_int_equal(cloud_hash(c), 0);
    assert_int_equal(cloud_blocks(c), 1); /* kept, so that clients can be told */
    assert_int_equal(cloud_block(c, 0).n, 0);
    assert_int_equal(cloud_block(c, 0).revision, 3);
    cloud_free(&c);
}

static void limits_leave_one_point_out(void **state)
{
    struct cloud_limits small = {.max_blocks = 2, .max_points = 4};
    const uint8_t rgb[3] = {1, 2, 3};
    int32_t p[3] = {0, 0, 0};
    struct err err = {0};
    struct cloud *c;

    (void)state;
    assert_int_equal(cloud_new(&c, &small, NULL), 0);
    assert_int_equal(cloud_stage_put(c, 4, 0, p, rgb, 0, &err), ERR_LIMIT);
    assert_int_equal(cloud_stage_put(c, 0, 0, p, rgb, 0, &err), 0);
    p[0] = 1024;
    assert_int_equal(cloud_stage_put(c, 1, 0, p, rgb, 0, &err), 0);
    p[0] = 2048;
    assert_int_equal(cloud_stage_put(c, 1, 0, p, rgb, 0, &err), ERR_LIMIT); /* a third block */
    commit(c);
    assert_int_equal(cloud_points(c), 1); /* slot 1 is empty, slot 0 untouched */
    assert_int_equal(cloud_block(c, 0).n, 1);
    cloud_free(&c);
    small.max_blocks = 0;
    assert_int_equal(cloud_new(&c, &small, &err), ERR_INPUT);
    assert_null(c);
}

static void block_never_outgrows_a_message(void **state)
{
    struct cloud_limits one = {.max_blocks = 4, .max_points = CLOUD_BLOCK_POINTS + 2};
    const uint8_t rgb[3] = {0, 0, 0};
    int32_t p[3] = {0, 0, 0};
    struct cloud *c;

    (void)state;
    assert_int_equal(CLOUD_BLOCK_POINTS, DELTA_POINTS_MAX);
    assert_int_equal(cloud_new(&c, &one, NULL), 0);
    for (uint32_t i = 0; i < CLOUD_BLOCK_POINTS; i++) {
        p[0] = (int32_t)(i & 1023);
        p[1] = (int32_t)(i >> 10);
        assert_int_equal(cloud_stage_put(c, i, 0, p, rgb, 0, NULL), 0);
    }
    assert_int_equal(cloud_stage_put(c, CLOUD_BLOCK_POINTS, 0, p, rgb, 0, NULL), ERR_LIMIT);
    commit(c);
    assert_int_equal(cloud_points(c), CLOUD_BLOCK_POINTS);
    cloud_free(&c);
}

/* Many more staged changes than fit the list: they cancel out on the way. */
static void staging_is_bounded(void **state)
{
    struct cloud_limits small = {.max_blocks = 4, .max_points = 10};
    const uint8_t rgb[3] = {0, 0, 0};
    uint64_t expected = 0;
    struct cloud *c;

    (void)state;
    assert_int_equal(cloud_new(&c, &small, NULL), 0);
    for (uint32_t i = 0; i < 100000; i++) {
        int32_t p[3] = {(int32_t)(i % 2000), 0, 0};

        assert_int_equal(cloud_stage_put(c, i % 10, 0, p, rgb, 0, NULL), 0);
        if (i >= 100000 - 10)
            expected += hash_point(0, p, rgb, 0);
        if (i == 50000)
            commit(c);
    }
    assert_int_equal(commit(c), 2);
    assert_int_equal(cloud_points(c), 10);
    assert_int_equal(cloud_hash(c), expected);
    assert_true(cloud_bytes(c) < 64 * 1024);
    cloud_free(&c);
}

static void sparse_cloud_stays_small(void **state)
{
    struct cloud_limits big = {.max_blocks = 1u << 20, .max_points = 50u * 1000 * 1000};
    struct cloud *c;

    (void)state;
    assert_int_equal(cloud_new(&c, &big, NULL), 0);
    put(c, 1000, 1, 2, 3, 4);
    commit(c);
    assert_true(cloud_bytes(c) < 64 * 1024);
    cloud_free(&c);
}

/* ------------------------------------------------------------------------- patches */

static void patch_names_indices_of_the_base(void **state)
{
    struct cloud *c = cloud();
    struct cloud_patch patch;
    uint64_t base;

    (void)state;
    for (uint32_t i = 0; i < 20; i++)
        put(c, i, (int32_t)i, 0, 0, 0); /* ascending x = ascending Morton code */
    base = commit(c);
    cloud_stage_remove(c, 3);
    put(c, 30, 9, 0, 0, 200);
    commit(c);
    cloud_stage_remove(c, 12);
    cloud_stage_remove(c, 30); /* added and removed since the base: cancels out */
    put(c, 31, 25, 0, 0, 0);
    commit(c);
    assert_int_equal(cloud_patch(c, 0, base, &patch, NULL), 0);
    assert_int_equal(patch.base_revision, base);
    assert_int_equal(patch.revision, base + 2);
    assert_int_equal(patch.n_removed, 2);
    assert_int_equal(patch.removed[0], 3);
    assert_int_equal(patch.removed[1], 12);
    assert_int_equal(patch.n_added, 1);
    assert_int_equal(patch.added[0] >> 32, cloud_morton(25, 0, 0));
    assert_int_equal(cloud_patch(c, 0, base + 2, &patch, NULL), 0);
    assert_int_equal(patch.n_removed + patch.n_added, 0);
    assert_int_equal(cloud_patch(c, 0, 0, &patch, NULL), ERR_NOT_FOUND);
    assert_int_equal(cloud_patch(c, 0, base + 3, &patch, NULL), ERR_NOT_FOUND);
    assert_int_equal(cloud_patch(c, 1, base, &patch, NULL), ERR_NOT_FOUND);
    cloud_free(&c);
}

static void history_weighs_less_than_its_block(void **state)
{
    struct cloud *c = cloud();
    struct cloud_patch patch;
    uint64_t base;
    int reached = 0;

    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        put(c, i, (int32_t)i, 0, 0, 0);
    base = commit(c);
    while (cloud_patch(c, 0, base, &patch, NULL) == 0) {
        assert_true(patch.n_removed + patch.n_added <= 100);
        put(c, 0, 200 + reached, 0, 0, 0); /* two keys and a commit of weight two each time */
        commit(c);
        reached++;
    }
    assert_int_equal(reached, 100 / 4 + 1);
    for (uint32_t i = 0; i < 100; i++)
        put(c, i, (int32_t)i, 1, 0, 0);
    base = commit(c) - 1; /* a commit that changes all: only the block itself will do */
    assert_int_equal(cloud_patch(c, 0, base, &patch, NULL), ERR_NOT_FOUND);
    assert_int_equal(cloud_patch(c, 0, base + 1, &patch, NULL), 0);
    cloud_free(&c);
}

/* ------------------------------------------------------------------------- clients */

struct client {
    struct cloud *mirror;
    uint64_t held[64]; /* revision of each block, what the server remembers of this client */
};

static size_t send_block(struct cloud *server, struct delta_scratch *s, struct client *k,
                         uint32_t i, enum delta_codec codec, const uint8_t **msg)
{
    struct cloud_block b = cloud_block(server, i);
    struct cloud_patch patch;
    struct delta d = {.op = DELTA_PUT,
                      .codec = codec,
                      .epoch = 9,
                      .revision = b.revision,
                      .name = b.name,
                      .n_points = b.n,
                      .n_added = b.n,
                      .added = b.keys};
    size_t len;

    if (b.n == 0) {
        d.op = DELTA_DELETE;
    } else if (rnd(4) && cloud_patch(server, i, k->held[i], &patch, NULL) == 0) {
        d.op = DELTA_PATCH;
        d.base_revision = patch.base_revision;
        d.n_removed = patch.n_removed;
        d.removed = patch.removed;
        d.n_added = patch.n_added;
        d.added = patch.added;
    }
    k->held[i] = b.revision;
    assert_int_equal(delta_encode(s, &d, msg, &len, NULL), 0);
    return len;
}

/* Send a client some of its dirty blocks, or all, in any order. */
static void sync_client(struct cloud *server, struct delta_scratch *s, struct client *k, int all)
{
    uint32_t n = cloud_blocks(server), first = n ? rnd(n) : 0;

    for (uint32_t j = 0; j < n; j++) {
        uint32_t i = (first + j) % n;
        struct err err = {0};
        const uint8_t *msg;
        size_t len;

        if (cloud_block(server, i).revision == k->held[i] || (!all && rnd(3)))
            continue;
        len = send_block(server, s, k, i, (enum delta_codec)rnd(3), &msg);
        if (cloud_apply(k->mirror, msg, len, &err))
            fail_msg("message refused: %s", err.text);
        if (rnd(2)) { /* once more: idempotent */
            uint64_t hash = cloud_hash(k->mirror);

            assert_int_equal(cloud_apply(k->mirror, msg, len, NULL), 0);
            assert_int_equal(cloud_hash(k->mirror), hash);
        }
    }
}

static void assert_same(struct cloud *a, struct cloud *b)
{
    uint64_t points = 0;

    assert_int_equal(cloud_points(a), cloud_points(b));
    assert_int_equal(cloud_hash(a), cloud_hash(b));
    for (uint32_t i = 0; i < cloud_blocks(a); i++) {
        struct cloud_block x = cloud_block(a, i), y = {0};

        for (uint32_t j = 0; j < cloud_blocks(b); j++) {
            struct cloud_block z = cloud_block(b, j);

            if (memcmp(&x.name, &z.name, sizeof x.name) == 0)
                y = z;
        }
        assert_int_equal(x.n, y.n);
        if (x.n)
            assert_memory_equal(x.keys, y.keys, x.n * sizeof *x.keys);
        for (uint32_t k = 1; k < x.n; k++)
            assert_true(x.keys[k - 1] <= x.keys[k]);
        points += x.n;
    }
    assert_int_equal(points, cloud_points(a));
}

/* What each slot holds, kept the naive way. */
struct model {
    int full[SLOTS];
    uint64_t hash[SLOTS];
};

static void random_step(struct cloud *c, struct model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = rnd(SLOTS), wide = rnd(50) == 0;
        int32_t p[3] = {(int32_t)rnd(wide ? 4000 : 400) - 200, (int32_t)rnd(30), (int32_t)rnd(30)};
        uint8_t rgb[3] = {(uint8_t)rnd(4), 7, 9}, conf = (uint8_t)rnd(2);
        uint32_t submap = rnd(100) == 0;

        if (rnd(3) == 0) {
            cloud_stage_remove(c, slot);
            m->full[slot] = 0;
        } else {
            assert_int_equal(cloud_stage_put(c, slot, submap, p, rgb, conf, NULL), 0);
            m->full[slot] = 1;
            m->hash[slot] = hash_point(submap, p, rgb, conf);
        }
    }
}

static void assert_model(struct cloud *c, const struct model *m)
{
    uint64_t points = 0, hash = 0;

    for (uint32_t i = 0; i < SLOTS; i++) {
        points += (uint64_t)m->full[i];
        hash += m->full[i] ? m->hash[i] : 0;
    }
    assert_int_equal(cloud_points(c), points);
    assert_int_equal(cloud_hash(c), hash);
}

static void clients_at_any_rate_reach_the_server(void **state)
{
    static struct model m;

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct cloud *server = cloud();
        struct client client[CLIENTS] = {{0}};
        struct delta_scratch *s;

        random_state = seed;
        memset(&m, 0, sizeof m);
        assert_int_equal(delta_scratch_new(&s, NULL), 0);
        for (int k = 0; k < CLIENTS; k++)
            client[k].mirror = cloud();
        for (int round = 0; round < 60; round++) {
            /* rounds of every size, now and then an empty cloud */
            random_step(server, &m, rnd(4) ? 1 + rnd(40) : rnd(2 * SLOTS));
            if (rnd(20) == 0) {
                memset(m.full, 0, sizeof m.full);
                for (uint32_t i = 0; i < SLOTS; i++)
                    cloud_stage_remove(server, i);
            }
            commit(server);
            assert_model(server, &m);
            for (int k = 0; k < CLIENTS; k++)
                if (rnd((uint32_t)(1 + 3 * k)) == 0)
                    sync_client(server, s, &client[k], 0);
        }
        for (int k = 0; k < CLIENTS; k++) {
            sync_client(server, s, &client[k], 1);
            assert_same(server, client[k].mirror);
            cloud_free(&client[k].mirror);
        }
        delta_scratch_free(&s);
        cloud_free(&server);
    }
}

/* The same points staged in another order give the same content. */
static void order_does_not_matter(void **state)
{
    struct cloud *a = cloud(), *b = cloud();

    (void)state;
    for (uint32_t i = 0; i < SLOTS; i++)
        put(a, i, (int32_t)(i * 7919 % 3001), (int32_t)(i % 13), 5, (uint8_t)i);
    commit(a);
    for (uint32_t i = SLOTS; i-- > 0;) {
        put(b, i, (int32_t)(i * 7919 % 3001), (int32_t)(i % 13), 5, (uint8_t)i);
        if (i % 100 == 0)
            commit(b);
    }
    assert_same(a, b);
    cloud_free(&a);
    cloud_free(&b);
}

/* ------------------------------------------------------------------------- refusals */

static int apply(struct cloud *c, struct delta_scratch *s, const struct delta *d)
{
    const uint8_t *msg;
    size_t len;

    assert_int_equal(delta_encode(s, d, &msg, &len, NULL), 0);
    return cloud_apply(c, msg, len, NULL);
}

static void wrong_turns_change_nothing(void **state)
{
    const uint64_t keys[3] = {1ull << 32, 5ull << 32, 9ull << 32}, more[1] = {6ull << 32};
    const uint32_t gone[1] = {1}, beyond[1] = {3};
    struct delta put3 = {
        .op = DELTA_PUT, .epoch = 1, .revision = 10, .n_points = 3, .n_added = 3, .added = keys};
    struct delta patch = {.op = DELTA_PATCH,
                          .epoch = 1,
                          .revision = 12,
                          .base_revision = 10,
                          .n_points = 3,
                          .n_removed = 1,
                          .removed = gone,
                          .n_added = 1,
                          .added = more};
    struct delta bad;
    struct delta_scratch *s;
    struct cloud *c = cloud(), *producer = cloud();
    uint64_t hash;

    (void)state;
    assert_int_equal(delta_scratch_new(&s, NULL), 0);
    assert_int_equal(apply(c, s, &patch), ERR_STATE); /* the block was never sent */
    assert_int_equal(cloud_blocks(c), 0);
    assert_int_equal(apply(c, s, &put3), 0);
    hash = cloud_hash(c);
    bad = patch, bad.base_revision = 11;
    assert_int_equal(apply(c, s, &bad), ERR_STATE);
    bad = patch, bad.epoch = 2;
    assert_int_equal(apply(c, s, &bad), ERR_STATE);
    bad = patch, bad.removed = beyond;
    assert_int_equal(apply(c, s, &bad), ERR_INPUT);
    bad = patch, bad.n_points = 4;
    assert_int_equal(apply(c, s, &bad), ERR_INPUT);
    bad = put3, bad.revision = 9; /* older: answered, ignored */
    bad.n_points = bad.n_added = 1;
    assert_int_equal(apply(c, s, &bad), 0);
    assert_int_equal(cloud_hash(c), hash);
    assert_int_equal(cloud_points(c), 3);
    assert_int_equal(apply(c, s, &patch), 0);
    assert_int_equal(cloud_revision(c), 12);
    assert_int_equal(cloud_block(c, 0).keys[1], 6ull << 32);
    bad = put3, bad.op = DELTA_DELETE, bad.revision = 12;
    assert_int_equal(apply(c, s, &bad), 0); /* not newer */
    assert_int_equal(cloud_points(c), 3);
    bad.revision = 13;
    assert_int_equal(apply(c, s, &bad), 0);
    assert_int_equal(cloud_points(c), 0);
    assert_int_equal(cloud_hash(c), 0);
    put(producer, 0, 0, 0, 0, 0);
    assert_int_equal(apply(producer, s, &put3), ERR_STATE);
    delta_scratch_free(&s);
    cloud_free(&c);
    cloud_free(&producer);
}

static void clear_empties_and_sets_the_epoch(void **state)
{
    const uint64_t keys[1] = {1ull << 32};
    struct delta put1 = {
        .op = DELTA_PUT, .epoch = 1, .revision = 10, .n_points = 1, .n_added = 1, .added = keys};
    struct delta clear = {.op = DELTA_CLEAR, .epoch = 2, .revision = 0};
    struct delta transform = {
        .op = DELTA_SUBMAP, .epoch = 2, .revision = 4, .id = 7, .T = rigid_identity()};
    struct delta_scratch *s;
    struct cloud *c = cloud();

    (void)state;
    assert_int_equal(delta_scratch_new(&s, NULL), 0);
    assert_int_equal(apply(c, s, &put1), 0);
    assert_int_equal(cloud_epoch(c), 1);
    assert_int_equal(apply(c, s, &clear), 0);
    assert_int_equal(cloud_epoch(c), 2);
    assert_int_equal(cloud_points(c) + cloud_hash(c) + cloud_blocks(c) + cloud_revision(c), 0);
    assert_int_equal(apply(c, s, &put1), ERR_STATE);
    put1.epoch = 2;
    put1.revision = 3; /* revisions start over with the epoch */
    assert_int_equal(apply(c, s, &put1), 0);
    assert_int_equal(apply(c, s, &transform), 0);
    assert_int_equal(cloud_points(c), 1);
    assert_int_equal(cloud_revision(c), 4);
    delta_scratch_free(&s);
    cloud_free(&c);
}

static void consumer_limits_hold(void **state)
{
    struct cloud_limits tight = {.max_blocks = 1, .max_points = 2};
    const uint64_t keys[3] = {0, 0, 0};
    struct delta d = {.op = DELTA_PUT, .revision = 1, .n_points = 3, .n_added = 3, .added = keys};
    struct delta_scratch *s;
    struct cloud *c;

    (void)state;
    assert_int_equal(delta_scratch_new(&s, NULL), 0);
    assert_int_equal(cloud_new(&c, &tight, NULL), 0);
    assert_int_equal(apply(c, s, &d), ERR_LIMIT);
    assert_int_equal(cloud_points(c) + cloud_blocks(c), 0);
    d.n_points = d.n_added = 2;
    assert_int_equal(apply(c, s, &d), 0);
    d.name.x = 1;
    d.n_points = d.n_added = 0;
    assert_int_equal(apply(c, s, &d), ERR_LIMIT);
    assert_int_equal(cloud_points(c), 2);
    delta_scratch_free(&s);
    cloud_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(morton_interleaves_ten_bits),
        cmocka_unit_test(colours_round_to_six_bits),
        cmocka_unit_test(negative_positions_fall_into_lower_blocks),
        cmocka_unit_test(hash_is_the_documented_one),
        cmocka_unit_test(put_replaces_and_removal_empties),
        cmocka_unit_test(limits_leave_one_point_out),
        cmocka_unit_test(block_never_outgrows_a_message),
        cmocka_unit_test(staging_is_bounded),
        cmocka_unit_test(sparse_cloud_stays_small),
        cmocka_unit_test(patch_names_indices_of_the_base),
        cmocka_unit_test(history_weighs_less_than_its_block),
        cmocka_unit_test(clients_at_any_rate_reach_the_server),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(wrong_turns_change_nothing),
        cmocka_unit_test(clear_empties_and_sets_the_epoch),
        cmocka_unit_test(consumer_limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
