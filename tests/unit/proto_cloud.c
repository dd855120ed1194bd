/* The mirror as the daemon fills it: keys, hash, staging, commits, patches. */
#include "proto/wire/delta.h"
#include "tests/support/cloud.h"
#include "tests/support/unit.h"

/* ------------------------------------------------------------------------- keys and hash */

TEST(morton_interleaves_ten_bits)
{
    const struct cloud_name origin = {0};
    int32_t p[3];

    assert_int_equal(key_morton(1, 0, 0), 1);
    assert_int_equal(key_morton(0, 1, 0), 2);
    assert_int_equal(key_morton(0, 0, 1), 4);
    assert_int_equal(key_morton(3, 5, 1), 0x8f); /* 011 101 001: bits 0,3 + 1,7 + 2 */
    assert_int_equal(key_morton(1023, 1023, 1023), 0x3fffffff);
    assert_int_equal(key_morton(512, 0, 0), 1u << 27);
    for (uint32_t v = 0; v < 1024; v++) {
        key_position(origin, (uint64_t)key_morton(v, 1023 - v, v ^ 0x155) << KEY_MORTON_AT, p);
        assert_int_equal(p[0], v);
        assert_int_equal(p[1], 1023 - v);
        assert_int_equal(p[2], v ^ 0x155);
    }
}

static uint8_t colour(uint8_t channel)
{
    const struct key_look look = {{9, channel, 200}, 15, 0xfff};
    const int32_t p[3] = {1, 2, 3};
    struct key_look back = key_look(key_make(p, &look));

    assert_true(back.rgb[0] == 8 && back.rgb[2] == 200);
    assert_true(back.confidence == 15 && back.normal == 0xfff);
    return back.rgb[1];
}

/* Neither leaves its field. */
TEST(what_is_too_large_for_a_key_is_held_back)
{
    const struct key_look look = {{0, 0, 0}, 200, 0xf820};
    const int32_t p[3] = {0, 0, 0};

    assert_int_equal(key_make(p, &look), 0x820ull << KEY_NORMAL_AT | 15);
}

TEST(colours_round_to_six_bits)
{
    assert_int_equal(colour(0), 0);
    assert_int_equal(colour(1), 0);
    assert_int_equal(colour(2), 4);
    assert_int_equal(colour(5), 4);
    assert_int_equal(colour(128), 128);
    assert_int_equal(colour(249), 248);
    assert_int_equal(colour(250), 252);
    assert_int_equal(colour(255), 252);
    for (int v = 0; v < 256; v++)
        assert_int_equal(colour(colour((uint8_t)v)), colour((uint8_t)v));
}

TEST(negative_positions_fall_into_lower_blocks)
{
    struct cloud *c = cloud();
    struct cloud_block b;
    int32_t p[3];

    put(c, 0, -1, -1024, -1025, 10);
    assert_int_equal(commit(c), 1);
    assert_int_equal(cloud_blocks(c), 1);
    b = cloud_block(c, 0);
    assert_int_equal(b.name.x, -1);
    assert_int_equal(b.name.y, -1);
    assert_int_equal(b.name.z, -2);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.revision, 1);
    assert_int_equal(b.keys[0] >> KEY_MORTON_AT, key_morton(1023, 0, 1023));
    /* 10, 11, 12 in steps of four; 10 * 37 + 12 + 91 * 7 is the normal */
    assert_int_equal(b.keys[0] & 0x3ffffffff, 0x3fbull << 22 | 3 << 16 | 3 << 10 | 3 << 4 | 7);
    key_position(b.name, b.keys[0], p);
    assert_int_equal(p[0], -1);
    assert_int_equal(p[1], -1024);
    assert_int_equal(p[2], -1025);
    cloud_free(&c);
    assert_null(c);
}

TEST(hash_is_the_documented_one)
{
    struct cloud *c = cloud();
    int32_t p[3] = {5, -3000, 70000}, far[3] = {INT32_MIN, INT32_MAX, 0};
    uint8_t rgb[3] = {200, 100, 50};
    uint64_t both;

    assert_int_equal(cloud_hash(c), 0);
    assert_int_equal(mix64(0), 0xe220a8397b1dcdafull); /* splitmix64's first output for seed 0 */
    assert_int_equal(stage_put(c, 1, 3, p, rgb, 9, NULL), 0);
    assert_int_equal(cloud_hash(c), 0); /* nothing is visible before the commit */
    commit(c);
    assert_int_equal(cloud_hash(c), hash_point(3, p, rgb, 9));
    assert_int_equal(stage_put(c, 2, 3, far, rgb, 9, NULL), 0);
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

TEST(put_replaces_and_removal_empties)
{
    struct cloud *c = cloud();

    put(c, 5, 1, 2, 3, 1);
    put(c, 5, 4, 5, 6, 1);
    assert_int_equal(commit(c), 1);
    assert_int_equal(cloud_points(c), 1);
    assert_int_equal(cloud_block(c, 0).keys[0] >> KEY_MORTON_AT, key_morton(4, 5, 6));
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

TEST(limits_leave_one_point_out)
{
    struct cloud_limits small = {.max_blocks = 2, .max_points = 4};
    const uint8_t rgb[3] = {1, 2, 3};
    int32_t p[3] = {0, 0, 0};
    struct err err = {0};
    struct cloud *c;

    assert_int_equal(cloud_new(&c, &small, NULL), 0);
    assert_int_equal(stage_put(c, 4, 0, p, rgb, 0, &err), ERR_LIMIT);
    assert_int_equal(stage_put(c, 0, 0, p, rgb, 0, &err), 0);
    p[0] = 1024;
    assert_int_equal(stage_put(c, 1, 0, p, rgb, 0, &err), 0);
    p[0] = 2048;
    assert_int_equal(stage_put(c, 1, 0, p, rgb, 0, &err), ERR_LIMIT); /* a third block */
    commit(c);
    assert_int_equal(cloud_points(c), 1); /* slot 1 is empty, slot 0 untouched */
    assert_int_equal(cloud_block(c, 0).n, 1);
    cloud_free(&c);
    small.max_blocks = 0;
    assert_int_equal(cloud_new(&c, &small, &err), ERR_INPUT);
    assert_null(c);
}

TEST(block_never_outgrows_a_message)
{
    struct cloud_limits one = {.max_blocks = 4, .max_points = CLOUD_BLOCK_POINTS + 2};
    const uint8_t rgb[3] = {0, 0, 0};
    int32_t p[3] = {0, 0, 0};
    struct cloud *c;

    assert_int_equal(CLOUD_BLOCK_POINTS, DELTA_POINTS_MAX);
    assert_int_equal(cloud_new(&c, &one, NULL), 0);
    for (uint32_t i = 0; i < CLOUD_BLOCK_POINTS; i++) {
        p[0] = (int32_t)(i & 1023);
        p[1] = (int32_t)(i >> 10);
        assert_int_equal(stage_put(c, i, 0, p, rgb, 0, NULL), 0);
    }
    assert_int_equal(stage_put(c, CLOUD_BLOCK_POINTS, 0, p, rgb, 0, NULL), ERR_LIMIT);
    commit(c);
    assert_int_equal(cloud_points(c), CLOUD_BLOCK_POINTS);
    cloud_free(&c);
}

/* Many more staged changes than fit the list: they cancel out on the way. */
TEST(staging_is_bounded)
{
    struct cloud_limits small = {.max_blocks = 4, .max_points = 10};
    const uint8_t rgb[3] = {0, 0, 0};
    uint64_t expected = 0;
    struct cloud *c;

    assert_int_equal(cloud_new(&c, &small, NULL), 0);
    for (uint32_t i = 0; i < 100000; i++) {
        int32_t p[3] = {(int32_t)(i % 2000), 0, 0};

        assert_int_equal(stage_put(c, i % 10, 0, p, rgb, 0, NULL), 0);
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

TEST(sparse_cloud_stays_small)
{
    struct cloud_limits big = {.max_blocks = 1u << 20, .max_points = 50u * 1000 * 1000};
    struct cloud *c;

    assert_int_equal(cloud_new(&c, &big, NULL), 0);
    put(c, 1000, 1, 2, 3, 4);
    commit(c);
    assert_true(cloud_bytes(c) < 64 * 1024);
    cloud_free(&c);
}

/* ------------------------------------------------------------------------- patches */

TEST(patch_names_indices_of_the_base)
{
    struct cloud *c = cloud();
    struct cloud_patch patch;
    uint64_t base;

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
    assert_int_equal(patch.added[0] >> KEY_MORTON_AT, key_morton(25, 0, 0));
    assert_int_equal(cloud_patch(c, 0, base + 2, &patch, NULL), 0);
    assert_int_equal(patch.n_removed + patch.n_added, 0);
    assert_int_equal(cloud_patch(c, 0, 0, &patch, NULL), ERR_NOT_FOUND);
    assert_int_equal(cloud_patch(c, 0, base + 3, &patch, NULL), ERR_NOT_FOUND);
    assert_int_equal(cloud_patch(c, 1, base, &patch, NULL), ERR_NOT_FOUND);
    cloud_free(&c);
}

TEST(history_weighs_less_than_its_block)
{
    struct cloud *c = cloud();
    struct cloud_patch patch;
    uint64_t base;
    int reached = 0;

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
