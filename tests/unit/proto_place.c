/* Points by place: what a cloud without slots holds is what was put, place by place. */
#include "proto/cloud/cloud.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

#define SIDE 40 /* places along an axis, over two blocks */
#define PLACES (SIDE * SIDE)

static void place_of(int i, int32_t p_q[3])
{
    p_q[0] = 1000 + i % SIDE;
    p_q[1] = -20 + i / SIDE;
    p_q[2] = 7;
}

static struct cloud *new_cloud(uint32_t max_points)
{
    const struct cloud_limits limits = {16, max_points};
    struct cloud *c;

    assert_int_equal(cloud_new(&c, &limits, NULL), 0);
    return c;
}

static struct key_look look_of(uint8_t shade)
{
    return (struct key_look){{shade, 8, 16}, 1, 0};
}

/* The hash of a fresh cloud that holds what `shades` says, 0 = nothing. */
static uint64_t hash_of(const uint8_t *shades)
{
    struct cloud *c = new_cloud(PLACES);
    const uint32_t *changed;
    uint32_t n;
    uint64_t hash;

    for (int i = 0; i < PLACES; i++) {
        struct key_look look = look_of(shades[i]);
        int32_t p_q[3];

        place_of(i, p_q);
        if (shades[i])
            assert_int_equal(cloud_stage_put(c, (uint32_t)i, 0, p_q, &look, NULL), 0);
    }
    (void)cloud_commit(c, &changed, &n);
    hash = cloud_hash(c);
    cloud_free(&c);
    return hash;
}

/* Random puts and removals, each place at most once a commit: points and hash are as of slots. */
TEST(places_hold_what_was_put)
{
    struct cloud *c = new_cloud(PLACES), *again;
    uint8_t shades[PLACES] = {0}, *buf;
    uint64_t lot = 1;
    const uint32_t *changed;
    uint32_t n, n_points;
    size_t len;

    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < PLACES; i++) {
            struct key_look look;
            int32_t p_q[3];
            uint64_t r = key_random(&lot);

            if (r % 3)
                continue;
            place_of(i, p_q);
            shades[i] = r >> 8 & 1 ? (uint8_t)(4 * (1 + (r >> 16) % 60)) : 0;
            look = look_of(shades[i]);
            assert_int_equal(shades[i] ? cloud_place_put(c, 0, p_q, &look, NULL)
                                       : cloud_place_remove(c, 0, p_q, NULL),
                             0);
        }
        (void)cloud_commit(c, &changed, &n);
        n_points = 0;
        for (int i = 0; i < PLACES; i++)
            n_points += shades[i] != 0;
        assert_int_equal(cloud_points(c), n_points);
        assert_true(cloud_hash(c) == hash_of(shades));
    }
    assert_true(cloud_bytes(c) < PLACES * 200);
    /* and after it was saved and loaded it goes on */
    buf = malloc(cloud_state_bytes(c));
    assert_int_equal(cloud_state_save(c, buf, cloud_state_bytes(c), &len, NULL), 0);
    again = new_cloud(PLACES);
    assert_int_equal(cloud_state_load(again, buf, len, NULL), 0);
    assert_true(cloud_hash(again) == cloud_hash(c) && cloud_revision(again) == cloud_revision(c));
    for (int i = 0; i < PLACES; i++) {
        int32_t p_q[3];

        place_of(i, p_q);
        assert_int_equal(cloud_place_remove(again, 0, p_q, NULL), 0);
    }
    (void)cloud_commit(again, &changed, &n);
    assert_int_equal(cloud_points(again), 0);
    assert_true(cloud_hash(again) == 0);
    free(buf);
    cloud_free(&again);
    cloud_free(&c);
}

TEST(limits_hold_and_ways_do_not_mix)
{
    struct cloud *c = new_cloud(3), *slots = new_cloud(3);
    const struct key_look look = look_of(40), other = look_of(80);
    const uint32_t *changed;
    int32_t p_q[3];
    uint32_t n;

    for (int i = 0; i < 4; i++) {
        place_of(i, p_q);
        assert_int_equal(cloud_place_put(c, 0, p_q, &look, NULL), i < 3 ? 0 : ERR_LIMIT);
    }
    (void)cloud_commit(c, &changed, &n);
    assert_int_equal(cloud_points(c), 3);
    place_of(0, p_q);
    assert_int_equal(cloud_place_put(c, 0, p_q, &look, NULL), 0); /* as it is: no revision */
    assert_int_equal(cloud_commit(c, &changed, &n), 1);
    assert_int_equal(cloud_place_put(c, 0, p_q, &other, NULL), 0);
    assert_int_equal(cloud_commit(c, &changed, &n), 2);
    assert_int_equal(cloud_points(c), 3);
    assert_int_equal(cloud_stage_put(c, 0, 0, p_q, &look, NULL), ERR_STATE);
    assert_int_equal(cloud_stage_put(slots, 0, 0, p_q, &look, NULL), 0);
    assert_int_equal(cloud_place_put(slots, 0, p_q, &look, NULL), ERR_STATE);
    (void)cloud_commit(slots, &changed, &n);
    cloud_free(&slots);
    cloud_free(&c);
}
