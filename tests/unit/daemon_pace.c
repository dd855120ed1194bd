/* daemon_pace.c - what a session takes by its fps; the rate and quality that a client is told */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/session/pace.h"

/* Frames that are taken of a camera with so many a second, over `seconds`; jitter in ms, to and
 * fro. */
static int taken(double fps, double camera, double seconds, double jitter_ms)
{
    struct pace_clock c = {0};
    int n = 0;

    for (int i = 0; i < (int)(camera * seconds); i++) {
        double t_s = 5 + i / camera + (i % 2 ? 1e-3 : -1e-3) * jitter_ms;
        n += pace_takes(&c, fps, (uint64_t)(t_s * 1e9));
    }
    return n;
}

static void fps_is_held_by_capture_time(void **state)
{
    (void)state;
    assert_in_range(taken(1, 30, 4.4, 0), 5, 5); /* 0, 1, 2, 3 and 4 s */
    assert_in_range(taken(1, 30, 600, 0), 600, 613);
    assert_in_range(taken(1, 30, 600, 5), 600, 613);
    assert_in_range(taken(10, 30, 60, 5), 600, 613);
    assert_in_range(taken(7, 30, 60, 5), 420, 430); /* that does not divide it */
    assert_in_range(taken(30, 60, 60, 3), 1800, 1838);
    /* a camera that keeps to it loses nothing, whatever its clock's quartz and the jitter do */
    assert_int_equal(taken(30, 30, 600, 0), 18000);
    assert_int_equal(taken(30, 30, 600, 4), 18000);
    assert_int_equal(taken(30, 30.3, 600, 4), 18180);
    assert_int_equal(taken(30, 15, 60, 10), 900);
}

/* A phone that was busy for a moment: its next two pictures come close to each other. */
static void a_late_frame_leaves_its_time_to_the_next(void **state)
{
    static const double at_s[] = {0, 0.1, 0.2, 0.385, 0.4, 0.5, 0.6};
    struct pace_clock c = {0};

    (void)state;
    for (size_t i = 0; i < sizeof at_s / sizeof *at_s; i++)
        assert_true(pace_takes(&c, 10, (uint64_t)(at_s[i] * 1e9)));
    assert_false(pace_takes(&c, 10, 620000000));
}

static void a_clock_that_stands_or_jumps_back_takes_all(void **state)
{
    struct pace_clock c = {0};

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_true(pace_takes(&c, 1, 0));
    assert_true(pace_takes(&c, 1, UINT64_C(10000000000)));
    assert_false(pace_takes(&c, 1, UINT64_C(10500000000)));
    assert_true(pace_takes(&c, 1, 7)); /* began anew */
    assert_false(pace_takes(&c, 1, 500000000));
    assert_true(pace_takes(&c, 1, 1000000007));
    assert_true(pace_takes(&c, 1, UINT64_MAX)); /* a pause gives no credit */
    assert_true(pace_takes(&c, 1, 0));
    assert_false(pace_takes(&c, 1, 100000000));
}

/* A device that needs service_ms for a frame of a camera with 30 a second, whose client follows
 * the rate. Returns the rate at the end; *dropped counts frames beyond a queue of eight. */
static double follow(double service_ms, double seconds, int *dropped)
{
    struct pace p = pace_new(30);
    double told = p.rate, next_ms = 0, done_ms = 0, now_ms;
    int waiting = 0;

    *dropped = 0;
    for (now_ms = 0; now_ms < 1000 * seconds; now_ms++) {
        if (now_ms >= next_ms) {
            next_ms += 1000 / told;
            if (waiting == 8)
                ++*dropped;
            else if (++waiting == 1)
                done_ms = now_ms + service_ms;
        }
        if (waiting && now_ms >= done_ms) {
            waiting--;
            pace_used(&p, (uint64_t)(1000 * now_ms) + 1, (uint64_t)waiting);
            done_ms = now_ms + service_ms;
            if (pace_differs(p.rate, told))
                told = p.rate;
        }
    }
    return told;
}

static void the_rate_is_what_the_device_uses(void **state)
{
    int dropped;

    (void)state;
    assert_true(follow(5, 20, &dropped) == 30 && dropped == 0);
    assert_in_range((int)follow(100, 60, &dropped), 8, 11);
    print_message("# %d frames dropped in a minute\n", dropped);
    assert_true(dropped < 20); /* of 1,800 frames of the camera; without it 1,200 */
    assert_in_range((int)follow(500, 120, &dropped), 1, 2);
}

static void a_full_line_asks_for_less_and_a_free_one_for_more(void **state)
{
    struct pace_link l = pace_link_new();
    uint64_t t_ns = 0, now_us = UINT64_C(7000000000);

    (void)state;
    for (int i = 0; i < 300; i++, t_ns += 33333333, now_us += 33333)
        pace_arrived(&l, t_ns, now_us, 0);
    assert_int_equal(l.jpeg, PACE_JPEG_MAX);
    for (int i = 0; i < 300; i++, t_ns += 33333333, now_us += 50000) /* falls behind: the device */
        pace_arrived(&l, t_ns, now_us, 5);
    assert_int_equal(l.jpeg, PACE_JPEG_MAX);
    for (int i = 0; i < 300; i++, t_ns += 33333333, now_us += 50000) /* and now the line */
        pace_arrived(&l, t_ns, now_us, 0);
    assert_int_equal(l.jpeg, PACE_JPEG_MIN);
    now_us = UINT64_C(7000000000) + t_ns / 1000; /* caught up */
    for (int i = 0; i < 3000; i++, t_ns += 33333333, now_us += 33333)
        pace_arrived(&l, t_ns, now_us, 0);
    assert_int_equal(l.jpeg, PACE_JPEG_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fps_is_held_by_capture_time),
        cmocka_unit_test(a_late_frame_leaves_its_time_to_the_next),
        cmocka_unit_test(a_clock_that_stands_or_jumps_back_takes_all),
        cmocka_unit_test(the_rate_is_what_the_device_uses),
        cmocka_unit_test(a_full_line_asks_for_less_and_a_free_one_for_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
