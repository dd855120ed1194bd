/*
 * gpu_wait - how a batch is waited for (gpu/base/wait_cuda.c): on time, late with a device that
 * answers, late with one that is silent, told late, never done. Events and the pulse are the
 * emulation's.
 */
#include "gpu/base/wait_cuda.h"
#include "tests/emulate/emulate_pulse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ANSWER_MS 40

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct wait_cuda *open_wait(int answer_ms, int silent)
{
    struct wait_cuda *w;
    struct err err = {0};

    emulate_pulse_silent = silent;
    emulate_pulse_asked = 0;
    assert_int_equal(wait_cuda_open(&w, answer_ms, &err), 0);
    wait_cuda_alone(w, 1);
    return w;
}

static void mark(struct wait_cuda *w, int flight, int late_ms, int told_ms)
{
    emulate_late(late_ms, told_ms);
    assert_int_equal(wait_cuda_mark(w, flight, NULL, NULL), 0);
}

/* Once all that was to be told has been: the emulation's streams drop nothing. */
static void close_wait(struct wait_cuda **w)
{
    usleep(30000);
    wait_cuda_close(w);
}

/* Returns milliseconds. */
static double land(struct wait_cuda *w, int flight, int wanted, struct err *err)
{
    double begin_ms = now_ms();

    assert_int_equal(wait_cuda_land(w, flight, err), wanted);
    return now_ms() - begin_ms;
}

static void a_batch_on_time_asks_nobody(void **state)
{
    struct wait_cuda *w = open_wait(ANSWER_MS, 1);

    (void)state;
    for (int i = 0; i < 6; i++) {
        mark(w, i % 2, 4, 5);
        assert_true(land(w, i % 2, 0, NULL) < ANSWER_MS);
    }
    assert_int_equal(emulate_pulse_asked, 0);
    close_wait(&w);
}

static void a_long_batch_of_a_live_device_is_waited_for(void **state)
{
    struct wait_cuda *w = open_wait(ANSWER_MS, 0);
    double took_ms;

    (void)state;
    mark(w, 0, 199, 200);
    took_ms = land(w, 0, 0, NULL);
    assert_true(took_ms >= 198.0 && took_ms < 400.0);
    assert_in_range(emulate_pulse_asked, 2, 4);
    close_wait(&w);
}

static void a_silent_device_is_lost_and_stays_so(void **state)
{
    struct wait_cuda *w = open_wait(ANSWER_MS, 1);
    struct err err = {0}, again = {0};
    double took_ms;

    (void)state;
    mark(w, 0, -1, -1);
    mark(w, 1, -1, -1);
    took_ms = land(w, 0, ERR_DEVICE, &err);
    assert_true(took_ms >= 2 * ANSWER_MS - 2 && took_ms < 100.0);
    assert_non_null(strstr(err.text, "not answered for 40 ms"));
    assert_true(land(w, 1, ERR_DEVICE, &again) < 5.0);
    assert_string_equal(again.text, err.text);
    assert_int_equal(emulate_pulse_asked, 1);
    assert_int_equal(wait_cuda_lost(w, NULL), ERR_DEVICE);
    close_wait(&w);
}

/* Another program may hold the device: what the driver says counts alone. */
static void silence_among_others_says_nothing(void **state)
{
    struct wait_cuda *w = open_wait(ANSWER_MS, 1);
    double took_ms;

    (void)state;
    wait_cuda_alone(w, 0);
    assert_int_equal(wait_cuda_alive(w, NULL), 0);
    assert_int_equal(emulate_pulse_asked, 0);
    mark(w, 0, 199, 200);
    took_ms = land(w, 0, 0, NULL);
    assert_true(took_ms >= 198.0 && took_ms < 400.0);
    assert_true(emulate_pulse_asked > 0);
    assert_int_equal(wait_cuda_lost(w, NULL), 0);
    close_wait(&w);
}

/* The time of the batch counts, not that of whoever comes to wait for it. */
static void who_comes_late_asks_at_once(void **state)
{
    struct wait_cuda *w = open_wait(ANSWER_MS, 1);

    (void)state;
    mark(w, 0, -1, -1);
    usleep(60000);
    assert_true(land(w, 0, ERR_DEVICE, NULL) < 55.0);
    close_wait(&w);
}

/* As before a checkpoint is read. */
static void who_asks_without_a_batch_is_told(void **state)
{
    struct wait_cuda *w = open_wait(ANSWER_MS, 0);
    struct err err = {0};

    (void)state;
    mark(w, 0, -1, -1);
    assert_int_equal(wait_cuda_alive(w, &err), 0);
    emulate_pulse_silent = 1;
    assert_int_equal(wait_cuda_alive(w, &err), ERR_DEVICE);
    assert_non_null(strstr(err.text, "not answered for 40 ms"));
    assert_true(land(w, 0, ERR_DEVICE, &err) < 5.0);
    assert_int_equal(emulate_pulse_asked, 2);
    close_wait(&w);
}

/* Silent while asked, but the batch is done by then: it lives. */
static void a_batch_done_at_the_last_moment_is_done(void **state)
{
    struct wait_cuda *w = open_wait(ANSWER_MS, 1);

    (void)state;
    mark(w, 0, 60, 61);
    land(w, 0, 0, NULL);
    assert_int_equal(emulate_pulse_asked, 1);
    assert_int_equal(wait_cuda_lost(w, NULL), 0);
    close_wait(&w);
}

/* What was told after another look is there when the next batch is waited for: it is not that
 * batch's. */
static void a_word_of_the_last_batch_ends_no_other(void **state)
{
    struct wait_cuda *w = open_wait(ANSWER_MS, 0);

    (void)state;
    mark(w, 0, 10, 70);
    land(w, 0, 0, NULL);
    usleep(60000);
    mark(w, 0, 20, 21);
    assert_true(land(w, 0, 0, NULL) >= 19.0);
    assert_int_equal(emulate_pulse_asked, 0);
    assert_int_equal(wait_cuda_lost(w, NULL), 0);
    close_wait(&w);
}

static void a_batch_that_never_ends_is_given_up(void **state)
{
    struct wait_cuda *w = open_wait(1000, 0);
    struct err err = {0};
    double took_ms;

    (void)state;
    mark(w, 0, -1, -1);
    took_ms = land(w, 0, ERR_DEVICE, &err);
    assert_true(took_ms > 9000.0 && took_ms < 12000.0);
    assert_non_null(strstr(err.text, "does not end"));
    close_wait(&w);
}

static void without_an_answer_time_the_driver_waits(void **state)
{
    struct wait_cuda *w = open_wait(0, 1);

    (void)state;
    mark(w, 0, 0, -1);
    land(w, 0, 0, NULL);
    assert_int_equal(emulate_pulse_asked, 0);
    close_wait(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_on_time_asks_nobody),
        cmocka_unit_test(a_long_batch_of_a_live_device_is_waited_for),
        cmocka_unit_test(a_silent_device_is_lost_and_stays_so),
        cmocka_unit_test(silence_among_others_says_nothing),
        cmocka_unit_test(who_comes_late_asks_at_once),
        cmocka_unit_test(who_asks_without_a_batch_is_told),
        cmocka_unit_test(a_batch_done_at_the_last_moment_is_done),
        cmocka_unit_test(a_word_of_the_last_batch_ends_no_other),
        cmocka_unit_test(a_batch_that_never_ends_is_given_up),
        cmocka_unit_test(without_an_answer_time_the_driver_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
