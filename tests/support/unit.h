/*
 * unit.h - a test program: each TEST(name) { ... } is run, in the order of the file
 *
 * TEST_WITH has a set-up and a tear-down of its own, NULL for none; TEST_GROUP has those of the
 * whole program; FIXTURE(name) { ... return 0; } is such a set-up or tear-down. Include it in one
 * file of a program: it defines main().
 */
#ifndef RECOND_TESTS_SUPPORT_UNIT_H
#define RECOND_TESTS_SUPPORT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define UNIT_TESTS_MAX 64

#define FIXTURE(name) static inline int name(void **state __attribute__((unused)))

static struct CMUnitTest unit_tests[UNIT_TESTS_MAX];
static int unit_lines[UNIT_TESTS_MAX];
static size_t unit_n;
static CMFixtureFunction unit_set_up, unit_tear_down;

/* Called before main(), for each test; the compiler chooses in which order. */
static inline void unit_add(struct CMUnitTest test, int line)
{
    size_t i = unit_n++;

    for (; i > 0 && unit_lines[i - 1] > line; i--) {
        unit_tests[i] = unit_tests[i - 1];
        unit_lines[i] = unit_lines[i - 1];
    }
    unit_tests[i] = test;
    unit_lines[i] = line;
}

#define TEST_WITH(name, set_up, tear_down)                                             \
    static void name(void **state);                                                    \
    static void __attribute__((constructor)) name##_add(void)                          \
    {                                                                                  \
        unit_add((struct CMUnitTest){#name, name, set_up, tear_down, NULL}, __LINE__); \
    }                                                                                  \
    static void name(void **state __attribute__((unused)))

#define TEST(name) TEST_WITH(name, NULL, NULL)

#define TEST_GROUP(set_up, tear_down)                         \
    static void __attribute__((constructor)) unit_group(void) \
    {                                                         \
        unit_set_up = set_up;                                 \
        unit_tear_down = tear_down;                           \
    }

int main(void)
{
    return _cmocka_run_group_tests("tests", unit_tests, unit_n, unit_set_up, unit_tear_down);
}

#endif
