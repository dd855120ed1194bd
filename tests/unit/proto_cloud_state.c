/*
 * proto_cloud_state - a mirror that was saved and loaded goes on as the saved one; a client that
 * was behind gets what it lacks; bytes that are not a cloud's state are refused
 */
#include "proto/bytes.h"
#include "proto/wire/delta.h"
#include "tests/support/cloud.h"
#include "tests/support/unit.h"

#define COMMITS 30
#define HEAD 40 /* bytes before the blocks */
#define BLOCK 28

/* Changes of commit k: the same for every caller. Late ones take whole blocks away. */
static void change(struct cloud *c, int k)
{
    random_state = 1000u + (uint64_t)k;
    for (int i = 0; i < 400; i++) {
        uint32_t slot = rnd(SLOTS), far = rnd(3) * 1024;
        int32_t x = (int32_t)(rnd(64) + far) - 1024, y = (int32_t)rnd(50), z = (int32_t)rnd(30);

        if (rnd(4) == 0)
            cloud_stage_remove(c, slot);
        else
            put(c, slot, x, y, z, (uint8_t)(rnd(4) * 40)); /* equal keys in several slots */
    }
    for (uint32_t slot = 0; k == COMMITS - 3 && slot < SLOTS; slot++)
        if (slot % 16)
            cloud_stage_remove(c, slot);
    if (k == 4) { /* a block that is named and never filled */
        put(c, 1, 90000, 0, 0, 9);
        cloud_stage_remove(c, 1);
    }
    commit(c);
}

static uint8_t *save(const struct cloud *c, size_t *len)
{
    size_t cap = cloud_state_bytes(c);
    uint8_t *buf = malloc(cap);

    assert_non_null(buf);
    assert_int_equal(cloud_state_save(c, buf, cap, len, NULL), 0);
    assert_int_equal(*len, cap);
    return buf;
}

static struct cloud *copy_of(const struct cloud *c)
{
    struct cloud *copy = cloud();
    size_t len;
    uint8_t *buf = save(c, &len);

    assert_int_equal(cloud_state_load(copy, buf, len, NULL), 0);
    free(buf);
    return copy;
}

static void assert_same(const struct cloud *a, const struct cloud *b)
{
    assert_true(cloud_hash(a) == cloud_hash(b));
    assert_int_equal(cloud_points(a), cloud_points(b));
    assert_int_equal(cloud_revision(a), cloud_revision(b));
    assert_int_equal(cloud_blocks(a), cloud_blocks(b));
    for (uint32_t i = 0; i < cloud_blocks(a); i++) {
        struct cloud_block x = cloud_block(a, i), y = cloud_block(b, i);

        assert_memory_equal(&x.name, &y.name, sizeof(x.name));
        assert_int_equal(x.revision, y.revision);
        assert_int_equal(x.n, y.n);
        if (x.n)
            assert_memory_equal(x.keys, y.keys, x.n * sizeof(*x.keys));
    }
}

TEST(it_goes_on_as_the_saved_one)
{
    struct cloud *whole = cloud(), *copy;

    for (int at = 0; at < COMMITS; at++) {
        copy = copy_of(whole);
        assert_same(whole, copy);
        cloud_free(&copy);
        change(whole, at);
    }
    for (int at = 0; at <= COMMITS; at += 3) {
        struct cloud *first = cloud(), *second;

        for (int k = 0; k < at; k++)
            change(first, k);
        second = copy_of(first);
        for (int k = at; k < COMMITS; k++) {
            change(first, k);
            change(second, k);
            assert_same(first, second);
        }
        assert_same(whole, second);
        cloud_free(&first);
        cloud_free(&second);
    }
    cloud_free(&whole);
}

/* ------------------------------------------------------------------------- a client */

/* Bring a client that holds all of `held` up to date, as the outbox does. Returns messages sent. */
static int send(struct cloud *client, struct cloud *from, uint64_t held, int *n_deletes,
                int *n_patches)
{
    struct delta_scratch *s;
    int n = 0;

    assert_int_equal(delta_scratch_new(&s, NULL), 0);
    for (uint32_t i = 0; i < cloud_blocks(from); i++) {
        struct cloud_block b = cloud_block(from, i);
        struct delta d = {.op = b.n ? DELTA_PUT : DELTA_DELETE,
                          .codec = CODEC_RAW,
                          .epoch = 1,
                          .revision = b.revision,
                          .name = b.name,
                          .n_points = b.n,
                          .n_added = b.n,
                          .added = b.keys};
        struct cloud_patch patch;
        const uint8_t *msg;
        size_t len;

        if (b.revision <= held)
            continue;
        if (b.n && held && cloud_patch(from, i, held, &patch, NULL) == 0) {
            d.op = DELTA_PATCH;
            d.base_revision = patch.base_revision;
            d.removed = patch.removed;
            d.n_removed = patch.n_removed;
            d.added = patch.added;
            d.n_added = patch.n_added;
        }
        assert_int_equal(delta_encode(s, &d, &msg, &len, NULL), 0);
        if (d.op != DELTA_PATCH)
            assert_int_equal(cloud_apply(client, msg, len, NULL), 0);
        *n_deletes += d.op == DELTA_DELETE;
        *n_patches += d.op == DELTA_PATCH;
        n++;
    }
    delta_scratch_free(&s);
    return n;
}

TEST(a_client_that_was_behind_gets_what_it_lacks)
{
    struct cloud *first = cloud(), *second, *client = cloud();
    int n_deletes = 0, n_patches = 0, n;
    uint64_t held;

    for (int k = 0; k < COMMITS - 6; k++)
        change(first, k);
    put(first, 0, 500000, 0, 0, 1); /* a block that will not change any more */
    commit(first);
    held = cloud_revision(first);
    n = send(client, first, 0, &n_deletes, &n_patches);
    assert_true(n >= 4 && cloud_hash(client) == cloud_hash(first));
    for (uint32_t slot = 1; slot < SLOTS; slot++) /* all other blocks go ... */
        cloud_stage_remove(first, slot);
    commit(first);
    put(first, 9, 1, 1, 1, 1); /* ... and one comes back */
    commit(first);
    second = copy_of(first);
    n_deletes = n_patches = 0;
    n = send(client, second, held, &n_deletes, &n_patches);
    assert_int_equal(n, 3); /* three blocks were alive beside the one that did not change */
    assert_int_equal(n_deletes, 2);
    assert_int_equal(n_patches, 0); /* the history is not kept, so none is made up */
    assert_true(cloud_hash(client) == cloud_hash(second));
    assert_int_equal(cloud_points(client), 2);
    /* from here on patches are made again */
    held = cloud_revision(second);
    for (uint32_t slot = 100; slot < 160; slot++)
        put(second, slot, 1, (int32_t)slot, 1, 1);
    commit(second);
    for (uint32_t slot = 160; slot < 163; slot++)
        put(second, slot, 1, (int32_t)slot, 1, 1);
    commit(second);
    n_patches = 0;
    send(client, second, held + 1, &n_deletes, &n_patches);
    assert_int_equal(n_patches, 1);
    cloud_free(&first);
    cloud_free(&second);
    cloud_free(&client);
}

/* ------------------------------------------------------------------------- what is refused */

static void assert_refused(const uint8_t *buf, size_t len)
{
    struct cloud *c = cloud();
    struct err err = {0};

    assert_int_equal(cloud_state_load(c, buf, len, &err), ERR_INPUT);
    assert_true(err.text[0] != 0);
    assert_int_equal(cloud_blocks(c), 0);
    assert_int_equal(cloud_points(c), 0);
    assert_int_equal(cloud_revision(c), 0);
    assert_int_equal(cloud_hash(c), 0);
    change(c, 1); /* and it is as new */
    assert_int_equal(cloud_revision(c), 1);
    cloud_free(&c);
}

static struct cloud *small_cloud(void)
{
    struct cloud *c = cloud();

    put(c, 0, 1, 2, 3, 40);
    put(c, 3, 1, 2, 3, 40); /* the same key in another slot */
    put(c, 5, 5, 5, 5, 80);
    put(c, 2, 3000, 0, 0, 120);
    commit(c);
    put(c, 6, -3000, 0, 0, 40);
    put(c, 4, -3000, -3000, 0, 40);
    commit(c);
    cloud_stage_remove(c, 6);
    cloud_stage_remove(c, 4);
    commit(c);
    return c;
}

TEST(every_truncation_and_every_flip)
{
    struct cloud *c = small_cloud(), *copy;
    size_t len, harmless = 0;
    uint8_t *buf = save(c, &len);

    for (size_t n = 0; n < len; n++) {
        uint8_t *cut = malloc(n + 1);

        memcpy(cut, buf, n);
        assert_refused(cut, n);
        free(cut);
    }
    for (size_t i = 0; i < 8 * len; i++) {
        buf[i / 8] ^= (uint8_t)(1 << i % 8);
        copy = cloud();
        if (cloud_state_load(copy, buf, len, NULL)) {
            assert_refused(buf, len);
        } else { /* a revision or the name of an empty block: nothing else can be another */
            assert_true(cloud_hash(copy) == cloud_hash(c));
            for (int k = 0; k < 3; k++)
                change(copy, k);
            harmless++;
        }
        buf[i / 8] ^= (uint8_t)(1 << i % 8);
        cloud_free(&copy);
    }
    print_message("# %zu of %zu flips change a revision or the name of an empty block\n", harmless,
                  8 * len);
    assert_in_range(harmless, 1, 400);
    free(buf);
    cloud_free(&c);
}

static uint32_t u32_at(const uint8_t *p)
{
    struct bytes_reader r = bytes_reader(p, 4);
    return bytes_get_u32(&r);
}

static void set_u32(uint8_t *p, uint32_t v)
{
    struct bytes_writer w = bytes_writer(p, 4);
    bytes_put_u32(&w, v);
}

/* Lies that hash and lengths do not show. */
TEST(lies_are_refused)
{
    struct cloud *c = small_cloud();
    size_t len, keys, slots, slot_keys;
    uint8_t *buf = save(c, &len), *bad = malloc(len + 8), swap[8];

    keys = HEAD + BLOCK * u32_at(buf + 32);
    slots = keys + 8 * cloud_points(c);
    slot_keys = slots + 4 * u32_at(buf + 36);
    assert_int_equal(cloud_blocks(c), 4);
    assert_int_equal(u32_at(buf + 36), 7);
    assert_int_equal(slot_keys + 7 * 8, len);
#define LIE memcpy(bad, buf, len)
    LIE; /* the empty block has the name of the first */
    memcpy(bad + HEAD + 2 * BLOCK, bad + HEAD, 16);
    assert_refused(bad, len);
    LIE; /* so have both empty ones, which no point tells apart */
    memcpy(bad + HEAD + 3 * BLOCK, bad + HEAD + 2 * BLOCK, 16);
    assert_refused(bad, len);
    LIE; /* points in another order: the first two are equal, the third is larger */
    memcpy(swap, bad + keys, 8);
    memcpy(bad + keys, bad + keys + 16, 8);
    memcpy(bad + keys + 16, swap, 8);
    assert_refused(bad, len);
    LIE; /* two slots in each other's block: what they hold is not there */
    set_u32(bad + slots + 4 * 0, 2);
    set_u32(bad + slots + 4 * 2, 1);
    assert_refused(bad, len);
    LIE; /* a slot twice and another one not */
    memcpy(bad + slot_keys + 8 * 5, bad + slot_keys, 8);
    assert_refused(bad, len);
    LIE; /* an empty slot holds something */
    set_u32(bad + slots + 4 * 1, 1);
    assert_refused(bad, len);
    LIE; /* a slot holds nothing */
    set_u32(bad + slots + 4 * 0, 0);
    assert_refused(bad, len);
    LIE; /* a block that is not there */
    set_u32(bad + slots + 4 * 0, 5);
    assert_refused(bad, len);
    LIE; /* one point fewer in one block, one more in the other: same sum, another hash */
    set_u32(bad + HEAD + 16, u32_at(bad + HEAD + 16) - 1);
    set_u32(bad + HEAD + BLOCK + 16, u32_at(bad + HEAD + BLOCK + 16) + 1);
    assert_refused(bad, len);
    LIE; /* a block of the future */
    set_u32(bad + HEAD + 20, 99);
    assert_refused(bad, len);
    LIE; /* out of the world */
    set_u32(bad + HEAD + 2 * BLOCK + 4, 1u << 21);
    assert_refused(bad, len);
    LIE; /* bytes behind */
    memset(bad + len, 0, 8);
    assert_refused(bad, len + 8);
    free(bad);
    free(buf);
    cloud_free(&c);
}

TEST(limits_and_states)
{
    struct cloud *c = small_cloud(), *other;
    struct cloud_limits few = small_limits;
    size_t len, n;
    uint8_t *buf = save(c, &len);

    assert_int_equal(cloud_state_save(c, buf, len - 1, &n, NULL), ERR_LIMIT);
    assert_int_equal(cloud_state_load(c, buf, len, NULL), ERR_STATE);
    put(c, 8, 1, 1, 1, 1);
    assert_int_equal(cloud_state_save(c, buf, len, &n, NULL), ERR_STATE);
    commit(c);
    for (int i = 0; i < 3; i++) {
        few.max_blocks = i == 0 ? 3 : 4;
        few.max_points = i == 1 ? 6 : 7; /* slots, too */
        assert_int_equal(cloud_new(&other, &few, NULL), 0);
        assert_int_equal(cloud_state_load(other, buf, len, NULL), i < 2 ? ERR_INPUT : 0);
        cloud_free(&other);
    }
    free(buf);
    cloud_free(&c);
}
