/* daemon_descriptors.c - the limit of file descriptors is raised as far as needed and allowed */
#include "daemon/descriptors.h"
#include "tests/support/unit.h"

#include <sys/resource.h>

static void set_limit(uint64_t soft)
{
    struct rlimit l;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_cur = soft;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
}

static uint64_t soft_limit(void)
{
    struct rlimit l;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    return l.rlim_cur;
}

TEST(test_raised_to_what_is_needed)
{
    set_limit(64);
    assert_int_equal(descriptors_raise(200), 200);
    assert_int_equal(soft_limit(), 200);
}

TEST(test_never_lowered)
{
    set_limit(128);
    assert_int_equal(descriptors_raise(100), 128);
    assert_int_equal(soft_limit(), 128);
}

TEST(test_no_further_than_allowed)
{
    struct rlimit l;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_cur = 64;
    l.rlim_max = 256; /* for good: the last test */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
    assert_int_equal(descriptors_raise(10000), 256);
    assert_int_equal(soft_limit(), 256);
}

TEST(test_both_edges_count)
{
    struct config c = {0};
    uint64_t none = descriptors_needed(&c);

    c.limits.connections = 1000;
    assert_int_equal(descriptors_needed(&c), none + 2000);
    c.limits.sessions = 10;
    assert_true(descriptors_needed(&c) >= none + 2020);
}
