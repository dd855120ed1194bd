/* The mirror as clients hold it: at any rate it reaches the server's, and wrong turns change
 * nothing. */
#include "proto/wire/delta.h"
#include "tests/support/cloud.h"
#include "tests/support/unit.h"

#define CLIENTS 4

/* ------------------------------------------------------------------------- clients */

struct client {
    struct cloud *mirror;
    uint64_t held[64]; /* revision of each block, what the server remembers of this client */
};

static size_t send_block(struct cloud *server, struct delta_scratch *s, struct client *k,
                         uint32_t i, enum codec_kind codec, const uint8_t **msg)
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
        len = send_block(server, s, k, i, (enum codec_kind)rnd(2), &msg);
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
            assert_int_equal(stage_put(c, slot, submap, p, rgb, conf, NULL), 0);
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

TEST(clients_at_any_rate_reach_the_server)
{
    static struct model m;

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
TEST(order_does_not_matter)
{
    struct cloud *a = cloud(), *b = cloud();

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

TEST(wrong_turns_change_nothing)
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

TEST(clear_empties_and_sets_the_epoch)
{
    const uint64_t keys[1] = {1ull << 32};
    struct delta put1 = {
        .op = DELTA_PUT, .epoch = 1, .revision = 10, .n_points = 1, .n_added = 1, .added = keys};
    struct delta clear = {.op = DELTA_CLEAR, .epoch = 2, .revision = 0};
    struct delta transform = {
        .op = DELTA_SUBMAP, .epoch = 2, .revision = 4, .id = 7, .pose = {0, 0, 0, 1, 0, 0, 0}};
    struct delta_scratch *s;
    struct cloud *c = cloud();

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

TEST(submaps_have_places_until_a_clear)
{
    const uint64_t keys[2] = {1ull << 32, 2ull << 32};
    struct delta put1 = {.op = DELTA_PUT,
                         .epoch = 1,
                         .revision = 1,
                         .name = {3, 0, 0, 0},
                         .n_points = 2,
                         .n_added = 2,
                         .added = keys};
    struct delta at = {
        .op = DELTA_SUBMAP, .epoch = 1, .id = 3, .pose = {0, 0, 0, 1, 0, 0, 0}, .unplaced = true};
    struct delta clear = {.op = DELTA_CLEAR, .epoch = 1};
    const struct rigid *T;
    struct delta_scratch *s;
    struct cloud *c = cloud();

    assert_int_equal(delta_scratch_new(&s, NULL), 0);
    assert_int_equal(apply(c, s, &put1), 0);
    assert_true(cloud_place(c, 3, &T) && !T && cloud_unplaced(c) == 0);
    assert_int_equal(apply(c, s, &at), 0);
    assert_false(cloud_place(c, 3, &T));
    assert_true(!T && cloud_place(c, 4, &T) && !T && cloud_place(c, UINT32_MAX, &T) && !T);
    assert_int_equal(cloud_unplaced(c), 2);
    at.unplaced = false;
    at.pose[5] = 2;
    assert_int_equal(apply(c, s, &at), 0);
    assert_true(cloud_place(c, 3, &T) && T && T->t[1] == 2);
    assert_true(cloud_unplaced(c) == 0 && cloud_revision(c) == 1);
    at.op = DELTA_OBJECT; /* an object's is none of a submap */
    at.pose[5] = 5;
    assert_int_equal(apply(c, s, &at), 0);
    assert_true(cloud_place(c, 3, &T) && T->t[1] == 2);
    at.op = DELTA_SUBMAP;
    at.id = CLOUD_SUBMAPS_MAX;
    assert_int_equal(apply(c, s, &at), ERR_LIMIT);
    assert_int_equal(apply(c, s, &clear), 0);
    assert_true(cloud_place(c, 3, &T) && !T);
    delta_scratch_free(&s);
    cloud_free(&c);
}

TEST(consumer_limits_hold)
{
    struct cloud_limits tight = {.max_blocks = 1, .max_points = 2};
    const uint64_t keys[3] = {0, 0, 0};
    struct delta d = {.op = DELTA_PUT, .revision = 1, .n_points = 3, .n_added = 3, .added = keys};
    struct delta_scratch *s;
    struct cloud *c;

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
