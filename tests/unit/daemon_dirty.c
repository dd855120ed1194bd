/* The list of blocks that a client has still to be sent: in their order, each once. */
#include "daemon/session/dirty.h"
#include "tests/support/unit.h"

TEST(blocks_come_in_their_order_and_once)
{
    struct dirty d;

    dirty_open(&d);
    assert_int_equal(dirty_pop(&d), DIRTY_NONE);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t b = 5000; b > 0; b -= 1000)
            assert_true(dirty_mark(&d, b));
    for (uint32_t b = 5000; b > 0; b -= 1000)
        assert_int_equal(dirty_pop(&d), b);
    assert_int_equal(dirty_pop(&d), DIRTY_NONE);
    assert_true(dirty_hold(&d, 100000, 7)); /* the arrays grow, and what was there stays */
    assert_true(dirty_mark(&d, 3));
    assert_true(d.held[100000] == 7 && d.held[5000] == 0);
    assert_int_equal(dirty_pop(&d), 3);
    dirty_free(&d);
}

TEST(what_is_put_back_comes_first)
{
    struct dirty d;

    dirty_open(&d);
    assert_true(dirty_mark(&d, 1) && dirty_mark(&d, 2));
    assert_int_equal(dirty_pop(&d), 1);
    dirty_put_back(&d, 1);
    assert_true(dirty_mark(&d, 3));
    assert_int_equal(dirty_pop(&d), 1);
    assert_int_equal(dirty_pop(&d), 2);
    assert_int_equal(dirty_pop(&d), 3);
    dirty_put_back(&d, 3); /* into an empty list, which goes on behind it */
    assert_true(dirty_mark(&d, 4));
    assert_int_equal(dirty_pop(&d), 3);
    assert_true(dirty_mark(&d, 3)); /* marked meanwhile: it has its place, and is there once */
    dirty_put_back(&d, 3);
    assert_int_equal(dirty_pop(&d), 4);
    assert_int_equal(dirty_pop(&d), 3);
    assert_int_equal(dirty_pop(&d), DIRTY_NONE);
    dirty_free(&d);
}
