/* Waiting by the clock that never steps: a moment that has passed ends it, and so does a signal. */
#include "daemon/clock.h"
#include "tests/support/unit.h"

static struct lock lock = LOCK_INITIALIZER(LOCK_TURN);
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool come;

TEST(the_past_ends_it)
{
    uint64_t until = clock_us() + 2500;

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

TEST(a_signal_ends_it)
{
    uint64_t until = clock_us() + 3600u * 1000000u;
    pthread_t thread;
    bool signalled = true;

    lock_take(&lock);
    assert_int_equal(pthread_create(&thread, NULL, send_one, NULL), 0);
    while (!come && signalled)
        signalled = clock_wait(&wake, &lock, until);
    lock_give(&lock);
    pthread_join(thread, NULL);
    assert_true(come && signalled);
}
