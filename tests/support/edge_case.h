/* edge_case.h - the one edge of a test program, and tests that begin with one as edge_defaults() */
#ifndef RECOND_TESTS_SUPPORT_EDGE_CASE_H
#define RECOND_TESTS_SUPPORT_EDGE_CASE_H

#include "tests/support/edge.h"
#include "tests/support/unit.h"

static struct edge edge;

FIXTURE(edge_case_open)
{
    edge_defaults(&edge);
    edge_start(&edge);
    return 0;
}

FIXTURE(edge_case_close)
{
    edge_stop(&edge);
    return 0;
}

#define EDGE_TEST(name) TEST_WITH(name, edge_case_open, edge_case_close)

static inline void expect_raw(const char *text, int status)
{
    struct edge_answer a = edge_raw(&edge, text);

    if (a.status != status)
        print_error("for %.200s\nthe answer was %s%s\n", text, a.head, a.body ? a.body : "");
    assert_int_equal(a.status, status);
    edge_answer_free(&a);
}

#endif
