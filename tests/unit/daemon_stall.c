/* A virtual processor that stands still uses up a thread's processor time: no frame is refused for
 * that, and the cloud is the one of a machine that ran. */
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

#include <sys/syscall.h>

static atomic_ullong leap_ns, looks;
static atomic_int leaps, every; /* every so many looks of a decoder the clock leaps; 0 = never */

/* In place of the C library's: the processor time of a thread leaps forward now and then. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    static _Thread_local unsigned long long ahead_ns;
    int rc = (int)syscall(SYS_clock_gettime, id, t), n = atomic_load(&every);
    unsigned long long look;

    if (id != CLOCK_THREAD_CPUTIME_ID || n == 0)
        return rc;
    look = atomic_fetch_add(&looks, 1);
    if (look * 2654435761u % 1000003 % (unsigned)n == 0) {
        atomic_fetch_add(&leaps, 1);
        ahead_ns += atomic_load(&leap_ns);
    }
    t->tv_sec += (time_t)(ahead_ns / 1000000000);
    t->tv_nsec += (long)(ahead_ns % 1000000000);
    if (t->tv_nsec >= 1000000000) {
        t->tv_sec++;
        t->tv_nsec -= 1000000000;
    }
    return rc;
}

static void stand_still(unsigned seconds, int one_in)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    struct session_info was = undisturbed(FRAMES), info;

    atomic_store(&leaps, 0);
    atomic_store(&leap_ns, seconds * 1000000000ull);
    atomic_store(&every, one_in);
    open_rig(0);
    rig_join(&c, &o);
    feed(&c, 1, FRAMES);
    info = rig_info(c.id);
    assert_int_equal(info.counts.used, FRAMES);
    assert_int_equal(info.counts.refused, 0);
    assert_true(info.hash == was.hash);
    assert_true(atomic_load(&leaps) > 5);
    rig_end(&c);
    atomic_store(&every, 0);
}

TEST_WITH(a_second_is_not_noticed, make_folder, remove_folder)
{
    stand_still(1, 7);
}

TEST_WITH(after_an_hour_a_frame_is_tried_again, make_folder, remove_folder)
{
    stand_still(3600, 7);
}
