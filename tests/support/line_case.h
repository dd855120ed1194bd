/* line_case.h - a test of one `line` (line.h), which it opens, and of the scene that is `drawn` */
#ifndef RECOND_TESTS_SUPPORT_LINE_CASE_H
#define RECOND_TESTS_SUPPORT_LINE_CASE_H

#include "tests/support/line.h"
#include "tests/support/unit.h"

static struct line line;
static struct scene drawn;

FIXTURE(line_case_set_up)
{
    memset(&line, 0, sizeof line);
    drawn = scene_make();
    return 0;
}

FIXTURE(line_case_tear_down)
{
    line_close(&line);
    return 0;
}

#define LINE_TEST(name) TEST_WITH(name, line_case_set_up, line_case_tear_down)

#endif
