/* When a batch leaves, and with how many frames: each rule as a table of cases. */
#include "daemon/work/batch_policy.h"
#include "tests/support/unit.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* A batch under way is due an eighth, twice the time to enqueue and 100 us before it is done. */
TEST(due_before_the_device_is_idle)
{
    static const struct {
        uint32_t expect_us, enqueue_us;
        uint64_t enqueued_us, done_us, due_us;
    } cases[] = {
        {8000, 0, 1000, 0, 1000 + 6900},
        {8000, 200, 1000, 0, 1000 + 6500},
        {8000, 0, 1000, 5000, 5000 + 6900}, /* it began when the one before it was done */
        {0, 0, 1000, 0, 1000},              /* nothing is known: due at once */
        {100, 0, 1000, 0, 1000},
        {500, 300, 1000, 0, 1000},
    };

    for (size_t i = 0; i < N(cases); i++) {
        struct batch_policy p = {.enqueue_us = cases[i].enqueue_us, .done_us = cases[i].done_us};
        p.expect_us[2] = cases[i].expect_us;
        assert_int_equal(batch_policy_due_us(&p, 3, cases[i].enqueued_us), cases[i].due_us);
        assert_int_equal(batch_policy_due_us(&p, 4, cases[i].enqueued_us), cases[i].due_us);
    }
}

TEST(a_worker_sleeps_until_there_is_work)
{
    static const struct {
        struct batch_policy_load load;
        uint64_t now_us, nap_us;
    } cases[] = {
        {{0, false, 0, 0}, 10000, BATCH_POLICY_NAP_US},
        {{2, false, 0, 0}, 10000, 0}, /* frames were left behind */
        {{0, true, 1, 1000}, 2000, 5900},
        {{0, true, 1, 1000}, 7900, 0},
        {{0, true, 1, 1000}, 9000, 0},
        {{1, true, 1, 1000}, 2000, 0},
    };

    for (size_t i = 0; i < N(cases); i++) {
        const struct batch_policy p = {.expect_us = {8000}};
        assert_int_equal(batch_policy_nap_us(&p, &cases[i].load, cases[i].now_us), cases[i].nap_us);
    }
}

TEST(a_batch_waits_or_leaves)
{
    static const struct {
        int n;
        uint64_t now_us, due_us, idle_until_us, until_us;
        bool for_any;
    } cases[] = {
        {1, 1000, 0, 3000, 3000, false},    /* idle device: only for frames on their way */
        {1, 3000, 0, 3000, 0, false},       /* ... and not for ever */
        {1, 1000, 9000, 3000, 9000, true},  /* busy device: for any frame, until it is due */
        {1, 1000, 9000, 500, 9000, true},   /* ... however old a frame is */
        {1, 9000, 9000, 9500, 9500, false}, /* due, with time left */
        {1, 9000, 9000, 3000, 0, false},    {0, 1000, 9000, 3000, 0, true}, /* no frame */
        {8, 1000, 9000, 3000, 0, true},                                     /* full */
        {7, 1000, 9000, 3000, 9000, true},
    };
    const struct batch_policy p = {.most = 8};

    for (size_t i = 0; i < N(cases); i++) {
        struct batch_policy_wait w = batch_policy_wait(&p, cases[i].n, cases[i].now_us,
                                                       cases[i].due_us, cases[i].idle_until_us);
        assert_int_equal(w.until_us, cases[i].until_us);
        if (w.until_us)
            assert_int_equal(w.for_any, cases[i].for_any);
    }
}

TEST(an_old_frame_does_not_wait_for_an_idle_device)
{
    const struct batch_policy p = {.wait_us = 2000};

    assert_int_equal(batch_policy_idle_until_us(&p, 100000, 99000), 102000);
    assert_int_equal(batch_policy_idle_until_us(&p, 100000, 68500), 101500);
    assert_int_equal(batch_policy_idle_until_us(&p, 100000, 60000), 93000);
}

TEST(sizes_that_pay_are_used)
{
    static const struct {
        uint32_t us_16, us_32;
        int n, n_left, size;
    } cases[] = {
        {1000, 2000, 17, 0, 16},
        {1000, 2000, 16, 0, 16},
        {1000, 2000, 32, 0, 32},
        {1000, 2000, 31, 0, 16}, /* 31 in 2000 us are slower than 16 in 1000 us */
        {1000, 1000, 17, 0, 17},
        {1200, 1000, 17, 0, 17}, /* the larger one costs nothing more */
        {1000, 1500, 28, 0, 28},
        {1000, 1500, 20, 0, 16},
        {0, 2000, 20, 0, 16}, /* nothing is known of the smaller one: it is tried */
        {1000, 0, 20, 0, 20}, /* ... of the larger one */
        {1000, 2000, 20, 16, 16},
        {1000, 2000, 20, 17, 20}, /* nothing is left behind twice */
        {1000, 2000, 1, 0, 1},
    };

    for (size_t i = 0; i < N(cases); i++) {
        struct batch_policy p = {.most = 64};
        p.expect_us[4] = cases[i].us_16;
        p.expect_us[5] = cases[i].us_32;
        assert_int_equal(batch_policy_size(&p, cases[i].n, cases[i].n_left), cases[i].size);
    }
}

TEST(a_size_that_is_avoided_is_tried_again)
{
    struct batch_policy p = {.most = 64};
    int tries = 0;

    p.expect_us[4] = 1000;
    p.expect_us[5] = 1000000; /* one batch took a second, by accident */
    while (batch_policy_size(&p, 24, 0) == 16 && tries < 10000)
        tries++;
    assert_in_range(tries, 10, 2000);
}

TEST(expectations_follow_what_batches_took)
{
    static const struct {
        uint32_t known_us;
        uint64_t enqueued_us, done_us, waited_us, now_us;
        uint32_t learnt_us;
    } cases[] = {
        {8000, 1000, 0, 2000, 10000, 9000},
        {8000, 1000, 3000, 4000, 10000, 7000}, /* it began when the one before it was done */
        {8000, 1000, 0, 2000, 900000, 17000},  /* held up: no more than twice what was known */
        {0, 1000, 0, 2000, 900000, 1000},      /* ... and a millisecond */
        {8000, 1000, 0, 20000, 20020, 6000},   /* done when it was asked: too long a guess */
        {8000, 1000, 0, 20000, 20050, 17000},
    };

    for (size_t i = 0; i < N(cases); i++) {
        struct batch_policy p = {.done_us = cases[i].done_us};
        p.expect_us[3] = cases[i].known_us;
        batch_policy_done(&p, 5, cases[i].enqueued_us, cases[i].waited_us, cases[i].now_us);
        assert_int_equal(p.expect_us[3], cases[i].learnt_us);
        assert_int_equal(p.done_us, cases[i].now_us);
    }
}

TEST(enqueuing_is_averaged_and_bounded)
{
    struct batch_policy p = {.enqueue_us = 80};

    batch_policy_enqueued(&p, 160);
    assert_int_equal(p.enqueue_us, 90);
    batch_policy_enqueued(&p, 5000000); /* the thread was stopped for a while */
    assert_int_equal(p.enqueue_us, (7 * 90 + 10000) / 8);
}

/* What a batch took goes to its sessions by the sizes of their networks, and all of it does. */
TEST(time_is_paid_by_the_pixel)
{
    const uint64_t pixels[] = {64 * 64, 64 * 64, 640 * 64};
    uint64_t share_us[3];

    batch_policy_share(share_us, pixels, 3, 12000);
    assert_in_range(share_us[0], 999, 1001);
    assert_in_range(share_us[1], 999, 1001);
    assert_in_range(share_us[2], 9997, 10000);
    batch_policy_share(share_us, (const uint64_t[]){0}, 1, 500); /* a size that is not known yet */
    assert_int_equal(share_us[0], 500);
}
