/* daemon_descriptors.c - the limit of file descriptors is raised as far as needed and allowed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/descriptors.h"

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

static void test_raised_to_what_is_needed(void **state)
{
    (void)state;
    set_limit(64);
    assert_int_equal(descriptors_raise(200), 200);
    assert_int_equal(soft_limit(), 200);
}

static void test_never_lowered(void **state)
{
    (void)state;
    set_limit(128);
    assert_int_equal(descriptors_raise(100), 128);
    assert_int_equal(soft_limit(), 128);
}

static void test_no_further_than_allowed(void **state)
{
    struct rlimit l;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_cur = 64;
    l.rlim_max = 256; /* for good: the last test */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
    assert_int_equal(descriptors_raise(10000), 256);
    assert_int_equal(soft_limit(), 256);
}

static void test_both_edges_count(void **state)
{
    struct config c = {0};
    uint64_t none = descriptors_needed(&c);

    (void)state;
    c.limits.connections = 1000;
    assert_int_equal(descriptors_needed(&c), none + 2000);
    c.limits.sessions = 10;
    assert_true(descriptors_needed(&c) >= none + 2020);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raised_to_what_is_needed),
        cmocka_unit_test(test_never_lowered),
        cmocka_unit_test(test_both_edges_count),
        cmocka_unit_test(test_no_further_than_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
