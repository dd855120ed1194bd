/* Waiting by the clock that never steps: a moment that has passed ends it, and so does a signal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/clock.h"

static struct lock lock = LOCK_INITIALIZER(LOCK_TURN);
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool come;

static void the_past_ends_it(void **state)
{
    uint64_t until = clock_us() + 2500;

    (void)state;
    lock_take(&lock);
    assert_false(clock_wait(&wake, &lock, 0));
    assert_false(clock_wait(&wake, &lock, clock_us()));
    while (clock_wait(&wake, &lock, until))
        ;
    assert_true(clock_us() >= until);
    lock_give(&lock);
}

static void *send_one(void *arg)
{
    lock_take(&lock);
    come = true;
    pthread_cond_signal(&wake);
    lock_give(&lock);
    return arg;
}

static void a_signal_ends_it(void **state)
{
    uint64_t until = clock_us() + 3600u * 1000000u;
    pthread_t thread;
    bool signalled = true;

    (void)state;
    lock_take(&lock);
    assert_int_equal(pthread_create(&thread, NULL, send_one, NULL), 0);
    while (!come && signalled)
        signalled = clock_wait(&wake, &lock, until);
    lock_give(&lock);
    pthread_join(thread, NULL);
    assert_true(come && signalled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_past_ends_it),
        cmocka_unit_test(a_signal_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
