/* daemon_comeback.c - how long a client is told to stay away from a session that comes back */
#include "daemon/disk/comeback.h"
#include "tests/support/unit.h"

/* `n` frames, one each `frame_us`, the first one after `wait_us`. Returns when the last ended. */
static uint64_t replay(struct comeback *c, uint64_t wait_us, uint64_t frame_us, int n)
{
    uint64_t now_us = 1000000 + wait_us;

    for (int i = 0; i < n; i++)
        comeback_ended(c, now_us + (uint64_t)i * frame_us);
    return now_us + (uint64_t)(n - 1) * frame_us;
}

TEST(nothing_measured_is_asked_again_soon)
{
    struct comeback c = {0};

    assert_int_equal(comeback_s(&c, 1000), 1);
    comeback_ended(&c, 9000000);
    assert_int_equal(comeback_s(&c, 1000), 1);
}

/* Networks are opened within the first frame's time: three seconds that no other frame takes. */
TEST(the_wait_for_the_first_frame_is_not_the_others)
{
    struct comeback c = {0};

    replay(&c, 3000000, 100000, 3);
    assert_int_equal(comeback_s(&c, 45), 5);
    assert_int_equal(comeback_s(&c, 3), 1);
    assert_int_equal(comeback_s(&c, 1000000), COMEBACK_LIMIT_S);
}

/* Another session's slow frames are soon forgotten. */
TEST(the_last_frames_count)
{
    struct comeback c = {0};
    uint64_t now_us = replay(&c, 0, 2000000, 50);

    assert_int_equal(comeback_s(&c, 10), 20);
    for (int i = 1; i <= COMEBACK_ENDS; i++)
        comeback_ended(&c, now_us + (uint64_t)i * 100000);
    assert_int_equal(comeback_s(&c, 45), 5);
}

TEST(those_that_are_asked_for_share_the_device)
{
    struct comeback c = {0};

    replay(&c, 0, 100000, 10);
    c.asked = 1;
    c.asked_frames = 45;
    assert_int_equal(comeback_s(&c, 45), 5);
    c.asked = 3; /* with two that lack as much, and then with two that lack nearly nothing */
    c.asked_frames = 135;
    assert_int_equal(comeback_s(&c, 45), 14);
    c.asked_frames = 55;
    assert_int_equal(comeback_s(&c, 45), 6);
    assert_int_equal(comeback_s(&c, 5), 2); /* one of these */
    c.other_frames = 120;
    assert_int_equal(comeback_s(&c, 5), 14);
}

/* One that is asked for just now is not among those that were counted. */
TEST(the_one_that_asks_counts_at_once)
{
    struct comeback c = {0};

    replay(&c, 0, 100000, 10);
    assert_int_equal(comeback_s(&c, 45), 5);
    c.asked = 1;
    c.asked_frames = 10;
    assert_int_equal(comeback_s(&c, 45), 5);
}
