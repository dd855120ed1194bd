/*
 * gpu_wait - how a batch is waited for (gpu/base/wait_cuda.c): done at once, done late, told late,
 * failed, never done. Events are the emulation's.
 */
#include "gpu/base/wait_cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct wait_cuda *open_wait(void)
{
    struct wait_cuda *w;
    struct err err = {0};

    emulate_fail(0);
    assert_int_equal(wait_cuda_open(&w, &err), 0);
    return w;
}

static void mark(struct wait_cuda *w, int batch, int late_ms, int told_ms)
{
    emulate_late(late_ms, told_ms);
    assert_int_equal(wait_cuda_mark(w, batch, NULL, NULL), 0);
}

/* Once all that was to be told has been: the emulation's streams drop nothing. */
static void close_wait(struct wait_cuda **w)
{
    usleep(30000);
    wait_cuda_close(w);
}

/* Returns milliseconds. */
static double wait_for(struct wait_cuda *w, int batch, int wanted, struct err *err)
{
    double begin_ms = now_ms();

    assert_int_equal(wait_cuda_batch(w, batch, err), wanted);
    return now_ms() - begin_ms;
}

static void a_batch_is_waited_for(void **state)
{
    struct wait_cuda *w = open_wait();

    (void)state;
    for (int i = 0; i < 6; i++) {
        mark(w, i % 2, 4, 5);
        assert_true(wait_for(w, i % 2, 0, NULL) >= 3.0);
    }
    close_wait(&w);
}

static void a_long_batch_is_waited_for(void **state)
{
    struct wait_cuda *w = open_wait();

    (void)state;
    mark(w, 0, 199, 200);
    assert_true(wait_for(w, 0, 0, NULL) >= 198.0);
    assert_int_equal(wait_cuda_lost(w, NULL), 0);
    close_wait(&w);
}

/* The driver knows that a batch failed, and nothing is told behind it. */
static void a_failed_batch_is_lost_and_its_device_with_it(void **state)
{
    struct wait_cuda *w = open_wait();
    struct err err = {0}, again = {0};

    (void)state;
    mark(w, 0, 60, -1);
    mark(w, 1, -1, -1);
    emulate_fail(1);
    assert_true(wait_for(w, 0, ERR_DEVICE, &err) >= 59.0);
    assert_non_null(strstr(err.text, "cudaEventQuery(done)"));
    assert_int_equal(wait_cuda_batch(w, 1, &again), ERR_DEVICE); /* comes back at once */
    assert_string_equal(again.text, err.text);
    assert_int_equal(wait_cuda_lost(w, NULL), ERR_DEVICE);
    close_wait(&w);
}

/* What was told after another look is there when the next batch is waited for: it is not that
 * batch's. */
static void a_word_of_the_last_batch_ends_no_other(void **state)
{
    struct wait_cuda *w = open_wait();

    (void)state;
    mark(w, 0, 10, 70);
    wait_for(w, 0, 0, NULL);
    usleep(80000);
    mark(w, 0, 20, 21);
    assert_true(wait_for(w, 0, 0, NULL) >= 19.0);
    assert_int_equal(wait_cuda_lost(w, NULL), 0);
    close_wait(&w);
}

static void a_batch_that_never_ends_is_given_up(void **state)
{
    struct wait_cuda *w = open_wait();
    struct err err = {0};

    (void)state;
    mark(w, 0, -1, -1);
    assert_true(wait_for(w, 0, ERR_DEVICE, &err) > 9000.0);
    assert_non_null(strstr(err.text, "does not end"));
    close_wait(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_waited_for),
        cmocka_unit_test(a_long_batch_is_waited_for),
        cmocka_unit_test(a_failed_batch_is_lost_and_its_device_with_it),
        cmocka_unit_test(a_word_of_the_last_batch_ends_no_other),
        cmocka_unit_test(a_batch_that_never_ends_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
